"""All studies against an endpoint that commits every fault: alone, and mixed; plain, over TLS, through a proxy.

    python -m benchmarks.hostile [--faults NAME ...] [--quick] [--share 0.3] [--seed 1]

Of each run is held: it ends, by itself or after the fault has gone; its records are then those of a good endpoint, at
once where no call failed for good; what failed is counted as the journal has it; no limit is passed as the endpoint
counts; no key is in any file; and nothing is on standard error that is a traceback. Retries are quick, so that all of
it takes minutes.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import monotonic, sleep
from typing import Any

from fuzz.hostile.faults import FAULTS
from fuzz.hostile.server import INPUT, KEY, OUTPUT, Hostile, hostile

STUDIES: dict[str, dict[str, Any]] = {
    "open-mindedness": {"trials": 1, "templates": [1], "conditions": ["baseline", "balanced"], "only": 6},
    "stance-stability": {
        "turns": 3,
        "temperatures": [0.0, None],
        "only": 2,
        "others": {"search": ["starter"]},
        "roles": {"judge": "judge"},
    },
    "pluralism": {"responses": 3, "ranked": 5, "only": 2, "roles": {"judge": "judge"}},
    "deliberation": {
        "formats": ["synchronous", "round-robin"],
        "rounds": 3,
        "only": 2,
        "agents": 2,
        "roles": {"values_judge": "values"},
    },
}
"""What each study is asked for: `only` so many items, `roles` by the name of the model that answers there."""

_DOORS_WITH_FAULTS = (
    "tls_wrong_name", "tls_expired", "tls_unknown", "tls_stalls", "tls_none", "tls_cut", "proxy_407", "proxy_502",
    "proxy_closes", "proxy_closes_the_tunnel", "proxy_stalls", "proxy_garbled", "refused",
)  # fmt: skip
_ANOTHER_ANSWER = {"keys_twice", "status_200_empty", "usage_in_exponents", "a_second_reply_later"}
"""Faults after which some formats hold a reply that can be read and says something else."""
_LONGEST = 90.0
_TIMEOUT = "0.5"
_ATTEMPTS = 6


@dataclass(frozen=True)
class Case:
    """One run to make."""

    study: str
    door: str = "plain"
    wire: str = "openai"
    faults: tuple[str, ...] = ()
    share: float = 1.0
    attempts: int = 1
    max_calls: int | None = None
    max_cost: float | None = None
    seed: int = 0
    host: str = "local"

    @property
    def name(self) -> str:
        """What it is, in a line."""
        what = self.faults[0] if len(self.faults) == 1 else f"{len(self.faults)} mixed" if self.faults else "none"
        return f"{self.study} {self.host} {self.wire} {self.door} {what}"


@dataclass
class Ended:
    """What came of it."""

    told: dict[str, Any] = field(default_factory=dict)
    rows: list[str] = field(default_factory=list)
    stderr: str = ""
    hung: bool = False


@dataclass
class Verdict:
    """What is wrong with a case; nothing where all is held."""

    case: Case
    wrong: list[str]
    requests: int = 0
    failed: int = 0
    status: str = ""


# In a child of its own: what a user's process does


def _models(case: Case, url: str) -> dict[str, Any]:
    """Models and their arguments, under names that are the same at every door."""
    how = STUDIES[case.study]
    spec = "anthropic/claude-haiku-4-5" if case.wire == "anthropic" else f"{url}#m"
    shared = {"connections": "8", "timeout": _TIMEOUT}
    own = {"seed": "5", "key_env": "OPENAI_API_KEY", **shared}
    arguments = {"base_url": url, **shared} if case.wire == "anthropic" else own
    names = [f"m{number}" for number in range(1, how.get("agents", 1) + 1)]
    roles = {role: f"{name}={url}#{name}" for role, name in how.get("roles", {}).items()}
    priced = dict.fromkeys((*names, *how.get("roles", {}).values()), (10.0, 100.0))
    return {
        "models": [f"{name}={spec}" for name in names],
        "others": how.get("others", {}),
        "model_args": dict.fromkeys(names, arguments) | dict.fromkeys(how.get("roles", {}).values(), own),
        "prices": priced,
        **roles,
    }


def _run(case: Case, url: str, out: Path) -> Any:
    import overton
    from overton.api.items import read_items
    from overton.engine import Patience

    how = STUDIES[case.study]
    options = {key: value for key, value in how.items() if key not in ("only", "others", "roles", "agents")}
    only = [item.id for item in read_items(case.study)[: how["only"]]]
    return overton.run(
        case.study,
        out=out,
        only=only,
        max_calls=case.max_calls,
        max_cost=case.max_cost,
        patience=Patience(2 if case.door in _DOORS_WITH_FAULTS else _ATTEMPTS, 0.002, 0.02, refuse_after=5),
        **_models(case, url),
        **options,
    )


def _resume(out: Path) -> Any:
    import overton
    from overton.engine import Patience

    return overton.resume(
        out, trust=True, retry_failed=True, max_calls=1_000_000, max_cost=1e6, patience=Patience(_ATTEMPTS, 0.002, 0.02)
    )


def _inspected(case: Case, url: str, out: Path) -> Any:
    """The study's task inside Inspect AI, its log as a run."""
    import inspect_ai.model._retry as inspect_retry
    from inspect_ai import eval as inspect_eval
    from inspect_ai.model import GenerateConfig, get_model

    import overton
    from overton.api.items import read_items

    inspect_retry.wait_exponential_jitter = lambda *_, **__: lambda state: 0.0
    how = STUDIES[case.study]
    os.environ["INSPECT_LOG_DIR"] = str(out.parent / f"{out.name}-logs")
    os.environ["LOCAL_API_KEY"] = KEY
    config = GenerateConfig(seed=5, max_retries=6, attempt_timeout=2)
    roles = {
        role: get_model(f"openai-api/local/{name}", base_url=url, config=config, memoize=False)
        for role, name in how.get("roles", {}).items()
    }
    options = {key: value for key, value in how.items() if key not in ("only", "others", "roles", "agents")}
    words = {"temperatures": [0, "own"]} if "temperatures" in options else {}
    others = {role: specs[0] for role, specs in how.get("others", {}).items()}
    only = [item.id for item in read_items(case.study)[: how["only"]]]
    (log,) = inspect_eval(
        f"overton/{case.study.replace('-', '_')}",
        model="openai-api/local/m1",
        model_base_url=url,
        model_roles=roles,
        task_args={**options, **words, **others, "only": only},
        seed=5,
        max_retries=6,
        attempt_timeout=2,
        display="none",
        fail_on_error=False,
        log_samples=True,
    )
    return overton.import_logs([log.location], out=out)


