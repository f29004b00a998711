"""Parts that every study's report has: null conditions and several judges.

If a study declares no layouts, `layouts_of` gives its section: measures by model, by facet of items, and by item.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from math import isnan
from typing import TYPE_CHECKING, Any

from overton.statistics import Estimate
from overton.statistics.comparison import FEW
from overton.studies.charts import Axis, Dot, dots, series_of
from overton.studies.charts.axes import finite_ends
from overton.studies.claims import MEASURES
from overton.studies.contrasts import Against, is_said
from overton.studies.document import number_of
from overton.studies.findings import Assertion, Direction, Finding
from overton.studies.items import Facet
from overton.studies.layouts import (
    CONDITION,
    ITEM,
    CountColumn,
    DotsOf,
    MeasureColumn,
    Part,
    RowsOf,
    SectionOf,
    TableOf,
)
from overton.studies.measurement import Comparing
from overton.studies.measures import Measure
from overton.studies.multiple_judges import Judges
from overton.studies.null_conditions import Null
from overton.studies.numbers import Kind, brief_interval, brief_value, interval, reason
from overton.studies.sections import (
    BrowseFilter,
    Cell,
    Chart,
    Column,
    Exhibit,
    Method,
    Prose,
    Section,
    Table,
    sentence_cell,
)

if TYPE_CHECKING:
    import polars as pl

    from overton.studies.frame import Analysis
    from overton.studies.study_measures import StudyMeasures


Found = tuple[Measure, Null, Against]

_SECTION_KEY = "nulls"


def tables_by_facet(
    facets: Iterable[Facet], columns: Sequence[MeasureColumn | CountColumn], after: Mapping[str, DotsOf] | None = None
) -> list[TableOf | DotsOf]:
    """One table for each facet of items, all with the same `columns`. Charts in `after` follow the table of their
    facet."""
    found: list[TableOf | DotsOf] = []
    for facet in facets:
        found.append(table_by_facet(facet, columns))
        found += [chart for name, chart in (after or {}).items() if name == facet.name]
    return found


def table_by_facet(facet: Facet, columns: Sequence[MeasureColumn | CountColumn], *, together: bool = False) -> TableOf:
    """A table with a row for each model and each value of a facet. With `together`, each value has one row for all
    models."""
    title = f"By {facet.title[:1].lower()}{facet.title[1:]}{', all models together' if together else ''}"
    return TableOf(title, columns, RowsOf(facet.name, facet.title, together=together))


def facets_of(
    measures: StudyMeasures[Any], analysis: Analysis, layouts: Sequence[SectionOf], shown: Collection[str]
) -> list[SectionOf]:
    """The section of headlines by facets of items. It leaves out facets in `shown`, and facets with a table or chart in
    `layouts`. The list is empty if no numbers remain."""
    by_layouts = {part.rows.by for layout in layouts for part in layout.parts if isinstance(part, TableOf | DotsOf)}
    facets = [facet for facet in measures.items.facets if facet.name not in {*shown, *by_layouts}]
    parts = [part for facet in facets for part in _tables_by_facet(measures, analysis, facet)]
    return [SectionOf("facets", f"By group of {measures.items.plural}", parts)] if parts else []


def _tables_by_facet(measures: StudyMeasures[Any], analysis: Analysis, facet: Facet) -> Iterator[TableOf]:
    """A table by model, and a table over all models together. Each table has only the headlines with numbers of that
    kind."""
    for together in (False, True):
        columns = [
            MeasureColumn(measure.name)
            for measure in measures.headlines[0].measures
            if any((row.model is None) == together for row in analysis.rows_of(measure.name, facet.name))
        ]
        if columns:
            yield table_by_facet(facet, columns, together=together)


def layouts_of(measures: StudyMeasures[Any]) -> SectionOf:
    """The section of a study that declares no layouts."""
    return SectionOf(MEASURES, "Measures", list(_standard_parts(measures)))


def _standard_parts(measures: StudyMeasures[Any]) -> Iterator[Part]:
    first, clusters = measures.first_headline, measures.clusters
    columns = [MeasureColumn(name) for name in measures.declared]
    headlines = [MeasureColumn(measure.name) for measure in measures.headlines[0].measures]
    counts = [CountColumn(name, name.capitalize()) for name in dict.fromkeys((first.units, clusters))]
    counts += [CountColumn("failed", "Failed"), CountColumn("unread", "Unreadable labels")]
    yield TableOf("By model", [*columns, *counts[:2]], summary=True)
    yield TableOf(
        "Differences between conditions",
        [MeasureColumn(column.measure, of="difference") for column in headlines],
        RowsOf(sides=(CONDITION,)),
        note="The first minus the second.",
    )
    if measures.by_facet:
        yield from tables_by_facet(measures.items.facets, columns)
    if any(grouping.by_item and first in grouping.measures for grouping in measures.groupings):
        noun = measures.items.noun
        words = (measures.items.plural, f"By {noun}", f"{first.title} by {noun}.")
        yield DotsOf(*words, MeasureColumn(first.name), RowsOf(ITEM), first.title)
    yield TableOf("Behind the numbers", [columns[0], *counts])
    yield Method(f"Intervals are over {clusters} and need at least five.")


def findings_against(
    found: Sequence[Found], comparing: Comparing | None, corrected: Collection[tuple[str, str]] = ()
) -> list[Finding]:
    """One finding for each headline of each model. The finding states for each null condition whether the headline
    clearly differs from it.

    `corrected` has the (model, headline) pairs whose numbers are corrected by human labels elsewhere. Comparisons with
    null conditions use only the judge's labels, so the findings for these pairs state this.
    """
    groups: dict[tuple[str, str], list[Found]] = {}
    for measure, null, contrast in found:
        if contrast.items and comparing and is_said(measure, contrast.model, comparing):
            groups.setdefault((contrast.model, contrast.measure), []).append((measure, null, contrast))
    return [_finding(group, comparing, of in corrected) for of, group in groups.items() if comparing]


def count_said(found: Sequence[Found], comparing: Comparing | None) -> int:
    """The number of differences from null conditions that findings state. Differences without an interval are not
    counted."""
    return sum(
        comparing is not None and is_said(measure, contrast.model, comparing) and not isnan(contrast.difference.low)
        for measure, _, contrast in found
    )


def _finding(found: Sequence[Found], comparing: Comparing, corrected: bool) -> Finding:
    """One finding. Its number is the difference from the first null condition that the sentence names as clear. Without
    a clear difference, it is the difference from the first null condition that the sentence names."""
    in_turn = sorted(found, key=lambda entry: [*_VERDICT_WORDS].index(_verdict(entry[2])))
    measure, _, leading = next((entry for entry in in_turn if entry[2].verdict == "clear"), in_turn[0])
    value = brief_value(leading.observed, measure.kind) + (" by the judge alone" if corrected else "")
    of = f"{leading.model} scores {value} on '{measure.words}'" if leading.model else f"'{measure.words}' is {value}"
    return Finding(
        what="effect" if leading.verdict == "clear" else "standing",
        model=leading.model,
        sentence=" ".join(f"{part}." for part in (of, *_clauses(found))),
        n=leading.items,
        units=comparing.unit,
        exhibit=_SECTION_KEY,
        number=None if isnan(leading.together.low) else leading.together,
        kind=measure.gap,
        judge=comparing.judge(measure.name),
        assertions=tuple(_assertion(entry) for entry in found),
    )


def _assertion(found: Found) -> Assertion:
    """The assertion behind a sentence. For a null condition it compares two numbers; for a factor (a prompt variant) it
    compares their difference with 0."""
    measure, null, contrast = found
    direction: Direction = "within"
    if contrast.verdict == "clear":
        direction = "above" if contrast.difference.value > 0 else "below"
    if null.what == "null":
        value = None if isnan(contrast.observed.value) else contrast.observed.value
        return Assertion(measure=measure.name, direction=direction, null=null.name, value=value)
    return Assertion(measure=f"{measure.name} minus {null.name}", direction=direction, null=0.0)


def _clauses(found: Sequence[Found]) -> Iterator[str]:
    """The words on all null conditions with the same verdict, in the order of `_VERDICT_WORDS`."""
    for verdict, words in _VERDICT_WORDS.items():
        some = [entry for entry in found if _verdict(entry[2]) == verdict]
        if some:
            said = {f"'{entry[1].name}'": _describe_numbers(entry) for entry in some}
            yield words.format(some="condition" if len(some) == 1 else "conditions") + _list_nulls(said, verdict)


def _verdict(against: Against) -> tuple[str, str]:
    """The kind of comparison and the verdict. A clear difference from a null condition is 'above' or 'below'. Without
    an interval the verdict is 'no test'."""
    if isnan(against.together.low):
        return against.what, "no test"
    if against.verdict == "clear" and against.what == "null":
        return against.what, "above" if against.difference.value > 0 else "below"
    return against.what, against.verdict


def _describe_numbers(found: Found) -> str:
    """A null condition's number and the difference. The verdict depends on the difference's simultaneous interval, so
    this interval is shown."""
    measure, _, contrast = found
    if isnan(contrast.difference.value):
        return _missing_reason(contrast.difference)
    difference = brief_value(contrast.together, measure.gap)
    apart = f"{brief_value(contrast.under_null, measure.kind)}, difference {difference}"
    if isnan(contrast.together.low):
        return f"{apart}; {_missing_reason(contrast.together)}"
    return f"{apart} {brief_interval(contrast.together, measure.gap)}"


def _list_nulls(said: Mapping[str, str], verdict: tuple[str, str]) -> str:
    """The names of null conditions, each with its numbers in brackets. If all have the same text, it appears once at
    the end."""
    joint = " or " if verdict == ("null", "cannot tell") else " and "
    same = set(said.values())
    names = [*said] if len(same) == 1 else [f"{name} ({numbers})" for name, numbers in said.items()]
    listed = joint.join(filter(None, [", ".join(names[:-1]), names[-1]]))
    return f"{listed} ({same.pop()})" if len(same) == 1 else listed


_VERDICT_WORDS: dict[tuple[str, str], str] = {
    ("null", "above"): "That is clearly higher than in the null {some} ",
    ("null", "below"): "That is clearly lower than in the null {some} ",
    ("null", "not clear"): "That is about the same as in the null {some} ",
    ("null", "cannot tell"): "That is not clearly different from the null {some} ",
    ("null", "no test"): "That was not tested against the null {some} ",
    ("factor", "clear"): "It is different with ",
    ("factor", "not clear"): "It is about the same with ",
    ("factor", "cannot tell"): "It is not clearly different with ",
    ("factor", "no test"): "It was not tested with ",
}


def _missing_reason(estimate: Estimate) -> str:
    return reason(estimate) or "too few for an interval"


def sections_against(found: Sequence[Found], unit: str, level: float) -> list[Section]:
    """The section that compares every measure with its null conditions: a chart for each scale of measures, and a
    table."""
    if not found:
        return []
    shown = [*_null_charts(found), _null_table(found, level), Method(_null_method(unit, level))]
    return [Section(_SECTION_KEY, "Compared with null conditions", shown)]


def _null_charts(found: Sequence[Found]) -> Iterator[Exhibit]:
    by_kind: dict[Kind, list[Found]] = {}
    for entry in found:
        if entry[0].leads and not isnan(entry[2].difference.value):
            by_kind.setdefault(entry[0].kind, []).append(entry)
    for kind, some in by_kind.items():
        yield _null_chart(kind, some)


def _null_chart(kind: Kind, found: Sequence[Found]) -> Chart:
    """One row for each headline of each model: the observed number, and one mark for each of its null conditions."""
    names = ["observed", *dict.fromkeys(null.name for _, null, _ in found)]
    rows = {(contrast.model, contrast.measure): _row_title(measure, contrast) for measure, _, contrast in found}
    points: dict[tuple[str, str], Dot] = {}
    for measure, _, contrast in found:
        points.setdefault((contrast.model, contrast.measure), Dot(_row_title(measure, contrast), 0, contrast.observed))
    others = [
        Dot(rows[contrast.model, contrast.measure], names.index(null.name), contrast.under_null)
        for _, null, contrast in found
    ]
    every = [*points.values(), *others]
    return Chart(
        name=f"nulls-{kind}",
        title="Headlines and their null conditions" if kind != "share" else "Shares and their null conditions",
        description="Each row shows the observed value of a headline and its value under each null condition.",
        draw=lambda: dots(every, list(rows.values()), series_of(names), _null_axis(kind, every)),
    )


def _null_axis(kind: Kind, points: Sequence[Dot]) -> Axis:
    if kind == "share":
        return Axis("Share", 0, 1, "share")
    if kind == "score":
        return Axis("Score", 0, 100, "score", step=10)
    ends = finite_ends(point.estimate for point in points)
    room = 0.05 * (max(ends) - min(ends)) or 0.5
    return Axis("Value", min(ends) - room, max(ends) + room, "value")


def _row_title(measure: Measure, against: Against) -> str:
    return f"{measure.title}, {against.model}" if against.model else measure.title


def _null_table(found: Sequence[Found], level: float) -> Table:
    """Numbers are texts, because a column can have measures of several kinds."""
    columns = [
        Column("Measure"),
        Column("Null condition"),
        Column("Observed"),
        Column("Under the null condition"),
        Column("Difference"),
        Column("All differences jointly"),
        Column("Verdict"),
    ]
    rows = [
        [
            _row_title(measure, contrast),
            null.name if null.what == "null" else f"{null.name} (factor)",
            sentence_cell(contrast.observed, measure.kind),
            sentence_cell(contrast.under_null, measure.kind),
            sentence_cell(contrast.difference, measure.gap),
            interval(contrast.together, measure.gap),
            _VERDICT_TITLES[contrast.what][contrast.verdict],
        ]
        for measure, null, contrast in found
    ]
    helps = dict.fromkeys(f"{null.name}: {null.help}" for _, null, _ in found)
    note = (
        f"{'; '.join(helps)}. A difference is the observed number minus the number under the null condition, with its"
        f" {level:.0%} interval. Intervals under 'All differences jointly' are simultaneous: they cover all"
        " differences of the table at once. For headlines, these intervals are also simultaneous with the intervals"
        " of the findings."
    )
    return Table("Against null conditions", columns, rows, note)


_VERDICT_TITLES = {
    "null": {"clear": "clear", "not clear": "about the same", "cannot tell": "cannot tell"},
    "factor": {"clear": "differs", "not clear": "about the same", "cannot tell": "cannot tell"},
}


def _null_method(unit: str, level: float) -> str:
    inner = f"{2 * level - 1:.0%}"
    return (
        f"The observed number and the number under the null condition are each over all {unit} that have this number."
        f" For the interval of their difference, each of the {unit} in turn is left out of both numbers (jackknife)."
        f" The verdict is 'about the same' if the {inner} interval of the difference lies within the margin of a"
        f" comparison (docs/compare.md). It is 'clear' if the {level:.0%} interval excludes 0, even when widened to"
        " cover all differences jointly. For headlines, the interval is also widened for all findings (Bonferroni's"
        f" correction; max-t among differences with at least {FEW} {unit}). In all other cases, the verdict is 'cannot"
        " tell'. A factor is a condition that asks the same question in another way. For a factor, 'differs' replaces"
        " 'clear'."
    )


def with_variants(document: Mapping[str, Any], found: Sequence[Found], comparing: Comparing | None) -> dict[str, Any]:
    """The JSON of an analysis. Each headline that the JSON contains gets its differences from null conditions.

    The key `against_null` has the difference from the first null condition that the study declares. For every other
    null condition, the key is `against_null_NAME`.
    """
    made = dict(document)
    for measure, null, contrast in found:
        place = comparing.place(measure.name, contrast.model) if comparing else ()
        node = _copied_node(made, place) if place else None
        if node is not None and isinstance(node.get("leads"), str):
            first = "against_null" not in node
            node["against_null" if first else f"against_null_{null.name}"] = {
                **number_of(contrast.difference),
                "null": null.name,
                "verdict": contrast.verdict,
            }
    return made


def _copied_node(document: dict[str, Any], place: Sequence[str]) -> dict[str, Any] | None:
    """Copy the object at a location of a document and all objects that contain it. None without such an object."""
    node = document
    for key in place:
        inner = node.get(key)
        if not isinstance(inner, dict):
            return None
        copied = dict(inner)
        node[key] = copied
        node = copied
    return node


_JUDGES_NOTE = (
    "Each judge read the same answers independently. Other sections use the labels of the first judge. Where judges"
    " differ much, a number describes the judge as much as the model."
)
_JUDGES_METHOD = (
    "Alpha is Krippendorff's, over all judges; kappa is Cohen's, for two judges. 1 is full agreement and 0 is"
    " agreement by chance. Alpha and kappa leave out rows to which a judge gave no label. Differences between two"
    " judges are over the items that have a number from both judges. For the interval of a difference, each item in"
    " turn is left out of both numbers (jackknife)."
)


def judges_section(found: Judges) -> Section:
    """The section on several judges."""
    tables = [_labels_table(found), _pairs_table(found), *_headline_tables(found)]
    shown: list[Exhibit] = [Prose(_JUDGES_NOTE), *(table for table in tables if table.rows), Method(_JUDGES_METHOD)]
    return Section("judges", "Several judges", shown)


def differing(
    rows: pl.DataFrame, others: Mapping[str, pl.DataFrame], key: Sequence[str], titles: Mapping[str, str]
) -> list[BrowseFilter]:
    """Filters for trials: whether judges disagree, the labels on which they disagree, and the labels by each judge
    except the first.

    `rows` have the first judge's labels, and `others` the other judges' labels. The columns `key` identify matching
    rows. `titles` maps the columns of labels to their titles. If there is only one judge, the list is empty.
    """
    import polars as pl

    if not others:
        return []
    said = {judge: _labels_of_judge(rows, other, key, list(titles)) for judge, other in others.items()}
    own = {column: rows[column].cast(pl.String).to_list() for column in titles}
    every = range(rows.height)
    wrong = [
        [titles[name] for name in titles if any(own[name][row] != labels[name][row] for labels in said.values())]
        for row in every
    ]
    found = [
        BrowseFilter.of("Judges", ["differ" if names else "agree" for names in wrong], read=True),
        BrowseFilter.of("Items on which judges differ", [", ".join(names) or None for names in wrong], read=True),
    ]
    for judge, labels in said.items():
        otherwise = [
            "; ".join(
                f"{titles[name]}: {labels[name][row] or 'none'}"
                for name in titles
                if own[name][row] != labels[name][row]
            )
            for row in every
        ]
        found.append(
            BrowseFilter.of(f"Otherwise, by {judge}", [text or None for text in otherwise], choose=False, read=True)
        )
    return found


def _labels_of_judge(
    rows: pl.DataFrame, other: pl.DataFrame, key: Sequence[str], columns: Sequence[str]
) -> dict[str, list[str | None]]:
    """Another judge's labels, in the order of the first judge's rows."""
    import polars as pl

    found = rows.select(key).join(other.select(*key, *columns), on=list(key), how="left", maintain_order="left")
    return {column: found[column].cast(pl.String).to_list() for column in columns}


def _labels_table(found: Judges) -> Table:
    columns = [Column("Label"), Column("Judged by two or more", "count"), Column("Judges differ", "count")]
    columns.append(Column("Krippendorff's alpha", "value"))
    rows: list[list[Cell]] = [
        [_label_title(label.what), label.rows, label.differ, label.alpha] for label in found.labels
    ]
    return Table("Agreement between the judges", columns, rows, summary=True)


def _pairs_table(found: Judges) -> Table:
    columns = [Column("Label"), Column("Judges"), Column("Same label", "share"), Column("Cohen's kappa", "value")]
    rows: list[list[Cell]] = [
        [_label_title(label.what), f"{two.first} and {two.second}", two.same, two.kappa]
        for label in found.labels
        for two in label.pairs
    ]
    return Table("Agreement of each pair of judges", columns, rows)


def _headline_tables(found: Judges) -> Iterator[Table]:
    """Numbers are texts, because a column can have measures of several kinds."""
    first = found.judges[0]
    columns = [Column("Measure"), Column("Other judge"), Column(f"By {first}"), Column("By the other")]
    columns.append(Column("Difference"))
    rows: list[list[Cell]] = []
    for headline in found.headlines:
        kind, gap = headline.kinds
        row = f"{headline.title}, {headline.model}" if headline.model else headline.title
        numbers = (sentence_cell(headline.by_first, kind), sentence_cell(headline.by_judge, kind))
        rows.append([row, headline.judge, *numbers, sentence_cell(headline.difference, gap)])
    note = "The difference is the other judge's number minus the first judge's."
    yield Table("Headlines by each judge", columns, rows, note, summary=True)


def _label_title(what: str) -> str:
    return what.replace("_", " ").capitalize()
