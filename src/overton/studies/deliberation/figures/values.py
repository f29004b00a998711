"""Values: who uses which, which are taken over (figure 4), and how alike they are (figure 5)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import NamedTuple

from overton.statistics import Estimate
from overton.studies.charts import Axis, Dot, Series, difference_axis, dots, series_of
from overton.studies.deliberation.figures.names import SettingNames, absent, contrast_table, twice
from overton.studies.deliberation.measures.analysis import Analysis, Inheritance, Similarity, ValueUse
from overton.studies.deliberation.measures.results import Contrast, Setting
from overton.studies.sections import COLOURS, SERIES, Cell, Chart, Column, Exhibit, Method, Prose, Section, Table

_TOP, _LARGEST = 5, 3
_AGREEMENT = (Series("Different verdicts", SERIES[1], "square"), Series("Same verdict", SERIES[0], "circle"))
_ENDS = (
    Series("Round 1, consensus later", SERIES[0], "circle"),
    Series("Last round, consensus", SERIES[0], "diamond"),
    Series("Round 1, no consensus", COLOURS["other"], "square"),
    Series("Last round, no consensus", COLOURS["other"], "triangle-up"),
)

Difference = tuple[str, Contrast]


class _Pair(NamedTuple):
    """Two models that deliberate together, and the difference of every value that either uses."""

    setting: Setting
    first: str
    second: str
    differences: list[Difference]


def use(analysis: Analysis, names: SettingNames) -> Section:
    """Value occurrence by model, and the differences between models that deliberate together."""
    title = "Values behind verdicts"
    if analysis.values is None:
        return Section("values", title, [absent(analysis, "values", "Values are")])
    pairs = [pair for value_use in analysis.values.use for pair in _pairs(value_use)]
    drawn = [pair for pair in pairs if pair.setting.format == _drawn_format(analysis)]
    charts = [_use_chart(number, pair, names, analysis.level) for number, pair in enumerate(drawn, 1)]
    exhibits: list[Exhibit] = [chart for chart in charts if chart]
    if not exhibits:
        exhibits.append(Prose("No two models differ in how often they use a value by more than chance explains."))
    return Section("values", title, [*exhibits, _use_table(pairs, names), _tally(analysis), Method(_USE)])


_USE = (
    "Value occurrence is the share of a model's messages in which a judge found the value. Charts show up to five "
    "values on either side whose difference is beyond chance by the paired test, corrected for all values of the "
    "pair; orders of speaking are pooled. Messages without values, because no judge was asked or its answer was "
    "unusable, are left out."
)


def _drawn_format(analysis: Analysis) -> str:
    """Charts are drawn for one format, as in the paper; tables have all."""
    return "synchronous" if any(s.format == "synchronous" for s, _ in analysis.consensus.settings) else "round-robin"


def _pairs(value_use: ValueUse) -> Iterator[_Pair]:
    found: dict[tuple[str, str], list[Difference]] = {}
    for value, contrast in value_use.differences:
        found.setdefault((contrast.first_name, contrast.second_name), []).append((value, contrast))
    for (first, second), differences in found.items():
        yield _Pair(value_use.setting, first, second, differences)


def _clear(differences: Sequence[Difference], level: float) -> list[Difference]:
    """The clearest differences, those in favour of the second model first."""
    beyond = sorted(
        (difference for difference in differences if difference[1].paired.adjusted < 1 - level),
        key=lambda difference: difference[1].difference.value,
    )
    second = [difference for difference in reversed(beyond) if difference[1].difference.value > 0][:_TOP]
    first = [difference for difference in beyond if difference[1].difference.value < 0][:_TOP]
    return [*second, *reversed(first)]


def _use_chart(number: int, pair: _Pair, names: SettingNames, level: float) -> Chart | None:
    shown, first, second = _clear(pair.differences, level), pair.first, pair.second
    if not shown:
        return None
    axis = difference_axis(f"{second} minus {first}, share of messages", [contrast.difference for _, contrast in shown])
    points = [Dot(value, 0, contrast.difference) for value, contrast in shown]
    spec = partial(
        dots, points, [value for value, _ in shown], [Series("Difference", COLOURS["accent"], "circle")], axis
    )
    about = f"Right of zero, {second} uses a value more often; left of it, {first}."
    title = f"Values that {first} and {second} use with different frequency: {names.whole(pair.setting, pooled=True)}"
    return Chart(f"values-{number}", title, about, spec, source="figure 4, a to c")


def _use_table(pairs: Sequence[_Pair], names: SettingNames) -> Table:
    rows = [
        ((names.whole(setting, pooled=True), first, second, value), contrast)
        for setting, first, second, differences in pairs
        for value, contrast in sorted(differences, key=lambda pair: -abs(pair[1].difference.value))[:_LARGEST]
    ]
    heads = ["Deliberation", "First model", "Second model", "Value"]
    note = f"Shares of messages; the {_LARGEST} largest differences of each pair (the JSON has all)."
    return contrast_table("Value occurrence", heads, rows, source="figure 4, a to c", note=note)


def _tally(analysis: Analysis) -> Table:
    tally = analysis.tally
    columns = [
        Column("Messages", "count"),
        Column("With known values", "count"),
        Column("Of these with none", "count"),
    ]
    rows: list[list[Cell]] = [
        ["all", sum(tally.messages.values()), tally.values_known, tally.values_empty, tally.values_dropped]
    ]
    title = "What the judge named"
    return Table(title, [Column("Models"), *columns, Column("Values outside the list, dropped", "count")], rows)


def inherited(analysis: Analysis, names: SettingNames) -> Section | None:
    """Values taken over with a change of verdict."""
    if analysis.values is None:
        return None
    found = analysis.values.inheritance
    settings = list(
        dict.fromkeys(
            inheritance.setting for inheritance in found if inheritance.setting.format == _drawn_format(analysis)
        )
    )
    charts = [
        _inherited_chart(
            number, setting, [inheritance for inheritance in found if inheritance.setting == setting], analysis, names
        )
        for number, setting in enumerate(settings, 1)
    ]
    columns = [Column("Models"), Column("Model"), Column("Value"), Column("Inherited", "share")]
    columns += [Column("As the authors count", "share")]
    rows: list[list[Cell]] = [
        [
            names.whole(inheritance.setting, pooled=True),
            inheritance.model,
            value,
            estimate,
            inheritance.as_published.get(value),
        ]
        for inheritance in found
        for value, estimate in _rank_values(inheritance)[:_TOP]
        if twice(estimate)
    ]
    note = f"Each model's {_TOP} most common values, if they occur at least twice (the JSON has all)."
    note = f"{note} {_left_out(found)}".strip()
    table = Table("Inherited values", columns, rows, note=note, source="figure 4, d to f")
    return Section("inherited", "Inherited values", [*(chart for chart in charts if chart), table, Method(_INHERITED)])


_INHERITED = (
    "A value is inherited if the model did not use it in round 1, an opponent did, and the model uses it in or after "
    "the round in which it first departs from its first verdict. Shares are of all its deliberations, not only of "
    "those with a change, so models that rarely change rarely inherit. The authors take only deliberations in which "
    "the model's verdicts vary, and of these only its last message. A value that is common anyway is also inherited by "
    "chance."
)


def _left_out(found: Sequence[Inheritance]) -> str:
    unknown = sum(inheritance.unknown for inheritance in found)
    return (
        f"Left out: {unknown:,} agents in deliberations whose values in round 1 are not all known." if unknown else ""
    )


def _rank_values(inheritance: Inheritance) -> list[tuple[str, Estimate]]:
    return sorted(inheritance.values.items(), key=lambda pair: -pair[1].value)


def _inherited_chart(
    number: int, setting: Setting, found: Sequence[Inheritance], analysis: Analysis, names: SettingNames
) -> Chart | None:
    top = [(inheritance.model, *pair) for inheritance in found for pair in _rank_values(inheritance)[:_TOP]]
    if not top:
        return None
    points = [Dot(value, analysis.models.index(model), estimate) for model, value, estimate in top]
    rows = list(dict.fromkeys(value for _, value, _ in top))
    axis = Axis("Share of deliberations (%)", 0, 0.05, "share", step=0.05)
    title = f"Inherited values: {names.whole(setting, pooled=True)}"
    about = "The five values that each model takes over most often."
    spec = partial(dots, points, rows, series_of(analysis.models), axis)
    return Chart(f"inherited-{number}", title, about, spec, source="figure 4, d to f")


def similarity(analysis: Analysis, names: SettingNames) -> Section | None:
    """How alike two agents' values are, by agreement and over the rounds."""
    if analysis.values is None:
        return None
    found = analysis.values.similarity
    label = {id(in_setting): names.whole(in_setting.setting, pooled=True) for in_setting in found}
    rows = [label[id(in_setting)] for in_setting in found]
    agreement = [
        Dot(label[id(in_setting)], place, estimate)
        for in_setting in found
        for place, estimate in enumerate((in_setting.agreement.first, in_setting.agreement.second))
    ]
    ends = [
        Dot(label[id(in_setting)], 2 * kind + place, estimate)
        for in_setting in found
        for kind, contrast in enumerate((in_setting.consensus, in_setting.without))
        for place, estimate in enumerate((contrast.first, contrast.second))
    ]
    charts = [
        Chart(name, title, about, partial(dots, points, rows, series, _SIMILARITY), source=source)
        for name, title, about, points, series, source in (
            ("similarity", "Value similarity and agreement", _WHEN, agreement, _AGREEMENT, "figure 5, a"),
            ("similarity-rounds", "Value similarity over a deliberation", _OVER, ends, _ENDS, "figure 5, b"),
        )
    ]
    return Section("similarity", "Value similarity", [*charts, *_tables(found, label), Method(_METHOD)])


