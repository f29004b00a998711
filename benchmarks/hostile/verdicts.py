"""Requirements for each run, by the endpoint's counts and compared with a good endpoint's records."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.hostile.cases import Case, another_answer, says_nothing_of_tokens
from benchmarks.hostile.child import LONGEST, Ended, in_a_child, resumed, started
from fuzz.hostile.server import INPUT, KEY, OUTPUT, Hostile

__all__ = ["Verdict", "good_runs", "tried"]


@dataclass
class Verdict:
    """The problems of a case; empty if all is well."""

    case: Case
    wrong: list[str]
    requests: int = 0
    failed: int = 0
    status: str = ""


def tried(server: Hostile, case: Case, good: dict[str, Ended], folder: Path, number: int) -> Verdict:
    out = folder / f"run-{number}"
    url, environment = _way(server, case.door)
    server.misbehave(*case.faults, share=case.share, attempts=case.attempts, seed=case.seed)
    first = in_a_child(out, environment, lambda: started(case, url, out))
    report = server.report()
    wrong = [*_wrong(first), *_limits(case, report, first)]
    verdict = Verdict(
        case, wrong, report["requests"], first.reported.get("failed", 0), first.reported.get("status", "?")
    )
    whole = good[f"{case.study} {case.wire} {case.host}"].rows
    if first.reported.get("status") == "finished" and not first.reported["failed"]:
        _compare(wrong, first.rows, whole, case)
    elif (out / "manifest.json").exists():
        _after(server, case, out, wrong, whole)
    if _contains_key(out) or KEY in first.stderr:
        wrong.append("the key is written down")
    return verdict


def _after(server: Hostile, case: Case, out: Path, wrong: list[str], whole: Sequence[str]) -> None:
    """The fault is gone: the run continues to its end."""
    server.behave(forget=False)
    again = _again(server, case, out)
    wrong += [f"then {one}" for one in _wrong(again)]
    if again.reported.get("status") != "finished":
        wrong.append(f"does not end once the fault is gone: {again.reported.get('stopped', '')[:200]}")
    else:
        _compare(wrong, again.rows, whole, case)


def _again(server: Hostile, case: Case, out: Path) -> Ended:
    """Resumed through a good door: a run's address may not change, so the environment's proxy does."""
    good = "proxy" if case.door.startswith("proxy") else case.door
    _, environment = _way(server, good)
    if case.door not in ("plain", "tls", "proxy") and not case.door.startswith("proxy"):
        _move(out, server, case.door)
    return in_a_child(out, environment, lambda: resumed(out))


def _move(out: Path, server: Hostile, door: str) -> None:
    """A door that stays bad is replaced by a good one in the place where the run keeps its addresses."""
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
    """Violations of the rules for every run."""
    found = []
    if ended.hung:
        found.append(f"hangs for {LONGEST:.0f} s")
    if ended.reported.get("error") in ("crash", "died"):
        found.append(f"crash: {ended.reported.get('stopped', '').strip().splitlines()[-1:]}")
    if "Traceback" in ended.stderr:
        found.append(
            f"{ended.stderr.count('Traceback')} tracebacks on stderr: {ended.stderr.strip().splitlines()[-1][:100]}"
        )
    if ended.reported.get("journaled", 0) != ended.reported.get("failed", 0):
        found.append(f"{ended.reported['journaled']} failures journaled, {ended.reported['failed']} in the manifest")
    return found


def _limits(case: Case, report: dict[str, Any], ended: Ended) -> list[str]:
    """As the endpoint counts."""
    found = []
    if case.max_calls is not None and report["requests"] > case.max_calls:
        found.append(f"{report['requests']} requests, though --max-calls {case.max_calls}")
    paid = report["answered"] * (INPUT * 10.0 + OUTPUT * 100.0) / 1e6
    if case.max_cost is not None and paid > case.max_cost * 1.000001:
        found.append(f"${paid:.4f} spent, though --max-cost {case.max_cost}")
    if case.host == "local" and ended.reported.get("requests", 10**9) < report["requests"]:
        found.append(f"{report['requests']} requests, {ended.reported['requests']} in the manifest")
    return found


def _compare(wrong: list[str], rows: Sequence[str], whole: Sequence[str], case: Case) -> None:
    if another_answer(case):
        return
    if says_nothing_of_tokens(case):
        rows, whole = _without_tokens(rows), _without_tokens(whole)
    if list(rows) != list(whole):
        other = len(set(rows) ^ set(whole))
        wrong.append(f"records differ from those of a good endpoint ({other} rows on either side)")


def _without_tokens(rows: Sequence[str]) -> list[str]:
    """Rows without the counts of tokens: if a reply's own are nonsense, they are not known."""
    kept = ({key: value for key, value in json.loads(row).items() if not key.endswith("_tokens")} for row in rows)
    return sorted(json.dumps(row, sort_keys=True) for row in kept)


def _contains_key(out: Path) -> bool:
    key = KEY.encode()
    return any(key in path.read_bytes() for path in out.rglob("*") if path.is_file())


def good_runs(server: Hostile, folder: Path, cases: Sequence[Case]) -> dict[str, Ended]:
    """Each study over each wire and host with a good endpoint."""
    found: dict[str, Ended] = {}
    for case in cases:
        name = f"{case.study} {case.wire} {case.host}"
        if name not in found:
            plain = replace(case, door="tls", faults=(), max_calls=None, max_cost=None)
            out = folder / f"good-{len(found)}"
            url, environment = _way(server, plain.door)
            server.behave()
            found[name] = in_a_child(out, environment, partial(started, plain, url, out))
            if found[name].reported.get("status") != "finished":
                sys.exit(f"a good endpoint is not enough for {name}: {found[name].reported} {found[name].stderr}")
    return found
