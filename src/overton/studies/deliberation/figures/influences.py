"""What moves verdicts: inertia and conformity (the choice model, table 1), who speaks first (section 4.3), the goal
(figure 6); and how often verdicts are the crowd's.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from math import isnan

from overton.statistics import Estimate, not_computed
from overton.studies.charts import Axis, Dot, Series, dots, series_of
from overton.studies.deliberation.figures.names import SHARE, SettingNames, absent, contrast_table
from overton.studies.deliberation.measures.analysis import Analysis, OrderEffects, Steering
from overton.studies.deliberation.measures.results import Choice, Parameter, Spread
from overton.studies.sections import SERIES, Callout, Cell, Chart, Column, EmptyCell, Exhibit, Method, Section, Table

_LOG_ODDS = Axis("Log-odds", 0, 0.5, "value", mark=0, step=0.5)
_ESTIMATORS = {
    "taste_by_model": "random dilemma effects and tastes",
    "taste": "random dilemma effects and equally strong tastes",
    "random": "random dilemma effects",
    "penalised": "free dilemma effects, penalised",
    "as_published": "AdamW as published",
}


def choice(analysis: Analysis, names: SettingNames) -> Section:
    """Inertia and conformity."""
    fits = [*analysis.choice, *analysis.others]
    exhibits: list[Exhibit] = [Callout(note, "warning", summary=True) for note in _fit_notes(analysis, names)]
    exhibits += [Callout(note, summary=True) for fit in fits for note in _ratio_note(fit, names)]
    if any(fit.not_computed is None for fit in fits):
        exhibits += [
            _choice_chart(fits, names),
            *(_parameter_table(fit, names, analysis.level) for fit in analysis.choice),
        ]
        exhibits += [_beside(fits, names, analysis.level)] if analysis.others else []
        exhibits.append(_preferences(analysis, names))
    return Section("choice", "Inertia and conformity", [*exhibits, Method(_CHOICE)])


_CHOICE = (
    "Equation 2: the log-odds of a verdict are the sum of the model's preference for it, the dilemma's effect on it, "
    "inertia if it is the agent's own verdict from the round before, and conformity times the number of other agents' "
    "verdicts for it in earlier rounds and, before the agent speaks, in the same round. An odds ratio of 2 doubles "
    "the odds. With 'random dilemma effects' these come from a normal distribution with estimated spread. A model's "
    "lasting taste for a verdict on a dilemma also makes it repeat itself; 'and tastes' gives every model a random "
    "effect of its own on every dilemma, so that inertia is only what its own earlier verdict adds. Each model's "
    "tastes have a spread of their own: were all taken for equally strong, a stronger taste would look like inertia. "
    "Tastes need models that decide three times on a dilemma, or twice afresh, and come first wherever there are any. "
    "With random effects, inertia has no interval if the model decided again in fewer than 25 deliberations, nor "
    "conformity if it had heard some verdicts more than others in so few, nor either if it would be wider than six "
    "logits. 'Penalised' has one free effect per dilemma, shrunk towards zero, which its intervals ignore. 'AdamW as "
    "published' is the authors' own estimator: it shrinks more and stops after 60 epochs. Intervals with random "
    "effects use Student's t over dilemmas. Goals are fitted apart unless requested otherwise."
)


def _title(fit: Choice, names: SettingNames) -> str:
    goal = f", goal: {fit.goal}" if names.goals and fit.goal else ", all goals together" if names.goals else ""
    return f"{_ESTIMATORS.get(fit.estimator, fit.estimator)}{goal}"


def _fit_notes(analysis: Analysis, names: SettingNames) -> Iterator[str]:
    """The warnings of each fit; that a number has no interval is said of the chosen estimator only."""
    for fit in (*analysis.choice, *analysis.others):
        if fit.not_computed:
            yield f"No fit with {_title(fit, names)}: {fit.not_computed}."
        for note in fit.notes:
            if fit in analysis.choice or not note.startswith("no interval"):
                yield f"Fit with {_title(fit, names)}: {note}."


def _ratio_note(fit: Choice, names: SettingNames) -> Iterator[str]:
    """Whether models' tastes differ in strength, where the fit allows for it; otherwise its notes say so."""
    if fit.estimator == "taste_by_model" and fit.likelihood_ratio_of_spreads:
        yield (
            f"Fit with {_title(fit, names)}: likelihood ratio of a spread of tastes for each model against one for "
            f"all: {fit.likelihood_ratio_of_spreads}."
        )


def parameters(fit: Choice) -> Iterator[tuple[str, Parameter]]:
    """Inertia by model, and conformity overall or by model, each under the name of its row."""
    for model, parameter in fit.inertia.items():
        yield f"Inertia, {model}", parameter
    for name, found in (("earlier rounds", fit.previous), ("the same round", fit.within)):
        if isinstance(found, Parameter):
            yield f"Conformity to {name}", found
        else:
            yield from ((f"Conformity to {name}, {model}", parameter) for model, parameter in found.items())


