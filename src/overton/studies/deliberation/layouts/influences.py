"""What moves verdicts: inertia and conformity (the choice model, table 1), who speaks first (section 4.3), the goal
(figure 6); how often verdicts are the crowd's; and headlines without malformed messages.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from overton.studies.charts import Axis, Dot, Series, series_of
from overton.studies.deliberation.choice_model import LikelihoodRatio
from overton.studies.deliberation.findings import differences, last_part
from overton.studies.deliberation.layouts.numbers import ReportSource, difference_table, dot_chart, table
from overton.studies.frame import Cells, EstimateRow
from overton.studies.numbers import Kind
from overton.studies.sections import SERIES, Callout, Cell, Chart, EmptyCell, Exhibit, Method, Section, Table
from overton.studies.warnings import fault_section

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
        rows = self.source.analysis.rows_of(measure, facet, variant=str(self.cells["variant"]))
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
        tastes = self.rows("taste_spread")
        for row in [row for row in tastes if row.model] or tastes:
            yield f"Spread of tastes, {row.model}" if row.model else "Spread of models' tastes", row


def _fits(source: ReportSource, *variants: str) -> list[FitRows]:
    """The fits of these variants, by default the chosen estimator's and the others'."""
    every = (FitRows(source, cells) for cells in source.analysis.counts["fits"])
    return [
        fit
        for fit in every
        if (fit.cells["variant"] in variants if variants else fit.cells["variant"] != "without_faults")
    ]


def choice(source: ReportSource) -> Section:
    """Inertia and conformity."""
    fits, chosen = _fits(source), _fits(source, "plain")
    exhibits: list[Exhibit] = [Callout(note, "warning", summary=True) for note in _fit_notes(source, fits)]
    exhibits += [Callout(note, summary=True) for fit in fits for note in _ratio_note(fit)]
    if any(fit.cells["not_computed"] is None for fit in fits):
        exhibits += [_choice_chart(source, fits), *(_parameter_table(source, fit) for fit in chosen)]
        exhibits += [_beside(fits)] if len(fits) > len(chosen) else []
        preferences: list[list[Cell]] = [
            [fit.title, row.model, last_part(row), row.number]
            for fit in chosen
            for row in fit.rows("preference", "goal / verdict")
        ]
        exhibits.append(
            table(
                "Preferences for verdicts",
                ["Fit", "Model", "Verdict"],
                {"Preference": "value"},
                preferences,
                note="Log-odds about the mean of the verdicts that the model uses.",
                published="equation 2",
            )
        )
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
        variant = fit.cells["variant"]
        if fit.cells["not_computed"]:
            yield f"No fit with {fit.title}: {fit.cells['not_computed']}."
        for row in source.analysis.counts.get("fit_notes", ()):
            own = (row["condition"], row["variant"]) == (fit.cells["condition"], variant)
            if own and (variant == "plain" or not str(row["note"]).startswith("no interval")):
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
    return dot_chart(
        "choice",
        "Inertia and conformity",
        "Inertia by model, and conformity, in log-odds; zero means no effect.",
        points,
        series_of(estimators),
        axis=Axis("Log-odds", 0, 0.5, "value", mark=0, step=0.5),
        in_panels=source.names.goals,
        published="table 1",
    )


def _parameter_table(source: ReportSource, fit: FitRows) -> Table:
    """Each parameter with its standard error, and its odds ratio unless it is a spread."""
    where = ("measure", "model", "facet", "condition", "variant")
    known = {tuple(cells[key] for key in where): cells for cells in source.analysis.counts["parameters"]}

    def beside(row: EstimateRow, name: str) -> Cell:
        found = known[tuple(getattr(row, key) for key in where)][name]
        return EmptyCell(row.why or "the data do not determine it") if found is None else found

    rows: list[list[Cell]] = [
        [name, row.number, beside(row, "se"), beside(row, "odds_ratio")] for name, row in fit.parameters()
    ]
    rows += [[name, row.number, beside(row, "se"), None] for name, row in fit.spreads()]
    return table(
        f"Parameters of the choice model: {fit.title}",
        ["Parameter"],
        {"Log-odds": "value", "Standard error": "value", "Odds ratio": "value"},
        rows,
        note=f"{fit.cells['decisions']:,} decisions on {fit.cells['dilemmas']:,} dilemmas.",
        published="table 1",
        summary=True,
    )


def _beside(fits: Sequence[FitRows]) -> Table:
    """The estimators' inertia and conformity side by side."""
    estimators = list(dict.fromkeys(fit.estimator for fit in fits))
    found = {(fit.goal, fit.estimator, name): row.number for fit in fits for name, row in fit.parameters()}
    keys = list(dict.fromkeys((goal, name) for goal, _, name in found))
    rows: list[list[Cell]] = [
        [name, goal or "", *(found.get((goal, estimator, name), EmptyCell("no fit")) for estimator in estimators)]
        for goal, name in keys
    ]
    numbers: dict[str, Kind] = dict.fromkeys(estimators, "value")
    return table("The estimators side by side", ["Parameter", "Goal"], numbers, rows, note="Log-odds.", summary=True)


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
    title, names, analysis = "Who speaks first", source.names, source.analysis
    if "order" in source.missing:
        return source.absent("order", title, "Effects of order are")
    measures = ("led_to_consensus", "prevailed", "yielded")
    first = [
        (row, [source.shown(measure, setting.name, "pooled", row.model) for measure in measures])
        for setting in names.pooled
        for row in analysis.rows_of("led_to_consensus_at_once", "pooled", condition=setting.name, against=None)
    ]
    points = [
        Dot(f"{row.model} first", place, estimate, panel=names.where(row))
        for row, (_, *ends) in first
        for place, estimate in enumerate((row.number, *ends))
    ]
    rows: list[list[Cell]] = [[names.where(row), row.model, row.number, *others] for row, others in first]
    exhibits: list[Exhibit] = [
        dot_chart(
            "order",
            "First speakers",
            "How round-robin deliberations end, by the model that speaks first.",
            points,
            _SPEAKER,
        ),
        table(
            "First speakers",
            ["Deliberation", "Speaks first"],
            dict.fromkeys(("Consensus in round 1", "Consensus", "On its verdict", "On another"), "share"),
            rows,
            published="section 4.3",
        ),
        *difference_table(
            source,
            "Consensus in round 1 by who speaks first",
            ["Deliberation", "First model", "Second model"],
            differences(analysis, "pooled", "led_to_consensus_at_once"),
            lambda row: [names.where(row), row.against, row.model],
            published="section 4.3",
        ),
        *difference_table(
            source,
            "Change-of-verdict rate by place in the order",
            ["Deliberation", "Model"],
            differences(analysis, "pooled / speaks", "changed"),
            lambda row: [names.where(row), row.model],
            sides=("Speaks first", "Speaks later"),
            published="section 4.3",
        ),
    ]
    return Section("order", title, [*exhibits, Method(_ORDER)])


