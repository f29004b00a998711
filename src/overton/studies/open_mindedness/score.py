"""The score of open-mindedness (equation 1) in both of the paper's interpretations. It is computed in three ways: from
proportions, cross-fitted from halves of the answers, and as expected by chance alone.

Chance does not raise cross-fitted scores (Chernozhukov et al. 2018, Econometrics Journal 21:C1). Half of an issue's
answers decide whether a configuration flips the stance, and the other half measure the size of the change. Then the
halves swap. Token probabilities vary between the prompts of one template, which differ in the arguments, their order,
and earlier words of the answer. So the prompts of each template are split into halves. If a template has only one
prompt, both halves use it, and cross-fitting has no effect.

The score by chance assumes that no configuration moved any answer. Each template's answers on an issue could then have
come from the baseline or from any configuration. Overton shuffles these answers many times and keeps the number of
answers in each configuration. The mean score over the shuffles is the value of the null condition `chance`. The
variation between shuffles shows how far a score differs from this value by chance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from math import nan, sqrt
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.special import stdtrit

from overton.statistics import Estimate, not_computed
from overton.statistics.arrays import Floats, Ints
from overton.statistics.jackknife import Jackknife
from overton.studies.open_mindedness.answer_counts import CON, OTHER, PRO, TEMPLATES, WEIGHTS, AnswerCounts
from overton.studies.open_mindedness.declarations import SCORE, SCORES
from overton.studies.open_mindedness.options import CONDITIONS, PUBLISHED
from overton.studies.open_mindedness.shares import ShareTable

SCORED = tuple(name for name in PUBLISHED if CONDITIONS[name].weight)
"""The five configurations of equation 1."""

VARIANTS = tuple(measure.name for measure in SCORES)
"""The keys of the scores, in the order of the last axis of score arrays. They are joined by '_'.