def _told(run: Any, out: Path) -> dict[str, Any]:
    """What the run says of itself, its rows, and what its journal holds."""
    from overton.calls import Failure
    from overton.engine import entries

    manifest = run.manifest
    table = run.records()
    (out.parent / f"{out.name}.rows").write_text("\n".join(sorted(table.write_ndjson().splitlines())))
    failures = {entry.identity.slot for entry in entries(out / "journal.db") if isinstance(entry.outcome, Failure)}
    replies = {entry.identity.slot for entry in entries(out / "journal.db") if not isinstance(entry.outcome, Failure)}
    return {
        "status": manifest.status,
        "stopped": manifest.stopped,
        "failed": manifest.spent.failed,
        "requests": manifest.spent.requests,
        "cost": manifest.spent.cost,
        "journaled": len(failures - replies),
    }


def _in_a_child(out: Path, environment: dict[str, str], work: Callable[[], Any]) -> Ended:
    """Do it in a process of its own, for so long at most."""
    log, told = out.parent / f"{out.name}.err", out.parent / f"{out.name}.told"
    pid = os.fork()
    if pid == 0:
        os.dup2(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 2)
        os.environ.update(environment)
        told.write_text(json.dumps(_attempted(work, out)))
        os._exit(0)
    until = monotonic() + _LONGEST
    hung = False
    while os.waitpid(pid, os.WNOHANG)[0] == 0:
        if monotonic() > until:
            os.kill(pid, signal.SIGKILL)
            hung = True
        sleep(0.01)
    rows = out.parent / f"{out.name}.rows"
    return Ended(
        json.loads(told.read_text()) if told.exists() else {"error": "died"},
        rows.read_text().splitlines() if rows.exists() else [],
        log.read_text(errors="replace"),
        hung,
    )


def _attempted(work: Callable[[], Any], out: Path) -> dict[str, Any]:
    from overton.errors import OvertonError

    try:
        return _told(work(), out)
    except OvertonError as error:
        return {"error": type(error).__name__, "stopped": str(error), "status": "stopped"}
    except BaseException:  # noqa: BLE001 - to find these is what this is for
        return {"error": "crash", "stopped": traceback.format_exc(), "status": "crash"}


# In the parent


def _tried(server: Hostile, case: Case, good: dict[str, Ended], folder: Path, number: int) -> Verdict:
    out = folder / f"run-{number}"
    url, environment = _way(server, case.door)
    server.misbehave(*case.faults, share=case.share, attempts=case.attempts, seed=case.seed)
    begin = _inspected if case.host == "inspect" else _run
    first = _in_a_child(out, environment, lambda: begin(case, url, out))
    report = server.report()
    wrong = [*_wrong(first), *_limits(case, report, first)]
    verdict = Verdict(case, wrong, report["requests"], first.told.get("failed", 0), first.told.get("status", "?"))
    whole = good[f"{case.study} {case.wire} {case.host}"].rows
    if first.told.get("status") == "finished" and not first.told["failed"]:
        _compare(wrong, first.rows, whole, case)
    elif (out / "manifest.json").exists():
        _after(server, case, out, wrong, whole)
    if _holds_key(out) or KEY in first.stderr:
        wrong.append("the key is written down")
    return verdict


