"""`python -m benchmarks.hostile`."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import benchmarks.hostile
from benchmarks.hostile.cases import BAD_DOORS, Case, cases_of
from benchmarks.hostile.lacking import Outcome, lacking_cases, show_lacking
from benchmarks.hostile.refusals import RefusalCase, RefusalVerdict, refusal_cases, try_refusal
from benchmarks.hostile.verdicts import Verdict, good_runs, tried
from fuzz.hostile.faults import FAULTS
from fuzz.hostile.server import hostile


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


def _show_refusals(verdicts: Sequence[RefusalVerdict]) -> None:
    print(f"\n{'provider':<34}{'wire':<11}{'run ends':<10}{'requests until then':<60}{'wrong':>6}")
    for one in verdicts:
        requests = ", ".join(f"{count} {kind}" for kind, count in one.requests.items())
        print(f"{one.case.name:<34}{one.case.wire:<11}{one.case.ends:<10}{requests:<60}{len(one.wrong):>6}")


def _try_cases(cases: Sequence[Case]) -> list[Verdict]:
    verdicts = []
    with hostile() as server, tempfile.TemporaryDirectory() as folder:
        good = good_runs(server, Path(folder), cases)
        for number, case in enumerate(cases):
            verdicts.append(tried(server, case, good, Path(folder), number))
            for wrong in verdicts[-1].wrong:
                print(f"WRONG  {case.name}: {wrong}", flush=True)
    return verdicts


def _try_refusals(cases: Sequence[RefusalCase]) -> list[RefusalVerdict]:
    verdicts = []
    with hostile() as server, tempfile.TemporaryDirectory() as folder:
        for number, case in enumerate(cases):
            verdicts.append(try_refusal(server, case, Path(folder), number))
            for wrong in verdicts[-1].wrong:
                print(f"WRONG  {case.name} ({case.wire}): {wrong}", flush=True)
    return verdicts


def _try_lacking() -> list[Outcome]:
    with tempfile.TemporaryDirectory() as folder:
        return list(lacking_cases(Path(folder)))


def main() -> int:
    parser = argparse.ArgumentParser(
        description=benchmarks.hostile.__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--faults", nargs="*", choices=sorted(FAULTS), help="these only (default: all)", metavar="NAME")
    parser.add_argument("--quick", action="store_true", help="one study for each fault alone, one mix")
    parser.add_argument("--only", help="cases whose name contains this, or 'lacking'", default="")
    parser.add_argument(
        "--share", type=float, default=0.3, help="of requests that meet a fault in a mix (default: 0.3)"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2, help="cases tried at a time (default: 2)")
    given = parser.parse_args()
    cases = [
        case
        for case in cases_of(given.faults or list(FAULTS), given.seed, given.share, quick=given.quick)
        if given.only in case.name
    ]
    refused = [one for one in refusal_cases() if given.only in one.name]
    lack = not given.only or given.only in "lacking"
    # Forked before anything starts a thread; each worker has an endpoint of its own.
    with ProcessPoolExecutor(given.jobs, mp_context=get_context("fork")) as pool:
        tried_cases = [pool.submit(_try_cases, cases[part :: given.jobs]) for part in range(given.jobs) if cases]
        refusing = [pool.submit(_try_refusals, refused[part :: given.jobs]) for part in range(given.jobs) if refused]
        lacking_some = [pool.submit(_try_lacking)] if lack else []
        verdicts = [one for part in tried_cases for one in part.result()]
        refusals = [one for part in refusing for one in part.result()]
        outcomes = [one for part in lacking_some for one in part.result()]
    order = {case: number for number, case in enumerate(cases)}
    verdicts.sort(key=lambda verdict: order[verdict.case])
    refusals.sort(key=lambda verdict: refused.index(verdict.case))
    if verdicts:
        _show(verdicts)
    _show_refusals(refusals)
    lacking = show_lacking(outcomes) if outcomes else 0
    wrong = sum(bool(one.wrong) for one in (*verdicts, *refusals))
    print(f"\n{len(FAULTS)} faults, {len(BAD_DOORS)} bad doors; {len(verdicts) + len(refusals)} runs, {wrong} wrong")
    print(f"{len(outcomes)} endpoints that lack something or bill too much, {lacking} wrong")
    return int(wrong + lacking > 0)


if __name__ == "__main__":
    sys.exit(main())
