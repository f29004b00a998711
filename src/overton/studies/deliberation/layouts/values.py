"""Sections on values: which models use which values, which values are inherited (figure 4), and how similar models'
values are (figure 5)."""

from __future__ import annotations

from itertools import groupby
from typing import NamedTuple

from overton.studies.charts import Axis, Dot, Series, difference_axis, series_of
from overton.studies.deliberation.deliberations import Setting
from overton.studies.deliberation.findings import differences, last_part
from overton.studies.deliberation.layouts.numbers import ReportSource, difference_table, dot_chart, table, twice
from overton.studies.frame import EstimateRow
from overton.studies.sections import COLOURS, SERIES, Cell, Chart, Exhibit, Method, Prose, Section, Table

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
    """Two models that deliberate together, and the differences in how often they use each value. Values that neither
    model uses are left out."""

    setting: Setting
    first: str
    second: str
    differences: list[EstimateRow]


def use(source: ReportSource) -> Section:
    """The section on value occurrence by model, with differences between models that deliberate together."""
    title, names = "Values behind verdicts", source.names
    if "values" in source.missing:
        return source.absent("values", title, "Values are")
    pairs = [
        _Pair(*pair, list(rows))
        for pair, rows in groupby(
            differences(source.analysis, _BY_VALUE, "value_used"),
            lambda row: (names.setting_of(row), str(row.against), str(row.model)),
        )
    ]
    drawn = [pair for pair in pairs if pair.setting.format == _drawn_format(source)]
    charts = [_use_chart(number, pair, source) for number, pair in enumerate(drawn, 1)]
    exhibits: list[Exhibit] = [chart for chart in charts if chart]
    if not exhibits:
        exhibits.append(Prose("No two models differ significantly in how often they use a value."))
    exhibits += difference_table(
        source,
        "Value occurrence",
        ["Deliberation", "First model", "Second model", "Value"],
        [row for pair in pairs for row in sorted(pair.differences, key=lambda row: -abs(row.number.value))[:_LARGEST]],
        lambda row: [names.where(row), row.against, row.model, last_part(row)],
        note=(
            f"Shares of messages, for the {_LARGEST} largest differences of each pair of models (the JSON has all"
            " differences)."
        ),
        published="figure 4, a to c",
    )
    counted = {
        "Messages": "messages",
        "With known values": "values_known",
        "Of these, without values": "values_empty",
        "Values outside the list, dropped": "values_dropped",
    }
    cells: list[Cell] = ["all", *(source.counts[None, None][name] for name in counted.values())]
    tally = table("Values that the judge named", ["Models"], dict.fromkeys(counted, "count"), [cells])
    return Section("values", title, [*exhibits, tally, Method(_USE)])


_USE = (
    "Value occurrence is the share of a model's messages in which a judge found the value. Charts show up to five"
    " values on each side. These values differ significantly in the paired test, corrected for all values of the pair."
    " Orders of speaking are pooled. Messages are left out if no judge labelled them, or if the judge's answer was"
    " unusable."
)


def _drawn_format(source: ReportSource) -> str:
    """The format that charts show. They show one format, as in the paper; tables show all formats."""
    return "synchronous" if "synchronous" in source.names.formats else "round-robin"


def _use_chart(number: int, pair: _Pair, source: ReportSource) -> Chart | None:
    """A chart of the largest clear differences. Values that the second model uses more often come first."""
    level, first, second = source.analysis.level, pair.first, pair.second
    beyond = sorted(
        (row for row in pair.differences if row.p is not None and row.p < 1 - level), key=lambda row: row.number.value
    )
    shown = [row for row in reversed(beyond) if row.number.value > 0][:_TOP]
    shown += reversed([row for row in beyond if row.number.value < 0][:_TOP])
    if not shown:
        return None
    return dot_chart(
        f"values-{number}",
        f"Values that {first} and {second} use with different frequency: {source.names.where(shown[0])}",
        f"Right of zero, {second} uses a value more often; left of zero, {first} does.",
        [Dot(last_part(row), 0, row.number) for row in shown],
        [Series("Difference", COLOURS["accent"], "circle")],
        axis=difference_axis(f"{second} minus {first}, share of messages", [row.number for row in shown]),
        published="figure 4, a to c",
    )


def inherited(source: ReportSource) -> Section | None:
    """The section on values that models adopt with a change of verdict."""
    if "values" in source.missing:
        return None
    names = source.names
    most = {
        setting: [row for model in sorted(set(setting.agents)) for row in _most_inherited(source, setting, model)]
        for setting in names.pooled
    }
    drawn = [rows for setting, rows in most.items() if setting.format == _drawn_format(source)]
    charts = [_inherited_chart(number, rows, source) for number, rows in enumerate(drawn, 1) if rows]
    rows: list[list[Cell]] = [
        [
            names.where(row),
            row.model,
            last_part(row),
            row.number,
            source.number("inherited_as_published", row.condition, _BY_VALUE, row.model),
        ]
        for found in most.values()
        for row in found
        if twice(row.number)
    ]
    unknown = sum(int(row["unknown"] or 0) for row in source.analysis.counts["agents_left_out"])
    left_out = f"{unknown:,} agents are left out, because some values in round 1 of their deliberations are unknown."
    shown = table(
        "Inherited values",
        ["Models", "Model", "Value"],
        {"Inherited": "share", "As the authors count": "share"},
        rows,
        note=f"Each model's {_TOP} most common values, if they occur at least twice (the JSON has all)."
        f" {left_out if unknown else ''}".strip(),
        published="figure 4, d to f",
    )
    return Section("inherited", "Inherited values", [*charts, shown, Method(_INHERITED)])


