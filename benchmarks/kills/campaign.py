"""Runs of scenarios that are killed and resumed, and what must be true of each."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import Any

from benchmarks.kills.scenarios import CONNECTIONS, Scenario, inputs
from fuzz.hostile.server import KEY, Hostile

__all__ = ["Campaign", "Row"]

_OVERTON = str(Path(sys.executable).with_name("overton"))
_INSPECT = str(Path(sys.executable).with_name("inspect"))
_LATENCY = 0.04
_LATE = 12
"""Replies of one kill that a commit may not yet have, besides those in flight: `_LATENCY` allows some 4 in 40 ms."""
_STOPPED = 4
_SESSIONS = 60
_STEPS = 6
"""Requests about a batch, or about two: uploaded, created, checked, read."""
_LONGEST = 240.0
_BEGUN_AGAIN = ("extend", "extend imported", "import")
"""Scenarios in which a kill leaves a run that may or may not be what was wanted."""


@dataclass
class Row:
    """A row of the table."""

    runs: int = 0
    kills: int = 0
    sessions: int = 0
    requests: int = 0
    repeated: int = 0
    limits: int = 0
    wrong: list[str] = field(default_factory=list)


@dataclass
class Course:
    """One run under way: how it continues, and its limits, until these are `lifted`.

    `counted` is the run's usage by its own count when it was limited; the endpoint counts from then.
    """

    scenario: Scenario
    place: Path
    words: tuple[str, ...]
    limits: tuple[str, ...] = ()
    lifted: bool = False
    counted: dict[str, Any] = field(default_factory=dict)

    @property
    def resume(self) -> tuple[str, ...]:
        """How it is resumed; higher limits are given each time, as a kill can come before they are recorded."""
        higher = ("--max-calls", "1000000", "--max-cost", "1000000")
        return ("resume", "out", *higher) if self.lifted else ("resume", "out")


class Campaign:
    """All scenarios in turn, until there were enough kills."""

    def __init__(self, server: Hostile, folder: Path, seed: int) -> None:
        self.server = server
        self.folder = folder
        self.chance = random.Random(seed)
        self.whole: dict[str, list[str]] = {}
        self.calls: dict[str, int] = {}
        self.seconds: dict[str, float] = {}
        self.numbers = iter(range(1, 10**6))
        self.environment = os.environ | {
            "OPENAI_API_KEY": KEY,
            "ANTHROPIC_API_KEY": KEY,
            "LOCAL_API_KEY": KEY,
            "LOCAL_BASE_URL": server.url(),
            "INSPECT_LOG_DIR": "logs",
            "COLUMNS": "200",
            "XDG_CONFIG_HOME": str(folder / "config"),
        }

    def unkilled(self, scenario: Scenario) -> None:
        """The run that all others are compared with."""
        place = self._place(scenario)
        self.server.behave(latency=_LATENCY)
        self.server.provide(looks=0)
        began = monotonic()
        process = self._start(place, scenario.begin)
        _, told = process.communicate(timeout=_LONGEST)
        if process.returncode not in (0, 3):
            sys.exit(f"{scenario.name} does not end, although it was not killed: {told}")
        self.seconds[scenario.name] = monotonic() - began
        self.whole[scenario.name] = self._rows(scenario, place)
        self.calls[scenario.name] = self.server.report()["requests"]

    def killed(self, scenario: Scenario, row: Row) -> None:
        """One run, killed one to four times."""
        place = self._place(scenario)
        self.server.behave(latency=_LATENCY)
        self.server.provide(**{"looks": 0, **scenario.provider})
        course = Course(scenario, place, scenario.begin)
        if scenario.asks:
            self._limit(course)
        kills, before = self.chance.randint(1, 4), row.kills
        for _ in range(_SESSIONS):
            row.sessions += 1
            process = self._start(place, course.words)
            told = self._until_killed(process, scenario, row) if row.kills - before < kills else _ended(process)
            if process.returncode == -signal.SIGKILL:
                course.words = self._next(course)
            elif process.returncode == _STOPPED and course.limits:
                row.limits += 1
                self._check_limits(course, row, row.kills - before)
                course.limits, course.lifted = (), True
                course.words = course.resume
            elif process.returncode in (0, 3):
                self._check_limits(course, row, row.kills - before)
                break
            elif (other := self._otherwise(course, told)) is not None:
                course.words = other
            else:
                row.wrong.append(f"{' '.join(course.words[:2])} ended with {process.returncode}: {told.strip()[-300:]}")
                break
        else:
            row.wrong.append(f"does not end in {_SESSIONS} sessions")
        row.runs += 1
        self._check(course, row, row.kills - before)
        shutil.rmtree(place, ignore_errors=True)

    # One session

    def _place(self, scenario: Scenario) -> Path:
        place = self.folder / f"{scenario.name.replace(' ', '-')}-{next(self.numbers)}"
        place.mkdir()
        inputs(place)
        if scenario.prepared:
            self._prepare(scenario, place)
        return place

    def _prepare(self, scenario: Scenario, place: Path) -> None:
        kept = self.folder / f"prepared-{scenario.name}"
        if not kept.exists():
            self.server.behave()
            kept.mkdir()
            inputs(kept)
            self._carried_out(kept, scenario.prepared)
            if "import" in scenario.name:
                self._carried_out(kept, ("export", "out", "--to", "inspect", "--out", "logs"))
                shutil.rmtree(kept / "out")
            if scenario.name == "extend imported":
                self._carried_out(kept, ("import", "logs", "--out", "out"))
        shutil.copytree(kept, place, dirs_exist_ok=True)

    def _carried_out(self, place: Path, words: Sequence[str]) -> None:
        subprocess.run([_OVERTON, *words], cwd=place, env=self.environment, capture_output=True, check=True)

    def _start(self, place: Path, words: Sequence[str]) -> subprocess.Popen[str]:
        program = _INSPECT if words[0] in ("eval", "eval-retry") else _OVERTON
        return subprocess.Popen(
            [program, *words],
            cwd=place,
            env=self.environment | {"INSPECT_CACHE_DIR": str(place / "cache"), "XDG_DATA_HOME": str(place / "data")},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def _until_killed(self, process: subprocess.Popen[str], scenario: Scenario, row: Row) -> str:
        """Kill it at one of its requests, or at a moment of its usual time."""
        moment = self.chance.uniform(0.0, 1.05) * self.seconds[scenario.name]
        calls = self.calls[scenario.name]
        if calls and self.chance.random() < 0.6:
            most = _STEPS if "--batch" in scenario.begin else max(calls * 2 // 3, 1)
            at = self.chance.randint(1, most)
            self.server.tell(kill=process.pid, at=at, replied=self.chance.random() < 0.5)
            moment = _LONGEST
        told = _ended(process, moment)
        self.server.tell(kill=0, at=0, replied=False)
        row.kills += process.returncode == -signal.SIGKILL
        return told

    def _next(self, course: Course) -> tuple[str, ...]:
        """How a user continues after a kill."""
        scenario, place = course.scenario, course.place
        if scenario.inspect:
            logs = sorted((place / "logs").glob("*.eval"), key=lambda log: log.stat().st_mtime)
            retried = ("eval-retry", *(str(log) for log in logs[-1:]), "--display", "none", "--log-dir", "logs")
            return retried if logs else scenario.begin
        if course.lifted or (scenario.name not in _BEGUN_AGAIN and (place / "out").exists()):
            return course.resume
        return (*scenario.begin, *course.limits)  # extended or not: `_otherwise` reads what it says

    def _otherwise(self, course: Course, told: str) -> tuple[str, ...] | None:
        """The command that a message asks for; None where nothing helps."""
        name = course.scenario.name
        if name == "import" and "exists already" in told:
            return (*course.resume, "--trust")  # it had ended
        if name.startswith("extend") and any(word in told for word in ("nothing to add", "Resume", "resume")):
            return course.resume
        return None

    # Checks

    def _limit(self, course: Course) -> None:
        """Both limits from now on, neither of which is reached in half of the runs, and one of them in the others."""
        path = course.place / "out" / "manifest.json"
        course.counted = json.loads(path.read_text())["spent"] if path.exists() else {"requests": 0, "cost": 0.0}
        calls, cost = "1000000", "1000000"
        if self.chance.random() < 0.5:
            low = max(3, int(self.calls[course.scenario.name] * self.chance.uniform(0.4, 0.9)))
            margin = 0.0 if course.scenario.excess else 0.2
            few = course.counted["requests"] + low
            cheap = course.counted["cost"] + low * course.scenario.reply + margin
            calls, cost = (str(few), cost) if self.chance.random() < 0.5 else (calls, f"{cheap:.4f}")
        course.limits = ("--max-calls", calls, "--max-cost", cost)
        course.words = (*course.words, *course.limits)

    def _check_limits(self, course: Course, row: Row, kills: int) -> None:
        """A model that bills too much may exceed a limit by its excess on calls in flight, once more for each kill."""
        if not course.limits:
            return
        report = self.server.report()
        _, calls, _, cost = course.limits
        sent = course.counted["requests"] + report["requests"]
        if sent > int(calls):
            row.wrong.append(f"{sent} requests, though --max-calls {calls}")
        scenario = course.scenario
        paid = course.counted["cost"] + report["answered"] * scenario.reply
        in_flight = self.calls[scenario.name] if "--batch" in scenario.begin else len(scenario.models) * CONNECTIONS
        if paid > float(cost) + (kills + 1) * in_flight * scenario.excess + 1e-9:
            row.wrong.append(f"${paid:.4f} spent, though --max-cost {cost}")

    def _check(self, course: Course, row: Row, kills: int) -> None:
        scenario, place = course.scenario, course.place
        report = self.server.report()
        row.requests += report["requests"]
        row.repeated += report["again"]
        allowed = 0 if scenario.provider else kills * (len(scenario.models) * CONNECTIONS + _LATE)
        if scenario.models and report["again"] > allowed:
            row.wrong.append(f"{report['again']} calls asked again after {kills} kills: more than were in flight")
        rows = self._rows(scenario, place)
        if rows != self.whole[scenario.name]:
            row.wrong.append(f"other records: {len(set(rows) ^ set(self.whole[scenario.name]))} rows on either side")
        self._check_count(course, report, row)

    def _check_count(self, course: Course, report: dict[str, Any], row: Row) -> None:
        """A run counts no fewer requests than it may have made."""
        path = course.place / "out" / "manifest.json"
        if course.scenario.asks and path.exists():
            counted = json.loads(path.read_text())["spent"]["requests"] - course.counted["requests"]
            if counted < report["requests"]:
                row.wrong.append(f"{report['requests']} requests, {counted} in the manifest")

    def _rows(self, scenario: Scenario, place: Path) -> list[str]:
        import polars as pl

        if scenario.inspect:
            self._import(place)
        path = place / "out" / "records.parquet"
        return sorted(pl.read_parquet(path).write_ndjson().splitlines()) if path.exists() else []

    def _import(self, place: Path) -> None:
        """The last log as a run, gone on with: of samples that Inspect recovered itself it may lack the calls."""
        logs = sorted((place / "logs").glob("*.eval"), key=lambda log: log.stat().st_mtime)
        if logs and not (place / "out").exists():
            for words in (("import", str(logs[-1]), "--out", "out"), ("resume", "out", "--trust")):
                subprocess.run([_OVERTON, *words], cwd=place, env=self.environment, capture_output=True, check=False)


def _ended(process: subprocess.Popen[str], seconds: float = _LONGEST) -> str:
    """Its output until it ended, or was killed after so many seconds."""
    try:
        return process.communicate(timeout=seconds)[1]
    except subprocess.TimeoutExpired:
        process.kill()
        return process.communicate()[1]
