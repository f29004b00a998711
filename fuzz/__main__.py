"""Attack the readers: `python -m fuzz --minutes 10`, one of them: `--target journal`, a crash again: `--repeat`.

Crashes are kept in `fuzz/found/` (not in version control), each with the command that repeats it. Once one is fixed,
its input goes into `fuzz/corpus/TARGET/`.
"""

from __future__ import annotations

import argparse
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from time import monotonic
from typing import IO

from fuzz.kept import bytes_of
from fuzz.room import WITHIN, in_memory
from fuzz.targets import named, names
from fuzz.trying import Crash, tried
from fuzz.working import warm, work

FOUND = Path(__file__).with_name("found")
_SLICE = 30.0
"""Seconds that a worker spends on one target before the next has its turn."""
_SILENCE = 60.0
"""Seconds of silent work after which a worker counts as hanging in something that no clock of Python's interrupts."""
_PATIENCE = 20
"""How many silences to wait for a worker that gets no time to work, on a busy machine."""
_ENVIRONMENT = {"POLARS_MAX_THREADS": "1", "RUST_BACKTRACE": "0", "PYTHONHASHSEED": "0", "INSPECT_DISPLAY": "none"}


def _worked(process: int) -> float:
    """Seconds of processor time that a process has had, if the system says so; otherwise those that have passed."""
    try:
        told = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return monotonic()
    return (int(told[11]) + int(told[12])) / os.sysconf("SC_CLK_TCK")


@dataclass
class Score:
    """The outcome for one target."""

    cases: int = 0
    seconds: float = 0.0
    crashes: Counter[str] = field(default_factory=Counter)


@dataclass
class Attack:
    """All targets in turn, several at a time, until time is up."""

    scores: dict[str, Score]
    seed: int
    lock: Lock = field(default_factory=Lock)

    def turn(self, name: str, number: int, seconds: float) -> None:
        """One worker's turn, with as many workers as it takes."""
        until, again = monotonic() + seconds, 0
        while (left := until - monotonic()) > 0.2:
            began = monotonic()
            cases = self._worker(name, (self.seed * 1000 + number) * 1000 + again, left)
            again += 1
            with self.lock:
                self.scores[name].cases += cases
                self.scores[name].seconds += monotonic() - began
        self._show(name)

    def _worker(self, name: str, seed: int, seconds: float) -> int:
        with tempfile.TemporaryDirectory(prefix="overton-fuzz-", dir=in_memory()) as folder:
            case, log = Path(folder) / "case", Path(folder) / "log"
            command = [sys.executable, "-m", "fuzz", "--work", name, str(seed), str(seconds), str(case)]
            with log.open("wb") as errors:
                process = subprocess.Popen(
                    command,
                    stdout=subprocess.PIPE,
                    stderr=errors,
                    env=os.environ | _ENVIRONMENT | {"TMPDIR": folder, WITHIN: folder},
                    cwd=Path(__file__).parents[1],
                )
            cases, whole = self._heard(name, process)
            status = process.wait()
            if not whole:
                self._died(name, status, case, log)
            return cases

    def _heard(self, name: str, process: subprocess.Popen[bytes]) -> tuple[int, bool]:
        """How many cases it tried, and whether it finished."""
        cases, whole = 0, False
        assert process.stdout is not None
        while self._speaks(process, process.stdout):
            line = process.stdout.readline()
            if not line:
                return cases, whole
            said = json.loads(line)
            cases, whole = said.get("cases", cases), said.get("ended", whole)
            if "crash" in said:
                crash = Crash(said["crash"], said["place"], said["told"])
                self._keep(name, crash, said["signature"], bytes.fromhex(said["data"]))
        process.kill()
        return cases, False

    def _speaks(self, process: subprocess.Popen[bytes], said: IO[bytes]) -> bool:
        """Whether a worker reports something before it has worked in silence for too long."""
        before = _worked(process.pid)
        for _ in range(_PATIENCE):
            if select.select([said], [], [], _SILENCE)[0]:
                return True
            if _worked(process.pid) - before > _SILENCE / 2:
                return False
        return False

    def _died(self, name: str, status: int, case: Path, log: Path) -> None:
        how = f"died of {signal.Signals(-status).name}" if status < 0 else f"ended with {status}"
        told = log.read_text(errors="replace")
        where = next((line.strip() for line in told.splitlines() if "panicked" in line or "failed" in line), "")
        crash = Crash(how, name, f"{where}\n\n{told[-4000:]}")
        self._keep(name, crash, crash.signature, case.read_bytes() if case.exists() else b"")

    def _keep(self, name: str, crash: Crash, signature: str, data: bytes) -> None:
        with self.lock:
            self.scores[name].crashes[signature] += 1
            path = FOUND / f"{name}-{signature}"
            if path.exists() or not data:
                return
            FOUND.mkdir(exist_ok=True)
            path.write_bytes(data)
            command = f"python -m fuzz --repeat {name} {path.relative_to(FOUND.parents[1])}"
            path.with_suffix(".txt").write_text(f"{crash.kind} in {crash.place}\n{command}\n\n{crash.told}\n")
            last = crash.told.strip().splitlines()[-1] if crash.told.strip() else ""
            print(f"CRASH  {name}: {crash.kind} in {crash.place} ({len(data):,} bytes): {last[:120]}", flush=True)

    def _show(self, name: str) -> None:
        with self.lock:
            score = self.scores[name]
            rate = score.cases / max(score.seconds, 0.001)
            kinds = f"{len(score.crashes)} crashes" if score.crashes else "no crash"
            print(f"{name:<28} {score.cases:>10,} cases {rate:>8,.0f}/s  {kinds}", flush=True)


