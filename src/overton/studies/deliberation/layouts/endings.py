"""The ends of deliberations: consensus and changes of verdict (figure 2), verdicts before and after (figure 3),
archetypes (table 2)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

from overton.statistics import Estimate
from overton.studies.charts import Bar, BarPart, Dot, bars, series_of
from overton.studies.deliberation.deliberations import Setting
from overton.studies.deliberation.findings import differences
from overton.studies.deliberation.items import VERDICTS
from overton.studies.deliberation.layouts.numbers import (
    SHARE,
    ReportSource,
    difference_table,
    dot_chart,
    ordinal,
    table,
    twice,
)
from overton.studies.deliberation.other_numbers import INVALID_NAME, NONE, speakers
from overton.studies.frame import Cells
from overton.studies.numbers import Kind
from overton.studies.sections import Callout, Cell, Chart, Column, Exhibit, Method, Section, Table


def consensus(source: ReportSource) -> Section:
    """The section on rounds to consensus, and on deliberations without consensus."""
    said = "\n".join(str(row["note"]) for row in source.analysis.counts.get("notes", ()))
    exhibits: list[Exhibit] = [Callout(said, "warning", summary=True)] if said else []
    exhibits += [_endings(source, format_) for format_ in source.names.formats]
    exhibits.append(_consensus_table(source))
    exhibits += difference_table(
        source,
        "Consensus in either format",
        ["Models"],
        differences(source.analysis, "format", "consensus"),
        lambda row: [source.names.where(row)],
        sides=("Synchronous", "Round-robin"),
        note="Orders of speaking are pooled.",
        published="section 4.3",
    )
    return Section("consensus", "Consensus", [*exhibits, Method(_CONSENSUS)])


_MAJORITY = (
    "The authors' code counts a deliberation as consensus if more than half of the last round's valid verdicts are"
    " the same."
)
_NO_OTHER_MAJORITY = (
    "The authors' way to count consensus, by a majority of the last round's valid verdicts, gives the same shares."
)
_CONSENSUS = (
    "A deliberation reaches consensus in the first complete round in which all agents give the same verdict. An"
    " unreadable verdict agrees with no other verdict. Shares are of all deliberations, but the mean number of"
    " rounds is over deliberations that reach consensus. Intervals are over dilemmas."
)


def _endings(source: ReportSource, format_: str) -> Chart:
    names = source.names
    rounds = [str(row.condition) for row in source.analysis.rows_of("consensus_in_round", "round", variant="plain")]
    parts = [*(BarPart(f"Round {number}", number) for number in rounds), BarPart("No consensus", "none", rest=True)]
    drawn = [
        Bar(
            names.agents(setting),
            (
                *(row.number for row in source.within("consensus_in_round", "setting / round", setting)),
                source.shown("no_consensus", setting.name, "setting"),
            ),
            names.goal(setting),
        )
        for setting in names.settings
        if setting.format == format_
    ]
    panels = [panel for panel in dict.fromkeys(bar.panel for bar in drawn) if panel]
    about = (
        "For each set of models, the share of deliberations that reach consensus in each round, or never. Intervals are"
        " in the table, and in the tooltip of each part of a bar."
    )
    drawing = partial(bars, drawn, parts, "Share of deliberations (%)", panels=panels)
    return Chart(f"consensus-{format_}", f"Rounds to consensus, {format_}", about, drawing, source="figure 2, a and c")


def _consensus_table(source: ReportSource) -> Table:
    names, settings = source.names, source.names.settings

    def numbers(measure: str) -> list[Estimate]:
        return [source.shown(measure, setting.name, "setting") for setting in settings]

    reached, majority = numbers("consensus"), numbers("consensus_by_majority")
    differ = any(share.value != other.value for share, other in zip(reached, majority, strict=True))
    at_once = [source.shown("consensus_in_round", f"{setting.name} / 1", "setting / round") for setting in settings]
    columns: list[tuple[str, Kind, Sequence[Cell]]] = [
        ("Deliberations", "count", [source.counts[None, setting.name]["deliberations"] for setting in settings]),
        ("Consensus", "share", reached),
        ("In round 1", "share", at_once),
        ("No consensus", "share", numbers("no_consensus")),
        ("Rounds to consensus", "value", numbers("rounds_to_consensus")),
        ("On a new verdict", "share", numbers("consensus_on_new")),
    ]
    if differ:
        columns.append(("Consensus by majority", "share", majority))
    cells = zip(*(column for *_, column in columns), strict=True)
    rows = [
        [names.agents(setting), names.condition(setting), *own] for setting, own in zip(settings, cells, strict=True)
    ]
    goals = {setting.goal for setting in names.settings if setting.goal}
    note = f"The goal is {', '.join(goals)}." if len(goals) == 1 else ""
    return table(
        "Consensus by models and format",
        ["Models", "Format"],
        {title: kind for title, kind, _ in columns},
        rows,
        note=f"{note} {_MAJORITY if differ else _NO_OTHER_MAJORITY}".strip(),
        published="section 4.1",
        summary=True,
    )


def changes(source: ReportSource) -> Section:
    """The section on change-of-verdict rates."""
    names = source.names
    by_model = [[model, source.number("changed", model=model)] for model in source.analysis.models]
    rates = list(_speaker_rates(source))
    rows: list[list[Cell]] = [
        [names.agents(setting), names.condition(setting), model, ordinal(place), rate]
        for setting, model, place, rate in rates
    ]
    exhibits: list[Exhibit] = [
        table(
            "Changes of verdict over all deliberations",
            ["Model"],
            {"Changed its verdict": "share"},
            by_model,
            summary=True,
        ),
        *(_rates(source, rates, format_) for format_ in names.formats),
        table(
            "Change-of-verdict rates",
            ["Models", "Format", "Model", "Place"],
            {"Changed": "share"},
            rows,
            published="figure 2, b and d",
        ),
        *difference_table(
            source,
            "Models that deliberate together, compared",
            ["Deliberation", "First model", "Second model"],
            differences(source.analysis, "setting", "changed"),
            lambda row: [names.where(row), row.against, row.model],
        ),
    ]
    return Section("changes", "Changes of verdict", [*exhibits, Method(_CHANGES)])


_CHANGES = (
    "The rate is the share of an agent's deliberations in which at least one later verdict differs from its first"
    " verdict. Deliberations that end in round 1 count, too, although they leave no time for a change. Unreadable"
    " verdicts are skipped."
)


_Rate = tuple[Setting, str, int | None, Estimate]


def _speaker_rates(source: ReportSource) -> Iterator[_Rate]:
    """The rate of each speaker of each setting. Seats with the same model are one speaker, unless they take turns."""
    for setting in source.names.settings:
        for model, place, _ in speakers(setting):
            facet, where = ("setting / place", f"{setting.name} / {place}") if place else ("setting", setting.name)
            yield setting, model, place, source.shown("changed", where, facet, model)


def _rates(source: ReportSource, rates: Sequence[_Rate], format_: str) -> Chart:
    names, models = source.names, source.analysis.models
    points = [
        Dot(names.agents(setting), models.index(model), rate, panel=names.goal(setting), more=ordinal(place))
        for setting, model, place, rate in rates
        if setting.format == format_
    ]
    return dot_chart(
        f"changes-{format_}",
        f"Change-of-verdict rates, {format_}",
        "For each set of models, the share of deliberations in which each model changes its verdict.",
        points,
        series_of(models),
        axis=replace(SHARE, anchors=((0.0, "never changes"), (1.0, "always changes"))),
        wrap=True,
        published="figure 2, b and d",
    )


_NO_CONSENSUS = "No consensus"
_PANELS = 6
_TOP = 2


def verdicts(source: ReportSource) -> Section:
    """The section on distributions of verdicts in round 1 and at the end."""
    charts = [_verdict_chart(source, format_) for format_ in source.names.formats]
    return Section("verdicts", "Verdicts before and after", [*charts, _verdict_table(source)])


def _verdicts_of(
    source: ReportSource, measure: str, setting: Setting, model: str | None = None, place: int | None = None
) -> dict[str, Estimate]:
    """A measure's numbers by verdict."""
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
    points = []
    for setting in shown:
        panel = names.whole(setting)
        points += [
            Dot(verdict, models.index(model), estimate, panel, ordinal(place))
            for model, place, _ in speakers(setting)
            for verdict, estimate in _verdicts_of(source, "first_verdict", setting, model, place).items()
        ]
        points += [
            Dot(_NO_CONSENSUS if verdict == NONE else verdict, len(models), estimate, panel)
            for verdict, estimate in _verdicts_of(source, "agreed_verdict", setting).items()
        ]
    invalid = [INVALID_NAME] if any(point.row == INVALID_NAME for point in points) else []
    about = "Each model's verdicts in round 1, and the verdicts that deliberations agree on."
    if len(found) > len(shown):
        about += f" Shown are {len(shown)} of {len(found)} sets of models; the table has all."
    return dot_chart(
        f"verdicts-{format_}",
        f"Verdicts before and after deliberation, {format_}",
        about,
        points,
        series_of([*models, "Consensus at the end"]),
        rows=[*VERDICTS, *invalid, _NO_CONSENSUS],
        published="figure 3",
    )


