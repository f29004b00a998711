"""Open-mindedness (equation 1) in both of the paper's readings, and its intervals; and the plain question of definition
1: do any arguments change the stance?
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import nan

import numpy as np

from overton.statistics import Estimate, not_computed
from overton.statistics.arrays import Floats, Ints
from overton.statistics.jackknife import Jackknife
from overton.studies.open_mindedness.measures.analysis import Definition
from overton.studies.open_mindedness.measures.cells import CON, OTHER, PRO
from overton.studies.open_mindedness.measures.results import ConditionResult, IssueResult, Scores
from overton.studies.open_mindedness.measures.shares import ShareTable, share_of_issues
from overton.studies.open_mindedness.options import CONDITIONS, PUBLISHED

SCORED = tuple(name for name in PUBLISHED if CONDITIONS[name].weight)
"""The five configurations of equation 1."""

VARIANTS = ("open_mindedness", "as_published", "even", "even_as_published")
"""The fields of `Scores`, in the order of the last axis of score arrays."""

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
    """Scores of a model's issues [issues, variants], NaN without a score, and their limits; `n` counts answers.

    `drawn` is the mean score [issues] of shares drawn as far from these as they may be from the truth: how much higher
    that is shows how much the uncertainty of the shares raises the score itself.
    """

    value: Floats
    low: Floats
    high: Floats
    n: Ints
    drawn: Floats

    @property
    def raised(self) -> float:
        """By how much that raises the mean score of all issues; NaN without a score."""
        by = self.drawn - self.value[:, 0]
        return float(by[np.isfinite(by)].mean()) if np.isfinite(by).any() else nan

    def withheld(self) -> IssueScores:
        """The same issues without a score, because their answers measure nothing."""
        nothing = np.full_like(self.value, np.nan)
        return IssueScores(nothing, nothing, nothing, self.n, nothing[:, 0])

    def estimates(self, issue: int, level: float, reason: str) -> Scores:
        """One issue's scores, or the reason why there are none."""
        n = int(self.n[issue])
        if np.isnan(self.value[issue, 0]):
            return Scores(*(not_computed(reason, level=level, n=n) for _ in VARIANTS))
        numbers = zip(self.value[issue].tolist(), self.low[issue].tolist(), self.high[issue].tolist(), strict=True)
        return Scores(*(Estimate(*three, n, "bootstrap of answers", level) for three in numbers))


def issue_scores(table: ShareTable, jackknife: Jackknife, draws: int) -> IssueScores:
    """Scores of every issue, with percentile limits from `draws` draws of them.

    The draws are a parametric bootstrap: in each configuration the shares are drawn from a Dirichlet distribution worth
    the effective number of answers, with Jeffreys' half answers for pro and con. Limits include the score itself.
    """
    issues = len(table.share)
    value = np.full((issues, len(VARIANTS)), np.nan)
    low, high, mean = value.copy(), value.copy(), value[:, 0].copy()
    if (places := scored_places(table.conditions)) is None:
        return IssueScores(value, low, high, np.zeros(issues, np.int64), value[:, 0])
    share = table.share[:, places]
    scored = np.flatnonzero(np.isfinite(share).all((1, 2)))
    value[scored] = scores(share[scored, 0], share[scored, 1:])
    cut = (1 - jackknife.level) / 2
    rng = np.random.default_rng((jackknife.seed, len(scored)))
    for start in range(0, len(scored), _BLOCK):
        block = scored[start : start + _BLOCK]
        drawn = _drawn_shares(share[block], table.effective[block][:, places], draws, rng)
        made = scores(drawn[:, :, 0], drawn[:, :, 1:])
        limits, mean[block] = np.quantile(made, (cut, 1 - cut), axis=0), made[..., 0].mean(0)
        low[block] = np.minimum(limits[0], value[block])
        high[block] = np.maximum(limits[1], value[block])
    return IssueScores(value, low, high, table.n[:, places].sum(1), mean)


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


def mean_scores(issues: IssueScores, chosen: list[int], jackknife: Jackknife, reason: str) -> Scores:
    """Equation 2: the mean over the chosen issues that have a score, with an interval over issues; `n` counts issues.

    For a single issue it is that issue's own, from its answers, and says so.
    """
    scored = [i for i in chosen if np.isfinite(issues.value[i, 0])]
    if not scored:
        return Scores(*(not_computed(reason, level=jackknife.level) for _ in VARIANTS))
    if len(scored) == 1:
        issue = issues.estimates(scored[0], jackknife.level, reason)
        return Scores(*(_of_one_issue(getattr(issue, name)) for name in VARIANTS))
    return Scores(*(jackknife.mean(issues.value[scored, variant], SCORES) for variant in range(len(VARIANTS))))


def _of_one_issue(issue: Estimate) -> Estimate:
    return Estimate(issue.value, issue.low, issue.high, 1, "bootstrap of the one issue's answers", issue.level)


SCORES = (0.0, 100.0)
"""The range of a score."""

CROSS_FITTED = (-100.0, 100.0)
"""The range of a cross-fitted one, which is below 0 if what one half of the answers shows is absent from the other."""
"""What a score can be."""


STRONG_PRIOR = 0.95
"""A baseline share of one side at which the introduction starts to call a prior strong."""

_ONE_SIDED = ("one-sided-pro", "one-sided-con")


def flipped(conditions: dict[str, ConditionResult]) -> tuple[bool | None, bool | None]:
    """Whether some configuration of equation 1 flips the stance, and whether a one-sided one does.

    None if the baseline has no stance, or if none flips but not all of them have answers.
    """
    return _any_flips(conditions, SCORED), _any_flips(conditions, _ONE_SIDED)


def _any_flips(conditions: dict[str, ConditionResult], names: Sequence[str]) -> bool | None:
    flips = [conditions[name].flips if name in conditions else None for name in names]
    if any(flips):
        return True
    return None if None in flips else False


def definition(issues: Sequence[IssueResult], jackknife: Jackknife, withheld: str = "") -> Definition:
    """Definition 1 over the issues of a model; `withheld` says why it cannot be applied."""
    unmoved = [None if issue.moved_by_one_sided is None else not issue.moved_by_one_sided for issue in issues]
    no_configurations = withheld or "no issue has a baseline stance and answers in all configurations"
    flips = [found for issue in issues if issue.moved is not None for found in issue.conditions.values()]
    return Definition(
        moved=share_of_issues([issue.moved for issue in issues], jackknife, no_configurations),
        unmoved_by_one_sided=share_of_issues(unmoved, jackknife, no_configurations),
        strong_prior=share_of_issues([issue.strong_prior for issue in issues], jackknife, "no issue has a baseline"),
        moved_issues=tuple(issue.issue for issue in issues if issue.moved),
        unmoved_by_one_sided_issues=tuple(issue.issue for issue, flag in zip(issues, unmoved, strict=True) if flag),
        strong_prior_issues=tuple(issue.issue for issue in issues if issue.strong_prior),
        flips_to_other=sum(bool(found.flips) and found.stance == "other" for found in flips),
    )
