"""The cost of several servers of one model to the engine, how close they come to the ideal, and what does not scale.

    python benchmarks/fleet.py [--quick] [--scale]

Servers are local endpoints with a fixed latency and a number of places each (`connections`). Every figure comes from a
process of its own. Overhead is CPU time per trial, because elapsed time on a shared machine is unreliable. It is for
one endpoint without latency, named as itself and as a fleet of one, and for a fleet of four. The ideal is the rate at
which all places can answer, as far as a core allows: 0.9 of the rate without latency of the same run. With --scale it
measures only the inputs of the page on fleets: the journal's writer and its file, the index in memory, a split and a
merge.

The index in memory is a dictionary. With a table in the file instead, 100,000 calls took 6 s of commits instead of 0.9
s. A merge of 19,800 trials in eight shards took 17 s, and the whole run 21 s.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import statistics
import subprocess
import sys
import tempfile
from contextlib import ExitStack, closing
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

from endpoint import endpoint

from engine import issues

ISSUE_TRIALS = 66 * 15


def fleet_run(urls: list[str], trials: int, connections: int) -> dict[str, float]:
    """A whole run over these servers, as a fleet if there are several or the one is listed with an '@'."""
    import polars  # noqa: F401

    import overton

    asked = issues(max(1, trials // ISSUE_TRIALS))
    args: dict[str, Any] = {"base_url": urls, "connections": str(connections)}
    with tempfile.TemporaryDirectory() as folder:
        if urls[0].startswith("@"):
            listed = Path(folder) / "servers.txt"
            listed.write_text("\n".join(url.removeprefix("@") for url in urls))
            args["base_url"] = f"@{listed}"
        begin, cpu = perf_counter(), process_time()
        run = overton.run(
            "open-mindedness",
            models=["vllm/m"],
            items=asked,
            trials=15,
            out=Path(folder) / "run",
            model_args={"vllm/m": args},
        )
        assert run.finished, run.manifest.stopped
        seconds, used = perf_counter() - begin, process_time() - cpu
        return {"trials": run.records().height, "seconds": seconds, "cpu": used}


def journal_rows(count: int) -> dict[str, float]:
    """The journal's needs for replies of 300 characters: seconds, bytes per row, and memory to open it."""
    from overton.calls import Reply, Settings, Usage, user
    from overton.engine import Journal
    from overton.engine.identity import CallKey, identify
    from overton.engine.journal_file import JournalEntry

    async def write(path: Path) -> float:
        reply = Reply("x" * 300, usage=Usage(600, 80), model="m-2026", fingerprint="fp_0123456789")
        with closing(Journal(path)) as journal:
            begin = perf_counter()
            for number in range(count):
                place = CallKey(f"an-issue-of-usual-length/balanced/3/{number}", "subject", 0, "vllm/m")
                entry = JournalEntry(identify(place, (user("q"),), Settings(), None), place, reply)
                await journal.append(entry)
            journal.finish()
            return perf_counter() - begin

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "journal.db"
        seconds = asyncio.run(write(path))
        size = path.stat().st_size
        found = json.loads(_alone("opened", [str(path)]))
    return {"seconds": seconds, "bytes": size / count, **found}


def opened(path: str) -> dict[str, float]:
    """Seconds and resident bytes that it takes to open a journal."""
    from overton.engine import Journal

    before, begin = _resident(), perf_counter()
    journal = Journal(Path(path))
    seconds, grown, count = perf_counter() - begin, _resident() - before, len(journal)
    journal.close()
    return {"opening": seconds / count, "index": grown / count}


def _resident() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize()


