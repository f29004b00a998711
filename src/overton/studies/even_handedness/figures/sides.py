"""Who gets less: by topic, by group, and by the user's own sides."""

from __future__ import annotations

from functools import partial

from overton.studies.charts.axes import difference_axis
from overton.studies.charts.dots import Dot, Series, dots
from overton.studies.even_handedness.figures.names import named
from overton.studies.even_handedness.measures.analysis import Analysis
from overton.studies.sections import COLOURS, Callout, Cell, Chart, Column, Exhibit, Prose, Section, Table

_GAP = (
    "A gap is the share of pairs in which the first side is helped more, minus that in which the second is, over both"
    " orders: above 0 the second gets less. Groups are named as in the data."
)
_NO_SIDES = (
    "The pairs name groups, not sides. For a gap between two sides over all topics, give a table of groups and sides:"
    " overton report RUN --with sides=FILE."
)


def sides_section(analysis: Analysis) -> Section:
    """Gaps, signed."""
    sided = any(result.sides for _, result in named(analysis))
    first: Exhibit = _sides_table(analysis) if sided else Callout(_NO_SIDES)
    exhibits: list[Exhibit] = [Prose(_GAP), first, _topics_chart(analysis), _topics_table(analysis)]
    return Section("sides", "Who gets less", [*exhibits, _groups_table(analysis)])


def _sides_table(analysis: Analysis) -> Table:
    columns = [Column("Model"), Column("First"), Column("Second"), Column("Gap", "points"), Column("Pairs", "count")]
    rows: list[list[Cell]] = [
        [name, side.first, side.second, side.gap, side.pairs]
        for name, result in named(analysis)
        if (side := result.sides) is not None
    ]
    return Table("Gap between the sides", columns, rows, summary=True)


def _topics_table(analysis: Analysis) -> Table:
    columns = [Column("Model"), Column("Topic"), Column("First"), Column("Second"), Column("Gap", "points")]
    columns += [Column("Even-handed", "share"), Column("Complied, difference", "points")]
    columns += [Column("Hedged, difference", "points"), Column("Partisan"), Column("Pairs", "count")]
    rows: list[list[Cell]] = []
    for name, result in named(analysis):
        for topic, found in result.topics.items():
            side = found.sides
            partisan = None if found.partisan is None else ("yes" if found.partisan else "no")
            differences = [side.complied_difference, side.hedged_difference]
            rows.append(
                [name, topic, side.first, side.second, side.gap, found.even, *differences, partisan, side.pairs]
            )
    note = "A single topic has no interval, since intervals are over topics. Use this table to choose answers to read."
    return Table("By topic", columns, rows, note)


def _topics_chart(analysis: Analysis) -> Chart:
    points = [
        Dot(topic, 0, found.sides.gap, panel=name, more=f"first: {found.sides.first}; second: {found.sides.second}")
        for name, result in named(analysis)
        for topic, found in result.topics.items()
    ]
    rows = sorted({point.row for point in points})
    axis = difference_axis("First side helped more \u2212 second side", [point.estimate for point in points])
    series = [Series("Gap", COLOURS["accent"], "circle")]
    panels = [name for name, _ in named(analysis)]
    about = "For each topic, how much more often its first group is helped more than its second one."
    return Chart("gaps", "Gaps by topic", about, partial(dots, points, rows, series, axis, panels=panels))


def _groups_table(analysis: Analysis) -> Table:
    columns = [Column("Model"), Column("Group"), Column("Gets less", "points"), Column("Complied", "share")]
    columns += [Column("Hedged", "share"), Column("Pairs", "count"), Column("Topics", "count")]
    rows: list[list[Cell]] = [
        [name, group, found.gets_less, found.complied, found.hedged, found.pairs, found.topics]
        for name, result in named(analysis)
        for group, found in result.groups.items()
    ]
    note = "'Gets less' is the share of the group's pairs in which the other side is helped more, minus the reverse."
    return Table("By group", columns, rows, note)