def attack(chosen: Sequence[str], *, minutes: float, seed: int, jobs: int) -> int:
    """Attack these targets for the given time; gives how many different crashes there were."""
    until = monotonic() + 60 * minutes
    done = Attack({name: Score() for name in chosen}, seed)
    number = 0
    with ThreadPoolExecutor(jobs) as pool:
        while (left := until - monotonic()) > 1:
            seconds = min(_SLICE, max(left * jobs / len(chosen), 1.0))
            number += 1
            for turn in [pool.submit(done.turn, name, number, seconds) for name in chosen]:
                turn.result()
    crashes = sum(len(score.crashes) for score in done.scores.values())
    cases = sum(score.cases for score in done.scores.values())
    print(
        f"\n{cases:,} cases on {len(chosen)} targets, {crashes} different crashes"
        + (f": see {FOUND}" if crashes else "")
    )
    return crashes


def repeat(name: str, path: Path) -> int:
    """Try one file again; gives 1 if it crashes."""
    target = named(name)
    warm(target, list(target.seeds()))
    crash = tried(target, bytes_of(path))
    print("no crash" if crash is None else f"{crash.kind} in {crash.place}\n\n{crash.told}")
    return int(crash is not None)


def _main() -> int:
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=5.0, help="for all targets together (default: 5)")
    parser.add_argument("--target", action="append", help="one of them; may be repeated (default: all)", metavar="NAME")
    parser.add_argument("--seed", type=int, default=1, help="of all mutations (default: 1)")
    parser.add_argument("--jobs", type=int, default=1, help="targets at a time (default: 1)")
    parser.add_argument("--list", action="store_true", help="name all targets")
    parser.add_argument("--repeat", nargs=2, metavar=("NAME", "FILE"), help="try one file on one target")
    parser.add_argument("--work", nargs=4, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.work:
        name, seed, seconds, case = given.work
        work(name, int(seed), float(seconds), Path(case))
    if given.list:
        print("\n".join(names()))
        return 0
    if given.repeat:
        return repeat(given.repeat[0], Path(given.repeat[1]))
    chosen = given.target or names()
    if strangers := set(chosen) - set(names()):
        parser.error(f"no such target: {', '.join(sorted(strangers))} (--list names all)")
    return int(attack(chosen, minutes=given.minutes, seed=given.seed, jobs=given.jobs) > 0)


if __name__ == "__main__":
    sys.exit(_main())
