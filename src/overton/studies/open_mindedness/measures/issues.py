"""One issue's measures, put together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from overton.statistics.bootstrap import Bootstrap
from overton.studies.open_mindedness.measures.analysis import Baseline, ConditionResult, IssueResult, Pulls, Shares
from overton.studies.open_mindedness.measures.cells import CON, OTHER, PRO, STANCES, Cells
from overton.studies.open_mindedness.measures.definition import STRONG_PRIOR, flipped
from overton.studies.open_mindedness.measures.pulls import letter_or_position
from overton.studies.open_mindedness.measures.scores import (
    SCORED,
    IssueScores,
    baseline_stance,
    plurality,
)
from overton.studies.open_mindedness.measures.shares import ShareTable, share_estimates
from overton.studies.open_mindedness.measures.shifts import CONTRASTS, gap

__all__ = ["ModelTables", "issue_results"]

_UNCORRECTED = "the templates asked cannot tell the letter from the stance: ask a mirrored pair (2 and 5, or 3 and 6)"
_FROM_COUNTS = "a table of counts does not hold the templates: records do"


@dataclass(frozen=True)
class ModelTables:
    """A model's shares and scores as arrays over all issues, as answered and corrected."""

    answered: ShareTable
    corrected: ShareTable | None
    scores: IssueScores
    corrected_scores: IssueScores | None


def issue_results(
    cells: Cells, model: int, tables: ModelTables, pulls: Mapping[int, Pulls], bootstrap: Bootstrap
) -> dict[int, IssueResult]:
    """The results of every issue asked of a model, by the issue's index."""
    level = bootstrap.level
    baseline = cells.condition("baseline")
    shares = share_estimates(tables.answered, level, "Wilson")
    fixed = share_estimates(tables.corrected, level, "corrected for letter and order, Wilson") if tables.corrected else None
    at_baseline = letter_or_position(cells, model, [] if baseline is None else [baseline], level)
    over_all = letter_or_position(cells, model, list(range(len(cells.conditions))), level)
    found = {}
    for issue in cells.asked(model):
        conditions = _conditions(cells, model, issue, tables, shares[issue], fixed[issue] if fixed else None)
        first = _baseline(tables.answered, issue, shares[issue])
        moved, moved_by_one_sided = flipped(conditions)
        missing = _reason(cells, first, conditions)
        found[issue] = IssueResult(
            issue=cells.issues[issue],
            topic=cells.topics[issue],
            baseline=first,
            conditions=conditions,
            scores=tables.scores.estimates(issue, level, missing),
            corrected=tables.corrected_scores.estimates(issue, level, missing if np.isnan(tables.scores.value[issue, 0]) else _UNCORRECTED)
            if tables.corrected_scores
            else None,
            corrected_baseline=_baseline(tables.corrected, issue, fixed[issue]) if tables.corrected and fixed else None,
            moved=moved,
            moved_by_one_sided=moved_by_one_sided,
            strong_prior=None if first is None else bool(first.share.value >= STRONG_PRIOR),
            **{
                name: gap(tables.answered, issue, (one, other), stance, level)
                for name, (one, other, stance) in CONTRASTS.items()
            },
            pulls=pulls.get(issue),
            letter_baseline=at_baseline.get(issue),
            letter_all=over_all.get(issue),
            not_computed=_absent(cells, tables),
        )
    return found


def _conditions(
    cells: Cells,
    model: int,
    issue: int,
    tables: ModelTables,
    shares: list[Shares | None],
    fixed: list[Shares | None] | None,
) -> dict[str, ConditionResult]:
    stance, flips = _stances(tables.answered, issue)
    fixed_stance, fixed_flips = _stances(tables.corrected, issue) if tables.corrected else (stance, flips)
    made = {}
    for c, name in enumerate(cells.conditions):
        own = shares[c]
        if own is None:
            continue
        again = fixed[c] if fixed else None
        made[name] = ConditionResult(
            answers=int(tables.answered.n[issue, c]),
            failures=int(cells.failures[model, issue, c]),
            stance=stance[c],
            flips=flips[c],
            shares=own,
            corrected_stance=fixed_stance[c] if again else None,
            corrected_flips=fixed_flips[c] if again else None,
            corrected_shares=again,
        )
    return made
