"""Report sections on confidence, re-use of sources, and the course of a conversation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from math import isnan

import numpy as np

from overton.statistics import Estimate
from overton.statistics.arrays import Floats
from overton.studies.charts import Axis, Dot, LinePoint, dots, lines, series_of
from overton.studies.frame import Analysis, EstimateRow
from overton.studies.layouts import SectionOf
from overton.studies.sections import Callout, Cell, Chart, Column, Exhibit, Method, Table
from overton.studies.stance_stability.declarations import BINS, RELATED
from overton.studies.stance_stability.temperature import WITHIN


def is_known(analysis: Analysis, measure: str) -> bool:
    """Whether any conversation has a measure."""
    return any(not isnan(row.number.value) for row in analysis.rows_of(measure, model=None, variant="plain"))


def explain_absence(analysis: Analysis, measure: str, what: str, otherwise: str) -> Callout:
    """A note that a part is missing, with the reason; `otherwise` is the reason to give if the measure was not computed
    at all."""
    rows = analysis.rows_of(measure, model=None, variant="plain")
    why = rows[0].why if rows else otherwise
    return Callout(f"{what} not computed: {why or 'the data do not determine it'}.", summary=True)


def temperature_names(analysis: Analysis) -> list[str]:
    """The temperatures in ascending order, then 'own' for the endpoint's own."""
    names = {row.condition or "" for row in analysis.rows_of("turns", "temperature", model=None)}
    return sorted(names, key=lambda name: (name == "own", float(name) if name != "own" else 0.0))


_NO_DOCUMENTS = "the table has neither cited nor retrieved documents"
_POOLED = "pooled, as published"
_RELATIONS = (
    "Pearson correlations over conversations. A correlation pooled over models includes differences between models, so"
    " it can be large without any relation within a model. 'Within models' subtracts each model's own means. Re-use is"
    " a part of the score, so the paper's figure 4 rises by definition. The correlations here are only with measures"
    " that do not contain re-use."
)


def _score_by_reuse(analysis: Analysis) -> Iterator[Exhibit]:
    if analysis.counts["rules"][0]["documents"] is None:
        yield Callout(f"Source re-use is not computed, because {_NO_DOCUMENTS}.", summary=True)
        return
    names = list(analysis.models)
    points = [
        LinePoint(
            float((row.condition or "").partition(" ")[0]) + 1 / (2 * BINS),
            names.index(row.model or ""),
            row.number,
            about=f"re-use {row.condition}",
        )
        for row in analysis.rows_of("chameleon", "bin", variant="plain")
        if row.clusters
    ]
    if points:
        about = "The mean Chameleon score of conversations in ten bins of source re-use, by model."
        axes = (Axis("Source re-use, bins of 0.1", 0, 1, "value"), Axis("Chameleon score", 0, 1, "value"))
        spec = partial(lines, points, series_of(names), *axes, apart=0.008)
        yield Chart("score-by-reuse", "Chameleon score by source re-use", about, spec, source="figure 4")


def _correlations(analysis: Analysis, measure: str) -> list[tuple[str, Estimate]]:
    """The correlations of re-use with a measure: pooled, and if there are several models, also within models and for
    each model."""
    rows = [*analysis.rows_of(f"reuse_with_{measure}"), *analysis.rows_of(f"reuse_with_{measure}", "models")]
    if len(analysis.models) < 2:
        rows = [row for row in rows if row.model is None and row.condition is None]
    names = {row.model or row.condition or _POOLED: row.number for row in rows}
    order = [_POOLED, WITHIN, *analysis.models]
    return [(name, names[name]) for name in order if name in names]


def _related(analysis: Analysis) -> Iterator[Exhibit]:
    known = [measure for measure in RELATED if analysis.rows_of(f"reuse_with_{measure.name}")]
    if not known:
        return
    found = [
        (at, measure.title, *pair) for at, measure in enumerate(known) for pair in _correlations(analysis, measure.name)
    ]
    points = [Dot(name, at, estimate) for at, _, name, estimate in found]
    rows = list(dict.fromkeys(point.row for point in points))
    series = series_of([f"with {measure.title.lower()}" for measure in known])
    about = "Correlation of source re-use with confidence and with stance changes, pooled and within each model."
    spec = partial(dots, points, rows, series, Axis("Pearson correlation", -1, 1, "value", mark=0))
    yield Chart("correlations", "Correlation of source re-use with other measures", about, spec, source="section 4")
    columns = [Column("Source re-use with"), Column("Over"), Column("Pearson's r", "value")]
    cells: list[list[Cell]] = [[title, name, estimate] for _, title, name, estimate in found]
    yield Table("Correlations", columns, cells, source="section 4", summary=True)


_GRID = np.linspace(0, 1, 101)
_FEWEST = 3


