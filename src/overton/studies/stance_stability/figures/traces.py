"""Stance traces: every conversation's labels, turn by turn."""

from __future__ import annotations

from functools import partial
from typing import Any

from overton.studies.charts.drawing import row_axis, shortened, specification
from overton.studies.exhibits import COLOURS, Chart, Method, Section
from overton.studies.stance_stability.measures.analysis import LETTERS, Analysis
from overton.studies.stance_stability.measures.conversations import conversation_names
from overton.studies.stance_stability.record import STANCES

__all__ = ["traces"]

_MOST = 30
_MOST_TURNS = 40
_CELL = 24
_NAMES = (*STANCES, "no label")
_INKS = (COLOURS["pro"], COLOURS["con"], COLOURS["balanced"], COLOURS["other"], COLOURS["line"])


def traces(analysis: Analysis) -> Section | None:
    """The conversations that change most; None where conversations have a single turn."""
    table = analysis.conversations.with_columns(name=_names(analysis))
    shown = table.filter(table["turns"] > 1).sort("stance_changes", "name", descending=[True, False]).head(_MOST)
    if shown.is_empty():
        return None
    some = f", the {_MOST} that change most" if table.height > _MOST else ""
    about = "The judge's label of every turn of a conversation, from left to right, a row for each conversation."
    chart = Chart(
        "traces", f"Stance traces{some}", about, partial(_drawn, shown["name"].to_list(), shown["trace"].to_list())
    )
    return Section("traces", "Stance traces", [chart, Method(_METHOD)])


_METHOD = (
    "Each letter is a turn's label: S supportive, C critical, B balanced, U unclear, - none. Every conversation can be "
    "read turn by turn, with its sources, among the trials below."
)


def _names(analysis: Analysis) -> Any:
    import polars as pl

    return pl.Series(conversation_names(analysis.conversations))


def _drawn(names: list[str], letters: list[str]) -> dict[str, Any]:
    import altair as alt

    labels = shortened(names)
    width = min(max(map(len, letters)), _MOST_TURNS)
    values = [
        {
            "row": labels[name],
            "turn": turn,
            "stance": _NAMES[LETTERS.index(letter)],
            "letter": letter.upper(),
            "tip": f"{name}\nturn {turn}: {_NAMES[LETTERS.index(letter)]}",
        }
        for name, trace in zip(names, letters, strict=True)
        for turn, letter in enumerate(trace[:width], 1)
    ]
    down = alt.Scale(domain=list(labels.values()))
    base = alt.Chart().encode(
        x=alt.X("turn:O", title="Turn", axis=alt.Axis(orient="top", labelAngle=0, ticks=False, domain=False)),
        y=alt.Y("row:N", title=None, scale=down, axis=row_axis(list(labels.values()))),
        description=alt.Description("tip:N"),
    )
    colours = alt.Scale(domain=list(_NAMES), range=list(_INKS))
    colour = alt.Color("stance:N", scale=colours, legend=alt.Legend(title=None, columns=5))
    boxes = base.mark_rect(stroke="white", strokeWidth=1.5).encode(color=colour)
    text = base.mark_text(fontSize=11, fontWeight=600).encode(text="letter:N", color=alt.value("white"))
    chart = alt.layer(boxes, text).properties(width=_CELL * width, height=_CELL * len(names))
    return specification(chart, values)
