"""`python -m benchmarks.hostile`."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import benchmarks.hostile
from benchmarks.hostile.cases import BAD_DOORS, cases_of
from benchmarks.hostile.lacking import lacking_cases, show_lacking
from benchmarks.hostile.refusals import RefusalVerdict, refusal_cases, try_refusal
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
    given = parser.parse_args()
    cases = [
        case
        for case in cases_of(given.faults or list(FAULTS), given.seed, given.share, quick=given.quick)
        if given.only in case.name
    ]
    verdicts: list[Verdict] = []
    with hostile() as server, tempfile.TemporaryDirectory() as folder:
        good = good_runs(server, Path(folder), cases)
        for number, case in enumerate(cases):
            verdicts.append(tried(server, case, good, Path(folder), number))
            for one in verdicts[-1].wrong:
                print(f"WRONG  {case.name}: {one}", flush=True)
        refusals: list[RefusalVerdict] = []
        for number, refusal in enumerate(one for one in refusal_cases() if given.only in one.name):
            refusals.append(try_refusal(server, refusal, Path(folder), number))
            for said in refusals[-1].wrong:
                print(f"WRONG  {refusal.name} ({refusal.wire}): {said}", flush=True)
        outcomes = [] if given.only and given.only not in "lacking" else list(lacking_cases(Path(folder)))
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
