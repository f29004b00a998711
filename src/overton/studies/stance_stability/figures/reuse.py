"""Confidence, what source re-use goes with (figures 3 and 4, section 4), and both turn by turn (figure 5)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

from overton.statistics import Estimate
from overton.statistics.arrays import Floats
from overton.studies.charts import Axis, Dot, dots, series_of
from overton.studies.sections import Cell, Chart, Column, Exhibit, Method, Section, Table
from overton.studies.stance_stability.figures.lines import LinePoint, lines
from overton.studies.stance_stability.figures.names import TITLES, absent
from overton.studies.stance_stability.measures.analysis import Analysis, Correlation, Turn

_POOLED, _WITHIN = "pooled, as published", "within models"
_METHOD = (
    "Pearson correlations over conversations. Pooled over models, a correlation includes the differences between "
    "models: with three models it can be large although re-use is related to nothing within each of them. 'Within "
    "models' subtracts each model's own means. The score is built from re-use, so figure 4 rises by construction; the "
    "correlations are with quantities that are not."
)


def relations(analysis: Analysis) -> Section:
    """Confidence, and what re-use goes with."""
    title = "Confidence and source re-use"
    density = _confidence_density(analysis)
    exhibits: list[Exhibit] = [density] if density else [absent(analysis, "confidence", "Confidence is")]
    if analysis.documents is None:
        return Section("relations", title, [*exhibits, absent(analysis, "source_reuse", "Source re-use is")])
    exhibits += [_bins(analysis)] if analysis.bins else []
    if analysis.correlations:
        exhibits += [_chart(analysis), _table(analysis)]
    return Section("relations", title, [*exhibits, Method(_METHOD)])


def _bins(analysis: Analysis) -> Chart:
    names = list(analysis.models)
    points = [
        LinePoint(
            (bin_.low + bin_.high) / 2,
            names.index(bin_.model),
            bin_.chameleon,
            about=f"re-use {bin_.low:.1f} to {bin_.high:.1f}",
        )
        for bin_ in analysis.bins
    ]
    about = "The mean Chameleon score of conversations in ten bins of source re-use, by model."
    axes = (Axis("Source re-use, bins of 0.1", 0, 1, "value"), Axis("Chameleon score", 0, 1, "value"))
    title = "Chameleon score by source re-use"
    return Chart(
        "score-by-reuse", title, about, partial(lines, points, series_of(names), *axes, apart=0.008), source="figure 4"
    )


def _rows(correlation: Correlation) -> Iterator[tuple[str, Estimate]]:
    yield _POOLED, correlation.pooled
    if len(correlation.models) > 1:
        yield _WITHIN, correlation.within
        yield from correlation.models.items()


def _chart(analysis: Analysis) -> Chart:
    points = [
        Dot(name, index, estimate)
        for index, correlation in enumerate(analysis.correlations)
        for name, estimate in _rows(correlation)
    ]
    rows = list(dict.fromkeys(point.row for point in points))
    series = series_of([f"with {TITLES[correlation.measure].lower()}" for correlation in analysis.correlations])
    about = "Correlation of source re-use with confidence and with stance changes, pooled and within each model."
    spec = partial(dots, points, rows, series, Axis("Pearson correlation", -1, 1, "value", mark=0))
    return Chart("correlations", "Correlation of source re-use with other measures", about, spec, source="section 4")


def _table(analysis: Analysis) -> Table:
    rows: list[list[Cell]] = [
        [TITLES[correlation.measure], name, estimate]
        for correlation in analysis.correlations
        for name, estimate in _rows(correlation)
    ]
    columns = [Column("Source re-use with"), Column("Over"), Column("Pearson's r", "value")]
    return Table("Correlations", columns, rows, source="section 4", summary=True)


_GRID = np.linspace(0, 1, 101)
_FEWEST = 3


def _confidence_density(analysis: Analysis) -> Chart | None:
    """The mean confidence of each conversation, smoothed by a Gaussian kernel; None if no model's varies."""
    if "confidence" not in analysis.conversations.columns:
        return None
    names = list(analysis.models)
    points: list[LinePoint] = []
    flat: list[str] = []
    for index, name in enumerate(names):
        values = analysis.conversations.filter(model=name)["confidence"].drop_nulls().to_numpy()
        heights = _density(values)
        if heights is None:
            flat.append(name)
            continue
        points += [
            LinePoint(float(x), index, Estimate(float(height), np.nan, np.nan, len(values), "Gaussian kernel"))
            for x, height in zip(_GRID, heights, strict=True)
        ]
    if not points:
        return None
    top = max(point.estimate.value for point in points)
    about = "How the mean confidence of a conversation is distributed, by model."
    if flat:
        about += f" Not drawn because it does not vary or there are too few conversations: {', '.join(flat)}."
    spec = partial(
        lines,
        points,
        series_of(names),
        Axis("Confidence of a conversation, mean over its turns", 0, 1, "value"),
        Axis("Density", 0, 1.05 * top, "value"),
        marks=False,
    )
    return Chart("confidence", "Confidence by model", about, spec, source="figure 3")


