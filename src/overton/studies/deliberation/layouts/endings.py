"""How deliberations end: consensus and changes of verdict (figure 2), verdicts before and after (figure 3), archetypes
(table 2).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

from overton.statistics import Estimate
from overton.studies.charts import Axis, Bar, BarPart, Dot, Series, bars, dots, series_of
from overton.studies.deliberation.deliberations import pairs_of_formats
from overton.studies.deliberation.findings import pairs_of_models
from overton.studies.deliberation.items import VERDICTS
from overton.studies.deliberation.layouts.numbers import (
    SHARE,
    Compared,
    ReportSource,
    both_models,
    ordinal,
    table_of_differences,
    twice,
)
from overton.studies.deliberation.rows import INVALID_NAME, NONE, speakers
from overton.studies.frame import Cells
from overton.studies.sections import Callout, Cell, Chart, Column, Drawing, Exhibit, Method, Section, Table

if TYPE_CHECKING:
    from overton.studies.deliberation.deliberations import Setting


def consensus(source: ReportSource) -> Section:
    """Rounds to consensus, and how often there is none."""
    exhibits: list[Exhibit] = []
    if said := [str(row["note"]) for row in source.analysis.counts.get("notes", ())]:
        exhibits.append(Callout("\n".join(said), "warning", summary=True))
    exhibits += [_endings(source, format_) for format_ in source.names.formats]
    exhibits.append(_consensus_table(source))
    compared = [
        Compared(
            [source.names.whole(both, pooled=True)],
            source.shown("consensus", first.name, "pooled"),
            source.shown("consensus", second.name, "pooled"),
            row,
        )
        for both, first, second in pairs_of_formats(source.names.pooled)
        for row in source.analysis.rows_of("consensus", "format", condition=f"{both.name} / round-robin")
    ]
    if compared:
        exhibits.append(
            table_of_differences(
                source,
                "Consensus in either format",
                ["Models"],
                compared,
                sides=("Synchronous", "Round-robin"),
                published="section 4.3",
                note=_POOLED,
            )
        )
    return Section("consensus", "Consensus", [*exhibits, Method(_CONSENSUS)])


_POOLED = "Orders of speaking are pooled."
_MAJORITY = (
    "The authors' code counts it as consensus if more than half of the last round's valid verdicts are the same."
)
_NO_OTHER_MAJORITY = (
    "Counting consensus as the authors do, by a majority of the last round's valid verdicts, gives the same shares."
)
_CONSENSUS = (
    "A deliberation reaches consensus in the first complete round in which all agents give the same verdict; "
    "unreadable verdicts agree with nothing. Shares are of all deliberations; the mean number of rounds is over those "
    "that reach consensus. Intervals are over dilemmas."
)


def _rounds(source: ReportSource) -> list[str]:
    """The numbers of the rounds."""
    rounds = source.analysis.rows_of("consensus_in_round", "round", variant="plain")
    return sorted((str(row.condition) for row in rounds), key=int)


def _endings(source: ReportSource, format_: str) -> Chart:
    names, rounds = source.names, _rounds(source)
    parts = [BarPart(f"Round {number}", number) for number in rounds]
    parts.append(BarPart("No consensus", "none", rest=True))
    drawn = [
        Bar(
            names.agents(setting),
            (
                *(
                    source.shown("consensus_in_round", f"{setting.name} / {number}", "setting / round")
                    for number in rounds
                ),
                source.shown("no_consensus", setting.name, "setting"),
            ),
            names.goal(setting),
        )
        for setting in names.settings
        if setting.format == format_
    ]
    panels = [panel for panel in dict.fromkeys(bar.panel for bar in drawn) if panel]
    about = (
        "For each set of models, the share of deliberations that reach consensus in each round, and in none. Intervals "
        "are in the table and in each part's tooltip."
    )
    drawing = partial(bars, drawn, parts, "Share of deliberations (%)", panels=panels)
    return Chart(f"consensus-{format_}", f"Rounds to consensus, {format_}", about, drawing, source="figure 2, a and c")


def _drawn(points: list[Dot], series: list[Series], axis: Axis = SHARE) -> Drawing:
    """One row per set of models; one panel per goal if there are several."""
    rows, panels = (list(dict.fromkeys(names)) for names in zip(*((p.row, p.panel) for p in points), strict=True))
    return partial(dots, points, rows, series, axis, panels=panels if any(panels) else [], wrap=True)


def _consensus_table(source: ReportSource) -> Table:
    names = source.names
    columns = [Column("Models"), Column("Format"), Column("Deliberations", "count"), Column("Consensus", "share")]
    columns += [Column("In round 1", "share"), Column("No consensus", "share"), Column("Rounds to consensus", "value")]
    columns += [Column("On a new verdict", "share")]

    def numbers(setting: Setting, *measures: str) -> list[Estimate]:
        return [source.shown(measure, setting.name, "setting") for measure in measures]

    both = [numbers(setting, "consensus", "consensus_by_majority") for setting in names.settings]
    differ = any(reached.value != majority.value for reached, majority in both)
    columns += [Column("Consensus by majority", "share")] if differ else []
    rows: list[list[Cell]] = []
    for setting in names.settings:
        rows.append(
            [
                names.agents(setting),
                names.condition(setting),
                source.counts[None, setting.name]["deliberations"],
                *numbers(setting, "consensus"),
                source.number("consensus_in_round", f"{setting.name} / 1", "setting / round"),
                *numbers(setting, "no_consensus", "rounds_to_consensus", "consensus_on_new"),
                *(numbers(setting, "consensus_by_majority") if differ else []),
            ]
        )
    goals = {setting.goal for setting in names.settings if setting.goal}
    note = f"The goal is {', '.join(goals)}." if len(goals) == 1 else ""
    note = f"{note} {_MAJORITY if differ else _NO_OTHER_MAJORITY}".strip()
    return Table("Consensus by models and format", columns, rows, note=note, source="section 4.1", summary=True)


def changes(source: ReportSource) -> Section:
    """Change-of-verdict rates."""
    exhibits: list[Exhibit] = [_by_model(source)]
    rates = list(_speaker_rates(source))
    exhibits += [_rates(source, rates, format_) for format_ in source.names.formats]
    columns = [Column("Models"), Column("Format"), Column("Model"), Column("Place"), Column("Changed", "share")]
    cells: list[list[Cell]] = [
        [source.names.agents(setting), source.names.condition(setting), model, ordinal(place), rate]
        for setting, model, place, rate in rates
    ]
    exhibits.append(Table("Change-of-verdict rates", columns, cells, source="figure 2, b and d"))
    compared = [
        Compared([source.names.whole(setting), row.against, row.model], *both_models(source, row), row)
        for setting in source.names.settings
        for row in pairs_of_models(source.analysis, "changed", "setting", setting)
    ]
    if compared:
        title = "Models that deliberate together, compared"
        heads = ["Deliberation", "First model", "Second model"]
        exhibits.append(table_of_differences(source, title, heads, compared))
    return Section("changes", "Changes of verdict", [*exhibits, Method(_CHANGES)])


_CHANGES = (
    "The rate is the share of an agent's deliberations in which any later verdict differs from its first. All its "
    "deliberations count, also those that end in round 1, where nobody has occasion to change. Unreadable verdicts are "
    "skipped."
)


def _by_model(source: ReportSource) -> Table:
    rows: list[list[Cell]] = [[model, source.number("changed", model=model)] for model in source.analysis.models]
    title = "Changes of verdict over all deliberations"
    return Table(title, [Column("Model"), Column("Changed its verdict", "share")], rows, summary=True)


_Rate = tuple["Setting", str, int | None, Estimate]


def _speaker_rates(source: ReportSource) -> Iterator[_Rate]:
    """Each setting's speakers: seats that share a model and, if they take turns, a place, with their rates."""
    for setting in source.names.settings:
        for model, place, _ in speakers(setting):
            facet, where = ("setting / place", f"{setting.name} / {place}") if place else ("setting", setting.name)
            yield setting, model, place, source.shown("changed", where, facet, model)


