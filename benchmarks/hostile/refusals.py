"""Runs at a provider that refuses batches, creates them in spite of an error, ends them, or has no capacity."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.hostile.child import Ended, in_a_child
from fuzz.hostile.server import KEY, Hostile

__all__ = ["RefusalCase", "RefusalVerdict", "refusal_cases", "try_refusal"]

CONNECTIONS = 16
CALLS = 66
"""Of one issue in all conditions, templates and orders."""
ATTEMPTS, REFUSALS = 8, 20
"""Of the default policy: tries of one request, and further requests to an endpoint that refuses all."""
MOST_CALLS = CONNECTIONS + 8 + REFUSALS + 1
MOST_REQUESTS = 120
"""About batches, until a run ends: 8 + 20 refusals of one kind, and looking for what may have been created."""

_AFTERWARDS = ("500", "503", "drop", "cut", "garbled")
_MESSAGE = "a line of the file is not valid"


@dataclass(frozen=True)
class RefusalCase:
    """`switches` of the provider, and how the run has to end: 'finished', 'refused' (only a request sends it again) or
    'stopped' (a plain resume goes on)."""

    name: str
    wire: str
    ends: str
    switches: dict[str, Any] = field(default_factory=dict)
    batch: bool = True


@dataclass
class RefusalVerdict:
    """The problems of a case, and how many requests the server saw until the run first ended."""

    case: RefusalCase
    wrong: list[str]
    requests: dict[str, int]


def refusal_cases() -> Iterator[RefusalCase]:
    """All cases, in both formats."""
    for wire in ("openai", "anthropic"):
        kinds = ("upload", "create") if wire == "openai" else ("create",)
        for kind in kinds:
            for reply in _AFTERWARDS:
                yield RefusalCase(
                    f"{kind} done, then {reply}", wire, "finished", {"trouble": {kind: [f"done {reply}"] * 3}}
                )
            yield RefusalCase(f"{kind} done, no reply", wire, "finished", {"trouble": {kind: ["done stall"]}})
            for status in ("400", "404", "413"):
                yield RefusalCase(f"{kind} refused with {status}", wire, "refused", {"always": {kind: status}})
        for kind in (*kinds, "look", "read"):
            for status in ("429", "503"):
                yield RefusalCase(f"endless {status} to {kind}", wire, "stopped", {"always": {kind: status}})
        unlisted: dict[str, Any] = {"trouble": {"create": ["done 500"]}, "always": {"list": "503"}}
        yield RefusalCase("created, and cannot be listed", wire, "stopped", unlisted)
        yield RefusalCase("quota used up at create", wire, "stopped", {"always": {"create": "quota"}})
        yield RefusalCase("expires half done", wire, "finished", {"ends": "expired"})
        yield RefusalCase("cancelled half done", wire, "refused", {"ends": "cancelled"})
        for status in ("429", "503", "529", "quota"):
            yield RefusalCase(f"endless {status} to calls", wire, "stopped", {"always": {"call": status}}, batch=False)
    yield RefusalCase("batch refused", "openai", "refused", {"refuses": 10**6, "refusal": ["invalid", _MESSAGE]})
    yield RefusalCase("queue full", "openai", "stopped", {"refuses": 10**6})


def try_refusal(server: Hostile, case: RefusalCase, folder: Path, number: int) -> RefusalVerdict:
    """One run, then what a user would do next."""
    out = folder / f"refusal-{number}"
    environment = {"OPENAI_API_KEY": KEY, "ANTHROPIC_API_KEY": KEY}
    server.behave()
    server.provide(**case.switches)
    first = in_a_child(out, environment, lambda: _started(case, server.url(), out))
    report = server.report()
    wrong = _wrong(first, case.ends)
    verdict = RefusalVerdict(case, wrong, report["log"])
    about_batches = sum(report["log"].values()) - report["log"].get("call", 0)
    if report["log"].get("call", 0) > (MOST_CALLS if not case.batch else 66):
        wrong.append(f"{report['log']['call']} calls to an endpoint that refuses all")
    if about_batches > MOST_REQUESTS:
        wrong.append(f"{about_batches} requests about batches")
    if case.ends == "refused":
        again = in_a_child(out, environment, lambda: _resumed(out, retry_failed=False))
        wrong += [f"then {one}" for one in _wrong(again, "refused")]
        if server.report()["log"].get("create", 0) != report["log"].get("create", 0):
            wrong.append("a plain resume creates a batch")
    if case.ends != "finished":
        server.provide(forget=False, always={}, trouble={}, refuses=0, ends="")
        last = in_a_child(out, environment, lambda: _resumed(out, retry_failed=case.ends == "refused"))
        wrong += [f"at last {one}" for one in _wrong(last, "finished")]
    end = server.report()
    if (end["answered"], end["again"]) != (CALLS, 0):
        wrong.append(f"{end['answered']} replies to {CALLS} calls, {end['again']} of them repeated")
    if case.ends == "finished" and end["batches"].count("in_progress") + end["uploads"] > len(end["batches"]):
        wrong.append(f"{end['uploads']} uploads and {len(end['batches'])} batches are left")
    return verdict


def _wrong(ended: Ended, ends: str) -> list[str]:
    """How a run did not end as it has to."""
    status, refused = ended.reported.get("status"), ended.reported.get("batch_refused")
    found = {("finished", False): "finished", ("stopped", True): "refused", ("stopped", False): "stopped"}
    wrong = []
    if ended.hung:
        wrong.append("hangs")
    elif found.get((str(status), bool(refused))) != ends:
        wrong.append(f"ends as {status}, refused {refused}: {ended.reported.get('stopped', '')[-300:]}")
    if "Traceback" in ended.stderr:
        wrong.append(f"traceback on stderr: {ended.stderr.strip().splitlines()[-1][:100]}")
    if ended.reported.get("failed"):
        wrong.append(f"{ended.reported['failed']} calls failed permanently")
    return wrong


def _hurry() -> Any:
    from overton.engine import RetryPolicy, batch_sender, batches

    batch_sender.FIRST_LOOK, batch_sender.LAST_LOOK, batches.QUIET, batch_sender.SETTLES = 0.01, 0.05, 0.05, 0.4
    return RetryPolicy(ATTEMPTS, 0.002, 0.02, refusals=REFUSALS)


def _started(case: RefusalCase, url: str, out: Path) -> Any:
    import overton

    anthropic = case.wire == "anthropic"
    own = {"base_url": url} if anthropic else {"seed": "5", "key_env": "OPENAI_API_KEY"}
    return overton.run(
        "open-mindedness",
        models=["m=anthropic/claude-haiku-4-5" if anthropic else f"m={url}#m"],
        model_args={"m": {**own, "connections": str(CONNECTIONS), "timeout": "1"}},
        prices={"m": (10.0, 100.0)},
        only=[overton.items.read("open-mindedness")[0].id],
        trials=1,
        batch=case.batch,
        out=out,
        patience=_hurry(),
    )


def _resumed(out: Path, *, retry_failed: bool) -> Any:
    import overton

    return overton.resume(out, trust=True, retry_failed=retry_failed, patience=_hurry())
