"""The time that people wait for commands: whole processes, medians of five.

    python benchmarks/waiting.py [--rounds 5] [--issues 107] [--tree FOLDER ...]

Help, plans and a first simulated run with its report are measured first, then `resume`, `analyze` and `report` of a
finished run with 990 trials for each of `--issues` (0 leaves these out). Each `--tree` is a checkout to measure; they
take turns, so that a busy machine slows all of them alike. Seconds of CPU and of a clock, and peak memory in MB, are
those of the process and all that it starts.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import NamedTuple

STUDIES = ("open-mindedness", "stance-stability", "pluralism", "deliberation", "even-handedness")
ANSWERING = {
    "open-mindedness": "--model simulated/open-minded",
    "stance-stability": "--model simulated/chameleon --judge simulated/stance-judge",
    "pluralism": "--model simulated/pluralist --judge simulated/pluralist-judge",
    "deliberation": "--agent simulated/deliberator --agent other=simulated/deliberator",
    "even-handedness": "--model simulated/advocate --judge simulated/even-judge",
}
_START = "from overton.cli import main; main()"
_MEASURED = (
    "import resource, subprocess, sys\n"
    "code = subprocess.run([sys.executable, *sys.argv[1:]], stdout=subprocess.DEVNULL).returncode\n"
    "used = resource.getrusage(resource.RUSAGE_CHILDREN)\n"
    "print(code, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)\n"
)


_FINISHED_RUN = """
import sys
import msgspec, overton
from engine import issues

def numbered(issue, number):  # the simulated model knows an issue by the texts of its questions
    own = [msgspec.structs.replace(each, text=f"{each.text} [{number}]") for each in issue.paraphrases]
    return msgspec.structs.replace(issue, paraphrases=own)

items = [numbered(issue, number) for number, issue in enumerate(issues(int(sys.argv[1])))]
overton.run("open-mindedness", models=["simulated/open-minded"], items=items, out=sys.argv[2])
"""


class Waiting(NamedTuple):
    """Seconds of CPU, seconds by the clock, and peak memory in MB, of one command."""

    cpu: float
    seconds: float
    memory: float


def wait_for(tree: Path, words: Sequence[str], folder: Path) -> Waiting:
    """One run of a command of the tree."""
    environment = {**os.environ, "PYTHONPATH": str(tree / "src")}
    start = perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", _MEASURED, "-c", _START, *words],
        env=environment,
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    seconds = perf_counter() - start
    code, cpu, memory = map(float, done.stdout.split())
    if code:
        raise SystemExit(f"overton {' '.join(words)} failed: {done.stderr}")
    return Waiting(cpu, seconds, memory)


def measure(name: str, trees: Sequence[Path], rounds: int, words: Sequence[str], folder: Path) -> None:
    """Print a row for each tree."""
    found: dict[Path, list[Waiting]] = {tree: [] for tree in trees}
    for number in range(rounds):
        for place, tree in enumerate(trees):
            own = [word.replace("NEW", f"{place}-{number}").replace("TREE", f"{place}") for word in words]
            found[tree].append(wait_for(tree, own, folder))
    for tree, waited in found.items():
        cpu, seconds, memory = (median(values) for values in zip(*waited, strict=True))
        print(f"| {name} | {tree.name if len(trees) > 1 else ''} | {cpu:.2f} | {seconds:.2f} | {memory:.0f} |")


def short_commands() -> Iterator[tuple[str, list[str]]]:
    """Names and words of commands that need no finished run."""
    yield "--help", ["--help"]
    for study in STUDIES:
        yield f"run {study} --help", ["run", study, "--help"]
    for study in STUDIES:
        yield f"plan {study}", ["plan", study, *ANSWERING[study].split()]
    first = ["run", "open-mindedness", *ANSWERING["open-mindedness"].split(), "--trials", "2", "--out", "first-NEW"]
    yield "first run with its report", first


def make_finished_run(tree: Path, issues: int, out: Path) -> None:
    """A finished run of a simulated model on so many issues."""
    paths = os.pathsep.join([str(tree / "src"), str(Path(__file__).parent)])
    environment = {**os.environ, "PYTHONPATH": paths}
    subprocess.run([sys.executable, "-c", _FINISHED_RUN, str(issues), str(out)], env=environment, check=True)


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--issues", type=int, default=107)
    parser.add_argument("--tree", type=Path, nargs="+", default=[Path(__file__).resolve().parents[1]])
    args = parser.parse_args()
    print("| command | tree | CPU s | seconds | MB |\n|---|---|--:|--:|--:|")
    with TemporaryDirectory(prefix="overton-") as named:
        folder = Path(named)
        for name, words in short_commands():
            measure(name, args.tree, args.rounds, words, folder)
        if args.issues:
            for place, tree in enumerate(args.tree):
                make_finished_run(tree, args.issues, folder / f"big-{place}")
            for name in ("resume", "analyze open-mindedness", "report"):
                measure(name, args.tree, args.rounds, [*name.split(), "big-TREE"], folder)


if __name__ == "__main__":
    main()
