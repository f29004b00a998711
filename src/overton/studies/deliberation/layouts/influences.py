"""What moves verdicts: inertia and conformity (the choice model, table 1), who speaks first (section 4.3), the goal
(figure 6); how often verdicts are the crowd's; and headlines without malformed messages.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from overton.statistics import Estimate
from overton.studies.charts import Axis, Dot, Series, dots, series_of
from overton.studies.deliberation.choice_model import LikelihoodRatio
from overton.studies.deliberation.deliberations import pairs_of_goals
from overton.studies.deliberation.findings import pairs_of_models
from overton.studies.deliberation.layouts.numbers import (
    SHARE,
    Compared,
    ReportSource,
    both_models,
    table_of_differences,
)
from overton.studies.frame import Cells, EstimateRow
from overton.studies.numbers import Kind
from overton.studies.sections import SERIES, Callout, Cell, Chart, Column, EmptyCell, Exhibit, Method, Section, Table
from overton.studies.warnings import fault_section

_LOG_ODDS = Axis("Log-odds", 0, 0.5, "value", mark=0, step=0.5)
_ESTIMATORS = {
    "taste_by_model": "random dilemma effects and tastes",
    "taste": "random dilemma effects and equally strong tastes",
    "random": "random dilemma effects",
    "penalised": "free dilemma effects, penalised",
    "as_published": "AdamW as published",
}


@dataclass(frozen=True)
class FitRows:
    """A fit of the choice model: its row of the table 'fits', and where its parameters are."""

    source: ReportSource
    cells: Cells

    @property
    def goal(self) -> str | None:
        """The goal of its decisions, None for one that is not named, or all."""
        return None if self.cells["goal"] is None else str(self.cells["goal"])

    @property
    def variant(self) -> str:
        """The variant of its rows."""
        return str(self.cells["variant"])

    @property
    def estimator(self) -> str:
        """The estimator in words."""
        return _ESTIMATORS.get(str(self.cells["estimator"]), str(self.cells["estimator"]))

    @property
    def title(self) -> str:
        """The estimator, and the goal if there are several."""
        if not self.source.names.goals:
            return self.estimator
        return f"{self.estimator}, goal: {self.goal}" if self.goal else f"{self.estimator}, all goals together"

    def rows(self, measure: str, facet: str = "goal") -> list[EstimateRow]:
        """The rows of a parameter."""
        rows = self.source.analysis.rows_of(measure, facet, variant=self.variant)
        return [row for row in rows if str(row.condition).split(" / ")[0] == self.cells["condition"]]

    def parameters(self) -> Iterator[tuple[str, EstimateRow]]:
        """Inertia by model, and conformity overall or by model, each under the name of its row."""
        for row in self.rows("inertia"):
            yield f"Inertia, {row.model}", row
        for name, measure in (("earlier rounds", "conformity_previous"), ("the same round", "conformity_within")):
            for row in self.rows(measure):
                yield f"Conformity to {name}{f', {row.model}' if row.model else ''}", row

    def spreads(self) -> Iterator[tuple[str, EstimateRow]]:
        """Spreads of random effects; that of all models' tastes only if models have none of their own."""
        for row in self.rows("dilemma_spread"):
            yield "Spread of dilemmas' effects", row
        shared, own = list[EstimateRow](), list[EstimateRow]()
        for row in self.rows("taste_spread"):
            (own if row.model else shared).append(row)
        for row in own or shared:
            yield f"Spread of tastes, {row.model}" if row.model else "Spread of models' tastes", row

    def beside(self, row: EstimateRow, name: str) -> Cell:
        """A parameter's standard error or odds ratio."""
        where = ("measure", "model", "facet", "condition", "variant")
        found = next(
            cells
            for cells in self.source.analysis.counts["parameters"]
            if all(cells[key] == getattr(row, key) for key in where)
        )
        if found[name] is None:
            return EmptyCell(row.why or "the data do not determine it")
        return found[name]


def _fits(source: ReportSource, variants: Sequence[str] | None = None) -> list[FitRows]:
    """The fits of these variants, by default the chosen estimator's and the others'."""
    cells = source.analysis.counts["fits"]
    return [
        FitRows(source, row)
        for row in cells
        if (row["variant"] != "without_faults" if variants is None else row["variant"] in variants)
    ]


def choice(source: ReportSource) -> Section:
    """Inertia and conformity."""
    fits, chosen = _fits(source), _fits(source, ("plain",))
    exhibits: list[Exhibit] = [Callout(note, "warning", summary=True) for note in _fit_notes(source, fits)]
    exhibits += [Callout(note, summary=True) for fit in fits for note in _ratio_note(fit)]
    if any(fit.cells["not_computed"] is None for fit in fits):
        exhibits += [_choice_chart(source, fits), *map(_parameter_table, chosen)]
        exhibits += [_beside(fits)] if len(fits) > len(chosen) else []
        exhibits.append(_preferences(chosen))
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


