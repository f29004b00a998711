"""The choice model (equation 2), fitted to the decisions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple, cast

import numpy as np

from overton.errors import InputError
from overton.studies.arm_weights import LEFT_OUT
from overton.studies.deliberation.choice_model import (
    ALL_MODELS,
    ESTIMATORS,
    ChoiceFit,
    Conformity,
    Decisions,
    Estimator,
    Size,
    decisions_from_columns,
    fit,
)
from overton.studies.deliberation.choice_model import Coefficient as Fit
from overton.studies.deliberation.items import VERDICTS
from overton.studies.deliberation.measures.parts import SettingParts, SettingRows, in_order
from overton.studies.deliberation.measures.results import Choice, Parameter, Spread


class Fitting(NamedTuple):
    """How the choice model is fitted; with `others`, by the other estimators too, which takes several times longer."""

    estimator: Estimator = "auto"
    conformity: Conformity = "shared"
    goals: Literal["apart", "together"] = "apart"
    others: bool = False


def fit_choices(parts: SettingParts, how: Fitting, level: float) -> tuple[tuple[Choice, ...], tuple[Choice, ...]]:
    """The fits for each goal, correctness first, with the chosen estimator; and with the others, if requested."""
    rows = [(goal, decisions_of(part)) for goal, part in _by_goal(parts, how.goals)]
    first = [_fit_goal(goal, decisions, how, level) for goal, decisions in rows]
    more = [
        _fit_goal(goal, decisions, how._replace(estimator=name), level, refits=0, against=False)
        for name in (ESTIMATORS if how.others else ())
        for (goal, decisions), first_fit in zip(rows, first, strict=True)
        if name != first_fit.estimator
    ]
    return tuple(first), tuple(more)


def unfitted_choices(parts: SettingParts, how: Fitting) -> tuple[tuple[Choice, ...], tuple[Choice, ...]]:
    """No fits, with the reason, for decisions of deliberations that have weights: the likelihood has none."""
    made = []
    for goal, part in _by_goal(parts, how.goals):
        decisions = decisions_of(part)
        nothing = Choice(goal, how.estimator, len(decisions), decisions.dilemmas, {}, {}, {}, {}, not_computed=LEFT_OUT)
        made.append(nothing)
    return tuple(made), ()


def fit_again(parts: SettingParts, first: Sequence[Choice], how: Fitting, level: float) -> tuple[Choice, ...]:
    """The fits to other verdicts in the same deliberations, each with the estimator of the `first` fit for its goal:
    numbers shown side by side must differ in the verdicts alone."""
    used = (how._replace(estimator=cast("Estimator", choice.estimator)) for choice in first)
    return tuple(
        _fit_goal(goal, decisions_of(part), fitting, level, against=False)
        for (goal, part), fitting in zip(_by_goal(parts, how.goals), used, strict=True)
    )


def _by_goal(parts: SettingParts, goals: str) -> Iterator[tuple[str | None, SettingRows]]:
    talks = parts.talks
    different = in_order(setting.goal for setting in talks.settings)
    if goals == "together":
        yield (different[0] if len(different) == 1 else None), parts.everything
        return
    for goal in different:
        chosen = np.array([setting.goal == goal for setting in talks.settings])[talks.setting]
        yield goal, parts.everything.where(chosen)


def decisions_of(part: SettingRows) -> Decisions:
    """The part's messages as the choice model takes them; deliberations and agents by number."""
    talks = part.talks
    row, seat, round_ = np.nonzero(talks.message[part.rows] >= 0)
    talk = part.rows[row]
    formats = np.array([setting.format for setting in talks.settings], object)
    names: list[str | None] = [*VERDICTS, None]
    return decisions_from_columns(
        discussion=talk.tolist(),
        dilemma=talks.dilemma[talk].tolist(),
        format=formats[talks.setting[talk]].tolist(),
        round=(round_ + 1).tolist(),
        position=(seat + 1).tolist(),
        model=[talks.models[code] for code in talks.model[talk, seat].tolist()],
        verdict=[names[code] for code in talks.verdict[talk, seat, round_].tolist()],
        agent=seat.tolist(),
        verdicts=VERDICTS,
    )


def _fit_goal(goal: str | None, decisions: Decisions, how: Fitting, level: float, **slow: Any) -> Choice:
    """A fit; fits shown beside another omit, by `slow`, what takes several fits."""
    n = len(decisions)
    try:
        made = fit(decisions, estimator=how.estimator, conformity=how.conformity, level=level, **slow)
    except InputError as error:
        return Choice(goal, how.estimator, n, decisions.dilemmas, {}, {}, {}, {}, not_computed=str(error))
    return Choice(
        goal,
        made.estimator,
        n,
        decisions.dilemmas,
        inertia=_parameters(made.inertia, made),
        previous=_shared(_parameters(made.previous, made)),
        within=_shared(_parameters(made.within, made)),
        preferences={model: _parameters(found, made) for model, found in made.preference.items()},
        dilemma_spread=_spread(made.dilemma_spread, n),
        taste_spread=_spread(made.taste_spread, n),
        taste_spreads={model: _size(found, n) for model, found in made.taste_spreads.items()},
        loglik=made.loglik,
        likelihood_ratio=made.likelihood_ratio,
        likelihood_ratio_of_spreads=made.likelihood_ratio_of_spreads,
        notes=tuple(made.warnings),
    )


def _parameters(found: Mapping[str, Fit], made: ChoiceFit) -> dict[str, Parameter]:
    method = "percentiles of refits" if made.estimator == "as_published" else "Wald"
    return {
        name: Parameter(fitted.estimate, fitted.se, *fitted.interval, fitted.odds_ratio, fitted.reason, made.n, method)
        for name, fitted in found.items()
    }


def _shared(found: dict[str, Parameter]) -> Parameter | dict[str, Parameter]:
    return found.get(ALL_MODELS, found)


def _spread(found: Size | None, n: int) -> Spread | None:
    return _size(found, n) if found else None


def _size(found: Size, n: int) -> Spread:
    return Spread(found.estimate, found.se, *found.interval, found.reason, n)
