"""What depends on the six wordings of the question: each by itself, and intervals for wordings like these.

The six templates are asked equally often, so if they are fixed, differences between them are not sampling noise. For
claims about the issue, rather than about these six questions on it, they are a sample: then the differences are noise.
"""

from __future__ import annotations

from dataclasses import replace
from math import nan, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from overton.statistics import Estimate, not_computed
from overton.statistics.arrays import Floats, Ints
from overton.statistics.cluster_sums import ClusterSums
from overton.statistics.jackknife import SHARE, Jackknife
from overton.studies.open_mindedness.measures.cells import OTHER, PRO, TEMPLATES, AnswerCounts
from overton.studies.open_mindedness.measures.crossfit import crossed
from overton.studies.open_mindedness.measures.results import LikeThese, Wording
from overton.studies.open_mindedness.measures.scores import CROSS_FITTED, SCORES, VARIANTS, scored_places, scores
from overton.studies.open_mindedness.measures.shares import whole

_NOT_HALVED = "probabilities of one wording are seldom of two prompts: there is nothing to halve"
_FEW = "fewer than two answers to this wording in some configuration"


def wordings(
    cells: AnswerCounts, model: int, asked: list[int], jackknife: Jackknife, withheld: str = ""
) -> tuple[Wording, ...] | None:
    """The six wordings of a model's questions; None if the table does not distinguish them.

    `withheld` says why none has a score.
    """
    if cells.design is None or (baseline := cells.condition("baseline")) is None:
        return None
    answers = cells.design.by_template(model)[asked]
    return tuple(
        Wording(
            template=template + 1,
            answers=int(whole(answers[:, :, template].sum())),
            pro=jackknife.mean(_share(answers[:, baseline, template], PRO), SHARE),
            other=jackknife.mean(_share(answers[:, baseline, template], OTHER), SHARE),
            open_mindedness=not_computed(withheld, level=jackknife.level)
            if withheld
            else _score_of_one(cells, answers[:, :, template], jackknife),
        )
        for template in range(TEMPLATES)
        if answers[:, baseline, template].any()
    )


def baselines_like_these(cells: AnswerCounts, model: int, jackknife: Jackknife, side: Ints) -> list[Estimate] | None:
    """By issue, the mean baseline share of `side` [issues] (0 pro, 1 con), with an interval over wordings."""
    if cells.design is None or (baseline := cells.condition("baseline")) is None:
        return None
    answers = cells.design.by_template(model)[:, baseline]
    asked = answers.sum(-1) > 0
    taken = np.take_along_axis(answers, np.maximum(side, 0)[:, None, None], -1)[..., 0]
    share = taken / np.maximum(answers.sum(-1), 1)
    over = replace(jackknife, unit="wordings").over(TEMPLATES)
    counts = ClusterSums((share * asked).T, asked.T.astype(float))
    return over.ratios([counts], "no answer takes a stance")[0]


def score_like_these(cells: AnswerCounts, model: int, asked: list[int], score: Estimate) -> LikeThese | None:
    """A model's score with an interval for issues and wordings like these.

    To the interval over issues it adds what leaving out each wording in turn changes (the jackknife): squares of
    half-widths add up. None if the table does not distinguish the wordings, or one is not asked.
    """
    places = scored_places(cells.conditions)
    if cells.design is None or np.isnan(score.low) or places is None:
        return None
    answers = cells.design.by_template(model)[asked][:, places]
    left = answers.sum(2, keepdims=True) - answers
    if not (left.sum(-1) > 0).all():
        return None
    shares = left / left.sum(-1, keepdims=True)
    without = [
        np.nanmean(scores(shares[:, 0, template], shares[:, 1:, template])[:, 0]) for template in range(TEMPLATES)
    ]
    error = sqrt((TEMPLATES - 1) / TEMPLATES * float(((np.array(without) - np.mean(without)) ** 2).sum()))
    half = float(stdtrit(TEMPLATES - 1, (1 + score.level) / 2)) * error
    ends = (score.value + way * np.hypot(end - score.value, half) for end, way in ((score.low, -1), (score.high, 1)))
    low, high = (float(np.clip(end, *SCORES)) for end in ends)
    method = f"{score.method}, jackknife over wordings"
    return LikeThese(Estimate(score.value, low, high, score.n, method, score.level, within=SCORES))


def _share(answers: NDArray[Any], stance: int) -> Floats:
    """Each issue's share of a stance among its answers [issues], NaN if there are none."""
    n = answers.sum(-1)
    return np.where(n > 0, answers[:, stance] / np.maximum(n, 1), nan)


def _score_of_one(cells: AnswerCounts, answers: NDArray[Any], jackknife: Jackknife) -> Estimate:
    if (places := scored_places(cells.conditions)) is None:
        return not_computed("some configuration of the score was not asked", level=jackknife.level)
    if cells.weighed:
        return not_computed(_NOT_HALVED, level=jackknife.level)
    found = crossed(answers[:, places], np.random.default_rng((jackknife.seed, len(answers))))
    found = found[:, VARIANTS.index("open_mindedness")]
    if not np.isfinite(found).any():
        return not_computed(_FEW, level=jackknife.level)
    return jackknife.mean(found, CROSS_FITTED)
