"""The speed of the engine, compared with raw aiohttp and Inspect AI, against one local endpoint, in one run.

    python benchmarks/engine.py [--quick] [--check]

Every figure comes from a process of its own: time from the first call to records on disk, and peak memory as the
operating system counts it. Rates are medians over interleaved rounds, since machines are noisy; ratios are medians of
the rounds' ratios. With --check the exit code is 1 if a ratio or the memory misses its budget; rates themselves
depend on the machine and are not checked. The ratio of rates to raw aiohttp's also depends on the disk, for which only
Overton waits, and on how many trials share the start. So it is checked only without --quick. The ratio of processor
time depends on neither.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import platform
import resource
import socket
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter
from typing import Any
from urllib.parse import urlsplit

from endpoint import endpoint

ISSUE_TRIALS = 66  # prompts an issue with one trial: 11 configurations x 6 templates


def issues(count: int) -> list[Any]:
    """`count` issues made of the starter issues, under names of their own."""
    import msgspec

    from overton.runs.items import read_items
    from overton.studies.open_mindedness import STUDY

    starter = read_items(STUDY)
    return [
        msgspec.structs.replace(starter[number % len(starter)], id=f"{starter[number % len(starter)].id}-{number}")
        for number in range(count)
    ]


def overton_run(url: str, trials: int, connections: int, *, report: bool) -> dict[str, float]:
    """A whole run: journal and records; with `report` the HTML report too. Imports are made before the clock starts."""
    import aiohttp  # noqa: F401
    import polars  # noqa: F401

    import overton
    from overton.runs import run as runs  # noqa: F401

    per_issue = 15 * ISSUE_TRIALS
    asked = issues(max(1, round(trials / per_issue))) if trials >= per_issue else issues(1)
    repetitions = 15 if trials >= per_issue else max(1, trials // ISSUE_TRIALS)
    model = f"{url}#bench"
    with tempfile.TemporaryDirectory() as folder:
        begin = perf_counter()
        run = overton.run(
            "open-mindedness",
            models=[model],
            items=asked,
            trials=repetitions,
            out=Path(folder) / "run",
            model_args={model: {"connections": str(connections)}},
        )
        recorded = perf_counter()
        if report:
            overton.report([run.path])
        count = run.records().height
        size = (run.path / "report.html").stat().st_size if report else 0
    return {
        "trials": count,
        "seconds": recorded - begin,
        "report_seconds": perf_counter() - recorded if report else 0.0,
        "report_mb": size / 1e6,
    }


def prompts(count: int) -> list[str]:
    """The prompts of the first `count` trials."""
    from overton.calls import Reply
    from overton.studies.open_mindedness import STUDY, Options

    found: list[str] = []

    async def ask(role: str, messages: Any, **_: Any) -> Reply:
        found.append(messages[0].content)
        return Reply("")

    async def conduct() -> None:
        for trial in STUDY.trials(issues(-(-count // 990)), Options(), 0):
            if len(found) == count:
                return
            await STUDY.conduct(trial, ask)

    asyncio.run(conduct())
    return found


def raw_aiohttp(url: str, trials: int, connections: int) -> dict[str, float]:
    """The same prompts posted by aiohttp alone: no journal, no records, no retries."""
    import aiohttp
    import msgspec
    import uvloop

    bodies = [
        msgspec.json.encode({"model": "bench", "max_tokens": 1024, "messages": [{"role": "user", "content": prompt}]})
        for prompt in prompts(trials)
    ]

    async def post_all() -> float:
        queue = iter(bodies)
        connector = aiohttp.TCPConnector(limit=connections)
        async with aiohttp.ClientSession(connector=connector, headers={"Content-Type": "application/json"}) as session:

            async def worker() -> None:
                for body in queue:
                    async with session.post(f"{url}/chat/completions", data=body) as reply:
                        msgspec.json.decode(await reply.read())

            begin = perf_counter()
            await asyncio.gather(*(worker() for _ in range(connections)))
            return perf_counter() - begin

    return {"trials": trials, "seconds": uvloop.run(post_all())}


def inspect_ai(url: str, trials: int, connections: int) -> dict[str, float]:
    """The same prompts as Inspect AI samples, one per prompt, without display or realtime log."""
    import os

    os.environ["BENCH_API_KEY"] = "none"
    os.environ["BENCH_BASE_URL"] = url
    from inspect_ai import Task, eval
    from inspect_ai.dataset import MemoryDataset, Sample
    from inspect_ai.model import GenerateConfig
    from inspect_ai.scorer import pattern
    from inspect_ai.solver import generate

    task = Task(
        dataset=MemoryDataset([Sample(input=prompt, target="A") for prompt in prompts(trials)]),
        solver=generate(),
        scorer=pattern(r"position <<([AB])>>"),
        config=GenerateConfig(max_tokens=1024, max_connections=connections),
    )
    with tempfile.TemporaryDirectory() as folder:
        begin = perf_counter()
        (log,) = eval(
            task,
            model="openai-api/bench/bench",
            display="none",
            log_dir=folder,
            log_format="eval",
            log_realtime=False,
            log_samples=True,
            max_samples=connections,
            fail_on_error=True,
        )
        seconds = perf_counter() - begin
    assert log.status == "success", log.error
    return {"trials": trials, "seconds": seconds}


TASKS = {"overton": overton_run, "aiohttp": raw_aiohttp, "inspect": inspect_ai}


def measured(task: str, url: str, trials: int, connections: int, *, report: bool = False) -> dict[str, float]:
    """Run one task in a process of its own."""
    command = [sys.executable, __file__, "--task", task, "--url", url, "--trials", str(trials)]
    command += ["--connections", str(connections), *(["--report"] if report else [])]
    before = _children_seconds()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{task} failed:\n{done.stderr[-3000:]}")
    spent = _children_seconds() - before
    result = json.loads(done.stdout.splitlines()[-1])
    result["rate"] = result["trials"] / result["seconds"]
    result["processor"] = spent / result["trials"]
    return result


def _children_seconds() -> float:
    """The processor time of all processes that were started here and have ended, start included."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


