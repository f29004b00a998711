"""What scores and 'moved' would be by chance given these answers: reassigned to baseline and configurations.

If no configuration moved anything, each template's answers on an issue could equally have come from the baseline or
from any configuration. They are dealt out at random many times, keeping the number of answers of each; the mean over
the deals is the null's own value, and costs no call; their spread is what chance does to a difference.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from overton.statistics.arrays import Floats, Ints
from overton.studies.open_mindedness.measures.cells import AnswerCounts
from overton.studies.open_mindedness.measures.scores import (
    VARIANTS,
    baseline_stance,
    plurality,
    scored_places,
    scores,
)

DEALS = 100
"""How often answers are dealt out: the remaining chance error of the deals is a tenth of the answers' own."""


class ChanceDeals(NamedTuple):
    """In each deal, every issue's scores [deals, issues, variants], and whether it counts as moved [deals, issues]."""

    scores: Floats
    moved: Floats


def by_chance(cells: AnswerCounts, model: int, seed: int) -> ChanceDeals:
    """Each issue's scores by chance, and whether it counts as moved.

    NaN if an issue has no baseline stance in a deal or lacks answers in a configuration of equation 1; and for shares
    from token probabilities, which are not answers that could be dealt out.
    """
    issues = len(cells.issues)
    places = scored_places(cells.conditions)
    if places is None:
        return _unknown(issues)
    answers = _by_template(cells, model)[:, places]
    if (answers != np.rint(answers)).any():
        return _unknown(issues)
    answers = answers.astype(np.int64)
    counts = dealt(answers, np.random.default_rng((seed, issues)))
    with np.errstate(invalid="ignore"):
        share = counts / counts.sum(-1, keepdims=True)
    made = scores(share[..., 0, :], share[..., 1:, :])
    first = baseline_stance(share[..., 0, :])
    flips = (plurality(share[..., 1:, :]) != first[..., None]).any(-1)
    known = np.isfinite(share).all((-1, -2)) & (first >= 0)
    return ChanceDeals(np.where(known[..., None], made, np.nan), np.where(known, flips, np.nan))


def _unknown(issues: int) -> ChanceDeals:
    return ChanceDeals(np.full((DEALS, issues, len(VARIANTS)), np.nan), np.full((DEALS, issues), np.nan))


def _by_template(cells: AnswerCounts, model: int) -> Ints:
    """Answers [issues, conditions, templates, stance]; counts that name no template count as one template's."""
    if cells.design is not None:
        return cells.design.by_template(model)
    return np.asarray(cells.answers[model][:, :, None, :])


def dealt(answers: Ints, rng: np.random.Generator) -> Ints:
    """Answers [issues, 6, templates, 3] dealt out again within issue and template: [deals, issues, 6, 3]."""
    sizes = answers.sum(-1)
    left = np.broadcast_to(answers.sum(1), (DEALS, *answers.sum(1).shape)).copy()
    made = np.empty((DEALS, *answers.shape[:2], 3), np.int64)
    for place in range(answers.shape[1]):
        pro, con, other = left[..., 0], left[..., 1], left[..., 2]
        size = np.broadcast_to(sizes[:, place], pro.shape)
        of_pro = rng.hypergeometric(pro, con + other, size)
        of_con = rng.hypergeometric(con, other, size - of_pro)
        drawn = np.stack([of_pro, of_con, size - of_pro - of_con], -1)
        left -= drawn
        made[:, :, place] = drawn.sum(2)
    return made