_CONSENSUS = "consensus of all"
_STARS = (
    " As in the paper, stars are of the test of two proportions, uncorrected, which treats all observations as"
    " independent: *** p < 0.001, * p < 0.1, n.s. otherwise."
)


def steering(source: ReportSource) -> Section:
    """Change-of-verdict rates and consensus under each goal (figure 6)."""
    title, names = "What the goal changes", source.names
    found = differences(source.analysis, "goal", "changed", "consensus")
    if not found:
        return source.absent("steering", title, "Steering is")
    first_goal = found[0].against or ""
    goals = list(dict.fromkeys([first_goal, *map(last_part, found)]))
    starred = "choices" in source.analysis.counts  # as in the paper
    points = [
        Dot(row.model or _CONSENSUS, goals.index(goal), estimate, panel=names.where(row), star=star)
        for row in found
        for goal, estimate, star in zip(
            (row.against or "", last_part(row)),
            source.sides(row),
            ("", source.stars(row) if starred else ""),
            strict=True,
        )
    ]
    rows = [model for model in source.analysis.models if any(point.row == model for point in points)]
    chart = dot_chart(
        "steering",
        "Steering by the goal in the system prompt",
        "By goal, the shares of deliberations in which each model changes its verdict, and that reach consensus."
        + (_STARS if starred else ""),
        points,
        series_of(goals),
        rows=[*rows, _CONSENSUS],
        published="figure 6",
    )
    tables = difference_table(
        source,
        "Steering",
        ["Deliberation", "Changes of verdict by", "Goal"],
        found,
        lambda row: [names.where(row), row.model or _CONSENSUS, last_part(row)],
        sides=(first_goal, "This goal"),
        published="figure 6",
        note="Orders are pooled.",
    )
    return Section("steering", title, [chart, *tables])