def _choice_chart(fits: list[Choice], names: SettingNames) -> Chart:
    estimators = list(dict.fromkeys(fit.estimator for fit in fits))
    points = [
        Dot(name, estimators.index(fit.estimator), _estimate(parameter, fit), panel=fit.goal or "all goals")
        for fit in fits
        for name, parameter in parameters(fit)
    ]
    rows = list(dict.fromkeys(point.row for point in points))
    panels = list(dict.fromkeys(point.panel for point in points)) if names.goals else []
    series = series_of([_ESTIMATORS.get(name, name) for name in estimators])
    about = "Inertia by model, and conformity, in log-odds; zero means no effect."
    spec = partial(dots, points, rows, series, _LOG_ODDS, panels=panels)
    return Chart("choice", "Inertia and conformity", about, spec, source="table 1")


def _estimate(parameter: Parameter | Spread, fit: Choice, level: float = 0.95) -> Estimate:
    if isnan(parameter.estimate):
        return not_computed(parameter.reason or "the data do not determine it", level=level)
    return Estimate(parameter.estimate, parameter.low, parameter.high, fit.decisions, parameter.number.method, level)


def _parameter_table(fit: Choice, names: SettingNames, level: float) -> Table:
    columns = [Column("Parameter"), Column("Log-odds", "value"), Column("Standard error", "value")]
    rows: list[list[Cell]] = [
        [name, _estimate(found, fit, level), _cell(found, found.se), _cell(found, found.odds_ratio)]
        for name, found in parameters(fit)
    ]
    own = [(f"Spread of tastes, {model}", found) for model, found in fit.taste_spreads.items()]
    shared = () if own else (("Spread of models' tastes", fit.taste_spread),)
    spreads = (("Spread of dilemmas' effects", fit.dilemma_spread), *own, *shared)
    rows += [
        [name, _estimate(found, fit, level), _cell(found, found.se), None]
        for name, found in spreads
        if found is not None
    ]
    title = f"Parameters of the choice model: {_title(fit, names)}"
    note = f"{fit.decisions:,} decisions on {fit.dilemmas:,} dilemmas."
    return Table(title, [*columns, Column("Odds ratio", "value")], rows, note=note, source="table 1", summary=True)


def _cell(parameter: Parameter | Spread, value: float) -> Cell:
    return EmptyCell(parameter.reason or "the data do not determine it") if isnan(value) else value


def _beside(fits: list[Choice], names: SettingNames, level: float) -> Table:
    """The estimators' inertia and conformity side by side."""
    estimators = list(dict.fromkeys(fit.estimator for fit in fits))
    found = {(fit.goal, fit.estimator, name): (parameter, fit) for fit in fits for name, parameter in parameters(fit)}
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
    return _estimate(*found, level) if found else EmptyCell("no fit")


def _preferences(analysis: Analysis, names: SettingNames) -> Table:
    rows: list[list[Cell]] = [
        [_title(fit, names), model, verdict, _estimate(found, fit, analysis.level)]
        for fit in analysis.choice
        for model, by_verdict in fit.preferences.items()
        for verdict, found in by_verdict.items()
    ]
    columns = [Column("Fit"), Column("Model"), Column("Verdict"), Column("Preference", "value")]
    note = "Log-odds about the mean of the verdicts that the model uses."
    return Table("Preferences for verdicts", columns, rows, note=note, source="equation 2")


_VERDICTS = Axis("Share of verdicts that are the crowd's (%)", 0, 1, "share")
_SPEAKER = (
    Series("Consensus in round 1", SERIES[2], "circle"),
    Series("Consensus on the first speaker's verdict", SERIES[0], "square"),
    Series("Consensus on another verdict", SERIES[1], "diamond"),
)
_ROUNDS = (Series("Round 1", SERIES[1], "circle"), Series("Last round", SERIES[0], "diamond"))
_CONSENSUS = "consensus of all"


def order(analysis: Analysis, names: SettingNames) -> Section:
    """First-speaker effects."""
    found = analysis.order
    if found is None:
        return Section("order", "Who speaks first", [absent(analysis, "order", "Effects of order are")])
    exhibits: list[Exhibit] = [_order_chart(found, names), _order_table(found, names)]
    if found.at_once:
        rows = [
            ((names.whole(s, pooled=True), contrast.first_name, contrast.second_name), contrast)
            for s, contrast in found.at_once
        ]
        heads = ["Deliberation", "First model", "Second model"]
        exhibits.append(contrast_table("Consensus in round 1 by who speaks first", heads, rows, source="section 4.3"))
    if found.changes:
        changes = [((names.whole(setting, pooled=True), model), contrast) for setting, model, contrast in found.changes]
        sides = ("Speaks first", "Speaks later")
        title = "Change-of-verdict rate by place in the order"
        exhibits.append(contrast_table(title, ["Deliberation", "Model"], changes, sides=sides, source="section 4.3"))
    return Section("order", "Who speaks first", [*exhibits, Method(_ORDER)])


