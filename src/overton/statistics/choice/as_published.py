"""The published estimator as its authors ran it: free effects pulled towards zero, and a fixed number of AdamW's steps.

All settings are those of the authors' code (docs/choice-model.md). The order of decisions within an epoch is drawn by
NumPy here and by PyTorch there, so that estimates differ by the noise of the last steps.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray

from overton.statistics.choice.decisions import NONE, Decisions
from overton.statistics.choice.design import Conformity, Design
from overton.statistics.choice.likelihood import each

__all__ = ["REFITS", "Published", "fit_as_published", "reaches"]

Array = NDArray[np.float64]
Single = NDArray[np.float32]
Indices = NDArray[np.int64]
Numbers = NDArray[np.floating[Any]]

REFITS = 200
"""Draws of dilemmas behind the published intervals."""

_EFFECTS, _MOVES = 1.0, 0.5
"""Prior standard deviations: of preferences and dilemmas' effects, of inertia and conformity."""

_DECAY, _MOMENTS, _TINY = 0.01, (0.9, 0.999), 1e-8
"""AdamW with PyTorch's defaults."""

_BETTER, _PATIENCE = 1e-4, 10
"""It stops once ten epochs in a row did not improve the objective by this much."""


@dataclass(frozen=True)
class _Pace:
    """The most epochs, decisions per step, and the learning rate."""

    epochs: int
    batch: int
    rate: float


_FIT, _REFIT = _Pace(60, 8192, 0.01), _Pace(20, 4096, 0.02)


def reaches(decisions: int) -> float:
    """How far from zero the fit to so many decisions can get: the sum of all steps, each of about AdamW's rate."""
    return _FIT.rate * _FIT.epochs * ceil(decisions / _FIT.batch)


@dataclass(frozen=True)
class Published:
    """Coefficients of a design's columns [P], those of every refit [R, P], and the log-likelihood without the prior."""

    coefficients: Array
    refits: Array
    loglik: float


def fit_as_published(decisions: Decisions, design: Design, conformity: Conformity, refits: int) -> Published:
    """One fit, and `refits` more on dilemmas drawn with replacement; one that is drawn twice counts once.

    `design` says how preferences are coded; it has all verdicts for every model.
    """
    rows = _Rows.of(decisions, conformity)
    found = _fitted(rows, _FIT, np.random.default_rng(0))

    def again(number: int) -> Array:
        rng = np.random.default_rng(number)
        drawn = np.unique(rng.integers(decisions.dilemmas, size=decisions.dilemmas))
        return _in_columns(rows, design, _fitted(rows.on(drawn), _REFIT, rng))

    first = _in_columns(rows, design, found)
    scattered = each(lambda number, _: again(number), range(refits), range(refits))
    return Published(first, np.reshape(scattered, (refits, len(first))), -rows.loss(found))