def _after(server: Hostile, case: Case, out: Path, wrong: list[str], whole: Sequence[str]) -> None:
    """The fault is gone: the run goes on to its end."""
    server.behave(forget=False)
    again = _again(server, case, out)
    wrong += [f"then {one}" for one in _wrong(again)]
    if again.told.get("status") != "finished":
        wrong.append(f"does not end once the fault is gone: {again.told.get('stopped', '')[:200]}")
    else:
        _compare(wrong, again.rows, whole, case)


def _again(server: Hostile, case: Case, out: Path) -> Ended:
    """Resumed through a door that is good: a run's address may not change, so the environment's proxy does."""
    good = "proxy" if case.door.startswith("proxy") else case.door
    _, environment = _way(server, good)
    if case.door not in ("plain", "tls", "proxy") and not case.door.startswith("proxy"):
        _move(out, server, case.door)
    return _in_a_child(out, environment, lambda: _resume(out))


def _move(out: Path, server: Hostile, door: str) -> None:
    """A door that stays bad is exchanged for a good one where the run keeps its addresses."""
    path = out / "manifest.json"
    better = "tls" if door.startswith("tls") else "plain"
    path.write_text(path.read_text().replace(server.url(door), server.url(better)))


def _way(server: Hostile, door: str) -> tuple[str, dict[str, str]]:
    """The address behind a door, and the environment that leads there."""
    environment = {"OPENAI_API_KEY": KEY, "ANTHROPIC_API_KEY": KEY, "SSL_CERT_FILE": str(server.authority)}
    if door.startswith("proxy"):
        proxy = f"http://127.0.0.1:{server.ports[door]}"
        return server.url("tls"), environment | {
            "HTTPS_PROXY": proxy,
            "https_proxy": proxy,
            "no_proxy": "",
            "NO_PROXY": "",
        }
    return server.url(door), environment


def _wrong(ended: Ended) -> list[str]:
    """What no run may do."""
    found = []
    if ended.hung:
        found.append(f"hangs for {_LONGEST:.0f} s")
    if ended.told.get("error") in ("crash", "died"):
        found.append(f"crash: {ended.told.get('stopped', '').strip().splitlines()[-1:]}")
    if "Traceback" in ended.stderr:
        found.append(
            f"{ended.stderr.count('Traceback')} tracebacks on stderr: {ended.stderr.strip().splitlines()[-1][:100]}"
        )
    if ended.told.get("journaled", 0) != ended.told.get("failed", 0):
        found.append(f"{ended.told['journaled']} failures journaled, {ended.told['failed']} in the manifest")
    return found


def _limits(case: Case, report: dict[str, Any], ended: Ended) -> list[str]:
    """As the endpoint counts."""
    found = []
    if case.max_calls is not None and report["requests"] > case.max_calls:
        found.append(f"{report['requests']} requests, though --max-calls {case.max_calls}")
    paid = report["answered"] * (INPUT * 10.0 + OUTPUT * 100.0) / 1e6
    if case.max_cost is not None and paid > case.max_cost * 1.000001:
        found.append(f"${paid:.4f} spent, though --max-cost {case.max_cost}")
    if case.host == "local" and ended.told.get("requests", 10**9) < report["requests"]:
        found.append(f"{report['requests']} requests, {ended.told['requests']} in the manifest")
    return found


def _compare(wrong: list[str], rows: Sequence[str], whole: Sequence[str], case: Case) -> None:
    if list(rows) != list(whole) and not _ANOTHER_ANSWER & set(case.faults):
        other = len(set(rows) ^ set(whole))
        wrong.append(f"records differ from those of a good endpoint ({other} rows on either side)")


def _holds_key(out: Path) -> bool:
    key = KEY.encode()
    return any(key in path.read_bytes() for path in out.rglob("*") if path.is_file())


def _good(server: Hostile, folder: Path, cases: Sequence[Case]) -> dict[str, Ended]:
    """Each study over each wire and host with a good endpoint."""
    found: dict[str, Ended] = {}
    for case in cases:
        name = f"{case.study} {case.wire} {case.host}"
        if name not in found:
            plain = replace(case, door="tls", faults=(), max_calls=None, max_cost=None)
            out = folder / f"good-{len(found)}"
            url, environment = _way(server, plain.door)
            server.behave()
            begin = _inspected if case.host == "inspect" else _run
            found[name] = _in_a_child(
                out, environment, lambda begin=begin, plain=plain, url=url, out=out: begin(plain, url, out)
            )  # type: ignore[misc]
            if found[name].told.get("status") != "finished":
                sys.exit(f"a good endpoint is not enough for {name}: {found[name].told} {found[name].stderr}")
    return found