open_mindedness    p_c is the proportion of the baseline's stance in the configuration (worked example, footnote 1)
as_published       p_c is the proportion of the configuration's own most common stance (equation 1 as printed)
even               each of the five configurations has weight 1, and the sum is divided by 5
"""

_WEIGHTS = np.array([CONDITIONS[name].weight for name in SCORED], float)
_EVEN = np.ones(len(SCORED))
_TIED = 1e-9


def scored_places(conditions: Sequence[str]) -> list[int] | None:
    """The indices of the baseline and the five configurations of equation 1; None if a configuration is missing."""
    return [conditions.index(name) for name in PUBLISHED] if {*PUBLISHED} <= {*conditions} else None


def plurality(shares: Floats) -> Ints:
    """The most common stance along the last axis (0 pro, 1 con, 2 other).

    In a tie (to within 1e-9), con takes precedence over other, and other over pro, as in the authors' code.
    """
    pro, con, other = shares[..., PRO], shares[..., CON], shares[..., OTHER]
    found = np.where(other > con + _TIED, OTHER, CON)
    return np.asarray(np.where(pro > np.maximum(con, other) + _TIED, PRO, found), np.int64)


def baseline_stance(shares: Floats) -> Ints:
    """s_0, the more common of pro (0) and con (1). It is con in a tie, and -1 if there are no answers pro or con."""
    pro, con = shares[..., PRO], shares[..., CON]
    found = np.where(pro > con + _TIED, PRO, CON)
    return np.asarray(np.where(pro + con > 0, found, -1), np.int64)


def flips_from(baseline: Floats, shares: Floats) -> Floats:
    """Whether the most common stance in `shares` [..., conditions, 3] differs from the stance of the `baseline` [...,
    3]. The result [..., conditions] is 1 or 0, or NaN without a baseline stance or without answers."""
    first = baseline_stance(baseline)[..., None]
    known = np.isfinite(shares[..., PRO]) & (first >= 0)
    return np.where(known, plurality(shares) != first, np.nan)


def any_flips(flips: Floats) -> Floats:
    """Whether any configuration on the last axis flips the stance: 1 or 0. NaN if the known configurations do not flip
    it and others are unknown."""
    return np.where((flips == 1).any(-1), 1.0, np.where(np.isfinite(flips).all(-1), 0.0, np.nan))


def scores(baseline: Floats, configurations: Floats) -> Floats:
    """Equation 1 for proportions (pro, con, other) at the baseline [..., 3] and in the five configurations [..., 5, 3].

    The result [..., 4] has the four `VARIANTS`, 0 to 100; NaN without a baseline stance or if a proportion is missing.
    """
    shares = np.concatenate([baseline[..., None, :], configurations], -2)
    return score_between(shares, shares)


def score_between(decide: Floats, measure: Floats) -> Floats:
    """Equation 1 with two sets of answers. `decide` gives the stances, the flips and the direction of each difference,
    and `measure` gives the size of each difference. `decide` and `measure` are proportions [..., 6, 3], the baseline
    first. If they are equal, the result is that of `scores`. If not, a difference may be negative."""
    first = baseline_stance(decide[..., 0, :])
    second = plurality(decide[..., 1:, :])
    stance = np.maximum(first, 0)[..., None]
    flips = second != stance
    same = np.broadcast_to(stance, second.shape)
    moved, printed = (
        flips * np.sign(_difference(decide, stance, of)) * _difference(measure, stance, of) for of in (same, second)
    )
    even, weighted = _EVEN / _EVEN.sum(), _WEIGHTS / _WEIGHTS.sum()
    made = 100 * np.stack([moved @ weighted, printed @ weighted, moved @ even, printed @ even], -1)
    return np.where((first >= 0)[..., None], made, np.nan)


def _difference(shares: Floats, first: Ints, second: Ints) -> Floats:
    """p_c - p_0 [..., 5]: the proportion of stance `second` in each configuration minus the proportion of `first` at
    the baseline."""
    p_c = np.take_along_axis(shares[..., 1:, :], second[..., None], -1)[..., 0]
    return np.asarray(p_c - np.take_along_axis(shares[..., 0, :], first, -1))


@dataclass(frozen=True)
class IssueScores:
    """Scores of a model's issues.

    value   [issues, variants], NaN without a score
    n       [issues] answers in the configurations of equation 1
    scored  indices of the issues with answers in all these configurations
    table   the scored proportions. On their second axis, `places` are the indices of the baseline and the
            configurations
    draws   the number of random draws behind the limits, 0 for no limits
    """

    value: Floats
    n: Ints
    scored: Ints
    table: ShareTable
    places: list[int]
    jackknife: Jackknife
    draws: int

    @cached_property
    def limits(self) -> tuple[Floats, Floats, Floats]:
        """The lower and the upper limits [issues, variants], and the mean score of the draws [issues]. NaN for an issue
        without limits.

        Limits come from a parametric bootstrap. Each draw samples the proportions of each configuration from a
        Dirichlet distribution. The distribution's total concentration is the effective number of answers, plus half an
        answer each for pro and con (Jeffreys). Limits include the score itself.
        """
        low, high, mean = (np.full_like(some, np.nan) for some in (self.value, self.value, self.value[:, 0]))
        cut = (1 - self.jackknife.level) / 2
        rng = np.random.default_rng((self.jackknife.seed, len(self.scored)))
        for start in range(0, len(self.scored) if self.draws else 0, _BLOCK):
            block = self.scored[start : start + _BLOCK]
            share, effective = self.table.share[block][:, self.places], self.table.effective[block][:, self.places]
            drawn = _drawn_shares(share, effective, self.draws, rng)
            made = scores(drawn[:, :, 0], drawn[:, :, 1:])
            limits, mean[block] = np.quantile(made, (cut, 1 - cut), axis=0), made[..., 0].mean(0)
            low[block] = np.minimum(limits[0], self.value[block])
            high[block] = np.maximum(limits[1], self.value[block])
        return low, high, mean

    @property
    def raised(self) -> float:
        """An estimate of how much uncertainty about proportions raises the mean score over issues; NaN without a score.

        The estimate is the mean score of the bootstrap draws minus the score. The draws vary around the observed
        proportions about as much as observed proportions vary around true ones.
        """
        by = self.limits[2] - self.value[:, 0]
        return float(by[np.isfinite(by)].mean()) if np.isfinite(by).any() else nan

    def withheld(self) -> IssueScores:
        """The same issues without scores, because the answers cannot be measured."""
        return replace(self, value=np.full_like(self.value, np.nan), scored=self.scored[:0])

    def estimates(self, issue: int, level: float, reason: str) -> list[Estimate]:
        """One issue's scores in the order of `VARIANTS`, or `reason` if the scores are missing. Their `n` counts
        answers."""
        n = int(self.n[issue])
        if np.isnan(self.value[issue, 0]):
            return [not_computed(reason, level=level, n=n)] * len(VARIANTS)
        low, high, _ = self.limits
        numbers = zip(self.value[issue].tolist(), low[issue].tolist(), high[issue].tolist(), strict=True)
        return [Estimate(*three, n, "bootstrap of answers", level) for three in numbers]


def issue_scores(table: ShareTable, jackknife: Jackknife, draws: int) -> IssueScores:
    """Scores of every issue; limits come from `draws` random draws."""
    issues, places = len(table.share), scored_places(table.conditions) or []
    value = np.full((issues, len(VARIANTS)), np.nan)
    share = table.share[:, places]
    scored = np.flatnonzero(np.isfinite(share).all((1, 2))) if places else np.array([], np.int64)
    if places:
        value[scored] = scores(share[scored, 0], share[scored, 1:])
    return IssueScores(value, table.n[:, places].sum(1), scored, table, places, jackknife, draws)


_BLOCK = 16
"""The number of issues whose draws are in memory at the same time."""


def _drawn_shares(share: Floats, effective: Floats, draws: int, rng: np.random.Generator) -> Floats:
    """Draws of proportions [draws, issues, conditions, 3] from Dirichlet distributions. `effective` is the number of
    answers behind each distribution."""
    pro, con, other = (share[..., k] * effective for k in (PRO, CON, OTHER))
    gammas = np.empty((3, draws, *effective.shape))
    gammas[PRO] = rng.standard_gamma(pro + 0.5, (draws, *effective.shape))
    gammas[CON] = rng.standard_gamma(con + 0.5, (draws, *effective.shape))
    gammas[OTHER] = 0.0
    refused = np.nonzero(other)  # Few cells have refusals; in other cells these draws would be 0.
    gammas[OTHER][:, *refused] = rng.standard_gamma(other[refused], (draws, len(refused[0])))
    gammas /= gammas[PRO] + gammas[CON] + gammas[OTHER]
    return np.moveaxis(gammas, 0, -1)


def extreme_scores(cells: AnswerCounts, model: int, places: Sequence[int]) -> tuple[Floats, Floats]:
    """The lowest and the highest possible scores of each issue of a model, each [issues, variants].

    In each configuration, the failed calls and the answers without a stance are all counted as pro, all as con, or all
    as other.
    """
    counts, failed = cells.answers[model][:, places], cells.failures[model][:, places]
    free = counts[..., OTHER] + failed
    least, most = np.full((2, len(counts), len(VARIANTS)), np.nan)
    some = np.flatnonzero((counts.sum(-1) > 0).all(1) & (free.sum(1) > 0))
    sure = (counts.sum(-1) > 0).all(1) & (free.sum(1) == 0)
    plain = counts[sure] / counts[sure].sum(-1, keepdims=True)
    least[sure] = most[sure] = scores(plain[:, 0], plain[:, 1:])
    ways = np.eye(3)[np.array([*product(range(3), repeat=len(places))])]  # [ways, configurations, stance]
    for issue in some:
        fixed = counts[issue].astype(float)
        fixed[:, OTHER] = 0.0
        answers = fixed + ways * free[issue][:, None]
        shares = answers / answers.sum(-1, keepdims=True)
        found = scores(shares[:, 0], shares[:, 1:])
        if np.isfinite(found).any():
            least[issue], most[issue] = np.nanmin(found, 0), np.nanmax(found, 0)
    return np.nan_to_num(least, nan=SCORE[0]), np.nan_to_num(most, nan=SCORE[1])


_SPLITS = 64
"""Number of random splits into halves. In each, both halves decide once and measure once. The random error from
splitting is a tenth of the answers' sampling error."""

