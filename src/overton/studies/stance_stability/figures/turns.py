"""Re-use and changes by turn (figure 5)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from overton.statistics import Estimate
from overton.studies.charts import Axis, series_of
from overton.studies.exhibits import Chart, Exhibit, Method, Section
from overton.studies.stance_stability.figures.lines import Point, lines
from overton.studies.stance_stability.figures.names import absent
from overton.studies.stance_stability.measures.analysis import Analysis, Turn

__all__ = ["by_turn"]

_ALL = "all temperatures"
_APART = 0.12


def by_turn(analysis: Analysis) -> Section | None:
    """What happens in the course of a conversation; None where all have a single turn."""
    if not analysis.by_turn:
        return None
    exhibits: list[Exhibit] = []
    if analysis.documents:
        exhibits.append(_reuse(analysis))
    else:
        exhibits.append(absent(analysis, "source_reuse", "Source re-use is"))
    exhibits.append(_changes(analysis))
    return Section("turns", "In the course of a conversation", [*exhibits, Method(_METHOD)])


_METHOD = (
    "Re-use at a turn is the mean of its term of equation 1: the share of its documents that an earlier turn had too. "
    "As turns go by there are more earlier documents to meet again, so re-use tends to rise. A turn's place is that in "
    "which it was asked, whatever the order of questions."
)


def _reuse(analysis: Analysis) -> Chart:
    heats = [name for name in analysis.temperatures if any(one.temperature == name for one in analysis.by_turn)]
    panels = [*(f"temperature {name}" for name in heats), _ALL] if heats else []
    points = [
        _point(analysis, one, one.source_reuse, (f"temperature {one.temperature}" if one.temperature else _ALL))
        for one in analysis.by_turn
    ]
    about = "The mean share of a turn's documents that an earlier turn had too, by turn and model."
    spec = partial(
        lines,
        points,
        series_of(list(analysis.models)),
        _turns(points),
        _share("Source re-use"),
        panels=panels,
        apart=_APART,
    )
    return Chart("reuse-by-turn", "Source re-use by turn", about, spec, source="figure 5")


def _changes(analysis: Analysis) -> Chart:
    points = [_point(analysis, one, one.changed) for one in analysis.by_turn if one.temperature is None]
    about = "The share of conversations whose stance at a turn differs from that of the turn before, by model."
    spec = partial(
        lines, points, series_of(list(analysis.models)), _turns(points), _share("Stance changes here"), apart=_APART
    )
    return Chart("changes-by-turn", "Stance changes by turn, all temperatures", about, spec)


def _point(analysis: Analysis, one: Turn, estimate: Estimate, panel: str = "") -> Point:
    return Point(one.turn, list(analysis.models).index(one.model), estimate, panel, f"turn {one.turn}")


def _turns(points: Sequence[Point]) -> Axis:
    last = max(point.x for point in points)
    return Axis("Turn", 1, last + 0.5, "count")


def _share(title: str) -> Axis:
    return Axis(title, 0, 1, "share")