def _density(values: Floats) -> Floats | None:
    """A kernel estimate with Scott's bandwidth, its mass beyond 0 and 1 folded back."""
    from scipy.stats import gaussian_kde

    if len(values) < _FEWEST or np.ptp(values) < 1e-9:
        return None
    estimate = gaussian_kde(values)
    return np.asarray(estimate(_GRID) + estimate(-_GRID) + estimate(2 - _GRID))


_ALL = "all temperatures"
_APART = 0.12


def by_turn(analysis: Analysis) -> Section | None:
    """What happens in the course of a conversation; None if all have a single turn."""
    if not analysis.by_turn:
        return None
    exhibits: list[Exhibit] = []
    if analysis.documents:
        exhibits.append(_reuse(analysis))
    else:
        exhibits.append(absent(analysis, "source_reuse", "Source re-use is"))
    exhibits.append(_changes(analysis))
    return Section("turns", "In the course of a conversation", [*exhibits, Method(_TURNS)])


_TURNS = (
    "Re-use at a turn is the mean of its term in equation 1: the share of its documents that an earlier turn also had. "
    "Later turns have more earlier documents to meet again, so re-use tends to rise. Turns are numbered as asked, "
    "whatever the order of questions."
)


def _reuse(analysis: Analysis) -> Chart:
    heats = [name for name in analysis.temperatures if any(turn.temperature == name for turn in analysis.by_turn)]
    panels = [*(f"temperature {name}" for name in heats), _ALL] if heats else []
    points = [
        _point(analysis, turn, turn.source_reuse, (f"temperature {turn.temperature}" if turn.temperature else _ALL))
        for turn in analysis.by_turn
    ]
    about = "The mean share of a turn's documents that an earlier turn also had, by turn and model."
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
    points = [_point(analysis, turn, turn.changed) for turn in analysis.by_turn if turn.temperature is None]
    about = "The share of conversations whose stance at a turn differs from that at the turn before, by model."
    spec = partial(
        lines, points, series_of(list(analysis.models)), _turns(points), _share("Stance changes here"), apart=_APART
    )
    return Chart("changes-by-turn", "Stance changes by turn, all temperatures", about, spec)


def _point(analysis: Analysis, turn: Turn, estimate: Estimate, panel: str = "") -> LinePoint:
    return LinePoint(turn.turn, list(analysis.models).index(turn.model), estimate, panel, f"turn {turn.turn}")


def _turns(points: Sequence[LinePoint]) -> Axis:
    last = max(point.x for point in points)
    return Axis("Turn", 1, last + 0.5, "count")


def _share(title: str) -> Axis:
    return Axis(title, 0, 1, "share")
