"""A campaign of kills: every study under both hosts, and every command that asks or writes, killed and gone on with.

    python -m benchmarks.kills [--kills 200] [--seed 1] [--only extend]

Processes are started as a user starts them, killed with SIGKILL at random moments, and gone on with until they end. Of
each is held: its records are those of one that was not killed; what was asked twice was in flight when it was killed,
or in the last commits; and where it had a limit, low enough to be reached, the endpoint counts no more than that.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import Any

from fuzz.hostile.server import INPUT, KEY, OUTPUT, Hostile, hostile

_OVERTON = str(Path(sys.executable).with_name("overton"))
_INSPECT = str(Path(sys.executable).with_name("inspect"))
_CONNECTIONS = 4
_LATENCY = 0.04
_REPLY = (INPUT * 10.0 + OUTPUT * 100.0) / 1e6
"""Dollars, at the price that every model is given."""
_LATE = 12
"""Replies of one kill that a commit may not have had yet, beside those in flight: `_LATENCY` allows some 4 in 40 ms."""
_STOPPED = 4
_SESSIONS = 60
_LONGEST = 240.0


@dataclass(frozen=True)
class Scenario:
    """A command, how it goes on after a kill, and what is compared.

    `begin` is started in `folder`, whose `out` is the run. `prepared` words were carried out before, once, and their
    outcome is copied. `asks` whether it asks models, so that limits can be set.
    """

    name: str
    begin: tuple[str, ...]
    models: tuple[str, ...] = ()
    prepared: tuple[str, ...] = ()
    asks: bool = True
    inspect: bool = False


@dataclass
class Row:
    """A line of the table."""

    runs: int = 0
    kills: int = 0
    sessions: int = 0
    requests: int = 0
    repeated: int = 0
    limits: int = 0
    left_behind: int = 0
    wrong: list[str] = field(default_factory=list)


def _scenarios(url: str) -> list[Scenario]:
    def model(name: str, flag: str = "--model") -> tuple[str, ...]:
        arguments = ("seed=5", f"connections={_CONNECTIONS}", "key_env=OPENAI_API_KEY", "max_tokens=40")
        pairs = [word for one in arguments for word in ("--model-arg", name, one)]
        return (flag, f"{name}={url}#{name}", *pairs, "--price", name, "10", "100")

    m, judge, writer = model("m"), model("judge", "--judge"), model("writer")
    table = (*model("m", "--agent"), *model("n", "--agent"), *model("values", "--values-judge"))
    small = (*_MILLSTONE.split(), *m)
    inspected = tuple(f"{_INSPECTED} --max-connections {_CONNECTIONS}".split())
    chameleon = (
        ["run", "stance-stability", "--turns", "4", "--search", "starter", "--out", "out"],
        _only("topics"),
        m,
        judge,
    )
    pluralist = (["run", "pluralism", "--responses", "3", "--ranked", "5", "--out", "out"], _only("threads"), m, judge)
    deliberator = (["run", "deliberation", "--rounds", "3", "--out", "out"], _only("dilemmas"), table)
    return [
        Scenario("open-mindedness", small, ("m",)),
        Scenario("stance-stability", _joined(*chameleon), ("m", "judge")),
        Scenario("pluralism", _joined(*pluralist), ("m", "judge")),
        Scenario("deliberation", _joined(*deliberator), ("m", "n", "values")),
        Scenario("extend", ("extend", "out", "--trials", "4"), ("m",), prepared=small),
        Scenario("import", ("import", "logs", "--out", "out"), prepared=small, asks=False),
        Scenario("items rephrase", (*_REPHRASE.split(), *writer), ("writer",)),
        Scenario("items audit", (*_AUDIT.split(), *judge), ("judge",)),
        Scenario("items topics", (*_TOPICS.split(), *writer), ("writer",)),
        Scenario("items references", (*_REFERENCES.split(), *writer), ("writer",)),
        Scenario("judge stance-stability", (*_JUDGING.split(), *judge), ("judge",)),
        Scenario("inspect eval", inspected, inspect=True, asks=False),
    ]


_MILLSTONE = "run open-mindedness --issues issues.jsonl --trials 2 --template 1 --condition balanced --out out"
_TOPICS = "items topics --domain Climate --domain Health --per-domain 6 --out out"
_REFERENCES = "items references threads.jsonl --method single-shot --out out"
_REPHRASE = "items rephrase issues.jsonl --again --out out"
_AUDIT = "items audit issues.jsonl --out out"
_JUDGING = "judge stance-stability turns.jsonl --out out"
_INSPECTED = (
    "eval overton/open_mindedness --model openai-api/local/m -T trials=2 -T templates=1 -T conditions=baseline,balanced"
    " -T items=issues.jsonl --seed 5 --display none --log-dir logs"
)


def _joined(*parts: Sequence[str]) -> tuple[str, ...]:
    return tuple(word for part in parts for word in part)


def _only(what: str) -> tuple[str, ...]:
    from overton.api.items import read_items

    study = {"topics": "stance-stability", "threads": "pluralism", "dilemmas": "deliberation"}[what]
    return tuple(word for item in read_items(study)[:2] for word in ("--only", item.id))


def _inputs(folder: Path) -> None:
    """Files that commands are given."""
    import msgspec

    from overton.api.items import read_items
    from overton.studies.pluralism.reading import starter_threads

    lines = [msgspec.json.encode(item) for item in read_items("open-mindedness")[:10]]
    (folder / "issues.jsonl").write_bytes(b"\n".join(lines) + b"\n")
    threads = starter_threads().read_bytes().splitlines()[:2]  # type: ignore[attr-defined]
    (folder / "threads.jsonl").write_bytes(b"\n".join(threads) + b"\n")
    turns = [
        {
            "conversation": f"c{talk}",
            "turn": turn,
            "question": "Why?",
            "answer": f"It is so, {talk}.{turn}.",
            "topic": "trams",
        }
        for talk in range(6)
        for turn in range(1, 5)
    ]
    (folder / "turns.jsonl").write_text("".join(json.dumps(turn) + "\n" for turn in turns))


class Campaign:
    """All scenarios in turn, until there were kills enough."""

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
        began = monotonic()
        process = self._start(scenario, place, scenario.begin)
        _, told = process.communicate(timeout=_LONGEST)
        if process.returncode not in (0, 3):
            sys.exit(f"{scenario.name} does not end, though nobody killed it: {told}")
        self.seconds[scenario.name] = monotonic() - began
        self.whole[scenario.name] = self._rows(scenario, place)
        self.calls[scenario.name] = self.server.report()["requests"]

    def killed(self, scenario: Scenario, row: Row) -> None:
        """One run, killed one to four times."""
        place = self._place(scenario)
        self.server.behave(latency=_LATENCY)
        kills, limits = self.chance.randint(1, 4), self._limits(scenario)
        before, words = row.kills, (*scenario.begin, *limits)
        known: list[str] = []
        for _ in range(_SESSIONS):
            row.sessions += 1
            process = self._start(scenario, place, words)
            told = self._until_killed(process, scenario, row) if row.kills - before < kills else _ended(process)
            if process.returncode == -signal.SIGKILL:
                words = self._next(scenario, place, words, row, limits)
            elif process.returncode == _STOPPED and limits:
                row.limits += 1
                self._check_limit(scenario, limits, row, known)
                limits = ()
                words = ("resume", "out", "--max-calls", "1000000", "--max-cost", "1000000")
            elif process.returncode in (0, 3):
                break
            elif (other := self._otherwise(scenario, place, told, row)) is not None:
                words = other
            else:
                row.wrong.append(f"{' '.join(words[:2])} ended with {process.returncode}: {told.strip()[-300:]}")
                break
        else:
            row.wrong.append(f"does not end in {_SESSIONS} sessions")
        row.runs += 1
        self._check(scenario, place, row, row.kills - before)
        shutil.rmtree(place, ignore_errors=True)

    # One session

    def _place(self, scenario: Scenario) -> Path:
        place = self.folder / f"{scenario.name.replace(' ', '-')}-{next(self.numbers)}"
        place.mkdir()
        _inputs(place)
        if scenario.prepared:
            self._prepare(scenario, place)
        return place

    def _prepare(self, scenario: Scenario, place: Path) -> None:
        kept = self.folder / f"prepared-{scenario.name}"
        if not kept.exists():
            self.server.behave()
            kept.mkdir()
            _inputs(kept)
            self._carried_out(kept, scenario.prepared)
            if scenario.name == "import":
                self._carried_out(kept, ("export", "out", "--to", "inspect", "--out", "logs"))
                shutil.rmtree(kept / "out")
        shutil.copytree(kept, place, dirs_exist_ok=True)

    def _carried_out(self, place: Path, words: Sequence[str]) -> None:
        subprocess.run([_OVERTON, *words], cwd=place, env=self.environment, capture_output=True, check=True)

    def _start(self, scenario: Scenario, place: Path, words: Sequence[str]) -> subprocess.Popen[str]:
        program = _INSPECT if scenario.inspect else _OVERTON
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
            at = self.chance.randint(1, max(calls * 2 // 3, 1))
            self.server.tell(kill=process.pid, at=at, replied=self.chance.random() < 0.5)
            moment = _LONGEST
        told = _ended(process, moment)
        self.server.tell(kill=0, at=0, replied=False)
        row.kills += process.returncode == -signal.SIGKILL
        return told

    def _next(
        self, scenario: Scenario, place: Path, words: tuple[str, ...], row: Row, limits: tuple[str, ...]
    ) -> tuple[str, ...]:
        """How a user goes on."""
        if scenario.inspect:
            logs = sorted((place / "logs").glob("*.eval"))
            retried = ("eval-retry", *(str(log) for log in logs[-1:]), "--display", "none", "--log-dir", "logs")
            return retried if logs else scenario.begin
        if scenario.name in ("extend", "import"):
            return (*scenario.begin, *limits)  # extended or not: `_otherwise` reads what it says
        return ("resume", "out") if (place / "out").exists() else (*scenario.begin, *limits)

    def _otherwise(self, scenario: Scenario, place: Path, told: str, row: Row) -> tuple[str, ...] | None:
        """What a message asks for; None where nothing helps."""
        if "is not a run folder" in told or "exists already" in told:
            if scenario.name == "import":
                return ("resume", "out", "--trust")  # it had ended
            row.left_behind += 1  # killed before it was a run: finding 12
            shutil.rmtree(place / "out", ignore_errors=True)
            return scenario.begin
        if scenario.name == "extend" and any(word in told for word in ("nothing to add", "Resume", "resume")):
            return ("resume", "out")
        return None

    # What is held

    def _limits(self, scenario: Scenario) -> tuple[str, ...]:
        """Both limits, neither of which is reached in half of the runs, and one of them in the others."""
        if not scenario.asks or scenario.name == "extend":
            return ()
        calls, cost = "1000000", "1000000"
        if self.chance.random() < 0.5:
            low = max(3, int(self.calls[scenario.name] * self.chance.uniform(0.4, 0.9)))
            calls, cost = (str(low), cost) if self.chance.random() < 0.5 else (calls, f"{low * _REPLY + 0.2:.4f}")
        return ("--max-calls", calls, "--max-cost", cost)

    def _check_limit(self, scenario: Scenario, limits: Sequence[str], row: Row, known: list[str]) -> None:
        report = self.server.report()
        _, calls, _, cost = limits
        if report["requests"] > int(calls):
            row.wrong.append(f"{report['requests']} requests, though --max-calls {calls}")
        paid = report["answered"] * _REPLY
        if paid > float(cost) + 1e-9:
            row.wrong.append(f"${paid:.4f} spent, though --max-cost {cost}")

    def _check(self, scenario: Scenario, place: Path, row: Row, kills: int) -> None:
        report = self.server.report()
        row.requests += report["requests"]
        row.repeated += report["again"]
        allowed = kills * (len(scenario.models) * _CONNECTIONS + _LATE)
        if scenario.models and report["again"] > allowed:
            row.wrong.append(f"{report['again']} calls asked again after {kills} kills: more than were in flight")
        rows = self._rows(scenario, place)
        if rows != self.whole[scenario.name]:
            row.wrong.append(f"other records: {len(set(rows) ^ set(self.whole[scenario.name]))} rows on either side")
        self._check_count(scenario, place, report, row)

    def _check_count(self, scenario: Scenario, place: Path, report: dict[str, Any], row: Row) -> None:
        """A run knows of no fewer requests than it may have made."""
        path = place / "out" / "manifest.json"
        if scenario.asks and scenario.name != "extend" and path.exists():
            counted = json.loads(path.read_text())["spent"]["requests"]
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
    """What it said until it ended, or was killed after so many seconds."""
    try:
        return process.communicate(timeout=seconds)[1]
    except subprocess.TimeoutExpired:
        process.kill()
        return process.communicate()[1]


def _show(rows: dict[str, Row]) -> None:
    print(
        f"\n{'command':<24}{'runs':>6}{'kills':>7}{'sessions':>10}{'requests':>10}{'repeated':>10}{'limits':>8}{'left':>6}{'wrong':>7}"
    )
    for name, row in rows.items():
        numbers = (
            row.runs,
            row.kills,
            row.sessions,
            row.requests,
            row.repeated,
            row.limits,
            row.left_behind,
            len(row.wrong),
        )
        print(
            f"{name:<24}"
            + "".join(f"{number:>{width},}" for number, width in zip(numbers, (6, 7, 10, 10, 10, 8, 6, 7), strict=True))
        )


def _campaign(campaign: Campaign, scenarios: Sequence[Scenario], rows: dict[str, Row], kills: int) -> None:
    """Scenarios in turn, that with the fewest kills first; a line for each run."""
    while (done := sum(row.kills for row in rows.values())) < kills:
        scenario = min(scenarios, key=lambda one: (rows[one.name].kills, rows[one.name].runs))
        row = rows[scenario.name]
        said = len(row.wrong)
        print(f"{done:>4} of {kills} kills; next {scenario.name}", flush=True)
        campaign.killed(scenario, row)
        for one in row.wrong[said:]:
            print(f"WRONG  {scenario.name}: {one}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=200, help="in all (default: 200)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="scenarios whose name holds this")
    given = parser.parse_args()
    with hostile() as server, tempfile.TemporaryDirectory(prefix="overton-kills-") as folder:
        campaign = Campaign(server, Path(folder), given.seed)
        scenarios = [one for one in _scenarios(server.url()) if given.only in one.name]
        for scenario in scenarios:
            campaign.unkilled(scenario)
            print(
                f"{scenario.name}: {campaign.calls[scenario.name]} calls in {campaign.seconds[scenario.name]:.1f} s",
                flush=True,
            )
        rows = {scenario.name: Row() for scenario in scenarios}
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        try:
            _campaign(campaign, scenarios, rows, given.kills)
        except KeyboardInterrupt:
            print("interrupted; so far:")
    _show(rows)
    wrong = sum(len(row.wrong) for row in rows.values())
    print(
        f"\n{sum(row.kills for row in rows.values())} kills, {wrong} things wrong; 'left': folders that were no run yet"
    )
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
