"""The choice model (table 1), by the chosen estimator and beside it by the others."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from math import ceil, floor, isnan

from overton.statistics import Estimate, not_computed
from overton.studies.charts import Axis, Dot, dots, series_of
from overton.studies.deliberation.figures.names import Names
from overton.studies.deliberation.measures.analysis import Analysis, Choice, Parameter, Spread
from overton.studies.exhibits import Callout, Cell, Chart, Column, Exhibit, Method, Missing, Section, Table

__all__ = ["choice"]

_ESTIMATORS = {
    "random": "random dilemma effects",
    "taste": "random dilemma effects and tastes",
    "paper": "as published, penalised",
}


def choice(analysis: Analysis, names: Names) -> Section:
    """Inertia and conformity."""
    fits = [*analysis.choice, *analysis.others]
    exhibits: list[Exhibit] = [Callout(note, "warning", summary=True) for note in _notes(fits, names)]
    if any(one.not_computed is None for one in fits):
        exhibits += [_chart(fits, names), *(_table(one, names, analysis.level) for one in analysis.choice)]
        exhibits += [_beside(fits, names, analysis.level)] if analysis.others else []
        exhibits.append(_preferences(analysis, names))
    return Section("choice", "Inertia and conformity", [*exhibits, Method(_METHOD)])


_METHOD = (
    "Equation 2: the log-odds of a verdict are the model's preference for it, the dilemma's effect on it, inertia "
    "where it is the agent's own verdict of the round before, and conformity times the number of other agents' "
    "verdicts for it in earlier rounds and, before the agent speaks, in the same round. An odds ratio of 2 doubles "
    "the odds. With 'random dilemma effects' these come from a normal distribution with estimated spread. A model's "
    "lasting taste for a verdict on a dilemma also makes it repeat itself; 'and tastes' gives every model a random "
    "effect of its own in every dilemma, so that inertia is only what the own earlier verdict adds. It needs dilemmas "
    "discussed more than once by the same models. 'As published' frees one effect for every dilemma under a weak "
    "penalty: it is pulled towards zero, and its intervals ignore that. Goals are fitted apart unless asked "
    "otherwise."
)


def _title(one: Choice, names: Names) -> str:
    goal = f", goal: {one.goal}" if names.goals and one.goal else ", all goals together" if names.goals else ""
    return f"{_ESTIMATORS.get(one.estimator, one.estimator)}{goal}"


def _notes(fits: list[Choice], names: Names) -> Iterator[str]:
    for one in fits:
        if one.not_computed:
            yield f"No fit with {_title(one, names)}: {one.not_computed}."
        yield from (f"Fit with {_title(one, names)}: {note}." for note in one.notes)


def _parameters(one: Choice) -> Iterator[tuple[str, Parameter]]:
    for model, parameter in one.inertia.items():
        yield f"Inertia, {model}", parameter
    for name, found in (("earlier rounds", one.previous), ("the same round", one.within)):
        if isinstance(found, Parameter):
            yield f"Conformity to {name}", found
        else:
            yield from ((f"Conformity to {name}, {model}", parameter) for model, parameter in found.items())


def _chart(fits: list[Choice], names: Names) -> Chart:
    estimators = list(dict.fromkeys(one.estimator for one in fits))
    points = [
        Dot(name, estimators.index(one.estimator), _estimate(parameter, one), panel=_goal(one))
        for one in fits
        for name, parameter in _parameters(one)
    ]
    rows = list(dict.fromkeys(point.row for point in points))
    panels = list(dict.fromkeys(point.panel for point in points)) if names.goals else []
    series = series_of([_ESTIMATORS.get(name, name) for name in estimators])
    about = "Inertia by model and conformity, in log-odds; zero means that it makes no difference."
    spec = partial(dots, points, rows, series, _axis(points), panels=panels)
    return Chart("choice", "Inertia and conformity", about, spec, source="table 1")


def _goal(one: Choice) -> str:
    return one.goal or "all goals"


def _axis(points: list[Dot]) -> Axis:
    ends = [end for point in points for end in (point.estimate.low, point.estimate.high, 0.0) if not isnan(end)]
    return Axis("Log-odds", floor(2 * min(ends)) / 2, max(ceil(2 * max(ends)) / 2, 0.5), "value", mark=0)


def _estimate(one: Parameter | Spread, fit: Choice, level: float = 0.95) -> Estimate:
    if isnan(one.estimate):
        return not_computed(one.reason or "the data do not tell", level=level)
    return Estimate(one.estimate, one.low, one.high, fit.decisions, "Wald", level)


def _table(one: Choice, names: Names, level: float) -> Table:
    columns = [Column("Parameter"), Column("Log-odds", "value"), Column("Standard error", "value")]
    rows: list[list[Cell]] = [
        [name, _estimate(found, one, level), _cell(found, found.se), _cell(found, found.odds_ratio)]
        for name, found in _parameters(one)
    ]
    spreads = (("Spread of dilemmas' effects", one.dilemma_spread), ("Spread of models' tastes", one.taste_spread))
    rows += [
        [name, _estimate(found, one, level), _cell(found, found.se), None]
        for name, found in spreads
        if found is not None
    ]
    title = f"Parameters of the choice model: {_title(one, names)}"
    note = f"{one.decisions:,} decisions on {one.dilemmas:,} dilemmas."
    return Table(title, [*columns, Column("Odds ratio", "value")], rows, note=note, source="table 1", summary=True)


def _cell(one: Parameter | Spread, value: float) -> Cell:
    return Missing(one.reason or "the data do not tell") if isnan(value) else value


def _beside(fits: list[Choice], names: Names, level: float) -> Table:
    """Every estimator's inertia and conformity side by side."""
    estimators = list(dict.fromkeys(one.estimator for one in fits))
    found = {(one.goal, one.estimator, name): (parameter, one) for one in fits for name, parameter in _parameters(one)}
    keys = list(dict.fromkeys((goal, name) for goal, _, name in found))
    rows: list[list[Cell]] = [
        [name, goal or "", *(_side(found.get((goal, estimator, name)), level) for estimator in estimators)]
        for goal, name in keys
    ]
    columns = [
        Column("Parameter"),
        Column("Goal"),
        *(Column(_ESTIMATORS.get(name, name), "value") for name in estimators),
    ]
    return Table("The estimators side by side", columns, rows, note="Log-odds.", summary=True)


def _side(found: tuple[Parameter, Choice] | None, level: float) -> Cell:
    return _estimate(*found, level) if found else Missing("no fit")


def _preferences(analysis: Analysis, names: Names) -> Table:
    rows: list[list[Cell]] = [
        [_title(one, names), model, verdict, _estimate(found, one, analysis.level)]
        for one in analysis.choice
        for model, by_verdict in one.preferences.items()
        for verdict, found in by_verdict.items()
    ]
    columns = [Column("Fit"), Column("Model"), Column("Verdict"), Column("Preference", "value")]
    note = "Log-odds about the mean of the verdicts that the model uses."
    return Table("Preferences for verdicts", columns, rows, note=note, source="equation 2")
