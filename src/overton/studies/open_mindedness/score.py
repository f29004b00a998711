"""Open-mindedness (equation 1) in both of the paper's readings: of shares, from halves of the answers, and by chance.

Scores that chance does not raise are cross-fitted: half of an issue's answers decide whether a configuration flips the
stance, the other half measure by how much; then the halves swap (Chernozhukov et al. 2018, Econometrics Journal 21:C1).
With the same answers for both, chance flips an evenly divided issue, and the very difference that flipped it counts. If
answers are probabilities, chance is what differs between prompts of one template: other arguments, in another order,
after other words of the answer. So these are halved within templates. A template with a single prompt shows no such
chance: it is in both halves.

By chance: if no configuration moved anything, each template's answers on an issue could equally have come from the
baseline or from any configuration. They are dealt out at random many times, keeping the number of answers of each; the
mean over the deals is the null's own value, and costs no call; their spread is what chance does to a difference.
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
"""The keys of the scores, in the order of the last axis of score arrays.

open_mindedness    p_c is the share of the baseline's stance in the configuration (worked example, footnote 1)
..._as_published   p_c is the share of the configuration's own most common stance (equation 1 as printed)
..._even           with weight 1 for each of the five configurations, divided by 5
"""

_WEIGHTS = np.array([CONDITIONS[name].weight for name in SCORED], float)
_EVEN = np.ones(len(SCORED))
_TIED = 1e-9


def scored_places(conditions: Sequence[str]) -> list[int] | None:
    """The places of the baseline and the five configurations of equation 1; None if one of them was not asked."""
    return [conditions.index(name) for name in PUBLISHED] if {*PUBLISHED} <= {*conditions} else None


def plurality(shares: Floats) -> Ints:
    """The most common stance along the last axis (0 pro, 1 con, 2 other).

    Ties, to within 1e-9, go to con before other before pro, as in the authors' own code.
    """
    pro, con, other = shares[..., PRO], shares[..., CON], shares[..., OTHER]
    found = np.where(other > con + _TIED, OTHER, CON)
    return np.asarray(np.where(pro > np.maximum(con, other) + _TIED, PRO, found), np.int64)


def baseline_stance(shares: Floats) -> Ints:
    """s_0: the more common of pro and con (0 or 1), con in a tie; -1 if neither occurs or nothing was asked."""
    pro, con = shares[..., PRO], shares[..., CON]
    found = np.where(pro > con + _TIED, PRO, CON)
    return np.asarray(np.where(pro + con > 0, found, -1), np.int64)


def flips_from(baseline: Floats, shares: Floats) -> Floats:
    """Whether the most common stance of shares [..., conditions, 3] differs from the stance of the `baseline` [..., 3]:
    1 or 0 [..., conditions], NaN without a baseline stance or answers."""
    first = baseline_stance(baseline)[..., None]
    known = np.isfinite(shares[..., PRO]) & (first >= 0)
    return np.where(known, plurality(shares) != first, np.nan)


def any_flips(flips: Floats) -> Floats:
    """Whether some of the configurations on the last axis flips the stance: 1 or 0, NaN if none is known to and some
    are unknown."""
    return np.where((flips == 1).any(-1), 1.0, np.where(np.isfinite(flips).all(-1), 0.0, np.nan))


def scores(baseline: Floats, configurations: Floats) -> Floats:
    """Equation 1 for shares (pro, con, other) at the baseline [..., 3] and in the five configurations [..., 5, 3].

    The result [..., 4] has the four `VARIANTS`, 0 to 100; NaN without a baseline stance or with a share missing.
    """
    shares = np.concatenate([baseline[..., None, :], configurations], -2)
    return score_between(shares, shares)


def score_between(decide: Floats, measure: Floats) -> Floats:
    """Equation 1 when some answers decide the stances, the flips and the direction of each difference, and others, or
    the same, measure how large it is: shares [..., 6, 3] of each, the baseline first. With the same answers it is
    `scores`; with others a difference may turn out negative.
    """
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
    """p_c - p_0 [..., 5]: the share of stance `second` in each configuration minus that of `first` at the baseline."""
    p_c = np.take_along_axis(shares[..., 1:, :], second[..., None], -1)[..., 0]
    return np.asarray(p_c - np.take_along_axis(shares[..., 0, :], first, -1))


@dataclass(frozen=True)
class IssueScores:
    """Scores of a model's issues.

    value   [issues, variants], NaN without a score
    n       [issues] answers in the configurations of equation 1
    scored  the issues with answers in all of them
    table   the shares that are scored, and their `places` in the score
    draws   how many draws of the shares limits are from; without draws there are none
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
        """The lower and the upper limits [issues, variants], NaN without any, and the mean score [issues] of the draws.

        The draws are a parametric bootstrap: in each configuration the shares are drawn from a Dirichlet distribution
        worth the effective number of answers, with Jeffreys' half answers for pro and con. Limits include the score
        itself.
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
        """By how much the uncertainty of the shares raises the mean score of all issues; NaN without a score.

        Shares are drawn as far from these as they may be from the truth: that raises their score as much again.
        """
        by = self.limits[2] - self.value[:, 0]
        return float(by[np.isfinite(by)].mean()) if np.isfinite(by).any() else nan

    def withheld(self) -> IssueScores:
        """The same issues without a score, because their answers measure nothing."""
        return replace(self, value=np.full_like(self.value, np.nan), scored=self.scored[:0])

    def estimates(self, issue: int, level: float, reason: str) -> list[Estimate]:
        """One issue's scores in the order of `VARIANTS`, or the reason why there are none; `n` counts answers."""
        n = int(self.n[issue])
        if np.isnan(self.value[issue, 0]):
            return [not_computed(reason, level=level, n=n)] * len(VARIANTS)
        low, high, _ = self.limits
        numbers = zip(self.value[issue].tolist(), low[issue].tolist(), high[issue].tolist(), strict=True)
        return [Estimate(*three, n, "bootstrap of answers", level) for three in numbers]