def _rates(source: ReportSource, rates: Sequence[_Rate], format_: str) -> Chart:
    models = source.analysis.models
    points = [
        Dot(
            source.names.agents(setting),
            models.index(model),
            rate,
            panel=source.names.goal(setting),
            more=ordinal(place),
        )
        for setting, model, place, rate in rates
        if setting.format == format_
    ]
    about = "For each set of models, the share of deliberations in which each changes its verdict."
    anchored = replace(SHARE, anchors=((0.0, "never changes"), (1.0, "always changes")))
    spec = _drawn(points, series_of(models), anchored)
    return Chart(f"changes-{format_}", f"Change-of-verdict rates, {format_}", about, spec, source="figure 2, b and d")


_NO_CONSENSUS = "No consensus"
_PANELS = 6
_TOP = 2


def verdicts(source: ReportSource) -> Section:
    """Distributions of verdicts in round 1 and at the end."""
    charts = [_verdict_chart(source, format_) for format_ in source.names.formats]
    return Section("verdicts", "Verdicts before and after", [*charts, _verdict_table(source)])


def _verdicts_of(
    source: ReportSource, measure: str, setting: Setting, model: str | None = None, place: int | None = None
) -> dict[str, Estimate]:
    """The numbers of a measure by verdict."""
    facet, where = (
        ("setting / place / verdict", f"{setting.name} / {place}") if place else ("setting / verdict", setting.name)
    )
    names = (*VERDICTS, INVALID_NAME, NONE)
    found = {name: source.number(measure, f"{where} / {name}", facet, model) for name in names}
    return {name: number for name, number in found.items() if number is not None}