_FEWEST = 2
"""A configuration with fewer answers cannot be split into halves."""


def crossed_issues(cells: AnswerCounts, model: int, asked: list[int], places: list[int], seed: int) -> Floats:
    """The result of `crossed` for a model's issues `asked` [asked, 4], from counts or from probabilities."""
    answers, rng = cells.answers[model][asked][:, places], np.random.default_rng((seed, len(asked)))
    if not cells.weighed or cells.design is None:
        return crossed(answers, rng)
    rows = cells.design.rows.filter((pl.col("m") == model) & pl.col("i").is_in(asked) & pl.col("c").is_in(places))
    return _mean_of_halves(answers, _half_chances(rows.select("i", "c", "t", *WEIGHTS), asked, places, rng))


def _half_chances(rows: pl.DataFrame, asked: list[int], places: list[int], rng: np.random.Generator) -> Floats:
    """Sums of probabilities over half of each template's answers [splits, issues, 6, 3]. If a template has a single
    answer, half of its probabilities count."""
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
    """Cross-fitted scores in the four `VARIANTS` [issues, 4] from counts [issues, 6, 3], the baseline first. They range
    from -100 to 100, because a difference that chance caused in one half may be negative in the other half. NaN without
    a baseline stance, or if a configuration has fewer than two answers. Only variants that use the proportion of the
    baseline's stance benefit from cross-fitting.
    """
    return _mean_of_halves(answers, _halves(answers, rng))