def issue_scores(table: ShareTable, jackknife: Jackknife, draws: int) -> IssueScores:
    """Scores of every issue; limits are from so many draws."""
    issues, places = len(table.share), scored_places(table.conditions) or []
    value = np.full((issues, len(VARIANTS)), np.nan)
    share = table.share[:, places]
    scored = np.flatnonzero(np.isfinite(share).all((1, 2))) if places else np.array([], np.int64)
    if places:
        value[scored] = scores(share[scored, 0], share[scored, 1:])
    return IssueScores(value, table.n[:, places].sum(1), scored, table, places, jackknife, draws)


_BLOCK = 16
"""Issues whose draws are in memory at a time."""


def _drawn_shares(share: Floats, effective: Floats, draws: int, rng: np.random.Generator) -> Floats:
    """Draws of shares [draws, issues, conditions, 3] from Dirichlet distributions worth `effective` answers."""
    pro, con, other = (share[..., k] * effective for k in (PRO, CON, OTHER))
    gammas = np.empty((3, draws, *effective.shape))
    gammas[PRO] = rng.standard_gamma(pro + 0.5, (draws, *effective.shape))
    gammas[CON] = rng.standard_gamma(con + 0.5, (draws, *effective.shape))
    gammas[OTHER] = 0.0
    refused = np.nonzero(other)  # Often few: drawing the rest would give zeros.
    gammas[OTHER][:, *refused] = rng.standard_gamma(other[refused], (draws, len(refused[0])))
    gammas /= gammas[PRO] + gammas[CON] + gammas[OTHER]
    return np.moveaxis(gammas, 0, -1)


def extreme_scores(cells: AnswerCounts, model: int, places: Sequence[int]) -> tuple[Floats, Floats]:
    """The lowest and the highest scores that each issue of a model could have, each [issues, variants].

    In each configuration, the failed calls and the answers without a stance all turn out pro, all con, or all other.
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
"""Random halvings, each used both ways: their remaining chance error is a tenth of the answers' own."""

