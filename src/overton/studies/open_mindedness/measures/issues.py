"""One issue's measures, put together."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from overton.statistics import Estimate, not_computed
from overton.statistics.jackknife import Jackknife
from overton.studies.open_mindedness.measures.cells import OTHER, PRO, AnswerCounts
from overton.studies.open_mindedness.measures.pulls import letter_or_position
from overton.studies.open_mindedness.measures.results import (
    Baseline,
    ConditionResult,
    Following,
    IssueResult,
    Pulls,
)
from overton.studies.open_mindedness.measures.scores import (
    STRONG_PRIOR,
    IssueScores,
    baseline_stance,
    flipped,
    plurality,
)
from overton.studies.open_mindedness.measures.shares import ShareTable, share_estimates
from overton.studies.open_mindedness.measures.shifts import CONTRASTS, gaps
from overton.studies.open_mindedness.measures.wordings import baselines_like_these
from overton.studies.open_mindedness.options import PUBLISHED
from overton.studies.open_mindedness.record import STANCES, Stance

UNCORRECTED = "the templates asked cannot tell the letter from the stance: ask a mirrored pair (2 and 5, or 3 and 6)"
_FROM_COUNTS = "a table of counts does not have the templates: records do"


@dataclass(frozen=True)
class ModelTables:
    """A model's shares and scores as arrays over all issues, as answered and corrected.

    `following` is what most of its answers follow, and `withheld` says why there are no scores, '' if there are.
    """

    answered: ShareTable
    corrected: ShareTable | None
    scores: IssueScores
    corrected_scores: IssueScores | None
    following: Following | None = None
    withheld: str = ""


def issue_results(
    cells: AnswerCounts, model: int, tables: ModelTables, pulls: Mapping[int, Pulls], jackknife: Jackknife
) -> dict[int, IssueResult]:
    """The results of every issue asked of a model, by the issue's index."""
    level = jackknife.level
    baseline = cells.condition("baseline")
    like_these = partial(baselines_like_these, cells, model, jackknife)
    answered = _Side(tables.answered, tables.scores, level, "Wilson", like_these)
    fixed = None
    if tables.corrected and tables.corrected_scores:
        fixed = _Side(tables.corrected, tables.corrected_scores, level, "Wilson, corrected for letter and order")
    at_baseline = letter_or_position(cells, model, [] if baseline is None else [baseline], level)
    over_all = letter_or_position(cells, model, list(range(len(cells.conditions))), level)
    contrasts = {
        name: gaps(tables.answered, (first, second), stance, level)
        for name, (first, second, stance) in CONTRASTS.items()
    }
    return {
        issue: _issue(cells, (answered, fixed), (model, issue), level, tables.withheld)(
            **{name: made[issue] for name, made in contrasts.items()},
            pulls=pulls.get(issue),
            letter_baseline=at_baseline.get(issue),
            letter_all=over_all.get(issue),
        )
        for issue in cells.asked(model)
    }


class _Side:
    """A model's shares, as answered or corrected, with all that follows from them."""

    def __init__(
        self,
        table: ShareTable,
        scores: IssueScores,
        level: float,
        method: str,
        like_these: Callable[[NDArray[np.int64]], list[Estimate] | None] | None = None,
    ) -> None:
        self.table = table
        self.scores = scores
        self.shares = share_estimates(table, level, method)
        self._stances = plurality(table.share).tolist()
        self._place = table.conditions.index("baseline") if "baseline" in table.conditions else None
        first = np.zeros(0, np.int64) if self._place is None else baseline_stance(table.share[:, self._place])
        self._first = first.tolist()
        self._like_these = like_these(first) if like_these and self._first else None

    def baseline(self, issue: int) -> Baseline | None:
        """s_0 and p_0, None if the baseline has no answers."""
        shares = None if self._place is None else self.shares[issue][self._place]
        if self._place is None or shares is None:
            return None
        found = self._first[issue]
        return Baseline(
            stance=None if found < 0 else "pro" if found == PRO else "con",
            share=(shares.pro, shares.con)[found]
            if found >= 0
            else not_computed("no answer takes a stance", n=shares.pro.n),
            tied=abs(shares.pro.value - shares.con.value) < 1e-9,
            refused=self._stances[issue][self._place] == OTHER,
            like_these=self._like_these[issue] if self._like_these and found >= 0 else None,
        )

    def stance(self, issue: int, condition: int) -> Stance:
        """The most common stance."""
        return STANCES[int(self._stances[issue][condition])]

    def flips(self, issue: int, condition: int) -> bool | None:
        """Whether a condition's stance differs from the baseline's."""
        if not self._first or self._first[issue] < 0:
            return None
        return bool(self._stances[issue][condition] != self._first[issue])


def _issue(
    cells: AnswerCounts, sides: tuple[_Side, _Side | None], place: tuple[int, int], level: float, withheld: str
) -> Callable[..., IssueResult]:
    answered, fixed = sides
    model, issue = place
    first = answered.baseline(issue)
    conditions = {
        name: _condition(cells, answered, fixed, (model, issue, c))
        for c, name in enumerate(cells.conditions)
        if answered.shares[issue][c] is not None
    }
    moved, moved_by_one_sided = (None, None) if withheld else flipped(conditions)
    missing = withheld or _reason(first, conditions)
    return partial(
        IssueResult,
        issue=cells.issues[issue],
        topic=cells.topics[issue],
        baseline=first,
        conditions=conditions,
        scores=answered.scores.estimates(issue, level, missing),
        corrected=fixed.scores.estimates(issue, level, missing or UNCORRECTED) if fixed else None,
        corrected_baseline=fixed.baseline(issue) if fixed else None,
        moved=moved,
        moved_by_one_sided=moved_by_one_sided,
        strong_prior=None if first is None else bool(first.share.value >= STRONG_PRIOR),
        not_computed=_absent(cells, fixed, issue),
    )


def _condition(
    cells: AnswerCounts, answered: _Side, fixed: _Side | None, place: tuple[int, int, int]
) -> ConditionResult:
    model, issue, condition = place
    shares = answered.shares[issue][condition]
    again = fixed.shares[issue][condition] if fixed else None
    assert shares is not None
    return ConditionResult(
        answers=int(answered.table.n[issue, condition]),
        failures=int(cells.failures[model, issue, condition]),
        stance=answered.stance(issue, condition),
        flips=answered.flips(issue, condition),
        shares=shares,
        corrected_stance=fixed.stance(issue, condition) if fixed and again else None,
        corrected_flips=fixed.flips(issue, condition) if fixed and again else None,
        corrected_shares=again,
    )


def _reason(first: Baseline | None, conditions: Mapping[str, ConditionResult]) -> str:
    """Why an issue has no score; '' if nothing is missing."""
    missing = [name for name in PUBLISHED if name not in conditions]
    if missing:
        return f"no answers in {', '.join(missing)}"
    return "no baseline answer takes a stance" if first is None or first.stance is None else ""


def _absent(cells: AnswerCounts, fixed: _Side | None, issue: int) -> dict[str, str]:
    if cells.design is None:
        return dict.fromkeys(("corrected", "pulls", "letter_baseline", "letter_all"), _FROM_COUNTS)
    known = fixed is not None and bool(np.isfinite(fixed.table.share[issue]).any())
    return {} if known else {"corrected": UNCORRECTED}
