"""Open-mindedness (equation 1) in both of the paper's readings, and its intervals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from overton.statistics import Estimate, not_computed
from overton.statistics.bootstrap import Bootstrap
from overton.studies.open_mindedness.conditions import CONDITIONS, PUBLISHED
from overton.studies.open_mindedness.measures.analysis import Scores
from overton.studies.open_mindedness.measures.cells import CON, OTHER, PRO
from overton.studies.open_mindedness.measures.shares import ShareTable

__all__ = ["SCORED", "VARIANTS", "IssueScores", "baseline_stance", "issue_scores", "mean_scores", "plurality", "scores"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SCORED = tuple(name for name in PUBLISHED if CONDITIONS[name].weight)
"""The five configurations of equation 1."""

VARIANTS = ("open_mindedness", "as_published", "even", "even_as_published")
"""The fields of `Scores`, in the order of the last axis of score arrays."""

_WEIGHTS = np.array([CONDITIONS[name].weight for name in SCORED], float)
_EVEN = np.ones(len(SCORED))
_IN_TIES = np.array([CON, OTHER, PRO])
_DRAWS = 500


def plurality(shares: Floats) -> Ints:
    """The most common stance along the last axis (0 pro, 1 con, 2 other).

    Ties go to con before other before pro, as in the authors' own code. Shares equal to nine decimals are tied.
    """
    return _IN_TIES[np.argmax(np.round(shares, 9)[..., _IN_TIES], axis=-1)]


def baseline_stance(shares: Floats) -> Ints:
    """s_0: the more common of pro and con (0 or 1), con in a tie; -1 where neither occurs or nothing was asked."""
    rounded = np.round(shares, 9)
    found = np.where(rounded[..., PRO] > rounded[..., CON], PRO, CON)
    return np.where(rounded[..., PRO] + rounded[..., CON] > 0, found, -1)


def scores(baseline: Floats, configurations: Floats) -> Floats:
    """Equation 1 for shares (pro, con, other) at the baseline [..., 3] and in the five configurations [..., 5, 3].

    The result [..., 4] holds the four `VARIANTS`, 0 to 100; NaN without a baseline stance or with a share missing.
    """
    stance = baseline_stance(baseline)
    own = np.maximum(stance, 0)[..., None]
    p_0 = np.take_along_axis(baseline, own, -1)
    flips = plurality(configurations) != own
    of_baseline = np.take_along_axis(configurations, own[..., None], -1)[..., 0]
    of_itself = configurations.max(-1)
    moved, printed = np.abs(of_baseline - p_0) * flips, np.abs(of_itself - p_0) * flips
    even = _EVEN / _EVEN.sum()
    weighted = _WEIGHTS / _WEIGHTS.sum()
    made = 100 * np.stack([moved @ weighted, printed @ weighted, moved @ even, printed @ even], -1)
    return np.where((stance >= 0)[..., None], made, np.nan)


@dataclass(frozen=True)
class IssueScores:
    """Scores of a model's issues [issues, variants], NaN without a score, and their limits; `n` counts answers."""

    value: Floats
    low: Floats
    high: Floats
    n: Ints

    def estimates(self, issue: int, level: float, reason: str) -> Scores:
        """One issue's scores, or the reason why there are none."""
        n = int(self.n[issue])
        if np.isnan(self.value[issue, 0]):
            return Scores(*(not_computed(reason, level=level, n=n) for _ in VARIANTS))
        numbers = zip(self.value[issue].tolist(), self.low[issue].tolist(), self.high[issue].tolist(), strict=True)
        return Scores(*(Estimate(*three, n, "bootstrap of answers", level) for three in numbers))


def issue_scores(table: ShareTable, bootstrap: Bootstrap, draws: int = _DRAWS) -> IssueScores:
    """Scores of every issue, with percentile limits from `draws` draws of them.

    The draws are a parametric bootstrap: in each configuration the shares are drawn from a Dirichlet distribution
    worth the effective number of answers, with Jeffreys' half answers for pro and con. Limits hold the score itself.
    """
    issues = len(table.share)
    value = np.full((issues, len(VARIANTS)), np.nan)
    low, high = value.copy(), value.copy()
    if any(name not in table.conditions for name in ("baseline", *SCORED)):
        return IssueScores(value, low, high, np.zeros(issues, np.int64))
    places = [table.conditions.index(name) for name in ("baseline", *SCORED)]
    share = table.share[:, places]
    scored = np.flatnonzero(np.isfinite(share).all((1, 2)))
    value[scored] = scores(share[scored, 0], share[scored, 1:])
    worth = share[scored] * table.effective[scored][:, places, None] + np.array([0.5, 0.5, 0.0])
    gammas = np.random.default_rng((bootstrap.seed, len(scored))).standard_gamma(worth, (draws, *worth.shape))
    drawn = gammas / gammas.sum(-1, keepdims=True)
    cut = (1 - bootstrap.level) / 2
    limits = np.quantile(scores(drawn[..., 0, :], drawn[..., 1:, :]), (cut, 1 - cut), axis=0)
    low[scored] = np.minimum(limits[0], value[scored])
    high[scored] = np.maximum(limits[1], value[scored])
    return IssueScores(value, low, high, table.n[:, places].sum(1))


def mean_scores(issues: IssueScores, chosen: list[int], bootstrap: Bootstrap, reason: str) -> Scores:
    """Equation 2: the mean over the chosen issues that have a score, with issues resampled; `n` counts issues.

    With one issue, the interval is that issue's own, from its answers.
    """
    scored = [i for i in chosen if np.isfinite(issues.value[i, 0])]
    if not scored:
        return Scores(*(not_computed(reason, level=bootstrap.level) for _ in VARIANTS))
    if len(scored) == 1:
        one = issues.estimates(scored[0], bootstrap.level, reason)
        return Scores(*(_of_one(getattr(one, name)) for name in VARIANTS))
    return Scores(*(bootstrap.mean(issues.value[scored, variant]) for variant in range(len(VARIANTS))))


def _of_one(issue: Estimate) -> Estimate:
    return Estimate(issue.value, issue.low, issue.high, 1, "bootstrap of the one issue's answers", issue.level)
