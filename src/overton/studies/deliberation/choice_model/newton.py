"""Newton's method for the maximum of a likelihood whose gradient and Hessian are sums over a few points."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from overton.statistics.arrays import Flags, Floats

_HALVINGS, _FEW_HALVINGS = 12, 5
_LARGEST_STEP, _FLATTER = 1.0, 0.9
_CLOSE = 1.0
_SHRINK = 3.0
_SMALL = 0.03
"""Logits.

A step shrinks no standard deviation above this limit to less than a third. A larger step could land at zero, where the
likelihood is flat, and the climb would stay there. A standard deviation below the limit that would shrink further is
fixed, because it is practically zero.
"""

_NOISE, _SURE = 0.02, 0.1
"""The smallest reliable curvature per dilemma, and a decrement.

In directions with less curvature, sums over few points are too inexact to find a maximum. In these directions it is
enough to be near the maximum, if the decrement in all other directions is below the second number.
"""

Start = list[Floats]
"""For each block of dilemmas, latent effects [B, n] from which the search for their modes starts."""


@dataclass(frozen=True)
class LikelihoodPoint:
    """The log-likelihood at `parameters` [P], its gradient [P] and negative Hessian [P, P], and the modes of latent
    effects."""

    parameters: Floats
    loglik: float
    slope: Floats
    information: Floats
    latent: Start

    @property
    def dilemmas(self) -> int:
        """The number of dilemmas."""
        return sum(map(len, self.latent))

    def free(self, sizes: Flags) -> Flags:
        """The parameters [P] that may move: all except the fixed `sizes`."""
        fixed = sizes & (np.abs(self.parameters) < _SMALL) & (self.slope * np.sign(self.parameters) <= 0)
        return np.asarray(~fixed)


Sums = tuple[float, Floats, Floats]
"""Log-likelihood, gradient and negative Hessian, summed over some dilemmas."""


def added_up(parameters: Floats, parts: Sequence[tuple[Sums, Floats]]) -> LikelihoodPoint:
    """Add up all blocks. Each part has a block's sums, and the latent effects from which the block's next search
    starts."""
    return LikelihoodPoint(
        parameters=parameters,
        loglik=sum(sums[0] for sums, _ in parts),
        slope=np.sum([sums[1] for sums, _ in parts], axis=0),
        information=np.sum([sums[2] for sums, _ in parts], axis=0),
        latent=[start for _, start in parts],
    )


@dataclass(frozen=True)
class Peak:
    """The maximum of the likelihood.

    `covariance` is the inverse of the observed information at the maximum, and zero for fixed parameters.

    `level` [P, L] are directions of length 1 in which the likelihood is flat, or cannot be distinguished from flat with
    so few points. `converged` refers to all other directions.
    """

    parameters: Floats
    covariance: Floats
    loglik: float
    converged: bool
    level: Floats
    latent: Start


@dataclass(frozen=True)
class StopRule:
    """A climb stops at a Newton decrement below `close`.

    The decrement is the squared distance to the maximum in standard errors. The last step is still taken, and leaves a
    much smaller distance.
    """

    close: float
    steps: int = 60


def climb(
    at: Callable[[Floats, Start], LikelihoodPoint], parameters: Floats, latent: Start, sizes: Flags, until: StopRule
) -> Peak:
    """Maximise the likelihood that `at` evaluates, from `parameters` [P]. `sizes` [P] marks the standard deviations
    among them."""
    point = at(parameters, latent)
    correction = np.zeros_like(point.information)
    for _ in range(until.steps):
        ascent = _Ascent.from_point(point, sizes, correction)
        if ascent.gain < until.close:
            break
        for scale in ascent.scales():
            reached = at(point.parameters + scale * ascent.step, point.latent)
            # Close to the maximum, the error of the sums hides the gain. A smaller slope can still be recognised.
            if (
                reached.loglik >= point.loglik
                or _Ascent.from_point(reached, sizes, correction).gain < _FLATTER * ascent.gain
            ):
                break
        else:
            break
        if ascent.gain < _CLOSE:
            correction = correction + _secant(point, reached, correction)
        point = reached
    last = _Ascent.from_point(point, sizes, correction)
    if converged := last.gain < until.close:
        return _peak(point, last, sizes, converged)
    near = last.gain < _CLOSE
    last = _Ascent.from_point(point, sizes, np.zeros_like(correction), above=_NOISE * point.dilemmas)
    return _peak(point, last, sizes, near and last.gain < _SURE)


@dataclass(frozen=True)
class _Ascent:
    """Newton's `step` [P], turned upwards in directions in which the curvature has the wrong sign.

    `gain` is the step's decrement. `reach` is the fraction of the step that changes no standard deviation above
    `_SMALL` by too much.
    """

    step: Floats
    gain: float
    reach: float

    @classmethod
    def from_point(cls, point: LikelihoodPoint, sizes: Flags, correction: Floats, *, above: float = -np.inf) -> _Ascent:
        """A step that moves only in directions in which the curvature exceeds `above`."""
        free = point.free(sizes)
        values, vectors = np.linalg.eigh((point.information + correction)[np.ix_(free, free)])
        floor = 1e-8 * max(float(np.abs(values).max(initial=0.0)), 1e-300)
        along = np.where(values > above, vectors.T @ point.slope[free], 0.0)
        step = np.zeros_like(point.slope)
        step[free] = vectors @ (along / np.maximum(np.abs(values), floor))
        reach = _reach(point.parameters[sizes], step[sizes])
        return cls(step, float(point.slope @ step), reach)

    def scales(self) -> Floats:
        """Fractions of the step to try, one after the other."""
        first = min(1.0, self.reach, _LARGEST_STEP / float(np.abs(self.step).max(initial=1e-300)))
        return np.asarray(first / 2.0 ** np.arange(_HALVINGS if self.gain > _CLOSE else _FEW_HALVINGS))


def _peak(point: LikelihoodPoint, last: _Ascent, sizes: Flags, converged: bool) -> Peak:
    """The point after the last step.

    This step practically always goes upwards, so its direction is not checked.
    """
    free = np.flatnonzero(point.free(sizes))
    values, vectors = np.linalg.eigh(point.information[np.ix_(free, free)])
    covariance, level = np.zeros_like(point.information), np.zeros((len(sizes), int(np.sum(values <= 0))))
    covariance[np.ix_(free, free)] = vectors / np.maximum(np.abs(values), 1e-12) @ vectors.T
    level[free] = vectors[:, values <= 0]
    parameters = point.parameters + (last.scales()[0] * last.step if converged else 0.0)
    return Peak(parameters, covariance, point.loglik, converged, level, point.latent)


def _reach(sizes: Floats, step: Floats) -> float:
    """The fraction of a step after which every standard deviation above `_SMALL` is still between a third and twice its
    value."""
    outwards = step * np.sign(sizes)
    most = np.abs(sizes) * np.where(outwards > 0, 1.0, 1 - 1 / _SHRINK)
    hit = (np.abs(outwards) > most) & (np.abs(sizes) > _SMALL)
    return float(np.min(most[hit] / np.abs(outwards[hit]), initial=1.0))


def _secant(point: LikelihoodPoint, reached: LikelihoodPoint, correction: Floats) -> Floats:
    """The correction of the curvature (symmetric, of rank one) that explains the observed change of the slope.

    The computed curvature assumes that the quadrature's points stay in place. With few points, the slope changes a
    little more when the points are placed again. Without the correction, Newton's steps would overshoot and return.
    """
    moved = reached.parameters - point.parameters
    left = point.slope - reached.slope - (reached.information + correction) @ moved
    along = float(left @ moved)
    if along < 1e-3 * float(moved @ reached.information @ moved):
        return np.zeros_like(correction)
    return np.outer(left, left) / along
