"""Sections on influences on verdicts: inertia and conformity (the choice model, table 1), who speaks first (section
4.3) and the goal (figure 6). Further sections show agreement with the crowd's verdicts, and headlines without malformed
messages."""

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
    """A fit of the choice model: the fit's row in the table 'fits', and the source of the fit's parameters."""

    source: ReportSource
    cells: Cells

    @property
    def goal(self) -> str | None:
        """The goal of the fit's decisions; None if the goal has no name, or if decisions under all goals were fitted
        together."""
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
        """The rows of inertia by model and of conformity, overall or by model, with their titles in tables."""
        for row in self.rows("inertia"):
            yield f"Inertia, {row.model}", row
        for name, measure in (("earlier rounds", "conformity_previous"), ("the same round", "conformity_within")):
            for row in self.rows(measure):
                yield f"Conformity to {name}{f', {row.model}' if row.model else ''}", row

    def spreads(self) -> Iterator[tuple[str, EstimateRow]]:
        """Standard deviations of random effects.

        The common spread of tastes is included only if models have no separate spreads.
        """
        for row in self.rows("dilemma_spread"):
            yield "Spread of dilemmas' effects", row
        tastes = self.rows("taste_spread")
        for row in [row for row in tastes if row.model] or tastes:
            yield f"Spread of tastes, {row.model}" if row.model else "Spread of models' tastes", row


def _fits(source: ReportSource, *variants: str) -> list[FitRows]:
    """The fits of these variants. By default, the fits with the chosen estimator and with all other estimators."""
    every = (FitRows(source, cells) for cells in source.analysis.counts["fits"])
    return [
        fit
        for fit in every
        if (fit.cells["variant"] in variants if variants else fit.cells["variant"] != "without_faults")
    ]


def choice(source: ReportSource) -> Section:
    """The section on inertia and conformity."""
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
                note="Preferences are log-odds relative to the mean over the verdicts that the model uses.",
                published="equation 2",
            )
        )
    return Section("choice", "Inertia and conformity", [*exhibits, Method(_CHOICE)])


_CHOICE = (
    "In equation 2, the log-odds of a verdict are the sum of four parts: the model's preference for the verdict, the"
    " dilemma's effect, inertia and conformity. Inertia is added if the agent gave the same verdict in the round"
    " before. Conformity is added once for each time that another agent gave this verdict. Conformity has one parameter"
    " for earlier rounds, and another for the same round before the agent spoke. An odds ratio of 2 doubles the odds."
    " 'Random dilemma effects' come from a normal distribution with estimated spread. A model may also repeat a"
    " verdict because of a lasting taste for this verdict on the dilemma. Fits with 'tastes' in their name therefore"
    " give every model a random effect on every dilemma. Inertia is then only the effect of the model's own earlier"
    " verdict. Each model's tastes have their own spread, because with one common spread a strong taste would look"
    " like inertia. To estimate tastes, some model must make three or more decisions on a dilemma. Two decisions"
    " are enough if each is the model's first in its deliberation. Fits with tastes come first if there are any. With"
    " random effects, an interval for inertia or conformity needs at least 25 informative deliberations per model. For"
    " inertia, these are deliberations in which the model decides again. For conformity, these are deliberations in"
    " which it has seen some verdicts more often than others. Overton gives no interval wider than six logits."
    " 'Penalised' fits one free effect per dilemma, shrunk towards zero. Its intervals ignore the shrinkage. 'AdamW as"
    " published' is the authors' own estimator, which shrinks more and stops after 60 epochs. Intervals with random"
    " effects use Student's t over dilemmas. Goals are fitted separately by default."
)


def _fit_notes(source: ReportSource, fits: Sequence[FitRows]) -> Iterator[str]:
    """The warnings of each fit. Warnings of missing intervals appear only for the chosen estimator."""
    for fit in fits:
        variant = fit.cells["variant"]
        if fit.cells["not_computed"]:
            yield f"No fit with {fit.title}: {fit.cells['not_computed']}."
        for row in source.analysis.counts.get("fit_notes", ()):
            own = (row["condition"], row["variant"]) == (fit.cells["condition"], variant)
            if own and (variant == "plain" or not str(row["note"]).startswith("no interval")):
                yield f"Fit with {fit.title}: {row['note']}."


def _ratio_note(fit: FitRows) -> Iterator[str]:
    """A note on whether models' tastes differ in strength, for fits with separate tastes.

    Other fits have this note among their warnings.
    """
    statistic, p = fit.cells["spreads_statistic"], fit.cells["spreads_p"]
    if fit.cells["estimator"] == "taste_by_model" and statistic is not None and p is not None:
        yield (
            f"Fit with {fit.title}: the likelihood ratio of separate spreads of tastes per model against a common"
            f" spread is {LikelihoodRatio(float(statistic), float(p))}."
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
    """A table of each parameter with its standard error. All parameters except spreads have an odds ratio, too."""
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
    """A table that compares the estimators' inertia and conformity side by side."""
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
    "Round-robin deliberations by the model that speaks first. The orders of the other models are pooled. The first"
    " speaker prevails if consensus is on its first verdict."
)


def order(source: ReportSource) -> Section:
    """The section on first-speaker effects."""
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
    " As in the paper, stars come from the uncorrected test of two proportions, which treats all observations as"
    " independent: *** p < 0.001, * p < 0.1, n.s. otherwise."
)


def steering(source: ReportSource) -> Section:
    """The section on change-of-verdict rates and consensus under each goal (figure 6)."""
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
        "For each goal, the share of deliberations in which a model changes its verdict, and the share of"
        " deliberations that reach consensus." + (_STARS if starred else ""),
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
_CROWD = "Dilemmas are left out if they have no crowd, or if two verdicts tie as the crowd's most common one."


def crowd(source: ReportSource) -> Section:
    """The section on agreement with the crowd."""
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
        "The share of each model's verdicts that are the crowd's most common verdict, before and after deliberation.",
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
    """The goal of verdicts that are compared with the crowd's; '' if the goal is unknown."""
    goal = str(row.condition).rpartition(" / ")[0]
    return "" if goal == "all" else goal


_WHAT = (
    "'Without faults' counts the verdicts of malformed messages as unreadable. An unreadable verdict agrees with no"
    " other verdict, and does not count as a change."
)


def faults(source: ReportSource) -> Iterator[Section]:
    """The section on malformed messages by model and format, with the headlines without them.

    No section if there are none.
    """
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
    title = "Consensus and changes of verdict, with and without malformed messages"
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
        title = "Inertia and conformity, with and without malformed messages"
        yield table(title, ["Log-odds"], dict.fromkeys(variants, "value"), fits)