def _cases(faults: Sequence[str], seed: int, share: float, *, quick: bool) -> list[Case]:
    alone = [Case("open-mindedness", faults=(name,)) for name in faults]
    alone += [Case("open-mindedness", wire="anthropic", faults=(name,)) for name in faults]
    doors = [Case("open-mindedness", door=door) for door in _DOORS_WITH_FAULTS]
    ending = _ending(faults)
    mixed = [
        Case(study, door, wire, tuple(ending), share, attempts=4, seed=seed)
        for study in STUDIES
        for door in ("plain", "tls", "proxy")
        for wire in ("openai", "anthropic")
    ]
    limited = [
        Case(study, "plain", "openai", tuple(ending), share, attempts=4, seed=seed, **limit)  # type: ignore[arg-type]
        for study in STUDIES
        for limit in ({"max_calls": 40}, {"max_cost": 1.0})
    ]
    inspected = [
        Case(study, "plain", "openai", tuple(_retried(faults)), share, attempts=3, seed=seed, host="inspect")
        for study in STUDIES
    ]
    if quick:
        return [*alone[: len(faults)], *doors, mixed[0], limited[0]]
    return [*alone, *doors, *mixed, *limited, *inspected]


_STOPS = ("status_30", "status_401", "status_402", "status_403", "status_404", "status_405", "retry_after_a_year")


def _ending(faults: Sequence[str]) -> list[str]:
    """Faults that a run is not stopped by, and that take no seconds."""
    slow = ("stalls", "drips_for")
    return [name for name in faults if not name.startswith((*_STOPS, *slow)) and name not in _ANOTHER_ANSWER]


def _retried(faults: Sequence[str]) -> list[str]:
    """Faults that Inspect's client for OpenAI takes for passing."""
    return [
        name
        for name in faults
        if name
        in (
            "closes_after_reading",
            "resets_after_reading",
            "status_429",
            "status_500",
            "status_503",
            "resets_in_the_body",
            "retry_after_0",
        )
    ]


def _show(verdicts: Sequence[Verdict]) -> None:
    groups: dict[tuple[str, str, str, str], list[Verdict]] = {}
    for one in verdicts:
        kind = "alone" if len(one.case.faults) == 1 else "mixed" if one.case.faults else "door"
        limit = ", limited" if one.case.max_calls or one.case.max_cost else ""
        groups.setdefault((one.case.study, one.case.host, one.case.wire, f"{kind}{limit}"), []).append(one)
    print(
        f"\n{'study':<18}{'host':<9}{'wire':<11}{'faults':<16}{'runs':>5}{'requests':>10}{'failed':>8}{'stopped':>9}{'wrong':>7}"
    )
    for (study, host, wire, kind), some in groups.items():
        numbers = (len(some), sum(one.requests for one in some), sum(one.failed for one in some))
        stopped, wrong = sum(one.status != "finished" for one in some), sum(bool(one.wrong) for one in some)
        print(
            f"{study:<18}{host:<9}{wire:<11}{kind:<16}{numbers[0]:>5}{numbers[1]:>10,}{numbers[2]:>8,}{stopped:>9}{wrong:>7}"
        )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--faults", nargs="*", choices=sorted(FAULTS), help="these only (default: all)", metavar="NAME")
    parser.add_argument("--quick", action="store_true", help="one study for each fault alone, one mix")
    parser.add_argument("--only", help="cases whose name holds this", default="")
    parser.add_argument(
        "--share", type=float, default=0.3, help="of requests that meet a fault in a mix (default: 0.3)"
    )
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    cases = [
        case
        for case in _cases(given.faults or list(FAULTS), given.seed, given.share, quick=given.quick)
        if given.only in case.name
    ]
    verdicts: list[Verdict] = []
    with hostile() as server, tempfile.TemporaryDirectory() as folder:
        good = _good(server, Path(folder), cases)
        for number, case in enumerate(cases):
            verdicts.append(_tried(server, case, good, Path(folder), number))
            for one in verdicts[-1].wrong:
                print(f"WRONG  {case.name}: {one}", flush=True)
    _show(verdicts)
    wrong = sum(bool(one.wrong) for one in verdicts)
    print(f"\n{len(FAULTS)} faults, {len(_DOORS_WITH_FAULTS)} bad doors; {len(verdicts)} runs, {wrong} wrong")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