_SIMILARITY = Axis("Value similarity", 0, 0.1, "value", step=0.1)
_WHEN = "Mean similarity of two agents' values in the same round, where their verdicts differ and where they agree."
_OVER = "Mean similarity in round 1 and in the last round, in deliberations that went beyond round 1."
_METHOD = (
    "Value similarity is the Jaccard index (equation 1): the number of values that both messages use, over the number "
    "that either uses. Pairs in which neither uses any are left out and counted. With more than two agents every pair "
    "counts; orders of speaking are pooled. The three comparisons for a set of models are separate questions, so their "
    "p values are not corrected for multiple comparisons."
)


def _tables(found: Sequence[Similarity], label: dict[int, str]) -> list[Table]:
    agreement = [((label[id(in_setting)],), in_setting.agreement) for in_setting in found]
    ends = [
        ((label[id(in_setting)], name), contrast)
        for in_setting in found
        for name, contrast in (("consensus", in_setting.consensus), ("no consensus", in_setting.without))
    ]
    counts: list[list[Cell]] = [[label[id(in_setting)], in_setting.empty, in_setting.unknown] for in_setting in found]
    rounds: list[list[Cell]] = [
        [label[id(in_setting)], str(in_round.round), in_round.disagreement, in_round.agreement]
        for in_setting in found
        for in_round in in_setting.by_round
    ]
    value = (Column("Different verdicts", "value"), Column("Same verdict", "value"))
    left_out = [Column("Neither uses a value", "count"), Column("Values not known", "count")]
    return [
        contrast_table(
            "Similarity by agreement",
            ["Deliberation"],
            agreement,
            sides=("Different verdicts", "Same verdict"),
            kind="value",
            source="figure 5, a",
        ),
        contrast_table(
            "Similarity in the first and the last round",
            ["Deliberation", "Outcome"],
            ends,
            sides=("Round 1", "Last round"),
            kind="value",
            source="figure 5, b",
        ),
        Table("Similarity by round", [Column("Deliberation"), Column("Round"), *value], rounds),
        Table("Pairs of messages left out", [Column("Deliberation"), *left_out], counts),
    ]
