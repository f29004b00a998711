"""Comparisons of temperatures, domains and orders of questions."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from math import isnan, sqrt

from overton.statistics import Estimate
from overton.studies.charts import Axis, Dot, dots, series_of
from overton.studies.sections import Cell, Chart, Column, Method, Section, Table
from overton.studies.stance_stability.figures.names import COLUMNS, TITLES, absent, mean, measured, present
from overton.studies.stance_stability.measures.analysis import Analysis, Group, TemperatureSpread

_SCIENCE = 0.001


def temperatures(analysis: Analysis) -> Section:
    """How much temperature changes."""
    title = "Temperature"
    if not analysis.spreads:
        return Section("temperatures", title, [absent(analysis, "spreads", "Variance across temperatures is")])
    columns = [Column("Model"), Column("Measure"), Column("Variance of the means"), Column("... by chance alone")]
    columns += [
        Column("Standard deviation of the means"),
        Column("Variance within a topic"),
        Column("p, paired by topic"),
    ]
    rows: list[list[Cell]] = [
        [
            spread.model,
            TITLES[spread.measure],
            _with_interval(spread.variance),
            _small(spread.by_chance),
            _small(sqrt(spread.variance.value)),
            _small(spread.within_topics.value),
            _p_value(spread),
        ]
        for spread in analysis.spreads
    ]
    table = Table("Variance across temperatures", columns, rows, source="section 4")
    return Section("temperatures", title, [table, Method(_TEMPERATURES)])


_TEMPERATURES = (
    "The variance of a model's means at the temperatures, with an interval; beside it the variance that this many "
    "conversations would show if temperature made no difference, and the standard deviation, in the measure's unit. "
    "The test exchanges a topic's values between temperatures at random; its p value is corrected for all models and "
    "measures (Holm), uncorrected in brackets. The variance within a topic is that of one topic's values at the "
    "temperatures, averaged over topics: it includes chance differences between two conversations on the same topic. "
    "The paper reports a variance below 0.004 without saying which of these it is."
)


def _with_interval(estimate: Estimate) -> str:
    """A number that may be tiny, with its interval if it has one."""
    limits = "" if isnan(estimate.low) else f" [{_small(estimate.low)}, {_small(estimate.high)}]"
    return f"{_small(estimate.value)}{limits}"


def _p_value(spread: TemperatureSpread) -> str:
    """The corrected p value, and the uncorrected one."""
    return "–" if isnan(spread.p) else f"{spread.adjusted:.3f} ({spread.p:.3f})"


def _small(value: float) -> str:
    """A number that may be tiny, in as many digits as it needs."""
    if isnan(value):
        return "–"
    return f"{value:.2e}" if 0 < abs(value) < _SCIENCE else f"{value:.4f}"


def domains(analysis: Analysis) -> Section:
    """What differs between domains, and the topics and questions behind each."""
    title = "Domains"
    if not analysis.domains:
        return Section("domains", title, [absent(analysis, "domains", "Domains are")])
    measure = "chameleon" if measured(analysis, "chameleon") else "change_rate"
    counts = [Column("Domain"), *(Column(name, "count") for name in ("Topics", "Questions", "Conversations", "Turns"))]
    counted: list[list[Cell]] = [
        [count.domain, count.topics, count.questions, count.conversations, count.turns] for count in analysis.counts
    ]
    total: list[Cell] = ["all", *(sum(getattr(count, name) for count in analysis.counts) for name in _COUNTED)]
    return Section(
        "domains",
        title,
        [
            *([_chart(analysis, measure)] if measured(analysis, measure) else []),
            _table("Measures by domain, all models", "Domain", analysis.domains, analysis),
            Table("Topics and questions", counts, [*counted, total], source="table 2"),
        ],
    )


_COUNTED = ("topics", "questions", "conversations", "turns")


def _chart(analysis: Analysis, measure: str) -> Chart:
    points = [
        Dot(domain, index, model.domains[domain].measures[measure].mean)
        for index, model in enumerate(analysis.models.values())
        for domain in analysis.domains
        if domain in model.domains
    ]
    series = series_of(list(analysis.models))
    about = f"The mean {TITLES[measure].lower()} in each domain, by model."
    spec = partial(dots, points, list(analysis.domains), series, Axis(TITLES[measure], 0, 1, "value"))
    return Chart("domains", f"{TITLES[measure]} by domain", about, spec)


def _table(title: str, head: str, groups: Mapping[str, Group], analysis: Analysis) -> Table:
    measures = present(analysis, (*COLUMNS, "change_rate"))
    columns = [Column(head), Column("Conversations", "count"), *(Column(TITLES[name], "value") for name in measures)]
    rows: list[list[Cell]] = [
        [name, group.conversations, *(mean(group, measure) for measure in measures)] for name, group in groups.items()
    ]
    return Table(title, columns, rows)


def orderings(analysis: Analysis) -> Section | None:
    """Orders of questions, if there are several."""
    if len(analysis.orderings) < 2:
        return None
    table = _table("Measures by order of questions, all models", "Order", analysis.orderings, analysis)
    tables = [
        _table(f"Measures by order of questions, {name}", "Order", model.orderings, analysis)
        for name, model in analysis.models.items()
    ]
    return Section("orderings", "Order of questions", [table, *(tables if len(tables) > 1 else [])])