_FEWEST = 2
"""The fewest answers in a configuration that can be halved."""


def crossed_issues(cells: AnswerCounts, model: int, asked: list[int], places: list[int], seed: int) -> Floats:
    """`crossed` of a model's issues `asked` [asked, 4], by counts or by probabilities."""
    answers, rng = cells.answers[model][asked][:, places], np.random.default_rng((seed, len(asked)))
    if not cells.weighed or cells.design is None:
        return crossed(answers, rng)
    rows = cells.design.rows.filter((pl.col("m") == model) & pl.col("i").is_in(asked) & pl.col("c").is_in(places))
    return _mean_of_halves(answers, _half_chances(rows.select("i", "c", "t", *WEIGHTS), asked, places, rng))


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
    return _mean_of_halves(answers, _halves(answers, rng))


def _mean_of_halves(answers: NDArray[Any], half: NDArray[Any]) -> Floats:
    """The mean of both ways over the halves."""
    drawn, rest = _shares_of(half), _shares_of(np.maximum(answers - half, 0))
    both = np.stack([score_between(drawn, rest), score_between(rest, drawn)])
    # A half in which every baseline answer is 'other' has no stance to lose: only the other halves count.
    known = np.isfinite(both)
    with np.errstate(invalid="ignore"):
        made = np.where(known, both, 0.0).sum((0, 1)) / known.sum((0, 1))
    enough = (np.rint(answers.sum(-1)) >= _FEWEST).all(1) & (answers[:, 0, :OTHER].sum(-1) > 0)
    return np.where(enough[:, None], made, np.nan)


def _halves(answers: Ints, rng: np.random.Generator) -> Ints:
    """Half of each configuration's answers drawn at random [splits, issues, 6, 3]; an odd one goes to either half."""
    sizes = np.broadcast_to(answers.sum(-1), (_SPLITS, *answers.shape[:2]))
    return _drawn(answers, (sizes + rng.integers(2, size=sizes.shape)) // 2, rng)


def _drawn(answers: Ints, size: Ints, rng: np.random.Generator) -> Ints:
    """So many of the answers [..., 3], drawn at random without replacement."""
    pro, con, other = (np.broadcast_to(answers[..., k], size.shape) for k in (PRO, CON, OTHER))
    of_pro = rng.hypergeometric(pro, con + other, size)
    of_con = rng.hypergeometric(con, other, size - of_pro)
    return np.stack([of_pro, of_con, size - of_pro - of_con], -1)


def _shares_of(counts: NDArray[Any]) -> Floats:
    with np.errstate(invalid="ignore"):
        return np.asarray(counts / counts.sum(-1, keepdims=True))


def limits_like_these(cells: AnswerCounts, model: int, asked: list[int], score: Estimate) -> Estimate | None:
    """A model's score with an interval for issues and wordings like these.

    The six templates are asked equally often, so if they are fixed, differences between them are not sampling noise.
    For claims about the issues, rather than about these six questions on them, they are a sample. So to the interval
    over issues this adds what leaving out each wording in turn changes (the jackknife): squares of half-widths add up.
    None if the table does not distinguish the wordings, or one is not asked.
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
    places, shape = scored_places(cells.conditions), (DEALS, len(cells.issues))
    # Counts that name no template count as one template's.
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
    """Answers [issues, 6, templates, 3] dealt out again within issue and template: [deals, issues, 6, 3]."""
    sizes = answers.sum(-1)
    left = np.broadcast_to(answers.sum(1), (DEALS, *answers.sum(1).shape)).copy()
    made = np.empty((DEALS, *answers.shape[:2], 3), np.int64)
    for place in range(answers.shape[1]):
        drawn = _drawn(left, np.broadcast_to(sizes[:, place], left.shape[:-1]), rng)
        left -= drawn
        made[:, :, place] = drawn.sum(2)
    return made
