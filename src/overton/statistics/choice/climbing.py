"""Newton's steps to the maximum of a likelihood whose slope and curvature are sums over a few points."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Peak", "Point", "Roles", "Start", "climb", "polish"]

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]

_STEPS = 60
_HALVINGS = 12
_LARGEST_STEP = 2.0
_CLOSE = 1.0
_CONVERGED = 1e-3
"""Newton's decrement: the square of the distance still to go in standard errors. That step is still taken."""

_NEAR = 9.0
"""A decrement. Sums over more points should not move the estimates by more than three standard errors."""

_OF_COEFFICIENTS = 0.05
"""The part that coefficients may have in a direction in which the likelihood is level."""

_SHRINK = 3.0
_SMALL = 0.03
"""Logits. A size shrinks to a third at most in one step, since a step too far would land at zero, which is level and
not left again. Once it is as small as this and would get smaller, it is held: as good as zero."""

Start = list[Array]
"""For each block of dilemmas, latent effects [B, n] to start the search for their modes from."""


@dataclass(frozen=True)
class Roles:
    """The first `coefficients` parameters are those of the regression; `sizes` [P] says which measure a spread."""

    coefficients: int
    sizes: Flags


@dataclass(frozen=True)
class Point:
    """The log-likelihood at `parameters` [P], its slope [P] and (minus) curvature [P, P]; modes of latent effects."""

    parameters: Array
    loglik: float
    slope: Array
    information: Array
    latent: Start

    def free(self, sizes: Flags) -> Flags:
        """Which parameters [P] may move: not the `sizes` that are held."""
        held = sizes & (np.abs(self.parameters) < _SMALL) & (self.slope * np.sign(self.parameters) <= 0)
        return np.asarray(~held)


@dataclass(frozen=True)
class Peak:
    """Where the likelihood is largest, and the inverse of the observed information there, zero for what is held.

    `told` is False where the likelihood is level in some direction of the spreads, or cannot be told from level by
    sums over so few points; the coefficients may be told all the same, and `converged` is about them.
    """

    parameters: Array
    covariance: Array
    loglik: float
    converged: bool
    told: bool
    latent: Start


def climb(at: Callable[[Array, Start], Point], parameters: Array, latent: Start, roles: Roles) -> Peak:
    """Maximise the likelihood that `at` evaluates, from `parameters` [P]."""
    point, sizes = at(parameters, latent), roles.sizes
    correction = np.zeros_like(point.information)
    for _ in range(_STEPS):
        step, gain = _ascent(point, point.free(sizes), correction)
        if converged := gain < _CONVERGED:
            break
        scale = min(1.0, _LARGEST_STEP / float(np.abs(step).max()), _shrinking(point.parameters[sizes], step[sizes]))
        for _ in range(_HALVINGS):
            reached = at(point.parameters + scale * step, point.latent)
            # Close to the maximum the sums' own error hides what is gained, but not that the slope gets flatter.
            if reached.loglik >= point.loglik or _ascent(reached, reached.free(sizes), correction)[1] < gain:
                break
            scale /= 2
        else:
            break
        if gain < _CLOSE:
            correction = correction + _secant(point, reached, correction)
        point = reached
    return _peak(point, point.parameters + step if converged else point.parameters, roles, converged)


def polish(at: Callable[[Array, Start], Point], peak: Peak, latent: Start, roles: Roles) -> Peak:
    """One step more with sums over more points, which `at` evaluates; their curvature and log-likelihood are kept."""
    point, sizes = at(peak.parameters, latent), roles.sizes
    step, gain = _ascent(point, point.free(sizes), np.zeros_like(point.information))
    scale = _shrinking(point.parameters[sizes], step[sizes]) if gain < _NEAR else 0.0
    return _peak(point, point.parameters + scale * step, roles, peak.converged)


def _peak(point: Point, parameters: Array, roles: Roles, converged: bool) -> Peak:
    free = np.flatnonzero(point.free(roles.sizes))
    values, vectors = np.linalg.eigh(point.information[np.ix_(free, free)])
    level = values <= 0
    covariance = np.zeros_like(point.information)
    covariance[np.ix_(free, free)] = vectors / np.maximum(np.abs(values), 1e-12) @ vectors.T
    of_coefficients = np.sum(vectors[free < roles.coefficients][:, level] ** 2)
    clear = converged and bool(of_coefficients < _OF_COEFFICIENTS)
    return Peak(parameters, covariance, point.loglik, clear, not level.any(), point.latent)


def _shrinking(sizes: Array, step: Array) -> float:
    """The part of a step that leaves every size that is not small at a third of itself or more."""
    most = (1 - 1 / _SHRINK) * np.abs(sizes)
    towards = -step * np.sign(sizes)
    hit = (towards > most) & (np.abs(sizes) > _SMALL)
    return float(np.min(most[hit] / towards[hit], initial=1.0))


def _secant(point: Point, reached: Point, correction: Array) -> Array:
    """What to add to the curvature so that it explains how the slope changed (symmetric, of rank one).

    The curvature holds the quadrature's points where they are. With few points the slope changes a little more once
    they are placed anew, so that Newton's steps would go too far and back.
    """
    moved = reached.parameters - point.parameters
    left = point.slope - reached.slope - (reached.information + correction) @ moved
    along = float(left @ moved)
    if along < 1e-3 * float(moved @ reached.information @ moved):
        return np.zeros_like(correction)
    return np.outer(left, left) / along


def _ascent(point: Point, free: Flags, correction: Array) -> tuple[Array, float]:
    """Newton's step, made to go upwards where the curvature does not let it; and its decrement."""
    values, vectors = np.linalg.eigh((point.information + correction)[np.ix_(free, free)])
    floor = 1e-8 * max(float(np.abs(values).max(initial=0.0)), 1e-300)
    along = vectors.T @ point.slope[free]
    step = np.zeros_like(point.slope)
    step[free] = vectors @ (along / np.maximum(np.abs(values), floor))
    return step, float(point.slope @ step)