_INHERITED = (
    "A model inherits a value if two things are true. In round 1, an opponent used the value and the model did not."
    " The model then uses the value in or after the round in which it first changes its verdict. Shares are of all"
    " deliberations, including deliberations without a change. So models that rarely change rarely inherit. The authors"
    " count only the model's last message, and only in deliberations in which the model's verdicts vary."
    " Common values are also inherited by chance."
)


def _most_inherited(source: ReportSource, setting: Setting, model: str) -> list[EstimateRow]:
    """The values that a model inherits most often."""
    rows = source.within("inherited_value", _BY_VALUE, setting, model)
    return sorted(rows, key=lambda row: -row.number.value)[:_TOP]


def _inherited_chart(number: int, rows: list[EstimateRow], source: ReportSource) -> Chart:
    models = source.analysis.models
    return dot_chart(
        f"inherited-{number}",
        f"Inherited values: {source.names.where(rows[0])}",
        "The five values that each model inherits most often.",
        [Dot(last_part(row), models.index(str(row.model)), row.number) for row in rows],
        series_of(models),
        axis=Axis("Share of deliberations (%)", 0, 0.05, "share", step=0.05),
        published="figure 4, d to f",
    )


_ROUND = "pooled / round"
_OUTCOMES = {"similarity_with_consensus": "consensus", "similarity_without_consensus": "no consensus"}


def similarity(source: ReportSource) -> Section | None:
    """The section on the similarity of two agents' values, with and without agreement and over the rounds."""
    if "values" in source.missing:
        return None
    names = source.names
    agreement = differences(source.analysis, "pooled / verdicts", "similarity_by_agreement")
    over = differences(source.analysis, _ROUND, *_OUTCOMES)
    axis = Axis("Value similarity", 0, 0.1, "value", step=0.1)
    exhibits: list[Exhibit] = [
        dot_chart(
            "similarity",
            "Value similarity and agreement",
            "Mean similarity of two agents' values in the same round, where their verdicts differ and where they"
            " agree.",
            _dots(source, agreement),
            _AGREEMENT,
            axis=axis,
            published="figure 5, a",
        ),
        dot_chart(
            "similarity-rounds",
            "Value similarity over a deliberation",
            "Mean similarity in round 1 and in the last round, in deliberations that went beyond round 1.",
            _dots(source, over),
            _ENDS,
            axis=axis,
            published="figure 5, b",
        ),
        *difference_table(
            source,
            "Similarity by agreement",
            ["Deliberation"],
            agreement,
            lambda row: [names.where(row)],
            sides=("Different verdicts", "Same verdict"),
            kind="value",
            published="figure 5, a",
        ),
        *difference_table(
            source,
            "Similarity in the first and the last round",
            ["Deliberation", "Outcome"],
            over,
            lambda row: [names.where(row), _OUTCOMES[row.measure]],
            sides=("Round 1", "Last round"),
            kind="value",
            published="figure 5, b",
        ),
        *_similarity_tables(source),
    ]
    return Section("similarity", "Value similarity", [*exhibits, Method(_METHOD)])


_METHOD = (
    "Value similarity is the Jaccard index (equation 1): the number of values that both messages use, divided by the"
    " number that at least one of them uses. Pairs in which neither message uses a value are left out; a table counts"
    " them. With more than two agents, every pair of agents counts. Orders of speaking are pooled. The three"
    " comparisons for a set of models answer separate questions, so their p values are not corrected for multiple"
    " comparisons."
)


def _dots(source: ReportSource, rows: list[EstimateRow]) -> list[Dot]:
    """Dots for both numbers of each difference. Each measure has two series of its own."""
    measures = list(dict.fromkeys(row.measure for row in rows))
    return [
        Dot(source.names.where(row), 2 * measures.index(row.measure) + place, number)
        for row in rows
        for place, number in enumerate(source.sides(row))
    ]


def _similarity_tables(source: ReportSource) -> list[Table]:
    """A table of similarity in each round, by whether the verdicts agree, and a table of pairs that are left out."""
    by_round = source.analysis.rows_of("similarity_in_round", "pooled / round / verdicts", variant="plain")
    rounds: list[list[Cell]] = [
        [source.names.where(pair[0]), str(pair[0].condition).split(" / ")[-2], *(row.number for row in pair)]
        for pair in zip(by_round[::2], by_round[1::2], strict=True)
    ]
    left_out = {str(row["condition"]): row for row in source.analysis.counts["pairs_left_out"]}
    counts: list[list[Cell]] = [
        [source.names.whole(setting, pooled=True), *(left_out[setting.name][kind] for kind in ("empty", "unknown"))]
        for setting in source.names.pooled
    ]
    return [
        table(
            "Similarity by round",
            ["Deliberation", "Round"],
            {"Different verdicts": "value", "Same verdict": "value"},
            rounds,
        ),
        table(
            "Pairs of messages left out",
            ["Deliberation"],
            {"Neither uses a value": "count", "Values not known": "count"},
            counts,
        ),
    ]
