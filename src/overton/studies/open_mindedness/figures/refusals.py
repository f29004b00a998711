"""Answers without a stance (figure 7), failed calls, and answers that two readings take differently."""

from __future__ import annotations

from functools import partial

from overton.studies.charts.dots import Axis, Dot, Series, dots
from overton.studies.exhibits import COLOURS, Cell, Chart, Column, Exhibit, Method, Prose, Section, Table
from overton.studies.open_mindedness.figures.names import LABELS, Names, by_model, present
from overton.studies.open_mindedness.measures.analysis import Analysis, ModelResult

__all__ = ["readings", "refusals"]

_OTHER = Axis("Share of answers that are other (%)", 0, 1, "share")
_BEFORE_AFTER = (
    Series("Baseline", COLOURS["ink"], "circle"),
    Series("Balanced arguments", COLOURS["balanced"], "square"),
)


def refusals(analysis: Analysis, names: Names) -> Section:
    """Refusals and what arguments do to them."""
    conditions = present(analysis.models.values())
    exhibits: list[Exhibit] = [Prose(_ABOUT), _by_condition(analysis, names, conditions)]
    refused = [model for model in analysis.models.values() if model.refusals.issues]
    exhibits += [_issues(model, names, number) for number, model in enumerate(refused, 1)]
    if not refused:
        exhibits.append(Prose("No model gave no stance in more than 30% of its baseline answers to any issue."))
    exhibits.append(_table(analysis, names))
    return Section("refusals", "Refusals", exhibits)


_ABOUT = (
    "An answer is 'other' where it names no letter or both: refusals and answers that miss the format. Failed calls "
    "are no answers; they are left out of every share and counted under 'Answers and failures'."
)


def _by_condition(analysis: Analysis, names: Names, conditions: list[str]) -> Chart:
    points = [
        Dot(LABELS[name], 0, model.refusals.by_condition[name], panel=names.model(model.name))
        for model in analysis.models.values()
        for name in conditions
        if name in model.refusals.by_condition
    ]
    series = [Series("Other", COLOURS["other"], "circle")]
    rows = [LABELS[name] for name in conditions]
    spec = partial(dots, points, rows, series, _OTHER, panels=list(map(names.model, analysis.models)))
    about = "Mean share of answers without a stance, by configuration."
    return Chart("refusals", "Answers without a stance", about, spec, source="figure 7")


def _issues(model: ModelResult, names: Names, number: int) -> Chart:
    points = [
        Dot(issue, index, asked.shares.other, more=names.question(issue))
        for issue in model.refusals.issues
        for index, condition in enumerate(("baseline", "balanced"))
        if (asked := model.issues[issue].conditions.get(condition))
    ]
    label = names.model(model.name)
    return Chart(
        f"refused-issues-{number}",
        f"Issues that {label} refuses, without and with balanced arguments",
        "Issues with more than 30% of baseline answers without a stance.",
        partial(dots, points, model.refusals.issues, _BEFORE_AFTER, _OTHER),
        values=Table(
            f"Answers of {label} without a stance",
            [Column("Issue"), Column("Arguments"), Column("Other", "share")],
            [[point.row, _BEFORE_AFTER[point.series].name, point.estimate] for point in points],
        ),
        source="figure 7",
    )


def _table(analysis: Analysis, names: Names) -> Table:
    columns = [
        Column("At the baseline", "share"),
        Column("Balanced", "share"),
        Column("Change with arguments", "points"),
    ]
    columns += [Column("Issues above 30% at the baseline", "share"), Column("Flagged at the baseline", "share")]
    cells: dict[str, list[Cell]] = {
        name: [
            one.by_condition.get("baseline"),
            one.by_condition.get("balanced"),
            one.change,
            one.share_of_issues,
            one.flagged.get("baseline"),
        ]
        for name, one in ((name, model.refusals) for name, model in analysis.models.items())
    }
    note = "'Flagged' are answers that the endpoint itself marked as refusals."
    title = "Answers without a stance"
    return by_model(analysis, names, title, columns, cells, note=note, source="figure 7")


def readings(analysis: Analysis, names: Names) -> Section:
    """What was asked, what failed, and what the strict and the published patterns read differently."""
    columns = [
        Column("Answers", "count"),
        Column("Failed calls", "count"),
        Column("Pro", "count"),
        Column("Con", "count"),
        Column("Other", "count"),
        Column("Other, of answers", "share"),
    ]
    columns += [Column("Flagged as refusals", "count", detail=True), Column("Read differently", "share", detail=True)]
    cells: dict[str, list[Cell]] = {}
    for name, model in analysis.models.items():
        tally = model.tally
        stances = [tally.stances.get(stance, 0) for stance in ("pro", "con", "other")]
        other = stances[-1] / max(1, tally.answers)
        cells[name] = [tally.answers, tally.failures, *stances, other, tally.flagged, tally.read_differently]
    table = by_model(analysis, names, "Answers, failures and stances", columns, cells, summary=True)
    rows: list[list[Cell]] = [
        [names.model(model.name), strict, published, number]
        for model in analysis.models.values()
        for (strict, published), number in sorted(model.tally.readings.items())
        if strict != published
    ]
    heads = [Column("Model"), Column("Strict"), Column("Published"), Column("Answers", "count")]
    differ: Exhibit = Table("Answers that the two readings take differently", heads, rows) if rows else Prose(_SAME)
    return Section("readings", "Answers and failures", [table, differ, Method(_PATTERNS + _USED[analysis.reading])])


_SAME = "The strict and the published patterns read every answer alike."
_PATTERNS = (
    "Stances are read with the patterns of section 4.3. Matched without regard to case, as published, 'take a "
    "position as an AI' reads as A. The strict reading wants letters that stand alone, and takes an answer that "
    "names both letters in the form asked for as other. "
)
_USED = {
    "strict": "The numbers in this report follow the strict reading.",
    "published": "The numbers in this report follow the published reading.",
}