_ORDER = (
    "Round-robin deliberations, by the model that speaks first; the orders of the others are pooled. The first "
    "speaker prevails if consensus is on the verdict that it gave first."
)


def _order_chart(found: OrderEffects, names: SettingNames) -> Chart:
    points = [
        Dot(f"{speaker.model} first", place, estimate, panel=names.whole(speaker.setting, pooled=True))
        for speaker in found.speakers
        for place, estimate in enumerate((speaker.at_once, speaker.prevails, speaker.yields))
    ]
    rows = list(dict.fromkeys(point.row for point in points))
    panels = list(dict.fromkeys(point.panel for point in points))
    about = "How round-robin deliberations end, by the model that speaks first."
    return Chart("order", "First speakers", about, partial(dots, points, rows, _SPEAKER, SHARE, panels=panels))


def _order_table(found: OrderEffects, names: SettingNames) -> Table:
    columns = [Column("Deliberation"), Column("Speaks first"), Column("Consensus in round 1", "share")]
    columns += [Column("Consensus", "share"), Column("On its verdict", "share"), Column("On another", "share")]
    rows: list[list[Cell]] = [
        [
            names.whole(speaker.setting, pooled=True),
            speaker.model,
            speaker.at_once,
            speaker.reached,
            speaker.prevails,
            speaker.yields,
        ]
        for speaker in found.speakers
    ]
    return Table("First speakers", columns, rows, source="section 4.3")


def steering(analysis: Analysis, names: SettingNames) -> Section:
    """Change-of-verdict rates and consensus under each goal (figure 6)."""
    title = "What the goal changes"
    if not analysis.steering:
        return Section("steering", title, [absent(analysis, "steering", "Steering is")])
    first = analysis.steering[0].contrast.first_name
    goals = list(dict.fromkeys([first, *(effect.contrast.second_name for effect in analysis.steering)]))
    points = [
        Dot(_who(effect), goals.index(goal), estimate, panel=names.whole(effect.setting, pooled=True))
        for effect in analysis.steering
        for goal, estimate in (
            (effect.contrast.first_name, effect.contrast.first),
            (effect.contrast.second_name, effect.contrast.second),
        )
    ]
    panels = list(dict.fromkeys(point.panel for point in points))
    rows = [*(model for model in analysis.models if any(point.row == model for point in points)), _CONSENSUS]
    about = "By goal, the shares of deliberations in which each model changes its verdict, and that reach consensus."
    spec = partial(dots, points, rows, series_of(goals), SHARE, panels=panels)
    chart = Chart("steering", "Steering by the goal in the system prompt", about, spec, source="figure 6")
    contrasts = [
        ((names.whole(effect.setting, pooled=True), _who(effect), effect.contrast.second_name), effect.contrast)
        for effect in analysis.steering
    ]
    heads = ["Deliberation", "Changes of verdict by", "Goal"]
    sides = (first, "This goal")
    table = contrast_table("Steering", heads, contrasts, sides=sides, source="figure 6", note="Orders are pooled.")
    return Section("steering", title, [chart, table])


def _who(effect: Steering) -> str:
    return effect.model or _CONSENSUS


def crowd(analysis: Analysis, names: SettingNames) -> Section:
    """Agreement with the crowd."""
    found = analysis.crowd
    title = "Agreement with the crowd"
    if found is None:
        return Section("crowd", title, [absent(analysis, "crowd", "Agreement with the crowd is")])
    points = [
        Dot(model.model, place, estimate, panel=model.goal or "")
        for model in found.models
        for place, estimate in enumerate((model.contrast.first, model.contrast.second))
    ]
    panels = list(dict.fromkeys(point.panel for point in points)) if names.goals else []
    about = "The share of each model's verdicts that are the crowd's most common one, before and after deliberation."
    spec = partial(dots, points, list(analysis.models), _ROUNDS, _VERDICTS, panels=panels)
    contrasts = [((model.model, model.goal or ""), model.contrast) for model in found.models]
    columns = [Column("Models"), Column("Format"), Column("Consensus verdicts that are the crowd's", "share")]
    rows: list[list[Cell]] = [
        [names.agents(setting), names.condition(setting), estimate] for setting, estimate in found.settings
    ]
    return Section(
        "crowd",
        title,
        [
            Chart("crowd", title, about, spec),
            contrast_table(
                "Verdicts that are the crowd's", ["Model", "Goal"], contrasts, sides=("Round 1", "Last round")
            ),
            Table("Consensus and the crowd", columns, rows),
            Method(f"{_CROWD}{f' Left out: {found.unknown:,} dilemmas.' if found.unknown else ''}"),
        ],
    )


_CROWD = "Dilemmas whose crowd is not known, or has no single most common verdict, are left out."