def _verdict_table(source: ReportSource) -> Table:
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
    return table(
        "Verdicts in round 1 and in the last round",
        ["Deliberation", "Model", "Verdict"],
        {"Round 1": "share", "Last round": "share", "Agreed on": "share"},
        rows,
        note=(
            "The table shows only verdicts that a model gave twice or more, in round 1 or in the last round. The JSON"
            " has all verdicts."
        ),
        published="figure 3",
    )


_MANY = 30
"""The minimum number of deliberations beyond round 1 for shares of archetypes.

With fewer, a single archetype's share is not informative.
"""
_ARCHETYPES = {
    "ended_elsewhere": "changed its verdict",
    "held_out": "held out: no change, no consensus",
    "unresolved": "no consensus, changed or not",
}


def archetypes(source: ReportSource) -> Section:
    """The section on archetypes: the most common changes, holdouts and unresolved first verdicts of each model (table
    2)."""
    beyond = {
        (str(row["condition"]), str(row["model"])): int(row["deliberations"] or 0)
        for row in source.analysis.counts["beyond_round_1"]
    }
    found: dict[tuple[str, str, str], list[Cells]] = {}
    for row in source.analysis.counts.get("archetypes", ()):
        found.setdefault((str(row["condition"]), str(row["model"]), str(row["measure"])), []).append(row)
    many: list[list[Cell]] = []
    few: list[list[Cell]] = []
    for setting in source.names.pooled:
        for model in sorted(set(setting.agents)):
            where, count = source.names.whole(setting, pooled=True), beyond[setting.name, model]
            kinds = {kind: found.get((setting.name, model, kind), []) for kind in _ARCHETYPES}
            if count >= _MANY:
                many += [
                    [
                        where,
                        model,
                        str(row["archetype"]),
                        _ARCHETYPES[kind],
                        row["count"],
                        source.number(kind, f"{setting.name} / {row['archetype']}", "pooled / archetype", model),
                    ]
                    for kind, rows in kinds.items()
                    for row in rows[:_TOP]
                    if int(row["count"] or 0) > 1
                ]
            elif count:
                few.append([where, model, count, *map(_summarize_counts, kinds.values())])
    exhibits: list[Exhibit] = []
    if any(count >= _MANY for count in beyond.values()):
        heads = ["Models", "Model", "Archetype", "What happened"]
        numbers: dict[str, Kind] = {"Deliberations": "count", "Share": "share"}
        exhibits.append(table("Deliberation archetypes", heads, numbers, many, note=_NOTE, published="table 2"))
    if few:
        columns = [*map(Column, ("Models", "Model")), Column("Beyond round 1", "count")]
        columns += [Column(head) for head in ("Changed its verdict", "Held out", "No consensus, changed or not")]
        note = f"Counts, because these models have fewer than {_MANY} deliberations beyond round 1. Orders are pooled."
        exhibits.append(Table("Archetypes of few deliberations", columns, few, note=note, source="table 2"))
    if not exhibits:
        exhibits.append(Callout("There are no archetypes, because no deliberation went beyond round 1."))
    return Section("archetypes", "Archetypes", [*exhibits, Method(_KINDS)])


_NOTE = (
    "For each outcome in 'What happened', the table shows the two most common archetypes. Archetypes that occur only"
    f" once are left out. Shares are of the deliberations that went beyond round 1. Only models with at least {_MANY}"
    " such deliberations are shown. Orders are pooled."
)
_KINDS = (
    "A change goes from a model's first verdict to its last. By the caption of the paper's table 2, a holdout is a"
    " model that never changes its verdict in a deliberation without consensus. Two holdout numbers in the paper are"
    " too high for this definition. Against GPT, 339 deliberations went beyond round 1, and Claude changed its verdict"
    " in 282 of them. So Claude can have held out in at most 57, but the paper's numbers give 82 (0.136 plus 0.106 of"
    " 339). They fit another definition, 'no consensus, changed or not', which this report also shows."
)


def _summarize_counts(several: Sequence[Cells]) -> str:
    """The total of a kind's archetypes, and the most common archetype."""
    if not several:
        return "0"
    total = sum(int(row["count"] or 0) for row in several)
    return f"{total}, most often {several[0]['archetype']} ({several[0]['count']})"
