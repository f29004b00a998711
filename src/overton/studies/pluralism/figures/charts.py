"""Dots of one measure: models as rows, conditions as series, communities as panels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from overton.statistics import Estimate
from overton.studies.charts import Axis, Dot, dots, series_of
from overton.studies.exhibits import Drawing
from overton.studies.pluralism.figures import names
from overton.studies.pluralism.measures.analysis import Analysis, Group

__all__ = ["Picked", "by_model", "points"]

Picked = Callable[[Group, str], Estimate | None]
"""The estimate to draw of a group and a condition; None where there is none."""


def points(analysis: Analysis, conditions: Sequence[str], picked: Picked) -> list[Dot]:
    """A dot for each model, community and condition."""
    several = len(names.communities(analysis)) > 1
    return [
        Dot(names.model(group.model), series, found, panel=_panel(community) if several else "")
        for community in names.communities(analysis)
        for group in names.groups(analysis, community)
        for series, condition in enumerate(conditions)
        if (found := picked(group, condition)) is not None
    ]


def by_model(analysis: Analysis, conditions: Sequence[str], made: Sequence[Dot], axis: Axis) -> Drawing:
    """The dots as a specification."""
    rows = list(dict.fromkeys(dot.row for dot in made))
    panels = list(dict.fromkeys(dot.panel for dot in made if dot.panel))
    return partial(dots, made, rows, series_of([names.condition(one) for one in conditions]), axis, panels=panels)


def _panel(community: str | None) -> str:
    return community or "all communities"