def _fit_notes(source: ReportSource, fits: Sequence[FitRows]) -> Iterator[str]:
    """The warnings of each fit; that a number has no interval is said of the chosen estimator only."""
    for fit in fits:
        if fit.cells["not_computed"]:
            yield f"No fit with {fit.title}: {fit.cells['not_computed']}."
        for row in source.analysis.counts.get("fit_notes", ()):
            own = (row["condition"], row["variant"]) == (fit.cells["condition"], fit.variant)
            if own and (fit.variant == "plain" or not str(row["note"]).startswith("no interval")):
                yield f"Fit with {fit.title}: {row['note']}."


def _ratio_note(fit: FitRows) -> Iterator[str]:
    """Whether models' tastes differ in strength, where the fit allows for it; otherwise its notes say so."""
    statistic, p = fit.cells["spreads_statistic"], fit.cells["spreads_p"]
    if fit.cells["estimator"] == "taste_by_model" and statistic is not None and p is not None:
        yield (
            f"Fit with {fit.title}: likelihood ratio of a spread of tastes for each model against one for "
            f"all: {LikelihoodRatio(float(statistic), float(p))}."
        )


def _choice_chart(source: ReportSource, fits: Sequence[FitRows]) -> Chart:
    estimators = list(dict.fromkeys(fit.estimator for fit in fits))
    points = [
        Dot(name, estimators.index(fit.estimator), row.number, panel=fit.goal or "all goals")
        for fit in fits
        for name, row in fit.parameters()
    ]
    rows = list(dict.fromkeys(point.row for point in points))
    panels = source.several_goals([point.panel for point in points])
    about = "Inertia by model, and conformity, in log-odds; zero means no effect."
    spec = partial(dots, points, rows, series_of(estimators), _LOG_ODDS, panels=panels)
    return Chart("choice", "Inertia and conformity", about, spec, source="table 1")


def _parameter_table(fit: FitRows) -> Table:
    columns = [Column("Parameter"), Column("Log-odds", "value"), Column("Standard error", "value")]
    rows: list[list[Cell]] = [
        [name, row.number, fit.beside(row, "se"), fit.beside(row, "odds_ratio")] for name, row in fit.parameters()
    ]
    rows += [[name, row.number, fit.beside(row, "se"), None] for name, row in fit.spreads()]
    title = f"Parameters of the choice model: {fit.title}"
    note = f"{fit.cells['decisions']:,} decisions on {fit.cells['dilemmas']:,} dilemmas."
    return Table(title, [*columns, Column("Odds ratio", "value")], rows, note=note, source="table 1", summary=True)


def _beside(fits: Sequence[FitRows]) -> Table:
    """The estimators' inertia and conformity side by side."""
    estimators = list(dict.fromkeys(fit.estimator for fit in fits))
    found = {(fit.goal, fit.estimator, name): row.number for fit in fits for name, row in fit.parameters()}
    keys = list(dict.fromkeys((goal, name) for goal, _, name in found))
    rows: list[list[Cell]] = [
        [name, goal or "", *(found.get((goal, estimator, name), EmptyCell("no fit")) for estimator in estimators)]
        for goal, name in keys
    ]
    columns = [Column("Parameter"), Column("Goal"), *(Column(name, "value") for name in estimators)]
    return Table("The estimators side by side", columns, rows, note="Log-odds.", summary=True)


def _preferences(fits: Sequence[FitRows]) -> Table:
    rows: list[list[Cell]] = [
        [fit.title, row.model, str(row.condition).split(" / ")[-1], row.number]
        for fit in fits
        for row in fit.rows("preference", "goal / verdict")
    ]
    columns = [Column("Fit"), Column("Model"), Column("Verdict"), Column("Preference", "value")]
    note = "Log-odds about the mean of the verdicts that the model uses."
    return Table("Preferences for verdicts", columns, rows, note=note, source="equation 2")


_SPEAKER = (
    Series("Consensus in round 1", SERIES[2], "circle"),
    Series("Consensus on the first speaker's verdict", SERIES[0], "square"),
    Series("Consensus on another verdict", SERIES[1], "diamond"),
)
_ORDER = (
    "Round-robin deliberations, by the model that speaks first; the orders of the others are pooled. The first "
    "speaker prevails if consensus is on the verdict that it gave first."
)


