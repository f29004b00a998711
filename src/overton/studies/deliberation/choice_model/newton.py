"""Newton's steps to the maximum of a likelihood whose slope and curvature are sums over a few points."""

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
"""Logits. A size shrinks to a third at most in one step, since a step too far would land at zero, where the likelihood
is level and which is never left. Once it is as small as this and would get smaller, it is fixed: as good as zero."""

_NOISE, _SURE = 0.02, 0.1
"""Curvature for each dilemma. Where it is less, sums over so few points are not exact enough to find a maximum, and it
is enough to be near, if the decrement in all other directions is this small."""

Start = list[Floats]
"""For each block of dilemmas, latent effects [B, n] from which the search for their modes starts."""


@dataclass(frozen=True)
class LikelihoodPoint:
    """The log-likelihood at `parameters` [P], its slope [P] and (minus) curvature [P, P]; modes of latent effects."""

    parameters: Floats
    loglik: float
    slope: Floats
    information: Floats
    latent: Start

    @property
    def dilemmas(self) -> int:
        """How many there are."""
        return sum(map(len, self.latent))

    def free(self, sizes: Flags) -> Flags:
        """Which parameters [P] may move: not the `sizes` that are fixed."""
        fixed = sizes & (np.abs(self.parameters) < _SMALL) & (self.slope * np.sign(self.parameters) <= 0)
        return np.asarray(~fixed)


Sums = tuple[float, Floats, Floats]
"""Log-likelihood, slope and (minus) curvature of some dilemmas."""


def added_up(parameters: Floats, parts: Sequence[tuple[Sums, Floats]]) -> LikelihoodPoint:
    """The point of all dilemmas, from each block's sums and the start of its next search."""
    return LikelihoodPoint(
        parameters=parameters,
        loglik=sum(sums[0] for sums, _ in parts),
        slope=np.sum([sums[1] for sums, _ in parts], axis=0),
        information=np.sum([sums[2] for sums, _ in parts], axis=0),
        latent=[start for _, start in parts],
    )


@dataclass(frozen=True)
class Peak:
    """Where the likelihood is largest, and the inverse of the observed information there, zero for fixed parameters.

    `level` [P, L] are directions of length 1 in which the likelihood is level, or cannot be distinguished from level by
    sums over so few points; `converged` is about those in which it is clearly curved.
    """

    parameters: Floats
    covariance: Floats
    loglik: float
    converged: bool
    level: Floats
    latent: Start


@dataclass(frozen=True)
class StopRule:
    """When to stop: `close` is Newton's decrement, the square of the distance still to go in standard errors. That step
    is still taken, and leaves much less."""

    close: float
    steps: int = 60


def climb(
    at: Callable[[Floats, Start], LikelihoodPoint], parameters: Floats, latent: Start, sizes: Flags, until: StopRule
) -> Peak:
    """Maximise the likelihood that `at` evaluates, from `parameters` [P]; `sizes` [P] says which measure a spread."""
    point = at(parameters, latent)
    correction = np.zeros_like(point.information)
    for _ in range(until.steps):
        ascent = _Ascent.from_point(point, sizes, correction)
        if ascent.gain < until.close:
            break
        for scale in ascent.scales():
            reached = at(point.parameters + scale * ascent.step, point.latent)
            # Close to the maximum the sums' own error hides the gain, but not that the slope gets flatter.
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
    """Newton's `step` [P], made to go upwards where the curvature does not ensure it.

    `gain` is its decrement; `reach` the part of it that does not change any larger size by too much.
    """

    step: Floats
    gain: float
    reach: float

    @classmethod
    def from_point(cls, point: LikelihoodPoint, sizes: Flags, correction: Floats, *, above: float = -np.inf) -> _Ascent:
        """Only in directions in which the curvature is `above` this."""
        free = point.free(sizes)
        values, vectors = np.linalg.eigh((point.information + correction)[np.ix_(free, free)])
        floor = 1e-8 * max(float(np.abs(values).max(initial=0.0)), 1e-300)
        along = np.where(values > above, vectors.T @ point.slope[free], 0.0)
        step = np.zeros_like(point.slope)
        step[free] = vectors @ (along / np.maximum(np.abs(values), floor))
        reach = _reach(point.parameters[sizes], step[sizes])
        return cls(step, float(point.slope @ step), reach)

    def scales(self) -> Floats:
        """Parts of the step to try, one after the other."""
        first = min(1.0, self.reach, _LARGEST_STEP / float(np.abs(self.step).max(initial=1e-300)))
        return np.asarray(first / 2.0 ** np.arange(_HALVINGS if self.gain > _CLOSE else _FEW_HALVINGS))


def _peak(point: LikelihoodPoint, last: _Ascent, sizes: Flags, converged: bool) -> Peak:
    """Where the last step leads; whether it goes upwards is no longer checked, being as good as certain."""
    free = np.flatnonzero(point.free(sizes))
    values, vectors = np.linalg.eigh(point.information[np.ix_(free, free)])
    covariance, level = np.zeros_like(point.information), np.zeros((len(sizes), int(np.sum(values <= 0))))
    covariance[np.ix_(free, free)] = vectors / np.maximum(np.abs(values), 1e-12) @ vectors.T
    level[free] = vectors[:, values <= 0]
    parameters = point.parameters + (last.scales()[0] * last.step if converged else 0.0)
    return Peak(parameters, covariance, point.loglik, converged, level, point.latent)


def _reach(sizes: Floats, step: Floats) -> float:
    """The part of a step that leaves every size that is not small between a third and twice its value."""
    outwards = step * np.sign(sizes)
    most = np.abs(sizes) * np.where(outwards > 0, 1.0, 1 - 1 / _SHRINK)
    hit = (np.abs(outwards) > most) & (np.abs(sizes) > _SMALL)
    return float(np.min(most[hit] / np.abs(outwards[hit]), initial=1.0))


def _secant(point: LikelihoodPoint, reached: LikelihoodPoint, correction: Floats) -> Floats:
    """What to add to the curvature so that it explains how the slope changed (symmetric, of rank one).

    The curvature keeps the quadrature's points in place. With few points the slope changes a little more once they are
    placed anew, so that Newton's steps would go too far and back.
    """
    moved = reached.parameters - point.parameters
    left = point.slope - reached.slope - (reached.information + correction) @ moved
    along = float(left @ moved)
    if along < 1e-3 * float(moved @ reached.information @ moved):
        return np.zeros_like(correction)
    return np.outer(left, left) / along
