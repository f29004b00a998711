"""Verdicts before and after deliberation (figure 3), and what becomes of first verdicts (table 2)."""

from __future__ import annotations

from functools import partial
from itertools import islice

from overton.studies.charts import Axis, Dot, dots, series_of
from overton.studies.deliberation.figures.names import Names, formats, ordinal
from overton.studies.deliberation.items import VERDICTS
from overton.studies.deliberation.measures.analysis import INVALID_NAME, Analysis, Archetype, Archetypes
from overton.studies.exhibits import Cell, Chart, Column, Exhibit, Method, Section, Table

__all__ = ["archetypes", "verdicts"]

_SHARE = Axis("Share of deliberations (%)", 0, 1, "share")
_NONE = "No consensus"
_PANELS = 6
_TOP = 2


def verdicts(analysis: Analysis, names: Names) -> Section:
    """Distributions of verdicts in round 1 and at the end."""
    charts = [_chart(analysis, names, one) for one in formats(found.setting for found in analysis.verdicts)]
    return Section("verdicts", "Verdicts before and after", [*charts, _table(analysis, names)])


def _chart(analysis: Analysis, names: Names, format_: str) -> Chart:
    found = [one for one in analysis.verdicts if one.setting.format == format_]
    shown = found[:_PANELS]
    series = series_of([*analysis.models, "Consensus at the end"])
    points = []
    for one in shown:
        panel = names.whole(one.setting)
        points += [
            Dot(verdict, analysis.models.index(speaker.model), estimate, panel, ordinal(speaker.position))
            for speaker in one.speakers
            for verdict, estimate in speaker.first.items()
        ]
        ends = {**one.agreed, _NONE: one.without}
        points += [Dot(verdict, len(analysis.models), estimate, panel) for verdict, estimate in ends.items()]
    rows = [*VERDICTS, *([INVALID_NAME] if any(point.row == INVALID_NAME for point in points) else []), _NONE]
    spec = partial(dots, points, rows, series, _SHARE, panels=[names.whole(one.setting) for one in shown])
    about = "Each model's verdicts in round 1, and the verdicts that deliberations agree on."
    if len(found) > len(shown):
        about += f" Shown are {len(shown)} of {len(found)} sets of models; the table has all."
    title = f"Verdicts before and after deliberation, {format_}"
    return Chart(f"verdicts-{format_}", title, about, spec, source="figure 3")


def _table(analysis: Analysis, names: Names) -> Table:
    columns = [Column("Deliberation"), Column("Model"), Column("Verdict"), Column("Round 1", "share")]
    columns += [Column("Last round", "share"), Column("Agreed on", "share")]
    rows: list[list[Cell]] = [
        [
            names.whole(one.setting),
            f"{speaker.model} ({place})" if (place := ordinal(speaker.position)) else speaker.model,
            verdict,
            estimate,
            speaker.last.get(verdict),
            one.agreed.get(verdict),
        ]
        for one in analysis.verdicts
        for speaker in one.speakers
        for verdict, estimate in speaker.first.items()
    ]
    return Table("Verdicts in round 1 and in the last round", columns, rows, source="figure 3")


def archetypes(analysis: Analysis, names: Names) -> Section:
    """The most common changes, holdouts and unresolved first verdicts of each model (table 2)."""
    columns = [Column("Models"), Column("Model"), Column("Archetype"), Column("What happened")]
    columns += [Column("Deliberations", "count"), Column("Share", "share")]
    rows = [row for one in analysis.archetypes for row in _rows(one, names)]
    table = Table("Deliberation archetypes", columns, rows, note=_NOTE, source="table 2")
    exhibits: list[Exhibit] = [table, Method(_METHOD)]
    return Section("archetypes", "Archetypes", exhibits)


_NOTE = "The two most common of each kind. Shares are of deliberations that went beyond round 1; orders are pooled."
_METHOD = (
    "A change goes from a model's first verdict to its last. A holdout never changed its verdict and there was no "
    "consensus: so the caption of table 2. Two of the table's holdouts are more common than that allows: beyond round "
    "1, Claude kept its verdict against GPT in 57 deliberations at most (339 less 282), but the table has it hold out "
    "in 82 (0.136 and 0.106 of 339). Its numbers are possible for 'no consensus, whether or not it changed', which is "
    "given too."
)


def _rows(one: Archetypes, names: Names) -> list[list[Cell]]:
    kinds = (
        (one.changes, "changed its verdict"),
        (one.holdouts, "held out: no change, no consensus"),
        (one.unresolved, "no consensus, changed or not"),
    )
    head: list[Cell] = [names.whole(one.setting, pooled=True), one.model]
    return [
        [*head, _path(found), kind, found.count, found.share]
        for several, kind in kinds
        for found in islice(several, _TOP)
    ]


def _path(one: Archetype) -> str:
    return f"{one.first} → {one.last or 'none'}"