def _confidence(analysis: Analysis) -> Iterator[Exhibit]:
    """The distribution of the conversations' mean confidence, smoothed by a Gaussian kernel. If it does not vary in any
    model, there is no chart."""
    table = analysis.listed["conversations"]
    if "confidence" not in table.columns:
        yield explain_absence(analysis, "confidence", "Confidence is", "no turn has a confidence")
        return
    names = list(analysis.models)
    points: list[LinePoint] = []
    flat: list[str] = []
    for index, name in enumerate(names):
        values = table.filter(model=name)["confidence"].drop_nulls().to_numpy()
        heights = _density(values)
        if heights is None:
            flat.append(name)
            continue
        points += [
            LinePoint(float(x), index, Estimate(float(height), np.nan, np.nan, len(values), "Gaussian kernel"))
            for x, height in zip(_GRID, heights, strict=True)
        ]
    if not points:
        yield explain_absence(analysis, "confidence", "Confidence is", "no turn has a confidence")
        return
    top = max(point.estimate.value for point in points)
    about = "The distribution of a conversation's mean confidence, by model."
    if flat:
        about += f" No curve for models with few conversations or constant confidence: {', '.join(flat)}."
    axes = (
        Axis("Confidence of a conversation, mean over its turns", 0, 1, "value"),
        Axis("Density", 0, 1.05 * top, "value"),
    )
    spec = partial(lines, points, series_of(names), *axes, marks=False)
    yield Chart("confidence", "Confidence by model", about, spec, source="figure 3")


def _density(values: Floats) -> Floats | None:
    """A kernel density estimate with Scott's bandwidth. Mass beyond 0 and 1 is reflected into the range."""
    from scipy.stats import gaussian_kde

    if len(values) < _FEWEST or np.ptp(values) < 1e-9:
        return None
    estimate = gaussian_kde(values)
    return np.asarray(estimate(_GRID) + estimate(-_GRID) + estimate(2 - _GRID))


REUSE = SectionOf(
    "relations",
    "Confidence and source re-use",
    [_confidence, _score_by_reuse, _related, Method(_RELATIONS)],
)

_APART = 0.12
_TURNS = (
    "Re-use at a turn is the share of its documents that an earlier turn also had (equation 1), averaged over "
    "conversations. Later turns have more documents before them, so re-use tends to rise. Turns are numbered in the "
    "order in which the questions were asked."
)


def _by_turn(analysis: Analysis) -> Iterator[Exhibit]:
    """Charts of re-use and stance changes by turn; empty if all conversations have a single turn."""
    changes = analysis.rows_of("changed_at_turn", "turn")
    if not changes:
        return
    reuse = [*analysis.rows_of("reuse_at_turn", "temperature / turn"), *analysis.rows_of("reuse_at_turn", "turn")]
    if reuse:
        yield _turn_chart(analysis, reuse, _REUSE_BY_TURN)
    else:
        yield explain_absence(analysis, "source_reuse", "Source re-use is", _NO_DOCUMENTS)
    yield _turn_chart(analysis, changes, _CHANGES_BY_TURN)
    yield Method(_TURNS)


_REUSE_BY_TURN = (
    "reuse-by-turn",
    "Source re-use by turn",
    "The mean share of a turn's documents that an earlier turn also had, by turn and model.",
    "Source re-use",
    "figure 5",
)
_CHANGES_BY_TURN = (
    "changes-by-turn",
    "Stance changes by turn, all temperatures",
    "The share of conversations whose stance at a turn differs from the stance at the turn before, by model.",
    "Stance changes here",
    "",
)


def _turn_chart(analysis: Analysis, rows: Sequence[EstimateRow], words: tuple[str, str, str, str, str]) -> Chart:
    """A chart of numbers by turn, with a panel for each temperature if there are several. `words` are the chart's name,
    title, description, axis title and source."""
    name, title, about, axis, source = words
    names, points = list(analysis.models), []
    has_panels = any(row.facet != "turn" for row in rows)
    for row in rows:
        *heat, turn = (row.condition or "").split(" / ")
        panel = (f"temperature {heat[0]}" if heat else "all temperatures") if has_panels else ""
        points.append(LinePoint(int(turn), names.index(row.model or ""), row.number, panel, f"turn {turn}"))
    points.sort(key=lambda point: point.x)
    every = [*(f"temperature {name}" for name in temperature_names(analysis)), "all temperatures"]
    panels = [panel for panel in every if any(point.panel == panel for point in points)]
    turns = Axis("Turn", 1, max(point.x for point in points) + 0.5, "count")
    shares = Axis(axis, 0, 1, "share")
    spec = partial(lines, points, series_of(names), turns, shares, panels=panels, apart=_APART)
    return Chart(name, title, about, spec, source=source)


TURNS = SectionOf("turns", "In the course of a conversation", [_by_turn])