LEAST_BESIDE_AIOHTTP = 0.6
MOST_PROCESSOR_TIME = 1.5
LEAST_BESIDE_INSPECT = 50
MOST_MEGABYTES = 400


def throughput(rounds: int, trials: int, inspect_trials: int, *, rates: bool) -> list[str]:
    """Rates side by side; which ratios miss their budgets, that of `rates` to aiohttp's if it is to be checked."""
    results: dict[str, list[dict[str, float]]] = {"overton": [], "reported": [], "aiohttp": [], "inspect": []}
    with endpoint() as url:
        for _ in range(rounds):
            results["overton"].append(measured("overton", url, trials, 64))
            results["aiohttp"].append(measured("aiohttp", url, trials, 64))
            results["reported"].append(measured("overton", url, trials, 64, report=True))
            results["inspect"].append(measured("inspect", url, inspect_trials, 64))
    with_report = [r["trials"] / (r["seconds"] + r["report_seconds"]) for r in results["reported"]]
    rate = statistics.median(r["rate"] for r in results["overton"])
    print(f"\n## Throughput, zero latency, 64 connections, medians of {rounds} rounds\n")
    print("| what | trials | per second | relative to Overton |")
    print("|---|--:|--:|--:|")
    print(f"| Overton, first call to records on disk | {results['overton'][0]['trials']:,} | {rate:,.0f} | 1 |")
    print(_row("the same with the report", results["reported"], results["overton"], with_report))
    print(_row("raw aiohttp, no journal or records", results["aiohttp"], results["overton"]))
    print(_row("Inspect AI", results["inspect"], results["overton"]))
    pairs = zip(results["overton"], results["inspect"], strict=True)
    ratio = statistics.median(ours["rate"] / theirs["rate"] for ours, theirs in pairs)
    print(f"\nOverton is {ratio:.0f} times as fast as Inspect AI (median of the rounds' ratios).")
    report = results["reported"][-1]
    took = f"{report['report_seconds']:.1f} s, {report['report_mb']:.1f} MB"
    print(f"The report of {report['trials']:,} trials took {took}.")
    pairs = zip(results["overton"], results["aiohttp"], strict=True)
    both = list(pairs)
    beside = statistics.median(ours["rate"] / theirs["rate"] for ours, theirs in both)
    processor = statistics.median(ours["processor"] / theirs["processor"] for ours, theirs in both)
    print(f"A trial takes {processor:.2f} times the processor time of raw aiohttp, start included.")
    budgets = {
        f"{beside:.2f} of raw aiohttp's rate, {LEAST_BESIDE_AIOHTTP} wanted": rates and beside < LEAST_BESIDE_AIOHTTP,
        f"{processor:.2f} times raw aiohttp's processor time, {MOST_PROCESSOR_TIME} at most": (
            processor > MOST_PROCESSOR_TIME
        ),
        f"{ratio:.0f} times Inspect AI, {LEAST_BESIDE_INSPECT} wanted": ratio < LEAST_BESIDE_INSPECT,
    }
    return [said for said, missed in budgets.items() if missed]