_ROUNDS = (Series("Round 1", SERIES[1], "circle"), Series("Last round", SERIES[0], "diamond"))
_CROWD = "Dilemmas whose crowd is not known, or has no single most common verdict, are left out."


def crowd(source: ReportSource) -> Section:
    """Agreement with the crowd."""
    title, names = "Agreement with the crowd", source.names
    if "crowd" in source.missing:
        return source.absent("crowd", title, "Agreement with the crowd is")
    found = differences(source.analysis, "goal / round", "verdict_is_crowds")
    points = [
        Dot(str(row.model), place, estimate, panel=_goal(row))
        for row in found
        for place, estimate in enumerate(source.sides(row))
    ]
    chart = dot_chart(
        "crowd",
        title,
        "The share of each model's verdicts that are the crowd's most common one, before and after deliberation.",
        points,
        _ROUNDS,
        axis=Axis("Share of verdicts that are the crowd's (%)", 0, 1, "share"),
        rows=source.analysis.models,
        in_panels=names.goals,
    )
    rows: list[list[Cell]] = [
        [names.agents(setting), names.condition(setting), source.shown("consensus_is_crowds", setting.name, "setting")]
        for setting in names.settings
    ]
    unknown = source.counts[None, None]["crowd_unknown"]
    exhibits: list[Exhibit] = [
        chart,
        *difference_table(
            source,
            "Verdicts that are the crowd's",
            ["Model", "Goal"],
            found,
            lambda row: [row.model, _goal(row)],
            sides=("Round 1", "Last round"),
        ),
        table(
            "Consensus and the crowd", ["Models", "Format"], {"Consensus verdicts that are the crowd's": "share"}, rows
        ),
        Method(f"{_CROWD}{f' Left out: {unknown:,} dilemmas.' if unknown else ''}"),
    ]
    return Section("crowd", title, exhibits)


def _goal(row: EstimateRow) -> str:
    """The goal of verdicts that are compared with the crowd's; none if their goal is not known."""
    goal = str(row.condition).rpartition(" / ")[0]
    return "" if goal == "all" else goal


_WHAT = "Without faults, these messages' verdicts count as unreadable: they agree with nothing and are no change."


def faults(source: ReportSource) -> Iterator[Section]:
    """The faults by model and format, and the headlines without them; nothing if there are none."""
    for section in fault_section(source.analysis.faults, "messages", "Format", _WHAT):
        yield Section(section.key, section.title, [*section.exhibits, *_without_faults(source)])


def _without_faults(source: ReportSource) -> Iterator[Table]:
    variants = {"All messages": "plain", "Without faults": "without_faults"}
    every: list[tuple[str, str, str | None]] = [("Consensus", "consensus", None)]
    every += [(f"{model} changed its verdict", "changed", model) for model in source.analysis.models]
    rows: list[list[Cell]] = [
        [name, *(source.number(measure, model=model, variant=variant) for variant in variants.values())]
        for name, measure, model in every
    ]
    title = "Consensus and changes of verdict, with and without faulty messages"
    yield table(title, ["Of deliberations"], dict.fromkeys(variants, "share"), rows, summary=True)
    rest = {fit.goal: dict(fit.parameters()) for fit in _fits(source, "without_faults")}
    fits: list[list[Cell]] = [
        [f"{name}{f', goal {fit.goal}' if fit.goal else ''}", row.number, other.number if other else None]
        for fit in _fits(source, "plain")
        if fit.goal in rest
        for name, row in fit.parameters()
        for other in [rest[fit.goal].get(name)]
    ]
    if fits:
        title = "Inertia and conformity, with and without faulty messages"
        yield table(title, ["Log-odds"], dict.fromkeys(variants, "value"), fits)
