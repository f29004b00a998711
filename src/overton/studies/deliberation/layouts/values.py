"""Values: who uses which, which are taken over (figure 4), and how alike they are (figure 5)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

from overton.statistics import Estimate
from overton.studies.charts import Axis, Dot, Series, difference_axis, dots, series_of
from overton.studies.deliberation.layouts.numbers import (
    Compared,
    ReportSource,
    both_models,
    table_of_differences,
    twice,
)
from overton.studies.deliberation.values import ROUNDS, VERDICTS_OF_PAIRS
from overton.studies.frame import EstimateRow
from overton.studies.sections import COLOURS, SERIES, Cell, Chart, Column, Exhibit, Method, Prose, Section, Table

if TYPE_CHECKING:
    from overton.studies.deliberation.deliberations import Setting

_TOP, _LARGEST = 5, 3
_AGREEMENT = (Series("Different verdicts", SERIES[1], "square"), Series("Same verdict", SERIES[0], "circle"))
_ENDS = (
    Series("Round 1, consensus later", SERIES[0], "circle"),
    Series("Last round, consensus", SERIES[0], "diamond"),
    Series("Round 1, no consensus", COLOURS["other"], "square"),
    Series("Last round, no consensus", COLOURS["other"], "triangle-up"),
)
_BY_VALUE = "pooled / value"


class _Pair(NamedTuple):
    """Two models that deliberate together, and the difference of every value that either uses."""

    setting: Setting
    first: str
    second: str
    differences: list[EstimateRow]


def _value(row: EstimateRow) -> str:
    return str(row.condition).split(" / ")[-1]


def use(source: ReportSource) -> Section:
    """Value occurrence by model, and the differences between models that deliberate together."""
    title = "Values behind verdicts"
    if "values" in source.missing:
        return Section("values", title, [source.absent("values", "Values are")])
    pairs = list(_pairs(source))
    drawn = [pair for pair in pairs if pair.setting.format == _drawn_format(source)]
    charts = [_use_chart(number, pair, source) for number, pair in enumerate(drawn, 1)]
    exhibits: list[Exhibit] = [chart for chart in charts if chart]
    if not exhibits:
        exhibits.append(Prose("No two models differ in how often they use a value by more than chance explains."))
    return Section("values", title, [*exhibits, _use_table(source, pairs), _tally(source), Method(_USE)])


_USE = (
    "Value occurrence is the share of a model's messages in which a judge found the value. Charts show up to five "
    "values on either side whose difference is beyond chance by the paired test, corrected for all values of the "
    "pair; orders of speaking are pooled. Messages without values, because no judge was asked or its answer was "
    "unusable, are left out."
)


def _drawn_format(source: ReportSource) -> str:
    """Charts are drawn for one format, as in the paper; tables have all."""
    return "synchronous" if "synchronous" in source.names.formats else "round-robin"


def _of_setting(source: ReportSource, measure: str, facet: str, setting: Setting) -> list[EstimateRow]:
    """The rows of a measure by a facet within a setting."""
    rows = source.analysis.rows_of(measure, facet, variant="plain")
    return [row for row in rows if str(row.condition).startswith(f"{setting.name} / ")]


def _pairs(source: ReportSource) -> Iterator[_Pair]:
    for setting in source.names.pooled:
        rows = _of_setting(source, "value_used", _BY_VALUE, setting)
        for first, second in combinations(sorted(set(setting.agents)), 2):
            differences = [row for row in rows if (row.against, row.model) == (first, second)]
            if differences:
                yield _Pair(setting, first, second, differences)


def _clear(differences: Sequence[EstimateRow], level: float) -> list[EstimateRow]:
    """The clearest differences, those in favour of the second model first."""
    beyond = sorted(
        (row for row in differences if row.p is not None and row.p < 1 - level), key=lambda row: row.number.value
    )
    second = [row for row in reversed(beyond) if row.number.value > 0][:_TOP]
    first = [row for row in beyond if row.number.value < 0][:_TOP]
    return [*second, *reversed(first)]


def _use_chart(number: int, pair: _Pair, source: ReportSource) -> Chart | None:
    shown, first, second = _clear(pair.differences, source.analysis.level), pair.first, pair.second
    if not shown:
        return None
    axis = difference_axis(f"{second} minus {first}, share of messages", [row.number for row in shown])
    points = [Dot(_value(row), 0, row.number) for row in shown]
    series = [Series("Difference", COLOURS["accent"], "circle")]
    spec = partial(dots, points, [point.row for point in points], series, axis)
    about = f"Right of zero, {second} uses a value more often; left of it, {first}."
    where = source.names.whole(pair.setting, pooled=True)
    title = f"Values that {first} and {second} use with different frequency: {where}"
    return Chart(f"values-{number}", title, about, spec, source="figure 4, a to c")


def _use_table(source: ReportSource, pairs: Sequence[_Pair]) -> Table:
    rows = [
        Compared(
            [source.names.whole(pair.setting, pooled=True), pair.first, pair.second, _value(row)],
            *both_models(source, row),
            row,
        )
        for pair in pairs
        for row in sorted(pair.differences, key=lambda row: -abs(row.number.value))[:_LARGEST]
    ]
    heads = ["Deliberation", "First model", "Second model", "Value"]
    note = f"Shares of messages; the {_LARGEST} largest differences of each pair (the JSON has all)."
    return table_of_differences(source, "Value occurrence", heads, rows, published="figure 4, a to c", note=note)


def _tally(source: ReportSource) -> Table:
    counts = source.counts[None, None]
    columns = {
        "messages": "Messages",
        "values_known": "With known values",
        "values_empty": "Of these with none",
        "values_dropped": "Values outside the list, dropped",
    }
    rows: list[list[Cell]] = [["all", *(counts[name] for name in columns)]]
    return Table("What the judge named", [Column("Models"), *(Column(t, "count") for t in columns.values())], rows)


def inherited(source: ReportSource) -> Section | None:
    """Values taken over with a change of verdict."""
    if "values" in source.missing:
        return None
    names = source.names
    drawn = [setting for setting in names.pooled if setting.format == _drawn_format(source)]
    charts = [_inherited_chart(number, setting, source) for number, setting in enumerate(drawn, 1)]
    columns = [Column("Models"), Column("Model"), Column("Value"), Column("Inherited", "share")]
    columns += [Column("As the authors count", "share")]
    rows: list[list[Cell]] = [
        [
            names.whole(setting, pooled=True),
            model,
            _value(row),
            row.number,
            source.number("inherited_as_published", row.condition, _BY_VALUE, model),
        ]
        for setting in names.pooled
        for model in sorted(set(setting.agents))
        for row in _most_inherited(source, setting, model)
        if twice(row.number)
    ]
    note = f"Each model's {_TOP} most common values, if they occur at least twice (the JSON has all)."
    unknown = sum(int(row["unknown"] or 0) for row in source.analysis.counts["agents_left_out"])
    left_out = f"Left out: {unknown:,} agents in deliberations whose values in round 1 are not all known."
    note = f"{note} {left_out if unknown else ''}".strip()
    table = Table("Inherited values", columns, rows, note=note, source="figure 4, d to f")
    return Section("inherited", "Inherited values", [*(chart for chart in charts if chart), table, Method(_INHERITED)])


_INHERITED = (
    "A value is inherited if the model did not use it in round 1, an opponent did, and the model uses it in or after "
    "the round in which it first departs from its first verdict. Shares are of all its deliberations, not only of "
    "those with a change, so models that rarely change rarely inherit. The authors take only deliberations in which "
    "the model's verdicts vary, and of these only its last message. A value that is common anyway is also inherited by "
    "chance."
)


def _most_inherited(source: ReportSource, setting: Setting, model: str) -> list[EstimateRow]:
    """The values that a model takes over most often."""
    rows = _of_setting(source, "inherited_value", _BY_VALUE, setting)
    return sorted((row for row in rows if row.model == model), key=lambda row: -row.number.value)[:_TOP]


def _inherited_chart(number: int, setting: Setting, source: ReportSource) -> Chart | None:
    top = [row for model in sorted(set(setting.agents)) for row in _most_inherited(source, setting, model)]
    if not top:
        return None
    points = [Dot(_value(row), source.analysis.models.index(str(row.model)), row.number) for row in top]
    rows = list(dict.fromkeys(point.row for point in points))
    axis = Axis("Share of deliberations (%)", 0, 0.05, "share", step=0.05)
    title = f"Inherited values: {source.names.whole(setting, pooled=True)}"
    about = "The five values that each model takes over most often."
    spec = partial(dots, points, rows, series_of(source.analysis.models), axis)
    return Chart(f"inherited-{number}", title, about, spec, source="figure 4, d to f")


_KINDS = {
    "similarity_by_agreement": ("verdicts", VERDICTS_OF_PAIRS),
    "similarity_with_consensus": ("round", ROUNDS),
    "similarity_without_consensus": ("round", ROUNDS),
}
"""Measures that compare two groups of pairs of messages, with the last part of their facet, and both groups."""


def similarity(source: ReportSource) -> Section | None:
    """How alike two agents' values are, by agreement and over the rounds."""
    if "values" in source.missing:
        return None
    labels = {setting: source.names.whole(setting, pooled=True) for setting in source.names.pooled}
    by_agreement, *ends = _KINDS
    agreement = [
        Dot(label, place, estimate)
        for setting, label in labels.items()
        for place, estimate in enumerate(_both(source, by_agreement, setting))
    ]
    over = [
        Dot(label, 2 * kind + place, estimate)
        for setting, label in labels.items()
        for kind, measure in enumerate(ends)
        for place, estimate in enumerate(_both(source, measure, setting))
    ]
    rows = list(labels.values())
    charts = [
        Chart(name, title, about, partial(dots, points, rows, series, _SIMILARITY), source=published)
        for name, title, about, points, series, published in (
            ("similarity", "Value similarity and agreement", _WHEN, agreement, _AGREEMENT, "figure 5, a"),
            ("similarity-rounds", "Value similarity over a deliberation", _OVER, over, _ENDS, "figure 5, b"),
        )
    ]
    return Section("similarity", "Value similarity", [*charts, *_tables(source, labels), Method(_METHOD)])


