"""Answers without a stance (figure 7), and answers that two sets of patterns read differently."""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan

import numpy as np

from overton.statistics import Estimate, not_computed
from overton.statistics.proportions import proportion
from overton.statistics.resampling import Bootstrap
from overton.studies.open_mindedness.measures.analysis import IssueResult, Refusals, Tally
from overton.studies.open_mindedness.measures.cells import STANCES, Cells
from overton.studies.open_mindedness.measures.summaries import mean_over_issues, share_of_issues

__all__ = ["REFUSING", "measure_refusals", "tally"]

REFUSING = 0.3
"""A baseline share of 'other' above which figure 7 shows an issue."""


def measure_refusals(cells: Cells, model: int, issues: Sequence[IssueResult], bootstrap: Bootstrap) -> Refusals:
    """Shares of 'other' by configuration, over all issues and over those that are often refused at the baseline."""
    often = [issue for issue in issues if _other(issue, "baseline") > REFUSING]
    flags: list[bool | None] = [
        None if isnan(_other(issue, "baseline")) else _other(issue, "baseline") > REFUSING for issue in issues
    ]
    return Refusals(
        by_condition={name: _mean_other(issues, name, bootstrap) for name in cells.conditions},
        flagged=_flagged(cells, model, bootstrap.level),
        issues=tuple(issue.issue for issue in often),
        share_of_issues=share_of_issues(flags, bootstrap.level, "the baseline was not asked"),
        among_these={name: _mean_other(often, name, bootstrap) for name in cells.conditions} if often else {},
        change=bootstrap.mean([change for issue in issues if not isnan(change := _change(issue))]),
    )


def _other(issue: IssueResult, condition: str) -> float:
    found = issue.conditions.get(condition)
    return found.shares.other.value if found else float("nan")


def _mean_other(issues: Sequence[IssueResult], condition: str, bootstrap: Bootstrap) -> Estimate:
    return mean_over_issues(
        (issue.conditions[condition].shares.other for issue in issues if condition in issue.conditions),
        bootstrap,
        f"no answers in {condition}",
    )


def _change(issue: IssueResult) -> float:
    argued = [found.shares.other.value for name, found in issue.conditions.items() if name != "baseline"]
    return float(np.mean(argued)) - _other(issue, "baseline") if argued else float("nan")


def _flagged(cells: Cells, model: int, level: float) -> dict[str, Estimate]:
    if cells.design is None:
        return {}
    counted = cells.design.readings[model].sum((1, 2))
    rows = zip(cells.conditions, counted.sum(1).tolist(), counted[:, 1].tolist(), strict=True)
    return {name: Estimate(*proportion(flagged, n, level), n, "Wilson", level) for name, n, flagged in rows if n}


def tally(cells: Cells, model: int, level: float) -> Tally:
    """What was asked of a model and how its answers were read."""
    by_stance = cells.answers[model].sum((0, 1))
    readings = _readings(cells, model)
    answers = int(by_stance.sum())
    differ = sum(count for (strict, published), count in readings.items() if strict != published)
    return Tally(
        answers=answers,
        failures=int(cells.failures[model].sum()),
        stances=dict(zip(STANCES, by_stance.tolist(), strict=True)),
        flagged=None if cells.design is None else int(cells.design.readings[model][..., 1].sum()),
        read_differently=not_computed("a table of counts holds one reading", level=level)
        if cells.design is None
        else Estimate(*proportion(differ, answers, level), answers, "Wilson", level),
        readings=readings,
    )


def _readings(cells: Cells, model: int) -> dict[tuple[str, str], int]:
    if cells.design is None:
        return {}
    counted = cells.design.readings[model].sum((0, 3))
    return {(STANCES[a], STANCES[b]): int(counted[a, b]) for a, b in np.argwhere(counted)}
