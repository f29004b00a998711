"""A separate process that runs open-mindedness, to be killed or interrupted by tests.

`python child.py` reads jobs from its standard input, one JSON object per line. It forks a process for each, so that
imports happen once, and prints the process's id and, when that has ended, its status. `python child.py JOB` does one
job in this process. Keys of a job:

    announce     print 'stopping' when the run stops notebook     run next to a loop that is already running file_limit
        the most bytes of a file precision    stop at the target precision environment  variables to set study
        run this study by the Python call, with the arguments in `given`
"""

import asyncio
import json
import os
import resource
import shutil
import signal
import sys
from pathlib import Path

import msgspec

from overton.calls import Price
from overton.engine import Limits, RetryPolicy, batch_sender, batches
from overton.errors import OvertonError
from overton.runs.answerers import ModelRequest
from overton.runs.experiment import Experiment
from overton.runs.preparation import prepare
from overton.runs.progress import Progress
from overton.runs.start import resume, start
from overton.studies.open_mindedness import STUDY, Issue, Options
from overton.studies.precision import PrecisionTarget

STOPPED, FAILED = 4, 1


def announce(progress: Progress) -> None:
    if progress.stopping:
        print("stopping", flush=True)


def do(job: dict) -> int:
    os.environ.update(job.get("environment", {}))
    if limit := job.get("file_limit"):
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    if "study" in job:
        return call(job["study"], job["given"])
    if job.get("notebook"):
        return asyncio.run(cell(job))
    return work(job)


def call(study: str, given: dict) -> int:
    import overton

    out, patience = Path(given["out"]), RetryPolicy(6, 0.005, 0.05)
    try:
        if (out / "manifest.json").is_file():
            run = overton.resume(out, patience=patience)
        else:
            shutil.rmtree(out, ignore_errors=True)  # killed before it was a run, when no call had been made
            run = overton.run(study, **given, patience=patience)
    except OvertonError as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
        return FAILED
    return 0 if run.finished else STOPPED


async def cell(job: dict) -> int:
    signal.signal(signal.SIGINT, signal.default_int_handler)  # as in a notebook's kernel while a cell runs
    return work(job)


def work(job: dict) -> int:
    watch = announce if job.get("announce") else None
    out, patience = Path(job["out"]), RetryPolicy(job.get("attempts", 6), 0.005, 0.05)
    if "quick" in job:
        batch_sender.FIRST_LOOK, batches.QUIET, batch_sender.SETTLES = job["quick"]
    cost, calls = job.get("max_cost"), job.get("max_calls")
    price = Price(*job["price"]) if "price" in job else None
    try:
        if (out / "manifest.json").is_file():
            run = resume(out, max_cost=cost, max_calls=calls, patience=patience, watch=watch)
        else:
            shutil.rmtree(out, ignore_errors=True)  # killed before it was a run, when no call had been made
            lines = Path(job["items"]).read_bytes().splitlines()
            issues = [msgspec.json.decode(line, type=Issue) for line in lines]
            prepared = prepare(
                Experiment(STUDY, issues, Options(trials=job["trials"], **job.get("options", {}))),
                {"subject": [ModelRequest(spec, tuple(map(tuple, job["args"])), price) for spec in job["models"]]},
                limits=Limits(cost, calls),
                batch=job.get("batch", False),
                anyway=job.get("anyway", False),
                precision=PrecisionTarget(job["precision"]) if "precision" in job else None,
            )
            run = start(prepared, out, patience=patience, watch=watch)
    except OvertonError as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
        return FAILED
    print(f"{run.manifest.status}: {run.manifest.stopped}", file=sys.stderr, flush=True)
    return 0 if run.finished else STOPPED


def nursery() -> None:
    for line in sys.stdin:
        pid = os.fork()
        if pid == 0:
            code = 70
            try:
                code = do(json.loads(line))
            finally:
                os._exit(code)
        print(pid, flush=True)
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        sys.exit(do(json.loads(sys.argv[1])))
    nursery()
