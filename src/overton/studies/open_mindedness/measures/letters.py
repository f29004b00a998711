"""Whether answers follow the letter or the position: mirrored templates tell. Not in the paper."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from overton.statistics import Estimate
from overton.studies.open_mindedness.measures.analysis import LetterOrPosition
from overton.studies.open_mindedness.measures.cells import CON, PRO, Cells
from overton.studies.open_mindedness.measures.shares import cell_variance
from overton.studies.open_mindedness.measures.summaries import wald

__all__ = ["letter_or_position"]

Floats = NDArray[np.float64]


def letter_or_position(cells: Cells, model: int, conditions: list[int], level: float) -> dict[int, LetterOrPosition]:
    """For each issue with mirrored templates of opposite letters: do answers agree in letter or in position?

    For answers to the two templates of a pair, drawn at random: P(same letter) = pro * con' + con * pro' and
    P(same position) = pro * pro' + con * con', averaged over the pairs and the `conditions`.
    """
    if cells.design is None or not conditions:
        return {}
    counts = cells.design.cells[model][:, conditions].sum((3, 4))
    sizes = counts.sum(-1)
    shares = counts / np.maximum(sizes, 1)[..., None]
    mirrored = np.roll(shares, 3, axis=2)
    letter = cells.design.letter[model]
    pairs = (letter[:, None, :3] * letter[:, None, 3:] < 0) & (sizes[..., :3] > 0) & (sizes[..., 3:] > 0)
    used = pairs.sum((1, 2))
    zero = np.zeros_like(mirrored[..., PRO])
    by_letter = np.stack([mirrored[..., CON], mirrored[..., PRO], zero], -1)
    by_position = np.stack([mirrored[..., PRO], mirrored[..., CON], zero], -1)
    made = [_over_pairs(counts, shares, coefficients, pairs) for coefficients in (by_letter, by_position)] + [
        _over_pairs(counts, shares, by_letter - by_position, pairs)
    ]
    return {
        int(issue): _which([(float(v[issue]), float(e[issue])) for v, e in made], int(sizes[issue].sum()), level)
        for issue in np.flatnonzero(used)
    }


def _over_pairs(
    counts: NDArray[np.int64], shares: Floats, coefficients: Floats, pairs: NDArray[np.bool_]
) -> tuple[Floats, Floats]:
    """The mean over pairs of a product of two shares' sums, and its standard error by the delta method."""
    value = (shares * coefficients).sum(-1)[..., :3]
    variance = cell_variance(counts, coefficients)
    of_pair = np.where(pairs, variance[..., :3] + variance[..., 3:], 0.0)
    used = np.maximum(pairs.sum((1, 2)), 1)
    return np.where(pairs, value, 0.0).sum((1, 2)) / used, np.sqrt(of_pair.sum((1, 2))) / used


def _which(made: list[tuple[float, float]], n: int, level: float) -> LetterOrPosition:
    same_letter, same_position, gap = (wald(value, error, n, level) for value, error in made)
    follows: Literal["letter", "position"] | None = "letter" if gap.low > 0 else "position" if gap.high < 0 else None
    return LetterOrPosition(_share(same_letter), _share(same_position), gap, follows)


def _share(estimate: Estimate) -> Estimate:
    return Estimate(estimate.value, max(estimate.low, 0.0), estimate.high, estimate.n, estimate.method, estimate.level)
