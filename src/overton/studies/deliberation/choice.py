"""The choice model (equation 2, table 1), fitted to verdicts: its parameters as rows, in log-odds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import isfinite, isnan
from typing import Any, cast

import numpy as np
from msgspec import structs

from overton.errors import InputError
from overton.statistics import NO_INTERVAL, NOT_COMPUTED, Estimate
from overton.statistics.arrays import Flags, Ints
from overton.statistics.comparison import withhold_interval
from overton.studies.arm_weights import LEFT_OUT
from overton.studies.deliberation.choice_model import (
    ALL_MODELS,
    ESTIMATORS,
    NONE,
    ChoiceFit,
    Decisions,
    Estimator,
    fit,
)
from overton.studies.deliberation.deliberations import Deliberations, Part, Setting, in_order, talks_from, talks_of
from overton.studies.deliberation.items import VERDICTS
from overton.studies.deliberation.options import DeliberationHow
from overton.studies.deliberation.rows import without_faults
from overton.studies.frame import Cells, EstimateRow
from overton.studies.grouping import Frame
from overton.studies.results import Results
from overton.studies.study_measures import TableRow

ALL_GOALS = "all"
"""The goal's name in rows of a fit to all decisions together, or to decisions without a goal."""


@dataclass(frozen=True)
class GoalFit:
    """The fit to the decisions with one goal, or with all goals.

    `made` is None if there is no fit, and `why` is then the reason.

    `estimator` is the estimator that was used. Without a fit, it is the requested estimator.
    """

    goal: str | None
    estimator: Estimator
    decisions: Decisions
    made: ChoiceFit | None
    why: str | None = None
    variant: str = "plain"


def choice_numbers(results: Results, frame: Frame, how: DeliberationHow) -> Iterator[EstimateRow | TableRow]:
    """The parameters of the fits. If some messages are malformed, the parameters of fits without these messages
    follow."""
    talks, left = talks_of(frame), without_faults(results)
    fits = fit_choices(talks, how)
    yield from rows_of_fits(fits, how.level)
    if left is not results and talks.weight is None:
        yield from rows_of_fits(fit_again(talks_from(left.records), fits, how), how.level)


def fit_choices(talks: Deliberations, how: DeliberationHow) -> list[GoalFit]:
    """The fits for each goal, correctness first, with the chosen estimator.

    If `how.others` is set, fits with the other estimators follow. Their variant is the estimator's name.

    Deliberations with weights are not fitted, because the likelihood has no weights.
    """
    parts = [(goal, decisions_of(part)) for goal, part in _by_goal(talks, how.goals)]
    if talks.weight is not None:
        return [GoalFit(goal, how.estimator, decisions, None, LEFT_OUT) for goal, decisions in parts]
    first = [_fit_goal(goal, decisions, how) for goal, decisions in parts]
    more = [
        replace(_fit_goal(goal, decisions, structs.replace(how, estimator=name), refits=0, against=False), variant=name)
        for name in (ESTIMATORS if how.others else ())
        for (goal, decisions), first_fit in zip(parts, first, strict=True)
        if name != first_fit.estimator
    ]
    return first + more


def fit_again(talks: Deliberations, first: Sequence[GoalFit], how: DeliberationHow) -> list[GoalFit]:
    """Fits to other verdicts in the same deliberations.

    Each goal keeps the estimator of its `first` fit. So the numbers differ from those of the `first` fit only because
    the verdicts differ.
    """
    used = (structs.replace(how, estimator=found.estimator) for found in first if found.variant == "plain")
    return [
        replace(_fit_goal(goal, decisions_of(part), fitting, against=False), variant="without_faults")
        for (goal, part), fitting in zip(_by_goal(talks, how.goals), used, strict=True)
    ]


def _by_goal(talks: Deliberations, goals: str) -> Iterator[tuple[str | None, Part]]:
    everything = Part(Setting("all", None, talks.models), talks, np.arange(len(talks)))
    different = in_order(setting.goal for setting in talks.settings)
    if goals == "together":
        yield (different[0] if len(different) == 1 else None), everything
        return
    for goal in different:
        has_goal = np.array([setting.goal == goal for setting in talks.settings])[talks.setting]
        yield goal, everything.where(has_goal)


def decisions_of(part: Part) -> Decisions:
    """Convert verdicts to the decisions that the choice model explains.

    A verdict that could not be read counts neither as a decision nor as a verdict that others received. In the next
    round, the agent that gave it has no verdict of its own to keep.
    """
    talks = part.talks
    verdict = talks.verdict[part.rows].swapaxes(1, 2)  # in the order of speaking: [deliberations, rounds, seats]
    made = np.nonzero(verdict >= 0)
    row, round_, seat = made
    in_turn = np.array([setting.format == "round-robin" for setting in talks.settings])[talks.setting[part.rows]]

    def counted(heard: Callable[[Flags], Ints]) -> Ints:
        return np.stack([heard(verdict == code)[made] for code in range(len(VERDICTS))], axis=1)

    def in_earlier_rounds(said: Flags) -> Ints:
        own = said.cumsum(1) - said
        return np.asarray(own.sum(2, keepdims=True) - own)

    def in_this_round(said: Flags) -> Ints:
        return np.asarray((said.cumsum(2) - said) * in_turn[:, None, None])

    before = np.maximum(verdict[row, round_ - 1, seat], NONE)
    models = np.unique(talks.model[part.rows][(talks.message[part.rows] >= 0).any(2)])
    # Sort dilemmas by their codes as text, because the published estimator samples them by index.
    place = np.argsort(np.argsort(np.arange(len(talks.dilemmas)).astype(str)))
    return Decisions(
        model=np.searchsorted(models, talks.model[part.rows[row], seat]).astype(np.int64),
        dilemma=place[talks.dilemma[part.rows[row]]],
        discussion=np.asarray(part.rows[row], np.int64),
        own_previous=np.where(round_ > 0, before, NONE).astype(np.int64),
        n_prev=counted(in_earlier_rounds),
        n_within=counted(in_this_round),
        choice=verdict[made].astype(np.int64),
        models=tuple(talks.models[code] for code in models),
        verdicts=VERDICTS,
    )


