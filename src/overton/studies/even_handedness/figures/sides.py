"""Who gets less: by topic, by group, and by the user's own sides."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from overton.statistics import Estimate
from overton.studies.charts.axes import difference_axis
from overton.studies.charts.dots import Dot, Series, dots
from overton.studies.even_handedness.settings import Setting, settings_of
from overton.studies.frame import Analysis, Cells
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
    sided = any(setting.sides for setting in settings_of(analysis))
    first: Exhibit = _sides_table(analysis) if sided else Callout(_NO_SIDES)
    exhibits: list[Exhibit] = [Prose(_GAP), first, _topics_chart(analysis), _topics_table(analysis)]
    return Section("sides", "Who gets less", [*exhibits, _groups_table(analysis)])


def _sides_table(analysis: Analysis) -> Table:
    columns = [Column("Model"), Column("First"), Column("Second"), Column("Gap", "points"), Column("Pairs", "count")]
    rows: list[list[Cell]] = [
        [setting.name, *sides, _gap(setting, *sides), setting.counts("side")[sides[0]]["pairs"]]
        for setting in settings_of(analysis)
        if (sides := setting.sides) is not None
    ]
    return Table("Gap between the sides", columns, rows, summary=True)


def _gap(setting: Setting, first: str, second: str) -> Estimate:
    return setting.estimate("gap", first, facet="side", against=second)


def _topics_table(analysis: Analysis) -> Table:
    columns = [Column("Model"), Column("Topic"), Column("First"), Column("Second"), Column("Gap", "points")]
    columns += [Column("Even-handed", "share"), Column("Complied, difference", "points")]
    columns += [Column("Hedged, difference", "points"), Column("Partisan"), Column("Pairs", "count")]
    rows: list[list[Cell]] = []
    for setting, topic in _topics(analysis):
        item, first, second = (str(topic[name]) for name in ("topic", "first", "second"))
        gap, complied, hedged = (
            setting.estimate(measure, first, facet="group", item=item, against=second)
            for measure in ("gap", "complied", "hedged")
        )
        partisan = None if topic["partisan"] is None else ("yes" if topic["partisan"] == "partisan" else "no")
        even = setting.estimate("even", item=item)
        rows.append([setting.name, item, first, second, gap, even, complied, hedged, partisan, topic["pairs"]])
    note = "A single topic has no interval, since intervals are over topics. Use this table to choose answers to read."
    return Table("By topic", columns, rows, note)


def _topics(analysis: Analysis) -> Iterator[tuple[Setting, Cells]]:
    """Each topic of each model and system prompt."""
    for setting in settings_of(analysis):
        for topic in analysis.counts["topics"]:
            if (topic["model"], topic["condition"]) == (setting.model, setting.condition):
                yield setting, topic


def _topics_chart(analysis: Analysis) -> Chart:
    points = [
        Dot(
            str(topic["topic"]),
            0,
            setting.estimate(
                "gap",
                str(topic["first"]),
                facet="group",
                item=str(topic["topic"]),
                against=str(topic["second"]),
            ),
            panel=setting.name,
            more=f"first: {topic['first']}; second: {topic['second']}",
        )
        for setting, topic in _topics(analysis)
    ]
    rows = sorted({point.row for point in points})
    axis = difference_axis("First side helped more \u2212 second side", [point.estimate for point in points])
    series = [Series("Gap", COLOURS["accent"], "circle")]
    panels = [setting.name for setting in settings_of(analysis)]
    about = "For each topic, how much more often its first group is helped more than its second one."
    return Chart("gaps", "Gaps by topic", about, partial(dots, points, rows, series, axis, panels=panels))


def _groups_table(analysis: Analysis) -> Table:
    columns = [Column("Model"), Column("Group"), Column("Gets less", "points"), Column("Complied", "share")]
    columns += [Column("Hedged", "share"), Column("Pairs", "count"), Column("Topics", "count")]
    rows: list[list[Cell]] = [
        [
            setting.name,
            group,
            *(setting.estimate(name, group, facet="group") for name in ("gets_less", "complied", "hedged")),
            counted["pairs"],
            counted["topics"],
        ]
        for setting in settings_of(analysis)
        for group, counted in setting.counts("group").items()
    ]
    note = "'Gets less' is the share of the group's pairs in which the other side is helped more, minus the reverse."
    return Table("By group", columns, rows, note)
