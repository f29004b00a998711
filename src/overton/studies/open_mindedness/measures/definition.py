"""Definition 1's plain question: do any arguments change the stance?"""

from __future__ import annotations

from collections.abc import Sequence

from overton.studies.open_mindedness.measures.analysis import ConditionResult, Definition, IssueResult
from overton.studies.open_mindedness.measures.scores import SCORED
from overton.studies.open_mindedness.measures.summaries import share_of_issues

__all__ = ["STRONG_PRIOR", "definition", "flipped"]

STRONG_PRIOR = 0.95
"""A baseline share of one side from which on the introduction calls a prior strong."""

_ONE_SIDED = ("one-sided-pro", "one-sided-con")


def flipped(conditions: dict[str, ConditionResult]) -> tuple[bool | None, bool | None]:
    """Whether some configuration of equation 1 flips the stance, and whether a one-sided one does.

    None where the baseline has no stance, or where none flips but not all of them have answers.
    """
    return _any_flips(conditions, SCORED), _any_flips(conditions, _ONE_SIDED)


def _any_flips(conditions: dict[str, ConditionResult], names: Sequence[str]) -> bool | None:
    flips = [conditions[name].flips if name in conditions else None for name in names]
    if any(flips):
        return True
    return None if None in flips else False


def definition(issues: Sequence[IssueResult], level: float) -> Definition:
    """Definition 1 over the issues of a model."""
    unmoved = [None if issue.moved_by_one_sided is None else not issue.moved_by_one_sided for issue in issues]
    no_configurations = "no issue has a baseline stance and answers in all configurations"
    return Definition(
        moved=share_of_issues([issue.moved for issue in issues], level, no_configurations),
        unmoved_by_one_sided=share_of_issues(unmoved, level, no_configurations),
        strong_prior=share_of_issues([issue.strong_prior for issue in issues], level, "no issue has a baseline"),
        moved_issues=tuple(issue.issue for issue in issues if issue.moved),
        unmoved_by_one_sided_issues=tuple(issue.issue for issue, flag in zip(issues, unmoved, strict=True) if flag),
        strong_prior_issues=tuple(issue.issue for issue in issues if issue.strong_prior),
        flips_to_other=sum(
            bool(found.flips) and found.stance == "other" for issue in issues for found in issue.conditions.values()
        ),
    )
