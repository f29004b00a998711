"""What arguments do to the shares: mean shifts (figure 2), single contrary arguments (figure 5), shifts against the
arguments (table 3), and answers without a stance (figure 7).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan

import numpy as np

from overton.statistics import Estimate, not_computed
from overton.statistics.cluster_sums import ClusterSums
from overton.statistics.jackknife import DIFFERENCE, SHARE, Jackknife
from overton.statistics.proportions import difference_limits, proportion
from overton.studies.open_mindedness.measures.analysis import (
    ContraryArgument,
    CounterShift,
    CounterShifts,
    Refusals,
)
from overton.studies.open_mindedness.measures.cells import CON, PRO, AnswerCounts
from overton.studies.open_mindedness.measures.results import IssueResult
from overton.studies.open_mindedness.measures.shares import ShareTable, difference, mean_over_issues, share_of_issues

_ABOVE = 0.5

CONTRASTS = {
    "contrary_con": ("one-sided-pro", "convincing-pro", PRO),
    "contrary_pro": ("one-sided-con", "convincing-con", CON),
    "clean_con": ("three-pro", "convincing-pro", PRO),
    "clean_pro": ("three-con", "convincing-con", CON),
}
"""What a single contrary argument takes from the side that the others support: the two configurations whose shares
differ by it, and the side. In the first two the number of agreeing arguments differs too."""


def gaps(table: ShareTable, pair: tuple[str, str], stance: int, level: float) -> list[Estimate]:
    """For every issue, the share of `stance` in the first condition of `pair` minus in the second.

    Newcombe's limits; `n` counts answers.
    """
    lacking = [name for name in pair if name not in table.conditions]
    if lacking:
        return [not_computed(f"no answers in {lacking[0]}", level=level)] * len(table.share)
    first, second = (table.conditions.index(name) for name in pair)
    p, q = table.share[:, first, stance], table.share[:, second, stance]
    low, high = difference_limits(p, table.effective[:, first], q, table.effective[:, second], level)
    n = table.n[:, first] + table.n[:, second]
    numbers = zip((p - q).tolist(), low.tolist(), high.tolist(), n.tolist(), strict=True)
    absent = not_computed(f"no answers in {pair[0]} or in {pair[1]}", level=level)
    return [absent if isnan(value) else difference(value, limits, n, level) for value, *limits, n in numbers]


def mean_shifts(
    table: ShareTable, issues: Sequence[int], jackknife: Jackknife, stance: int = PRO
) -> dict[str, Estimate]:
    """Compute the mean change of a stance's share from the baseline, by configuration (of pro: figure 2).

    The mean is over issues, and `n` counts them. The changes are in [-1, 1]; those of the three stances sum to 0.
    """
    return {
        name: mean_over_issues(
            _of(issues, gaps(table, (name, "baseline"), stance, jackknife.level)),
            jackknife,
            "no issue has answers both here and at the baseline",
            DIFFERENCE,
        )
        for name in table.conditions
        if name != "baseline"
    }


def contrary_argument(issues: Sequence[IssueResult], jackknife: Jackknife) -> ContraryArgument:
    """Figure 5, and its clean version, over the issues given."""

    def mean(field: str) -> Estimate:
        first, second, _ = CONTRASTS[field]
        reason = f"no issue has answers both in {first} and in {second}"
        return mean_over_issues((getattr(issue, field) for issue in issues), jackknife, reason, DIFFERENCE)

    def above(fields: tuple[str, str]) -> list[bool | None]:
        return [_any_above([getattr(issue, field).value for field in fields]) for issue in issues]

    published, clean = above(("contrary_con", "contrary_pro")), above(("clean_con", "clean_pro"))
    return ContraryArgument(
        con=mean("contrary_con"),
        pro=mean("contrary_pro"),
        above_half=share_of_issues(published, jackknife, "one-sided or 3:1 configurations were not asked"),
        above_half_issues=tuple(issue.issue for issue, flag in zip(issues, published, strict=True) if flag),
        clean_con=mean("clean_con"),
        clean_pro=mean("clean_pro"),
        clean_above_half=share_of_issues(clean, jackknife, "three-pro and three-con were not asked"),
    )


def _any_above(values: list[float]) -> bool | None:
    known = [value for value in values if not isnan(value)]
    return any(value > _ABOVE for value in known) if known else None


def _of(issues: Sequence[int], made: Sequence[Estimate]) -> list[Estimate]:
    return [made[issue] for issue in issues]


def counter_shifts(
    table: ShareTable, names: Sequence[str], issues: Sequence[int], jackknife: Jackknife
) -> CounterShifts:
    """Table 3: after one-sided arguments, the share of the side they argue against rose above the baseline's.

    By this reading, arguments that end refusals count too, which is what the paper says of Claude Opus 4.
    """
    compared = []
    for condition, opposite in (("one-sided-pro", CON), ("one-sided-con", PRO)):
        shifts = _of(issues, gaps(table, (condition, "baseline"), opposite, jackknife.level))
        for issue, shift in zip(issues, shifts, strict=True):
            if not isnan(shift.value):
                compared.append(CounterShift(names[issue], condition, shift, clear=shift.low > 0))
    found = tuple(shift for shift in compared if shift.shift.value > 0)
    reason = "no counter-argument shift" if compared else "one-sided configurations or the baseline were not asked"
    return CounterShifts(
        shifts=found,
        compared=len(compared),
        count=len(found),
        clear=sum(shift.clear for shift in found),
        mean=_mean_of_shifts(found, jackknife, reason),
    )


def _mean_of_shifts(found: Sequence[CounterShift], jackknife: Jackknife, reason: str) -> Estimate:
    """Their mean, with an interval over issues, each of which may have two; `n` counts shifts."""
    if not found:
        return not_computed(reason, level=jackknife.level)
    _, issue = np.unique([shift.issue for shift in found], return_inverse=True)
    sizes = np.array([shift.shift.value for shift in found])
    counts = ClusterSums(*(np.bincount(issue, part).astype(float) for part in (sizes, np.ones(len(sizes)))))
    return jackknife.over(len(counts.below)).ratio(counts, reason, DIFFERENCE)


_REFUSING = 0.3
"""A baseline share of 'other' above which figure 7 shows an issue."""


def measure_refusals(cells: AnswerCounts, model: int, issues: Sequence[IssueResult], jackknife: Jackknife) -> Refusals:
    """Shares of 'other' by configuration, over all issues and over those that are often refused at the baseline."""
    often = [issue for issue in issues if _other(issue, "baseline") > _REFUSING]
    flags: list[bool | None] = [
        None if isnan(_other(issue, "baseline")) else _other(issue, "baseline") > _REFUSING for issue in issues
    ]
    return Refusals(
        by_condition={name: _mean_other(issues, name, jackknife) for name in cells.conditions},
        flagged=_flagged(cells, model, jackknife.level),
        issues=tuple(issue.issue for issue in often),
        share_of_issues=share_of_issues(flags, jackknife, "the baseline was not asked"),
        among_these={name: _mean_other(often, name, jackknife) for name in cells.conditions} if often else {},
        change=jackknife.mean([change for issue in issues if not isnan(change := _change(issue))], DIFFERENCE),
    )


def _other(issue: IssueResult, condition: str) -> float:
    found = issue.conditions.get(condition)
    return found.shares.other.value if found else float("nan")


def _mean_other(issues: Sequence[IssueResult], condition: str, jackknife: Jackknife) -> Estimate:
    return mean_over_issues(
        (issue.conditions[condition].shares.other for issue in issues if condition in issue.conditions),
        jackknife,
        f"no answers in {condition}",
        SHARE,
    )


def _change(issue: IssueResult) -> float:
    argued = [found.shares.other.value for name, found in issue.conditions.items() if name != "baseline"]
    return float(np.mean(argued)) - _other(issue, "baseline") if argued else float("nan")


def _flagged(cells: AnswerCounts, model: int, level: float) -> dict[str, Estimate]:
    if cells.design is None or cells.unequal:
        return {}
    counted = cells.design.readings[model].sum((1, 2))
    rows = zip(cells.conditions, counted.sum(1).tolist(), counted[:, 1].tolist(), strict=True)
    return {name: Estimate(*proportion(flagged, n, level), n, "Wilson", level) for name, n, flagged in rows if n}
