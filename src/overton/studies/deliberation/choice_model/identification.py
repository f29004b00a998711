"""The estimable part of the design, and the reasons why other parameters have no estimate."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_array, hstack, identity, vstack

from overton.statistics.arrays import Flags, Floats, Ints
from overton.statistics.estimate import NO_INTERVAL
from overton.statistics.logit import independent
from overton.studies.deliberation.choice_model.design import (
    NONE,
    ChoiceDesign,
    Decisions,
    DesignColumn,
    Situations,
    blocks,
    count_situations,
    design,
)
from overton.studies.deliberation.choice_model.likelihood import JointFit, fit_jointly
from overton.studies.deliberation.options import Conformity

SHORT = (
    "a lasting taste for a verdict looks like inertia, because no model decided three times on a dilemma, or twice with"
    " no verdict of its own to keep"
)
_ALONE = "there is one model, and its tastes are the effects of the dilemmas"

FEWEST = 25
"""The minimum number of a model's informative discussions for a coefficient to have an interval.

The minimum does not favour large or small estimates of inertia. Whether a discussion has a second round depends only on
its first round, and inertia has no effect in a first round.
"""

_FAR = 12.0
"""A distance in logits. If a fit puts a verdict this far behind another, the verdict's probability may be converging to
zero."""


@dataclass(frozen=True)
class Estimable:
    """Situations after verdicts were excluded, the design, and the design's estimable part.

    `used` [M, K] marks the verdicts that each model gave. `kept` are the design's columns to fit, and `known` [P] marks
    the coefficients that the decisions determine. `start` is the fit of the kept columns without differences between
    dilemmas.
    """

    situations: Situations
    design: ChoiceDesign
    used: Flags
    kept: list[int]
    known: Flags
    start: JointFit

    @property
    def deciding(self) -> Flags:
        """Whether each model made decisions [M]."""
        return np.asarray(self.used.any(1))


def estimable_part(decisions: Decisions, conformity: Conformity) -> Estimable:
    """Leave out verdicts whose probability would converge to zero, until the likelihood has a finite maximum."""
    situations = count_situations(decisions)
    used = _used(situations, len(decisions.models))
    situations = situations.allow(used[situations.model])
    made = design(situations, used, conformity)
    while True:
        kept, known = _determined(made.features, situations.allowed, situations.totals)
        features = made.take(kept)
        start = fit_patterns(situations, features, 0.0)
        if _settled(situations, features, start):
            break
        excluded = _excluded_verdicts(made.features, situations.allowed, situations.totals)
        if not excluded.any():
            break
        situations = situations.allow(situations.allowed & ~excluded)
    return Estimable(situations, made, used, kept, known, start)


def _used(situations: Situations, models: int) -> Flags:
    totals = np.zeros((models, situations.counts.shape[1]))
    np.add.at(totals, situations.model, situations.totals)
    return totals > 0


def fit_patterns(situations: Situations, features: Floats, ridge: float) -> JointFit:
    """The fit without differences between dilemmas. It is quick, because all decisions in equal situations are one
    row."""
    whole = replace(
        situations,
        pattern=np.arange(len(situations.model)),
        dilemma=np.zeros(len(situations.model), np.int64),
        counts=situations.totals,
    )
    rows = blocks(whole, features, np.zeros((features.shape[1], 0)), len(situations.model))
    return fit_jointly(rows, np.zeros((1, 0, 0)), ridge, np.zeros(features.shape[2]))


def _settled(situations: Situations, features: Floats, fit: JointFit) -> bool:
    """Whether no coefficient of a fit seems to diverge to infinity."""
    met = situations.totals.sum(1) > 0
    logits = np.where(situations.allowed, features @ fit.coefficients, np.nan)[met]
    return fit.converged and float(np.max(np.nanmax(logits, 1) - np.nanmin(logits, 1), initial=0.0)) < _FAR


def why_not(decisions: Decisions, column: DesignColumn) -> str:
    """The reason why a coefficient of inertia or conformity has no estimate, in words."""
    mine = np.ones(len(decisions), bool) if column.model is None else decisions.model == column.model
    who = "no model" if column.model is None else decisions.models[column.model]
    if not mine.any():
        return f"{who} made no decision"
    return _inertia(decisions, mine, who) if column.kind == "inertia" else _conformity(decisions, mine, column.kind)


def _inertia(decisions: Decisions, mine: Flags, who: str) -> str:
    keeping = mine & (decisions.own_previous != NONE)
    if not (decisions.own_previous != NONE).any() and not decisions.n_prev.any():
        return "every discussion ends in its first round"
    if not keeping.any():
        return f"{who} never gave verdicts in two rounds in a row"
    stayed = decisions.choice[keeping] == decisions.own_previous[keeping]
    if stayed.all():
        return f"{who} never changed its verdict (in {keeping.sum()} decisions): no finite estimate"
    if not stayed.any():
        return f"{who} never kept its verdict (in {keeping.sum()} decisions): no finite estimate"
    return "the data do not separate it from other effects, or predict it perfectly"


def _conformity(decisions: Decisions, mine: Flags, kind: str) -> str:
    counts = decisions.n_prev if kind == "previous" else decisions.n_within
    heard = counts[mine]
    uneven = heard.max(1) > heard.min(1)
    if not uneven.any() and kind == "previous":
        return "no agent had received others' verdicts from earlier rounds when it decided"
    if not uneven.any():
        return "no agent had received others' verdicts from the same round, because all spoke at once or first"
    given = np.take_along_axis(heard, decisions.choice[mine][:, None], axis=1)[:, 0][uneven]
    if (given == heard[uneven].max(1)).all():
        return f"all {uneven.sum()} decisions followed the verdict that others gave most often: no finite estimate"
    if (given == heard[uneven].min(1)).all():
        return f"all {uneven.sum()} decisions chose a verdict that others gave least often: no finite estimate"
    return "the data do not separate it from other effects, or predict it perfectly"


def no_tastes(decisions: Decisions) -> str | None:
    """The reason why models' lasting tastes for dilemmas cannot be identified; None if they can be identified.

    Inertia depends only on the verdict of the round before, but a taste lasts. A model's inertia and tastes can be
    distinguished only if the model decides at least three times on a dilemma. Two decisions are enough if the model has
    no previous verdict of its own in either.
    """
    if len(np.unique(decisions.model)) < 2:
        return _ALONE
    return None if taste_decisions(decisions).any() else SHORT


def taste_decisions(decisions: Decisions) -> Ints:
    """For each model [M], the number of decisions that distinguish its taste for a dilemma from inertia.

    In each dilemma, these are all decisions after the second. Or they are all decisions without a previous verdict
    after the first such decision, if these are more.
    """
    models = len(decisions.models)
    cell, place = np.unique(decisions.dilemma * models + decisions.model, return_inverse=True)
    afresh = np.bincount(place, decisions.own_previous == NONE)
    telling = np.maximum(np.maximum(np.bincount(place) - 2, afresh - 1), 0)
    return np.bincount(cell % models, telling, models).astype(np.int64)


def too_few(decisions: Decisions, column: DesignColumn) -> str | None:
    """The reason why a coefficient of inertia or conformity has too few discussions for an interval; None if there are
    enough discussions.

    A discussion counts for inertia if the model had a previous verdict of its own that it could keep. A discussion
    counts for conformity if the model received some verdicts more often than others. A coefficient that models share
    needs `FEWEST` discussions per model on average.
    """
    counts = _telling_discussions(decisions, column.kind)
    if column.model is not None:
        counts = counts[[column.model]]
    found, needed = int(counts.sum()), FEWEST * max(int(np.count_nonzero(counts)), 1)
    if found >= needed:
        return None
    return f"{NO_INTERVAL}too few discussions show it ({found}; at least {needed} are needed)"


def _telling_discussions(decisions: Decisions, kind: str) -> Ints:
    """For each model [M], the number of discussions with a decision that a coefficient of this kind affects."""
    if kind == "inertia":
        bears: Flags = decisions.own_previous != NONE
    else:
        heard = decisions.n_prev if kind == "previous" else decisions.n_within
        bears = heard.max(1) > heard.min(1)
    models = len(decisions.models)
    met = np.unique(decisions.discussion[bears] * models + decisions.model[bears])
    return np.bincount(met % models, minlength=models)


def alike(situations: Situations) -> str | None:
    """The reason why differences between dilemmas cannot be identified; None if they can be identified."""
    each = np.bincount(situations.dilemma, situations.counts.sum(1), minlength=1)
    if (each > 0).sum() < 2:
        return "there are decisions on one dilemma only"
    return "there is only one decision on each dilemma" if each.max() < 2 else None


def _excluded_verdicts(features: Floats, allowed: Flags, totals: Floats) -> Flags:
    """Flags [U, K] for the verdicts of each pattern whose probability is zero in the limit.

    `features` [U, K, P], `allowed` [U, K]; `totals` [U, K] is how often each verdict was given. A linear programme
    (Konis 2007) finds the direction that excludes most verdicts. Along this direction, the logits of a pattern's given
    verdicts stay equal, and the logit of every other verdict falls behind by z, where 0 <= z <= 1. The sum of all z is
    maximised.
    """
    given: Flags = np.asarray((totals > 0) & allowed, np.bool_)
    met = np.flatnonzero(given.any(1))
    first = given.argmax(1)
    base = np.take_along_axis(features, first[:, None, None], axis=1)
    gaps = base - features  # [U, K, P]
    others = np.argwhere(allowed & ~given & np.any(given, axis=1, keepdims=True))
    level = np.argwhere(given & (np.arange(given.shape[1]) != first[:, None]))
    excluded = np.zeros_like(given)
    if not len(others) or not len(met):
        return excluded
    behind, place = np.unique(gaps[tuple(others.T)], axis=0, return_inverse=True)
    same = np.unique(gaps[tuple(level.T)], axis=0)
    solved = _widest(behind, same)
    excluded[tuple(others.T)] = solved[place.ravel()]
    return excluded


def _widest(behind: Floats, same: Floats) -> Flags:
    """The largest set of rows of `behind` that are positive along one direction. Along this direction, no row of
    `behind` is negative, and all rows of `same` are zero."""
    rows, width = behind.shape
    slack = csr_array((len(same), rows))
    found: Any = linprog(
        np.concatenate([np.zeros(width), -np.ones(rows)]),
        A_ub=hstack([csr_array(-behind), identity(rows)], format="csr"),
        b_ub=np.zeros(rows),
        A_eq=vstack([hstack([csr_array(same), slack])], format="csr") if len(same) else None,
        b_eq=np.zeros(len(same)) if len(same) else None,
        bounds=[(None, None)] * width + [(0.0, 1.0)] * rows,
        method="highs",
    )
    if found.x is None:
        raise ArithmeticError(f"the search for excluded verdicts failed: {found.message}")
    return np.asarray(found.x[width:] > 0.5)


def _determined(features: Floats, allowed: Flags, totals: Floats) -> tuple[list[int], Flags]:
    """Linearly independent columns to keep, and flags [P] of the coefficients that the patterns determine.

    Only patterns that led to a decision matter, and only differences between their allowed verdicts.
    """
    used = totals.sum(1) > 0
    share = allowed / allowed.sum(1, keepdims=True)
    centred = (features - np.einsum("uk,ukp->up", share, features)[:, None]) * allowed[..., None]
    rows = centred[used].reshape(-1, features.shape[2])
    gram = rows.T @ rows
    scale = np.sqrt(np.maximum(np.diag(gram), 1e-300))
    values, vectors = np.linalg.eigh(gram / np.outer(scale, scale))
    null = vectors[:, values <= 1e-10 * max(float(values.max(initial=0.0)), 1.0)]
    known = (np.abs(null).max(axis=1, initial=0.0) < 1e-6) & (np.diag(gram) > 0)
    return independent(gram), known