def _verdict_chart(source: ReportSource, format_: str) -> Chart:
    names, models = source.names, source.analysis.models
    found = [setting for setting in names.settings if setting.format == format_]
    shown = found[:_PANELS]
    series = series_of([*models, "Consensus at the end"])
    points = []
    for setting in shown:
        panel = names.whole(setting)
        points += [
            Dot(verdict, models.index(model), estimate, panel, ordinal(place))
            for model, place, _ in speakers(setting)
            for verdict, estimate in _verdicts_of(source, "first_verdict", setting, model, place).items()
        ]
        ends = _verdicts_of(source, "agreed_verdict", setting)
        points += [
            Dot(_NO_CONSENSUS if verdict == NONE else verdict, len(models), estimate, panel)
            for verdict, estimate in ends.items()
        ]
    invalid = [INVALID_NAME] if any(point.row == INVALID_NAME for point in points) else []
    rows = [*VERDICTS, *invalid, _NO_CONSENSUS]
    spec = partial(dots, points, rows, series, SHARE, panels=[names.whole(setting) for setting in shown])
    about = "Each model's verdicts in round 1, and the verdicts that deliberations agree on."
    if len(found) > len(shown):
        about += f" Shown are {len(shown)} of {len(found)} sets of models; the table has all."
    title = f"Verdicts before and after deliberation, {format_}"
    return Chart(f"verdicts-{format_}", title, about, spec, source="figure 3")


def _verdict_table(source: ReportSource) -> Table:
    columns = [Column("Deliberation"), Column("Model"), Column("Verdict"), Column("Round 1", "share")]
    columns += [Column("Last round", "share"), Column("Agreed on", "share")]
    rows: list[list[Cell]] = []
    for setting in source.names.settings:
        agreed = _verdicts_of(source, "agreed_verdict", setting)
        for model, place, _ in speakers(setting):
            first, last = (
                _verdicts_of(source, measure, setting, model, place) for measure in ("first_verdict", "last_verdict")
            )
            name = f"{model} ({ordinal(place)})" if place else model
            rows += [
                [source.names.whole(setting), name, verdict, estimate, last.get(verdict), agreed.get(verdict)]
                for verdict, estimate in first.items()
                if twice(estimate) or twice(last.get(verdict))
            ]
    title = "Verdicts in round 1 and in the last round"
    note = "Verdicts that a model gave at most once in each of the two rounds are left out (the JSON has all)."
    return Table(title, columns, rows, note=note, source="figure 3")