@dataclass(frozen=True)
class _Rows:
    """N decisions, in an order that does not depend on the order of the input.

    `model`, `dilemma`, `own`, `choice` and `voice` [N], the last saying whose conformity counts; `previous` and
    `within` [K, N]. Parameters are one vector: preferences [K, M], dilemmas' effects [K, D], inertia [M], conformity to
    earlier rounds and within the round [C] each; `sizes` are K, M, D and C.
    """

    model: Indices
    dilemma: Indices
    own: Indices
    choice: Indices
    voice: Indices
    previous: Single
    within: Single
    sizes: tuple[int, int, int, int]

    @classmethod
    def of(cls, decisions: Decisions, conformity: Conformity) -> _Rows:
        table = np.column_stack(
            [
                np.unique(decisions.dilemma, return_inverse=True)[1],
                decisions.model,
                decisions.own_previous,
                decisions.choice,
                decisions.n_prev,
                decisions.n_within,
            ]
        )
        dilemma, model, own, choice, *heard = table[np.lexsort(table.T)].T.copy()
        verdicts = len(decisions.verdicts)
        voice = model if conformity == "by model" else np.zeros_like(model)
        previous, within = (np.array(part, np.float32) for part in (heard[:verdicts], heard[verdicts:]))
        counts = (verdicts, len(decisions.models), int(dilemma.max(initial=-1)) + 1, int(voice.max(initial=0)) + 1)
        return cls(model, dilemma, own, choice, voice, previous, within, counts)

    def __len__(self) -> int:
        return len(self.choice)

    def at(self, places: Indices | slice) -> _Rows:
        """Those at some places."""
        model, dilemma, own = self.model[places], self.dilemma[places], self.own[places]
        heard = self.previous[:, places], self.within[:, places]
        return _Rows(model, dilemma, own, self.choice[places], self.voice[places], *heard, self.sizes)

    def on(self, dilemmas: Indices) -> _Rows:
        """Those on some dilemmas; the others keep their effects, which nothing moves from zero."""
        return self.at(np.flatnonzero(np.isin(self.dilemma, dilemmas)))

    def split(self, vector: Numbers) -> list[Numbers]:
        """Preferences, dilemmas' effects, inertia, conformity to earlier rounds and within."""
        verdicts, models, dilemmas, voices = self.sizes
        parts = np.split(vector, np.cumsum([verdicts * models, verdicts * dilemmas, models, voices]))
        return [part.reshape(verdicts, -1) for part in parts[:2]] + parts[2:]

    @property
    def pull(self) -> Single:
        """What the prior takes from the mean log-likelihood, for half the square of each parameter."""
        verdicts, models, dilemmas, voices = self.sizes
        effects = np.full(verdicts * (models + dilemmas), _EFFECTS**-2)
        moves = np.full(models + 2 * voices, _MOVES**-2)
        return (np.concatenate([effects, moves]) / len(self)).astype(np.float32)

    def logits(self, vector: Single) -> Single:
        """Of every verdict [K, N], shifted so that the largest is 0."""
        preference, effect, inertia, previous, within = self.split(vector)
        made = np.take(_centred(preference), self.model, axis=1) + np.take(_centred(effect), self.dilemma, axis=1)
        made += previous[self.voice] * self.previous + within[self.voice] * self.within
        holding = np.flatnonzero(self.own != NONE)
        made[self.own[holding], holding] += inertia[self.model[holding]]
        return np.asarray(made - made.max(0), np.float32)

    def loss(self, vector: Single) -> float:
        """(Minus) the log-likelihood."""
        logits = self.logits(vector)
        given = logits[self.choice, np.arange(len(self))]
        return float(np.log(np.exp(logits).sum(0)).sum(dtype=float) - given.sum(dtype=float))

    def slope(self, vector: Single) -> Single:
        """Slope of the mean loss in all parameters."""
        _, models, dilemmas, voices = self.sizes
        left = np.exp(self.logits(vector))
        left /= left.sum(0) * len(self)
        left[self.choice, np.arange(len(self))] -= 1 / len(self)
        holding = np.flatnonzero(self.own != NONE)
        parts = [
            _centred(_summed(self.model, left, models)).ravel(),
            _centred(_summed(self.dilemma, left, dilemmas)).ravel(),
            np.bincount(self.model[holding], left[self.own[holding], holding], models),
            *(np.bincount(self.voice, (left * heard).sum(0), voices) for heard in (self.previous, self.within)),
        ]
        return np.concatenate(parts).astype(np.float32)


def _centred(columns: Numbers) -> Numbers:
    return np.asarray(columns - columns.mean(0))


def _summed(group: Indices, values: Single, groups: int) -> Array:
    """Sums [K, groups] of values [K, N]."""
    return np.array([np.bincount(group, row, groups) for row in values], float)


def _fitted(rows: _Rows, pace: _Pace, rng: np.random.Generator) -> Single:
    """All parameters, from zero."""
    pull = rows.pull
    vector, best, since = np.zeros(len(pull), np.float32), np.inf, 0
    step = _adamw(vector, pace.rate)
    for _ in range(pace.epochs):
        mixed = rows.at(rng.permutation(len(rows)))
        for start in range(0, len(rows), pace.batch):
            step(mixed.at(slice(start, start + pace.batch)).slope(vector) + pull * vector)
        reached = rows.loss(vector) / len(rows) + float(pull @ vector**2) / 2
        best, since = (reached, 0) if reached + _BETTER < best else (best, since + 1)
        if since >= _PATIENCE:
            break
    return vector


def _adamw(vector: Single, rate: float) -> Callable[[Single], None]:
    """Moves `vector`, in place, by one step against a slope (Loshchilov and Hutter 2019)."""
    mean, square, steps = np.zeros_like(vector), np.zeros_like(vector), 0
    slow, slower = _MOMENTS

    def step(slope: Single) -> None:
        nonlocal steps
        steps += 1
        vector[:] *= 1 - rate * _DECAY
        mean[:] += (1 - slow) * (slope - mean)
        square[:] += (1 - slower) * (slope**2 - square)
        size = np.sqrt(square) / np.sqrt(1 - slower**steps) + _TINY
        vector[:] -= rate / (1 - slow**steps) * mean / size

    return step


def _in_columns(rows: _Rows, design: Design, vector: Single) -> Array:
    """In the terms of the design: preferences along its bases, then inertia and conformity unchanged."""
    preference, _, inertia, previous, within = rows.split(vector.astype(float))
    liked = [basis.T @ mine for basis, mine in zip(design.bases, preference.T, strict=True)]
    return np.concatenate([*liked, inertia, previous, within])
