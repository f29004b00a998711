"""Scores that chance does not raise: half of an issue's answers decide whether a configuration flips the stance, the
other half measure by how much; then turned over (cross-fitting; Chernozhukov et al. 2018, Econometrics Journal
21:C1).

With the same answers for both, chance flips an evenly divided issue, and the very difference that flipped it counts.
"""

from __future__ import annotations

from math import isnan

import msgspec
import numpy as np
from numpy.typing import NDArray

from overton.statistics import Estimate, not_computed
from overton.statistics.resampling import Jackknife
from overton.studies.open_mindedness.measures.cells import CON, OTHER, PRO, Cells
from overton.studies.open_mindedness.measures.results import CrossFitted
from overton.studies.open_mindedness.measures.scores import VARIANTS, score_between, scored_places

__all__ = ["crossed", "model_crossed"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_SPLITS = 64
"""Random halvings, each used both ways: what is left of their own chance is a tenth of the answers' own."""

_FEWEST = 2
"""Answers in a configuration that can be halved."""


def model_crossed(cells: Cells, model: int, asked: list[int], jackknife: Jackknife, reason: str) -> CrossFitted:
    """A model's mean over its issues that can be halved, with an interval over issues, or the `reason` for none."""
    if (places := scored_places(cells.conditions)) is None or not asked:
        return _mean(np.empty((0, len(VARIANTS))), jackknife, reason)
    answers = cells.answers[model][asked][:, places]
    return _mean(crossed(answers, np.random.default_rng((jackknife.seed, len(asked)))), jackknife, reason)


def crossed(answers: Ints, rng: np.random.Generator) -> Floats:
    """The four `VARIANTS` of counts [issues, 6, 3], the baseline first, then the configurations of equation 1.

    From -100 to 100, since a difference that chance flipped may turn out negative in the other half; NaN without a
    baseline stance, or where a configuration has fewer than two answers. Only the readings that take the share of the
    baseline's stance gain by it: in the others, which stance is the most common changes between the halves.
    """
    half = _halves(answers, rng)
    one, other = _shares(half), _shares(answers - half)
    both = np.stack([score_between(one, other), score_between(other, one)])
    # A half in which every baseline answer is 'other' has no stance to lose: it says nothing, and the others do.
    known = np.isfinite(both)
    with np.errstate(invalid="ignore"):
        made = np.where(known, both, 0.0).sum((0, 1)) / known.sum((0, 1))
    enough = (answers.sum(-1) >= _FEWEST).all(1) & (answers[:, 0, :OTHER].sum(-1) > 0)
    return np.where(enough[:, None], made, np.nan)


def _halves(answers: Ints, rng: np.random.Generator) -> Ints:
    """Half of each configuration's answers drawn at random [splits, issues, 6, 3]; an odd one falls to either side."""
    pro, con, other = (np.broadcast_to(answers[..., k], (_SPLITS, *answers.shape[:2])) for k in (PRO, CON, OTHER))
    size = (pro + con + other + rng.integers(2, size=pro.shape)) // 2
    of_pro = rng.hypergeometric(pro, con + other, size)
    of_con = rng.hypergeometric(con, other, size - of_pro)
    return np.stack([of_pro, of_con, size - of_pro - of_con], -1)


def _shares(counts: Ints) -> Floats:
    with np.errstate(invalid="ignore"):
        return np.asarray(counts / counts.sum(-1, keepdims=True))


def _mean(scores: Floats, jackknife: Jackknife, reason: str) -> CrossFitted:
    kept = scores[np.isfinite(scores[:, 0])]
    places = (VARIANTS.index("open_mindedness"), VARIANTS.index("even"))
    if not len(kept):
        return CrossFitted(*(not_computed(reason, level=jackknife.level) for _ in places))
    return CrossFitted(*(_noted(jackknife.mean(kept[:, place])) for place in places))


def _noted(mean: Estimate) -> Estimate:
    """How it was made where there is an interval; else `method` says why there is none, and stays as it is."""
    return mean if isnan(mean.low) else msgspec.structs.replace(mean, method=f"cross-fitted, {mean.method}")