def order(source: ReportSource) -> Section:
    """First-speaker effects."""
    title, names = "Who speaks first", source.names
    if "order" in source.missing:
        return Section("order", title, [source.absent("order", "Effects of order are")])
    first = [
        (names.whole(setting, pooled=True), row)
        for setting in names.pooled
        for row in source.analysis.rows_of("led_to_consensus_at_once", "pooled", condition=setting.name, against=None)
    ]
    exhibits: list[Exhibit] = [_order_chart(source, first), _order_table(source, first)]
    led = [
        Compared([names.whole(setting, pooled=True), row.against, row.model], *both_models(source, row), row)
        for setting in names.pooled
        for row in pairs_of_models(source.analysis, "led_to_consensus_at_once", "pooled", setting)
    ]
    if led:
        heads = ["Deliberation", "First model", "Second model"]
        by_speaker = "Consensus in round 1 by who speaks first"
        exhibits.append(table_of_differences(source, by_speaker, heads, led, published="section 4.3"))
    places = [
        Compared([names.whole(setting, pooled=True), row.model], *_of_places(source, setting.name, row), row)
        for setting in names.pooled
        for row in source.analysis.rows_of(
            "changed", "pooled / speaks", condition=f"{setting.name} / later", against="first"
        )
    ]
    if places:
        sides = ("Speaks first", "Speaks later")
        by_place = "Change-of-verdict rate by place in the order"
        exhibits.append(
            table_of_differences(
                source, by_place, ["Deliberation", "Model"], places, sides=sides, published="section 4.3"
            )
        )
    return Section("order", title, [*exhibits, Method(_ORDER)])


def _of_places(source: ReportSource, setting: str, row: EstimateRow) -> tuple[Estimate, Estimate]:
    first, later = (
        source.shown("changed", f"{setting} / {place}", "pooled / speaks", row.model) for place in ("first", "later")
    )
    return first, later


def _led(source: ReportSource, row: EstimateRow, *measures: str) -> list[Estimate]:
    """Other numbers of a first speaker."""
    return [source.shown(measure, str(row.condition), "pooled", row.model) for measure in measures]


def _order_chart(source: ReportSource, found: Sequence[tuple[str, EstimateRow]]) -> Chart:
    points = [
        Dot(f"{row.model} first", place, estimate, panel=panel)
        for panel, row in found
        for place, estimate in enumerate((row.number, *_led(source, row, "prevailed", "yielded")))
    ]
    rows = list(dict.fromkeys(point.row for point in points))
    panels = list(dict.fromkeys(point.panel for point in points))
    about = "How round-robin deliberations end, by the model that speaks first."
    return Chart("order", "First speakers", about, partial(dots, points, rows, _SPEAKER, SHARE, panels=panels))


def _order_table(source: ReportSource, found: Sequence[tuple[str, EstimateRow]]) -> Table:
    columns = [Column("Deliberation"), Column("Speaks first"), Column("Consensus in round 1", "share")]
    columns += [Column("Consensus", "share"), Column("On its verdict", "share"), Column("On another", "share")]
    rows: list[list[Cell]] = [
        [name, row.model, row.number, *_led(source, row, "led_to_consensus", "prevailed", "yielded")]
        for name, row in found
    ]
    return Table("First speakers", columns, rows, source="section 4.3")


_CONSENSUS = "consensus of all"


def steering(source: ReportSource) -> Section:
    """Change-of-verdict rates and consensus under each goal (figure 6)."""
    title, names = "What the goal changes", source.names
    found = [
        (names.whole(shared, pooled=True), Compared([], *_of_goals(source, first.name, second.name, row), row))
        for shared, first, second in pairs_of_goals(names.pooled)
        for measure in ("changed", "consensus")
        for row in source.analysis.rows_of(
            measure, "goal", condition=f"{shared.name} / {second.goal}", against=first.goal or ""
        )
    ]
    if not found:
        return Section("steering", title, [source.absent("steering", "Steering is")])
    first_goal = found[0][1].row.against or ""
    goals = list(dict.fromkeys([first_goal, *(_goal(compared.row) for _, compared in found)]))
    points = [
        Dot(compared.row.model or _CONSENSUS, goals.index(goal), estimate, panel=panel)
        for panel, compared in found
        for goal, estimate in (
            (compared.row.against or "", compared.first),
            (_goal(compared.row), compared.second),
        )
    ]
    panels = list(dict.fromkeys(point.panel for point in points))
    models = source.analysis.models
    rows = [*(model for model in models if any(point.row == model for point in points)), _CONSENSUS]
    about = "By goal, the shares of deliberations in which each model changes its verdict, and that reach consensus."
    spec = partial(dots, points, rows, series_of(goals), SHARE, panels=panels)
    chart = Chart("steering", "Steering by the goal in the system prompt", about, spec, source="figure 6")
    heads = ["Deliberation", "Changes of verdict by", "Goal"]
    compared_rows = [
        replace(compared, head=[panel, compared.row.model or _CONSENSUS, _goal(compared.row)])
        for panel, compared in found
    ]
    table = table_of_differences(
        source,
        "Steering",
        heads,
        compared_rows,
        sides=(first_goal, "This goal"),
        published="figure 6",
        note="Orders are pooled.",
    )
    return Section("steering", title, [chart, table])


