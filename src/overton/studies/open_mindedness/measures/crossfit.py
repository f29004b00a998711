"""Scores that chance does not raise: half of an issue's answers decide whether a configuration flips the stance, the
other half measure by how much; then the halves swap (cross-fitting; Chernozhukov et al. 2018, Econometrics Journal
21:C1).

With the same answers for both, chance flips an evenly divided issue, and the very difference that flipped it counts.

If answers are probabilities, chance is what differs between prompts of one template: other arguments, in another order,
after other words of the answer. So these are halved within templates. A template with a single prompt shows no such
chance: it is in both halves.
"""

from __future__ import annotations

from math import isnan
from typing import Any

import msgspec
import numpy as np
import polars as pl
from numpy.typing import NDArray

from overton.statistics import Estimate, not_computed
from overton.statistics.arrays import Floats, Ints
from overton.statistics.jackknife import Jackknife
from overton.studies.open_mindedness.measures.cells import CON, OTHER, PRO, TEMPLATES, WEIGHTS, AnswerCounts
from overton.studies.open_mindedness.measures.results import CrossFitted
from overton.studies.open_mindedness.measures.scores import CROSS_FITTED, VARIANTS, score_between, scored_places

_SPLITS = 64
"""Random halvings, each used both ways: their remaining chance error is a tenth of the answers' own."""

_FEWEST = 2
"""The fewest answers in a configuration that can be halved."""


def model_crossed(cells: AnswerCounts, model: int, asked: list[int], jackknife: Jackknife, reason: str) -> CrossFitted:
    """A model's mean over its issues that can be halved, with an interval over issues, or the `reason` for none."""
    if (places := scored_places(cells.conditions)) is None or not asked:
        return _mean(np.empty((0, len(VARIANTS))), jackknife, reason)
    return _mean(crossed_issues(cells, model, asked, places, jackknife.seed), jackknife, reason)


def crossed_issues(cells: AnswerCounts, model: int, asked: list[int], places: list[int], seed: int) -> Floats:
    """`crossed` of a model's issues `asked` [asked, 4], by counts or by probabilities."""
    answers, rng = cells.answers[model][asked][:, places], np.random.default_rng((seed, len(asked)))
    if not cells.weighed or cells.design is None:
        return crossed(answers, rng)
    rows = cells.design.rows.filter((pl.col("m") == model) & pl.col("i").is_in(asked) & pl.col("c").is_in(places))
    return _between(answers, _half_chances(rows.select("i", "c", "t", *WEIGHTS), asked, places, rng))


def _half_chances(rows: pl.DataFrame, asked: list[int], places: list[int], rng: np.random.Generator) -> Floats:
    """Sums of probabilities in half of each template's answers [splits, issues, 6, 3]; half of a single one."""
    shape = (len(asked), len(places), TEMPLATES)
    axes = (np.searchsorted(asked, rows["i"].to_numpy()), [places.index(c) for c in rows["c"]], rows["t"].to_numpy())
    stratum = np.ravel_multi_index(tuple(np.asarray(axis, np.int64) for axis in axes), shape)
    size = np.bincount(stratum, minlength=int(np.prod(shape)))
    first = np.cumsum(size) - size
    chances, made = rows.select(WEIGHTS).to_numpy(), np.empty((_SPLITS, *shape[:2], 3))
    for split in range(_SPLITS):
        order = np.lexsort((rng.random(len(stratum)), stratum))
        rank = np.empty(len(stratum), np.int64)
        rank[order] = np.arange(len(stratum)) - first[stratum[order]]
        part = np.where(rank < (size + rng.integers(2, size=size.size))[stratum] // 2, 1.0, 0.0)
        part[size[stratum] == 1] = 0.5
        sums = [np.bincount(stratum, part * chances[:, k], minlength=size.size).reshape(shape) for k in range(3)]
        made[split] = np.stack(sums, -1).sum(2)
    return made


def crossed(answers: Ints, rng: np.random.Generator) -> Floats:
    """The four `VARIANTS` of counts [issues, 6, 3], the baseline first, then the configurations of equation 1.

    From -100 to 100, since a difference that chance flipped may turn out negative in the other half; NaN without a
    baseline stance, or if a configuration has fewer than two answers. Only the readings that take the share of the
    baseline's stance benefit: in the others, the most common stance changes between the halves.
    """
    return _between(answers, _halves(answers, rng))


def _between(answers: NDArray[Any], half: NDArray[Any]) -> Floats:
    """The mean of both ways over the halves."""
    drawn, rest = _shares(half), _shares(np.maximum(answers - half, 0))
    both = np.stack([score_between(drawn, rest), score_between(rest, drawn)])
    # A half in which every baseline answer is 'other' has no stance to lose: only the other halves count.
    known = np.isfinite(both)
    with np.errstate(invalid="ignore"):
        made = np.where(known, both, 0.0).sum((0, 1)) / known.sum((0, 1))
    enough = (np.rint(answers.sum(-1)) >= _FEWEST).all(1) & (answers[:, 0, :OTHER].sum(-1) > 0)
    return np.where(enough[:, None], made, np.nan)


def _halves(answers: Ints, rng: np.random.Generator) -> Ints:
    """Half of each configuration's answers drawn at random [splits, issues, 6, 3]; an odd one goes to either half."""
    pro, con, other = (np.broadcast_to(answers[..., k], (_SPLITS, *answers.shape[:2])) for k in (PRO, CON, OTHER))
    size = (pro + con + other + rng.integers(2, size=pro.shape)) // 2
    of_pro = rng.hypergeometric(pro, con + other, size)
    of_con = rng.hypergeometric(con, other, size - of_pro)
    return np.stack([of_pro, of_con, size - of_pro - of_con], -1)


def _shares(counts: NDArray[Any]) -> Floats:
    with np.errstate(invalid="ignore"):
        return np.asarray(counts / counts.sum(-1, keepdims=True))


def _mean(scores: Floats, jackknife: Jackknife, reason: str) -> CrossFitted:
    kept = scores[np.isfinite(scores[:, 0])]
    places = (VARIANTS.index("open_mindedness"), VARIANTS.index("even"))
    if not len(kept):
        return CrossFitted(*(not_computed(reason, level=jackknife.level) for _ in places))
    return CrossFitted(*(_note_method(jackknife.mean(kept[:, place], CROSS_FITTED)) for place in places))


def _note_method(mean: Estimate) -> Estimate:
    """How it was made if there is an interval; otherwise `method` says why there is none, and stays as it is."""
    return mean if isnan(mean.low) else msgspec.structs.replace(mean, method=f"cross-fitted, {mean.method}")
