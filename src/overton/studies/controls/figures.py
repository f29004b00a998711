"""What judges said of texts whose label is beyond doubt, as tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from overton.studies.controls.measures import Analysis, Tried, measure
from overton.studies.exhibits import Callout, Cell, Column, Exhibit, Exhibits, Prose, Section, Table
from overton.studies.measuring import How, Measuring
from overton.studies.results import Results

__all__ = ["MEASURING"]

_READ = (
    "Every text here has a label that no reader would doubt. A judge that does not give it that label does not see"
    " what it is asked for. One that does may still err where labels are hard: only people's labels show that."
)


def _analysis() -> type[Analysis]:
    return Analysis


def _sections(analysis: Analysis) -> Sequence[Section]:
    columns = [Column("Judge"), Column("Label"), Column("Controls", "count"), Column("Right", "share")]
    columns.append(Column("Right in another order", "share"))
    rows: list[list[Cell]] = [
        [one.judge, _word(one), one.controls, one.right, one.in_another_order] for one in analysis.tried
    ]
    shown: list[Exhibit] = [
        *_failed(analysis),
        Prose(_READ),
        Table("Controls that the judge got right", columns, rows, summary=True),
    ]
    return [Section("controls", "Controls", [*shown, _missed(analysis)])]


def _failed(analysis: Analysis) -> Iterator[Callout]:
    for one in analysis.tried:
        if one.fails:
            many = round(one.right.value * one.controls)
            said = f"{one.judge} fails the controls ({_word(one)}): of {one.controls} it got {many} right."
            yield Callout(said, "warning", summary=True)


def _missed(analysis: Analysis) -> Table | Prose:
    rows: list[list[Cell]] = [
        [one.judge, _word(one), part.control, part.row, " or ".join(part.right), part.said or "(no label)"]
        for one in analysis.tried
        for part in one.missed
    ]
    if not rows:
        return Prose("No judge got a control wrong.")
    columns = [Column(name) for name in ("Judge", "Label", "Control", "Of what", "Right", "It said")]
    return Table("Controls that it got wrong", columns, rows)


def _word(one: Tried) -> str:
    return one.what.replace("_", " ")


def _exhibits(results: Results, analysis: Analysis, how: How) -> Exhibits:
    said = "Whether a judge gives texts whose label is beyond doubt that label."
    return Exhibits(summary=said, sections=_sections(analysis), trials=None)


MEASURING: Measuring[Analysis, Any] = Measuring(
    analysis=_analysis, records=measure, sections=_sections, exhibits=_exhibits
)