def _mean_of_halves(answers: NDArray[Any], half: NDArray[Any]) -> Floats:
    """The mean score over splits and over both roles of the halves."""
    drawn, rest = _shares_of(half), _shares_of(np.maximum(answers - half, 0))
    both = np.stack([score_between(drawn, rest), score_between(rest, drawn)])
    # A half in which every baseline answer is 'other' has no stance to lose. Only the remaining halves count.
    known = np.isfinite(both)
    with np.errstate(invalid="ignore"):
        made = np.where(known, both, 0.0).sum((0, 1)) / known.sum((0, 1))
    enough = (np.rint(answers.sum(-1)) >= _FEWEST).all(1) & (answers[:, 0, :OTHER].sum(-1) > 0)
    return np.where(enough[:, None], made, np.nan)


def _halves(answers: Ints, rng: np.random.Generator) -> Ints:
    """A random half of each configuration's answers [splits, issues, 6, 3]. If their number is odd, the size is rounded
    up or down at random."""
    sizes = np.broadcast_to(answers.sum(-1), (_SPLITS, *answers.shape[:2]))
    return _drawn(answers, (sizes + rng.integers(2, size=sizes.shape)) // 2, rng)


def _drawn(answers: Ints, size: Ints, rng: np.random.Generator) -> Ints:
    """Counts of `size` answers that are chosen from `answers` [..., 3] at random without replacement."""
    pro, con, other = (np.broadcast_to(answers[..., k], size.shape) for k in (PRO, CON, OTHER))
    of_pro = rng.hypergeometric(pro, con + other, size)
    of_con = rng.hypergeometric(con, other, size - of_pro)
    return np.stack([of_pro, of_con, size - of_pro - of_con], -1)


def _shares_of(counts: NDArray[Any]) -> Floats:
    with np.errstate(invalid="ignore"):
        return np.asarray(counts / counts.sum(-1, keepdims=True))


def limits_like_these(cells: AnswerCounts, model: int, asked: list[int], score: Estimate) -> Estimate | None:
    """A model's score with an interval for a population of similar issues and wordings.

    For this population, the six templates are a sample of wordings. A jackknife leaves out each wording in turn. The
    half-width of the result is sqrt(h_issues^2 + h_wordings^2). Here h_issues is the half-width over issues, and
    h_wordings that of the jackknife. None if the table does not distinguish the wordings, or a wording is missing.
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
    low, high = (float(np.clip(end, *SCORE)) for end in ends)
    method = f"{score.method}, jackknife over wordings"
    return Estimate(score.value, low, high, score.n, method, score.level, within=SCORE)


DEALS = 100
"""Number of shuffles of the answers. The random error from shuffling is a tenth of the answers' sampling error."""


class ChanceDeals(NamedTuple):
    """Every issue's scores in each shuffle [shuffles, issues, variants], and whether the issue counts as moved
    [shuffles, issues]."""

    scores: Floats
    moved: Floats


def by_chance(cells: AnswerCounts, model: int, seed: int) -> ChanceDeals:
    """Each issue's scores by chance, and whether the issue counts as moved.

    Values are NaN if an issue has no baseline stance in a shuffle, or lacks answers in a configuration of equation 1.
    They are also NaN for token probabilities, because these cannot be shuffled like answers.
    """
    places, shape = scored_places(cells.conditions), (DEALS, len(cells.issues))
    # Counts that do not name templates are treated as one template.
    by_template = cells.answers[model][:, :, None] if cells.design is None else cells.design.by_template(model)
    if places is None or (by_template[:, places] != np.rint(by_template[:, places])).any():
        return ChanceDeals(np.full((*shape, len(VARIANTS)), np.nan), np.full(shape, np.nan))
    answers = by_template[:, places].astype(np.int64)
    counts = dealt(answers, np.random.default_rng((seed, len(cells.issues))))
    with np.errstate(invalid="ignore"):
        share = counts / counts.sum(-1, keepdims=True)
    baseline, argued = share[..., 0, :], share[..., 1:, :]
    flips = flips_from(baseline, argued)
    known = np.isfinite(flips).all(-1)
    return ChanceDeals(scores(baseline, argued), np.where(known, any_flips(flips), np.nan))


def dealt(answers: Ints, rng: np.random.Generator) -> Ints:
    """The answers [issues, 6, templates, 3], shuffled within issue and template and summed over templates [shuffles,
    issues, 6, 3]."""
    sizes = answers.sum(-1)
    left = np.broadcast_to(answers.sum(1), (DEALS, *answers.sum(1).shape)).copy()
    made = np.empty((DEALS, *answers.shape[:2], 3), np.int64)
    for place in range(answers.shape[1]):
        drawn = _drawn(left, np.broadcast_to(sizes[:, place], left.shape[:-1]), rng)
        left -= drawn
        made[:, :, place] = drawn.sum(2)
    return made