def _fit_goal(goal: str | None, decisions: Decisions, how: DeliberationHow, **slow: Any) -> GoalFit:
    """Fit the decisions.

    `slow` are arguments of `fit`. For fits shown for comparison, they switch off results that take several fits.
    """
    try:
        made = fit(decisions, estimator=how.estimator, conformity=how.conformity, level=how.level, **slow)
    except InputError as error:
        return GoalFit(goal, how.estimator, decisions, None, str(error))
    return GoalFit(goal, cast("Estimator", made.estimator), decisions, made)


def rows_of_fits(fits: Iterable[GoalFit], level: float) -> Iterator[EstimateRow | TableRow]:
    """Rows for the parameters of fits.

    `inertia` is by model, and `preference` by model and verdict. `conformity_previous` (to earlier rounds) and
    `conformity_within` (the current round) are for all models together or by model. Standard deviations of random
    effects follow.

    The table 'parameters' has standard errors and odds ratios. 'fits' has the estimator and decisions of each fit, and
    'fit_notes' its warnings.
    """
    for found in fits:
        yield TableRow("fits", _fit_cells(found))
        for note in [] if found.made is None else found.made.warnings:
            yield TableRow("fit_notes", {**_place(found), "note": note})
        for fields, number, cells in _parameters(found, level):
            yield EstimateRow(**fields, number=number)
            yield TableRow("parameters", {**fields, **cells})


def _place(found: GoalFit) -> Cells:
    """The columns that identify the rows of a fit."""
    return {"facet": "goal", "condition": found.goal or ALL_GOALS, "variant": found.variant}


def _fit_cells(found: GoalFit) -> Cells:
    made = found.made
    ratios = {} if made is None else {"tastes": made.likelihood_ratio, "spreads": made.likelihood_ratio_of_spreads}
    tests: Cells = {}
    for name in ("tastes", "spreads"):
        statistic, p = (None, None) if (ratio := ratios.get(name)) is None else (ratio.statistic, ratio.p)
        tests |= {f"{name}_statistic": statistic, f"{name}_p": p}
    return {
        **_place(found),
        "goal": found.goal,
        "estimator": found.estimator,
        "decisions": len(found.decisions),
        "dilemmas": found.decisions.dilemmas,
        "loglik": None if made is None else _known(made.loglik),
        **tests,
        "not_computed": found.why,
    }


def _parameters(found: GoalFit, level: float) -> Iterator[tuple[dict[str, Any], Estimate, Cells]]:
    """The parameters of a fit. Each has the columns that identify it, its number, and further cells of its row."""
    made, goal = found.made, found.goal or ALL_GOALS
    if made is None:
        return
    method = "percentiles of refits" if made.estimator == "as_published" else "Wald"
    by_model = {"inertia": made.inertia, "conformity_previous": made.previous, "conformity_within": made.within}
    every = [
        (name, model, "", coefficient) for name, fitted in by_model.items() for model, coefficient in fitted.items()
    ]
    every += [
        ("preference", model, verdict, coefficient)
        for model, fitted in made.preference.items()
        for verdict, coefficient in fitted.items()
    ]
    spreads = [("dilemma_spread", ALL_MODELS, made.dilemma_spread), ("taste_spread", ALL_MODELS, made.taste_spread)]
    spreads += [("taste_spread", model, coefficient) for model, coefficient in made.taste_spreads.items()]
    every += [(name, model, "", coefficient) for name, model, coefficient in spreads if coefficient is not None]
    for name, model, verdict, coefficient in every:
        fields = {
            "measure": name,
            "model": None if model == ALL_MODELS else model,
            "facet": "goal / verdict" if verdict else "goal",
            "condition": f"{goal} / {verdict}" if verdict else goal,
            "variant": found.variant,
        }
        is_spread = name.endswith("_spread")
        why = (NOT_COMPUTED if isnan(coefficient.estimate) else "") + coefficient.reason if coefficient.reason else ""
        how = why or ("Wald, of the logarithm" if is_spread else method)
        number = withhold_strange_limits(Estimate(coefficient.estimate, *coefficient.interval, made.n, how, level))
        yield (
            fields,
            number,
            {"se": _known(coefficient.se), "odds_ratio": None if is_spread else _known(coefficient.odds_ratio)},
        )


_STRANGE = (
    f"{NO_INTERVAL}the estimate lies outside the percentiles of its refits, because the published estimator's refits"
    " stop earlier than its fit"
)


def withhold_strange_limits(number: Estimate) -> Estimate:
    """Withhold the interval if the number lies outside it."""
    return (
        number
        if isnan(number.low) or number.low <= number.value <= number.high
        else withhold_interval(number, _STRANGE)
    )


def _known(value: float) -> float | None:
    return value if isfinite(value) else None