def shards_of(trials: int, url: str) -> dict[str, float]:
    """Seconds to split a run into eight, to run the shards in turn, and to merge them, compared with the whole run."""
    import overton

    asked = issues(max(8, trials // ISSUE_TRIALS))
    given: dict[str, Any] = {"models": [f"{url}#bench"], "items": asked, "trials": 15}
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        begin = perf_counter()
        whole = overton.run("open-mindedness", out=root / "whole", **given)
        ran = perf_counter()
        shards = overton.split("open-mindedness", into=8, out=root / "shards", **given)
        split = perf_counter()
        for shard in shards:
            overton.resume(shard.path)
        worked = perf_counter()
        merged = overton.merge([shard.path for shard in shards], root / "merged")
        done = perf_counter()
        assert merged.records().equals(whole.records())
        return {
            "trials": whole.records().height,
            "whole": ran - begin,
            "split": split - ran,
            "shards": worked - split,
            "merge": done - worked,
        }


def _alone(task: str, words: list[str]) -> str:
    """The output of one task in a process of its own."""
    done = subprocess.run(
        [sys.executable, __file__, "--task", task, *words], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"{task} failed:\n{done.stderr[-3000:]}")
    return done.stdout.splitlines()[-1]


def measured(urls: list[str], trials: int, connections: int) -> dict[str, float]:
    """A run over these servers, in a process of its own."""
    found: dict[str, float] = json.loads(_alone("fleet", [str(trials), str(connections), *urls]))
    return found


def overhead(rounds: int, trials: int) -> float:
    """Print what a fleet costs compared with one endpoint; gives the rate of one endpoint without latency."""
    found: dict[str, list[dict[str, float]]] = {"one server": [], "a fleet of one": [], "a fleet of four": []}
    with ExitStack() as stack:
        urls = [stack.enter_context(endpoint()) for _ in range(4)]
        for _ in range(rounds):
            found["one server"].append(measured(urls[:1], trials, 64))
            found["a fleet of one"].append(measured([f"@{urls[0]}"], trials, 64))
            found["a fleet of four"].append(measured(urls, trials, 16))
    print(f"\n## Overhead, no latency, 64 places in all, medians of {rounds} rounds of {trials:,} trials\n")
    print("| what | trials per second | microseconds of CPU per trial | relative to one server |")
    print("|---|--:|--:|--:|")
    cpus = {name: [one["cpu"] / one["trials"] for one in rows] for name, rows in found.items()}
    for name, rows in found.items():
        ratio = statistics.median(a / b for a, b in zip(cpus[name], cpus["one server"], strict=True))
        rate = statistics.median(one["trials"] / one["seconds"] for one in rows)
        print(f"| {name} | {rate:,.0f} | {statistics.median(cpus[name]) * 1e6:,.0f} | {ratio:.2f} |")
    return statistics.median(one["trials"] / one["seconds"] for one in found["one server"])


def throughput(rounds: int, seconds: float, rate: float) -> None:
    """Print how close fleets come to what their servers can answer, and to one server with as many places."""
    print(f"\n## Share of the ideal, medians of {rounds} rounds\n")
    print("| servers | latency | places | ideal per second | reached | share | relative to one server |")
    print("|--:|--:|--:|--:|--:|--:|--:|")
    for count, latency, places in ((4, 20, 16), (4, 200, 16), (16, 50, 16), (16, 200, 16)):
        with ExitStack() as stack:
            urls = [stack.enter_context(endpoint(latency)) for _ in range(count)]
            ideal = min(count * places / (latency / 1000), 0.9 * rate)
            trials = max(ISSUE_TRIALS, round(ideal * seconds / ISSUE_TRIALS) * ISSUE_TRIALS)
            pairs = [
                (measured(urls[:1], trials, count * places), measured(urls, trials, places)) for _ in range(rounds)
            ]
        rates = [(one["trials"] / one["seconds"], several["trials"] / several["seconds"]) for one, several in pairs]
        reached, beside = statistics.median(b for _, b in rates), statistics.median(b / a for a, b in rates)
        shown = f"{ideal:,.0f} | {reached:,.0f} | {reached / ideal:.0%} | {beside:.2f}"
        print(f"| {count} | {latency} ms | {count * places} | {shown} |", flush=True)


def scale(count: int) -> None:
    """Print the figures that the arithmetic of the page on fleets starts from."""
    rows = json.loads(_alone("journal", [str(count)]))
    print(f"\n## The journal, {count:,} outcomes of 300 characters\n")
    print(f"- written: {count / rows['seconds']:,.0f} per second, {rows['bytes']:,.0f} bytes each")
    print(f"- opened: {rows['opening'] * 1e6:.1f} microseconds and {rows['index']:,.0f} bytes of memory each")
    with endpoint() as url:
        cut = json.loads(_alone("shards", [str(count // 5), url]))
    print(f"\n## Eight shards of {cut['trials']:,} trials, no latency\n")
    print(f"- the whole run takes {cut['whole']:.1f} s, and splitting it {cut['split']:.1f} s")
    print(f"- all shards in turn take {cut['shards']:.1f} s, and merging them {cut['merge']:.1f} s")


def _task(task: str, words: list[str]) -> dict[str, float]:
    if task == "fleet":
        return fleet_run(words[2:], int(words[0]), int(words[1]))
    if task == "opened":
        return opened(words[0])
    return journal_rows(int(words[0])) if task == "journal" else shards_of(int(words[0]), words[1])


def main() -> None:
    """Print all tables, or run one task for them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer rounds and trials")
    parser.add_argument("--scale", action="store_true", help="what journal, split and merge take instead")
    parser.add_argument("--task", choices=("fleet", "journal", "opened", "shards"), help=argparse.SUPPRESS)
    parser.add_argument("words", nargs="*", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.task:
        print(json.dumps(_task(given.task, given.words)))
    elif given.scale:
        scale(100_000 if given.quick else 1_000_000)
    else:
        rate = overhead(2 if given.quick else 5, 4_950 if given.quick else 19_800)
        throughput(1 if given.quick else 3, 3 if given.quick else 15, rate)


if __name__ == "__main__":
    main()
