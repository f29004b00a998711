"""How precise the answers of open-mindedness are so far: its shares, and its score for these issues and wordings.

Shares have exact limits, at a level divided among the looks. The score (equation 1) of few answers is biased, since
chance flips evenly divided issues; so its value and limits come from probabilities drawn for each issue given what all
issues say together (`overton.statistics.partial_pooling`), as repeated intervals.
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
"""How much the grid of probabilities and the draws may add to a score, out of 100, at either end."""


def judged(looked: InterimResult, measures: Mapping[str, float]) -> PrecisionState:
    """What the records of each arm say about shares and score; `measures` are the half-widths wanted."""
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
    """How much of each issue's variance is due to each condition: half the mean squared change when that condition
    alone is drawn again (Jansen 1999, Computer Physics Communications 117:35)."""
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
    """Issues in the order of their names, answers [issues, the six configurations, templates, stance], and each
    template's letter and order [issues, templates, 2]: +1 if A is pro and if pro is named first, otherwise -1."""
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
    """Draws of the shares of (pro, con, other) [draws, issues, six configurations, 3], weighting templates equally."""
    n, other = counts.sum(-1), counts[..., 2]
    none = np.zeros((draws, *n.shape))
    refused = drawn_chances(other, n, np.zeros_like(signs), draws, rng) if other.any() else none
    pro = drawn_chances(counts[..., 0], n - other, signs, draws, rng)
    return np.asarray(np.stack([(1 - refused) * pro, (1 - refused) * (1 - pro), refused], -1).mean(3))