def _row(
    name: str, rows: list[dict[str, float]], beside: list[dict[str, float]], rates: list[float] | None = None
) -> str:
    rates = rates or [row["rate"] for row in rows]
    ratio = statistics.median(rate / other["rate"] for rate, other in zip(rates, beside, strict=True))
    return f"| {name} | {rows[0]['trials']:,} | {statistics.median(rates):,.0f} | {ratio:.2f} |"


def unloaded(url: str, requests: int = 30) -> float:
    """The median latency in milliseconds of requests made one after the other on a bare socket."""
    request = b"POST / HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}"
    found = []
    with socket.create_connection(("127.0.0.1", int(urlsplit(url).port or 80))) as connection:
        for _ in range(requests):
            begin = perf_counter()
            connection.sendall(request)
            connection.recv(4096)
            found.append(perf_counter() - begin)
    return statistics.median(found) * 1000


def share_of_ideal(rounds: int, seconds: float) -> None:
    """The share of the ideal reached at each latency: the smaller of connections / latency and 0.9 of the rate without.

    The latency is the endpoint's own, measured by one request after the other. The rate without latency is measured
    again with every cell, since that of a shared machine changes by a quarter within a minute. Each share is the median
    of the rounds.
    """
    print(f"\n## Share of the ideal at latency, medians of {rounds} rounds\n")
    print("| latency | connections | ideal per second | reached | share | least and most |")
    print("|--:|--:|--:|--:|--:|--:|")
    for wanted in (20, 50, 200):
        with endpoint() as immediate, endpoint(wanted) as url:
            latency = unloaded(url)
            for connections in (64, 256):
                bound = connections / (latency / 1000)
                found = [_beside_ideal(immediate, url, bound, connections, seconds) for _ in range(rounds)]
                ideal, reached = (statistics.median(values) for values in zip(*found, strict=True))
                shares = sorted(got / best for best, got in found)
                print(
                    f"| {latency:.1f} ms | {connections} | {ideal:,.0f} | {reached:,.0f}"
                    f" | {statistics.median(shares):.0%} | {shares[0]:.0%} to {shares[-1]:.0%} |"
                )


def _beside_ideal(immediate: str, url: str, bound: float, connections: int, seconds: float) -> tuple[float, float]:
    """The ideal rate, and the one reached right after."""
    rate = measured("overton", immediate, 19_800, 64)["rate"]
    ideal = min(bound, 0.9 * rate)
    trials = max(990, round(ideal * seconds / 990) * 990)
    return ideal, measured("overton", url, trials, connections)["rate"]


def memory(sizes: tuple[int, ...]) -> list[str]:
    """Peak memory of whole runs, report included; which sizes miss the budget."""
    missed = []
    print("\n## Peak memory, report included\n")
    print("| trials | peak MB |")
    print("|--:|--:|")
    with endpoint() as url:
        for size in sizes:
            result = measured("overton", url, size, 64, report=True)
            print(f"| {result['trials']:,} | {result['peak_mb']:.0f} |")
            if result["peak_mb"] > MOST_MEGABYTES:
                missed.append(f"{result['peak_mb']:.0f} MB for {size:,} trials, {MOST_MEGABYTES} at most")
    return missed


def main() -> None:
    """Print all tables, or run one task for them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer rounds and trials")
    parser.add_argument("--check", action="store_true", help="exit with 1 if a budget is missed")
    parser.add_argument("--task", choices=TASKS)
    parser.add_argument("--url")
    parser.add_argument("--trials", type=int)
    parser.add_argument("--connections", type=int)
    parser.add_argument("--report", action="store_true")
    given = parser.parse_args()
    if given.task:
        extra = {"report": given.report} if given.task == "overton" else {}
        result = TASKS[given.task](given.url, given.trials, given.connections, **extra)
        result["peak_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(json.dumps(result))
        return
    print(f"Python {platform.python_version()}, {platform.system()} {platform.machine()}, {_processor()}")
    sizes = (1, 9_900, 500) if given.quick else (3, 39_600, 1_500)
    missed = throughput(*sizes, rates=not given.quick)
    if not (given.quick and given.check):
        share_of_ideal(1 if given.quick else 3, 3 if given.quick else 20)
    missed += memory((9_900,) if given.quick else (9_900, 99_000))
    if given.check and missed:
        raise SystemExit("missed: " + "; ".join(missed))


def _processor() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    names = [line.split(":")[1].strip() for line in lines if line.startswith("model name")]
    return f"{len(names)} cores, {names[0]}" if names else (platform.processor() or "unknown processor")


if __name__ == "__main__":
    main()
