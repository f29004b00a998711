"""How source re-use goes with confidence, changes and the score (figures 3 and 4, section 4)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from overton.statistics import Estimate
from overton.studies.charts import Axis, Dot, dots, series_of
from overton.studies.exhibits import Cell, Chart, Column, Exhibit, Method, Section, Table
from overton.studies.stance_stability.figures.density import confidence_density
from overton.studies.stance_stability.figures.lines import Point, lines
from overton.studies.stance_stability.figures.names import TITLES, absent
from overton.studies.stance_stability.measures.analysis import Analysis, Correlation

__all__ = ["relations"]

_POOLED, _WITHIN = "pooled, as published", "within models"
_METHOD = (
    "Pearson correlations between conversations. Pooled over models, a correlation holds the differences between "
    "models: with three models it can be large although within each of them re-use goes with nothing. 'Within models' "
    "takes each model's own means off. The score is built from re-use, so figure 4 rises by its making; the "
    "correlations are with quantities that are not."
)


def relations(analysis: Analysis) -> Section:
    """Confidence, and what re-use goes with."""
    title = "Confidence and source re-use"
    density = confidence_density(analysis)
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
        Point(
            (one.low + one.high) / 2,
            names.index(one.model),
            one.chameleon,
            about=f"re-use {one.low:.1f} to {one.high:.1f}",
        )
        for one in analysis.bins
    ]
    about = "The mean Chameleon score of conversations in ten bins of source re-use, by model."
    axes = (Axis("Source re-use, bins of 0.1", 0, 1, "value"), Axis("Chameleon score", 0, 1, "value"))
    title = "Chameleon score by source re-use"
    return Chart(
        "score-by-reuse", title, about, partial(lines, points, series_of(names), *axes, apart=0.008), source="figure 4"
    )


def _rows(one: Correlation) -> Iterator[tuple[str, Estimate]]:
    yield _POOLED, one.pooled
    if len(one.models) > 1:
        yield _WITHIN, one.within
        yield from one.models.items()


def _chart(analysis: Analysis) -> Chart:
    points = [
        Dot(name, index, estimate) for index, one in enumerate(analysis.correlations) for name, estimate in _rows(one)
    ]
    rows = list(dict.fromkeys(point.row for point in points))
    series = series_of([f"with {TITLES[one.measure].lower()}" for one in analysis.correlations])
    about = "Correlation of source re-use with confidence and with stance changes, pooled and within each model."
    spec = partial(dots, points, rows, series, Axis("Pearson correlation", -1, 1, "value", mark=0))
    return Chart("correlations", "Correlation of source re-use with other measures", about, spec, source="section 4")


def _table(analysis: Analysis) -> Table:
    rows: list[list[Cell]] = [
        [TITLES[one.measure], name, estimate] for one in analysis.correlations for name, estimate in _rows(one)
    ]
    columns = [Column("Source re-use with"), Column("Over"), Column("Pearson's r", "value")]
    return Table("Correlations", columns, rows, source="section 4", summary=True)