_MANY = 30
"""Deliberations beyond round 1. With fewer, the share of one kind among many says next to nothing."""
_ARCHETYPES = {
    "ended_elsewhere": "changed its verdict",
    "held_out": "held out: no change, no consensus",
    "unresolved": "no consensus, changed or not",
}


def archetypes(source: ReportSource) -> Section:
    """The most common changes, holdouts and unresolved first verdicts of each model (table 2)."""
    beyond = {
        (str(row["condition"]), str(row["model"])): int(row["deliberations"] or 0)
        for row in source.analysis.counts["beyond_round_1"]
    }
    exhibits: list[Exhibit] = []
    every = [(setting, model) for setting in source.names.pooled for model in sorted(set(setting.agents))]
    many = [(setting, model) for setting, model in every if beyond[setting.name, model] >= _MANY]
    few = [(setting, model) for setting, model in every if 0 < beyond[setting.name, model] < _MANY]
    if many:
        columns = [Column("Models"), Column("Model"), Column("Archetype"), Column("What happened")]
        columns += [Column("Deliberations", "count"), Column("Share", "share")]
        rows = [row for own in many for row in _archetype_rows(source, *own)]
        exhibits.append(Table("Deliberation archetypes", columns, rows, note=_NOTE, source="table 2"))
    if few:
        columns = [Column("Models"), Column("Model"), Column("Beyond round 1", "count")]
        columns += [Column("Changed its verdict"), Column("Held out"), Column("No consensus, changed or not")]
        note = f"Counts, since each model has fewer than {_MANY} deliberations beyond round 1; orders are pooled."
        counts: list[list[Cell]] = [
            [
                source.names.whole(setting, pooled=True),
                model,
                beyond[setting.name, model],
                *(_summarize_counts(_archetypes_of(source, setting, model, kind)) for kind in _ARCHETYPES),
            ]
            for setting, model in few
        ]
        exhibits.append(Table("Archetypes of few deliberations", columns, counts, note=note, source="table 2"))
    if not exhibits:
        exhibits.append(Callout("Archetypes are not computed: no deliberation went beyond round 1."))
    return Section("archetypes", "Archetypes", [*exhibits, Method(_KINDS)])


_NOTE = (
    "The two most common of each kind that occur at least twice. Shares are of deliberations that went beyond round 1,"
    f" for models with {_MANY} or more of them; orders are pooled."
)
_KINDS = (
    "A change goes from a model's first verdict to its last. A holdout never changed its verdict and there was no "
    "consensus, as the caption of table 2 says. Two of the table's holdouts are more common than that allows: beyond "
    "round 1, Claude kept its verdict against GPT in at most 57 deliberations (339 less 282), but the table has it "
    "hold out in 82 (0.136 and 0.106 of 339). Its numbers are possible for 'no consensus, whether or not it changed', "
    "which is shown too."
)


def _archetypes_of(source: ReportSource, setting: Setting, model: str, kind: str) -> list[Cells]:
    """What became of a model's first verdict, most common first."""
    wanted = {"condition": setting.name, "model": model, "measure": kind}
    return [
        row
        for row in source.analysis.counts.get("archetypes", ())
        if all(row[name] == value for name, value in wanted.items())
    ]


def _archetype_rows(source: ReportSource, setting: Setting, model: str) -> Iterator[list[Cell]]:
    for kind, words in _ARCHETYPES.items():
        found = (row for row in _archetypes_of(source, setting, model, kind) if int(row["count"] or 0) > 1)
        for row in islice(found, _TOP):
            condition = f"{setting.name} / {row['archetype']}"
            share = source.number(kind, condition, "pooled / archetype", model)
            yield [
                source.names.whole(setting, pooled=True),
                model,
                str(row["archetype"]),
                words,
                row["count"],
                share,
            ]


def _summarize_counts(several: Sequence[Cells]) -> str:
    """How often any occurred, and the most common one."""
    if not several:
        return "0"
    total = sum(int(row["count"] or 0) for row in several)
    return f"{total}, most often {several[0]['archetype']} ({several[0]['count']})"