_SIMILARITY = Axis("Value similarity", 0, 0.1, "value", step=0.1)
_WHEN = "Mean similarity of two agents' values in the same round, where their verdicts differ and where they agree."
_OVER = "Mean similarity in round 1 and in the last round, in deliberations that went beyond round 1."
_METHOD = (
    "Value similarity is the Jaccard index (equation 1): the number of values that both messages use, over the number "
    "that either uses. Pairs in which neither uses any are left out and counted. With more than two agents every pair "
    "counts; orders of speaking are pooled. The three comparisons for a set of models are separate questions, so their "
    "p values are not corrected for multiple comparisons."
)


def _both(source: ReportSource, measure: str, setting: Setting) -> tuple[Estimate, Estimate]:
    facet, sides = _KINDS[measure]
    first, second = (source.shown(measure, f"{setting.name} / {side}", f"pooled / {facet}") for side in sides)
    return first, second


def _compared(source: ReportSource, measure: str, setting: Setting, *head: Cell) -> Compared:
    facet, (first, second) = _KINDS[measure]
    (row,) = source.analysis.rows_of(
        measure, f"pooled / {facet}", condition=f"{setting.name} / {second}", against=first
    )
    return Compared(head, *_both(source, measure, setting), row)


def _tables(source: ReportSource, labels: dict[Setting, str]) -> Iterator[Table]:
    by_agreement, with_consensus, without = _KINDS
    value = (Column("Different verdicts", "value"), Column("Same verdict", "value"))
    yield table_of_differences(
        source,
        "Similarity by agreement",
        ["Deliberation"],
        [_compared(source, by_agreement, setting, label) for setting, label in labels.items()],
        sides=("Different verdicts", "Same verdict"),
        kind="value",
        published="figure 5, a",
    )
    yield table_of_differences(
        source,
        "Similarity in the first and the last round",
        ["Deliberation", "Outcome"],
        [
            _compared(source, measure, setting, label, outcome)
            for setting, label in labels.items()
            for measure, outcome in ((with_consensus, "consensus"), (without, "no consensus"))
        ],
        sides=("Round 1", "Last round"),
        kind="value",
        published="figure 5, b",
    )
    rounds: list[list[Cell]] = [
        [label, number, *(numbers[side] for side in VERDICTS_OF_PAIRS)]
        for setting, label in labels.items()
        for number, numbers in _by_round(source, setting).items()
    ]
    yield Table("Similarity by round", [Column("Deliberation"), Column("Round"), *value], rounds)
    left_out = {str(row["condition"]): row for row in source.analysis.counts["pairs_left_out"]}
    counts: list[list[Cell]] = [
        [label, left_out[setting.name]["empty"], left_out[setting.name]["unknown"]] for setting, label in labels.items()
    ]
    columns = [Column("Neither uses a value", "count"), Column("Values not known", "count")]
    yield Table("Pairs of messages left out", [Column("Deliberation"), *columns], counts)


def _by_round(source: ReportSource, setting: Setting) -> dict[str, dict[str, Estimate]]:
    """Similarity in each round, by whether the verdicts agree."""
    found: dict[str, dict[str, Estimate]] = {}
    for row in _of_setting(source, "similarity_in_round", "pooled / round / verdicts", setting):
        *_, number, side = str(row.condition).split(" / ")
        found.setdefault(number, {})[side] = row.number
    return found
