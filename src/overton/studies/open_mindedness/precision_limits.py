"""The precision that the answers so far have reached, for proportions and for the score. The score's precision refers
to these issues and wordings only.

Proportions have exact limits. Their error probability is divided among the interim analyses. The score (equation 1) is
biased after a few answers, because evenly divided issues flip by chance. The score's value and limits therefore come
from posterior samples of each issue's probabilities (`overton.statistics.partial_pooling`). The limits are repeated
confidence intervals.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from overton.statistics.partial_pooling import drawn_chances
from overton.statistics.stopping import divide_level, exact_limits
from overton.studies.open_mindedness.options import PUBLISHED
from overton.studies.open_mindedness.precision import SCORE, SHARE
from overton.studies.open_mindedness.record import STANCES, Record
from overton.studies.open_mindedness.score import scores
from overton.studies.precision import Arm, InterimResult, PrecisionLimit, PrecisionState

_DRAWS = 400
_ROUNDING = 0.1
"""An allowance for errors from the grid of probabilities and from sampling, added to each half-width of a score (0 to
100)."""


def judged(looked: InterimResult, measures: Mapping[str, float]) -> PrecisionState:
    """The precision of proportions in each arm, and of the score. `measures` are the requested half-widths."""
    arms = list(looked.records)
    limits, wide = _shares(looked, measures[SHARE]) if SHARE in measures else ([], frozenset())
    if SHARE in measures and SCORE not in measures:
        return PrecisionState(limits, wide, False, {})
    score, variance = _score(looked, measures.get(SCORE))
    is_wide = SCORE not in measures or not score.half <= measures[SCORE]
    return PrecisionState([score, *limits], wide, is_wide, {arm: variance.get(arm, 0.0) for arm in arms})


def _shares(looked: InterimResult, width: float) -> tuple[list[PrecisionLimit], frozenset[Arm]]:
    level = divide_level(looked.level, looked.arm_looks)
    found, wide = [], set()
    for arm, records in looked.records.items():
        stances = [record.stance for record in records if record.failure is None]
        counts = np.array([stances.count(side) for side in STANCES])
        low, high = exact_limits(counts, len(stances), level)
        if (high - low).max() / 2 > width:
            wide.add(arm)
        found += [
            PrecisionLimit(SHARE, f"{side} answers", count / max(len(stances), 1), float(a), float(b), width, *arm)
            for side, count, a, b in zip(STANCES, counts.tolist(), low, high, strict=True)
        ]
    return found, frozenset(wide)


def _score(looked: InterimResult, width: float | None) -> tuple[PrecisionLimit, dict[Arm, float]]:
    title = "open-mindedness of these issues in these wordings, 0 to 100"
    issues, counts, signs = counted(looked.records)
    answered = np.flatnonzero((counts[:, 0, :, :2].sum((1, 2)) > 0) & (counts.sum((2, 3)) > 0).all(1))
    if not answered.size:
        return PrecisionLimit(SCORE, title, float("nan"), 0.0, 100.0, width), {}
    shares = score_draws(counts[answered], signs[answered], np.random.default_rng((looked.seed, int(counts.sum()))))
    own = scores(shares[:, :, 0], shares[:, :, 1:])[..., 0]
    model = np.nanmean(own, 1)
    half = looked.reach * float(model.std(ddof=1)) + _ROUNDING
    value = float(model.mean())
    limit = PrecisionLimit(SCORE, title, value, max(value - half, 0.0), min(value + half, 100.0), width)
    return limit, _variances(shares, own, [issues[place] for place in answered])


def _variances(shares: NDArray[np.float64], own: NDArray[np.float64], issues: Sequence[str]) -> dict[Arm, float]:
    """The part of each issue's variance that is due to each condition. It is half the mean squared change when that
    condition alone is sampled again (Jansen 1999, Computer Physics Communications 117:35)."""
    made: dict[Arm, float] = {}
    for place, name in enumerate(PUBLISHED):
        other = shares.copy()
        other[:, :, place] = np.roll(shares[:, :, place], 1, 0)
        moved = np.nanmean((scores(other[:, :, 0], other[:, :, 1:])[..., 0] - own) ** 2, 0) / 2
        made |= {Arm(issue, name): float(part) for issue, part in zip(issues, moved, strict=True)}
    return made


def counted(
    records: Mapping[Arm, Sequence[Record]],
) -> tuple[list[str], NDArray[np.int64], NDArray[np.float64]]:
    """The sorted issues, numbers of answers [issues, six configurations, templates, stance], and signs [issues,
    templates, 2]. The first sign is +1 if A is pro, otherwise -1. The second is +1 if pro is named first, otherwise
    -1."""
    issues = sorted({arm.item for arm in records})
    place, condition = ({name: k for k, name in enumerate(names)} for names in (issues, PUBLISHED))
    counts = np.zeros((len(issues), len(PUBLISHED), 6, 3), np.int64)
    signs = np.zeros((len(issues), 6, 2))
    for arm, some in records.items():
        if arm.name not in condition:
            continue
        for record in some:
            i, t = place[arm.item], record.template - 1
            signs[i, t] = 1 if record.a_is == "pro" else -1, 1 if record.pro_first else -1
            if record.failure is None:
                counts[i, condition[arm.name], t, STANCES.index(record.stance)] += 1
    asked = counts.sum((0, 1, 3)) > 0
    return issues, counts[:, :, asked], signs[:, asked]


def score_draws(
    counts: NDArray[np.int64], signs: NDArray[np.float64], rng: np.random.Generator, draws: int = _DRAWS
) -> NDArray[np.float64]:
    """Samples of the proportions of (pro, con, other) [draws, issues, six configurations, 3]. Templates have equal
    weight.
    """
    n, other = counts.sum(-1), counts[..., 2]
    none = np.zeros((draws, *n.shape))
    refused = drawn_chances(other, n, np.zeros_like(signs), draws, rng) if other.any() else none
    pro = drawn_chances(counts[..., 0], n - other, signs, draws, rng)
    return np.asarray(np.stack([(1 - refused) * pro, (1 - refused) * (1 - pro), refused], -1).mean(3))