def _goal(row: EstimateRow) -> str:
    return str(row.condition).split(" / ")[-1]


def _of_goals(source: ReportSource, first: str, second: str, row: EstimateRow) -> tuple[Estimate, Estimate]:
    return (
        source.shown(row.measure, first, "pooled", row.model),
        source.shown(row.measure, second, "pooled", row.model),
    )


_VERDICTS = Axis("Share of verdicts that are the crowd's (%)", 0, 1, "share")
_ROUNDS = (Series("Round 1", SERIES[1], "circle"), Series("Last round", SERIES[0], "diamond"))
_CROWD = "Dilemmas whose crowd is not known, or has no single most common verdict, are left out."


def crowd(source: ReportSource) -> Section:
    """Agreement with the crowd."""
    title, names = "Agreement with the crowd", source.names
    if "crowd" in source.missing:
        return Section("crowd", title, [source.absent("crowd", "Agreement with the crowd is")])
    found = [
        Compared(
            [row.model, "" if goal == "all" else goal],
            source.shown("verdict_is_crowds", f"{goal} / round 1", "goal / round", row.model),
            source.shown("verdict_is_crowds", f"{goal} / last round", "goal / round", row.model),
            row,
        )
        for row in source.analysis.rows_of("verdict_is_crowds", "goal / round", against="round 1")
        for goal in [str(row.condition).split(" / ")[0]]
    ]
    points = [
        Dot(str(compared.row.model), place, estimate, panel=str(compared.head[1]))
        for compared in found
        for place, estimate in enumerate((compared.first, compared.second))
    ]
    panels = source.several_goals([point.panel for point in points])
    about = "The share of each model's verdicts that are the crowd's most common one, before and after deliberation."
    spec = partial(dots, points, list(source.analysis.models), _ROUNDS, _VERDICTS, panels=panels)
    columns = [Column("Models"), Column("Format"), Column("Consensus verdicts that are the crowd's", "share")]
    rows: list[list[Cell]] = [
        [
            names.agents(setting),
            names.condition(setting),
            source.shown("consensus_is_crowds", setting.name, "setting"),
        ]
        for setting in names.settings
    ]
    unknown = source.counts[None, None]["crowd_unknown"]
    return Section(
        "crowd",
        title,
        [
            Chart("crowd", title, about, spec),
            table_of_differences(
                source, "Verdicts that are the crowd's", ["Model", "Goal"], found, sides=("Round 1", "Last round")
            ),
            Table("Consensus and the crowd", columns, rows),
            Method(f"{_CROWD}{f' Left out: {unknown:,} dilemmas.' if unknown else ''}"),
        ],
    )


_MESSAGES = "messages"
_WHAT = "Without faults, these messages' verdicts count as unreadable: they agree with nothing and are no change."


def faults(source: ReportSource) -> Iterator[Section]:
    """The faults by model and format, and the headlines without them; nothing if there are none."""
    for section in fault_section(source.analysis.faults, _MESSAGES, "Format", _WHAT):
        yield Section(section.key, section.title, [*section.exhibits, *_without_faults(source)])


def _without_faults(source: ReportSource) -> Iterator[Table]:
    left = "without_faults"
    rows: list[list[Cell]] = [["Consensus", source.number("consensus"), source.number("consensus", variant=left)]]
    for model in source.analysis.models:
        both = (source.number("changed", model=model, variant=variant) for variant in ("plain", left))
        rows.append([f"{model} changed its verdict", *both])
    title = "Consensus and changes of verdict, with and without faulty messages"
    yield Table(title, [Column("Of deliberations"), *_sides("share")], rows, summary=True)
    rest = {fit.goal: dict(fit.parameters()) for fit in _fits(source, (left,))}
    fits: list[list[Cell]] = [
        [f"{name}{f', goal {fit.goal}' if fit.goal else ''}", row.number, other.number if other else None]
        for fit in _fits(source, ("plain",))
        if fit.goal in rest
        for name, row in fit.parameters()
        for other in [rest[fit.goal].get(name)]
    ]
    if fits:
        title = "Inertia and conformity, with and without faulty messages"
        yield Table(title, [Column("Log-odds"), *_sides("value")], fits)


def _sides(kind: Kind) -> tuple[Column, Column]:
    return Column("All messages", kind), Column("Without faults", kind)
