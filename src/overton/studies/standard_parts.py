"""Parts that every study's report has: null conditions, several judges, and the precision that a run reached.

`layouts_of` gives the section of a study that declares no layouts: its measures by model, by facet of items, and by
item.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
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
from overton.studies.numbers import Kind, interval, number, reason
from overton.studies.precision import LEVEL, PrecisionLimit, PrecisionTarget, Stop, StopState
from overton.studies.sections import (
    BrowseFilter,
    Callout,
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
    """A table of the same columns for each facet of the items; charts in `after` follow that of their facet."""
    found: list[TableOf | DotsOf] = []
    for facet in facets:
        found.append(table_by_facet(facet, columns))
        found += [chart for name, chart in (after or {}).items() if name == facet.name]
    return found


def table_by_facet(facet: Facet, columns: Sequence[MeasureColumn | CountColumn], *, together: bool = False) -> TableOf:
    """A table with a row for each value of a facet, of each model, or of all models `together`."""
    title = f"By {facet.title[:1].lower()}{facet.title[1:]}{', all models together' if together else ''}"
    return TableOf(title, columns, RowsOf(facet.name, facet.title, together=together))


def facets_of(
    measures: StudyMeasures[Any], analysis: Analysis, layouts: Sequence[SectionOf], shown: Collection[str]
) -> list[SectionOf]:
    """The section of headlines by facets of items that are not `shown` elsewhere, nor by a table or chart of these
    `layouts`; none if there are no such numbers."""
    by_layouts = {part.rows.by for layout in layouts for part in layout.parts if isinstance(part, TableOf | DotsOf)}
    facets = [facet for facet in measures.items.facets if facet.name not in {*shown, *by_layouts}]
    parts = [part for facet in facets for part in _tables_by_facet(measures, analysis, facet)]
    return [SectionOf("facets", f"By group of {measures.items.plural}", parts)] if parts else []


def _tables_by_facet(measures: StudyMeasures[Any], analysis: Analysis, facet: Facet) -> Iterator[TableOf]:
    """A table by model, and one of all models together, each of the headlines that have such numbers."""
    for together in (False, True):
        columns = [
            MeasureColumn(measure.name)
            for measure in measures.headlines[0].measures
            if any((row.model is None) == together for row in analysis.rows_of(measure.name, facet.name))
        ]
        if columns:
            yield table_by_facet(facet, columns, together=together)


def layouts_of(measures: StudyMeasures[Any]) -> SectionOf:
    """The only section of such a report."""
    return SectionOf(MEASURES, "Measures", list(_standard_parts(measures)))


def _standard_parts(measures: StudyMeasures[Any]) -> Iterator[Part]:
    first, clusters = measures.first_headline, measures.clusters
    columns = [MeasureColumn(name) for name in measures.declared]
    headlines = [MeasureColumn(measure.name) for measure in measures.headlines[0].measures]
    counts = [CountColumn(name, name.capitalize()) for name in dict.fromkeys((first.units, clusters))]
    counts += [CountColumn("failed", "Failed"), CountColumn("unread", "Unreadable labels")]
    yield TableOf("By model", [*columns, *counts[:2]], summary=True)
    yield TableOf(
        "Conditions against each other",
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
    yield Method(f"Intervals are over {clusters}: there are none below five.")


def findings_against(
    found: Sequence[Found], comparing: Comparing | None, corrected: Collection[tuple[str, str]] = ()
) -> list[Finding]:
    """One sentence for each headline of each model: from which null conditions it is clear, and from which not.

    `corrected` are models with those of their headlines that are corrected by human labels elsewhere. Here both sides
    are the judge's, and the sentence says so.
    """
    groups: dict[tuple[str, str], list[Found]] = {}
    for measure, null, contrast in found:
        if contrast.items and comparing and is_said(measure, contrast.model, comparing):
            groups.setdefault((contrast.model, contrast.measure), []).append((measure, null, contrast))
    return [_finding(group, comparing, of in corrected) for of, group in groups.items() if comparing]


def count_said(found: Sequence[Found], comparing: Comparing | None) -> int:
    """How many differences can make a sentence: those of headlines that have an interval."""
    return sum(
        comparing is not None and is_said(measure, contrast.model, comparing) and not isnan(contrast.difference.low)
        for measure, _, contrast in found
    )


def _finding(found: Sequence[Found], comparing: Comparing, corrected: bool) -> Finding:
    """The number behind the sentence is the difference that decided it: from the first null that it names as clear, or
    the first that it names if none is."""
    in_turn = sorted(found, key=lambda entry: [*_VERDICT_WORDS].index(_verdict(entry[2])))
    measure, _, leading = next((entry for entry in in_turn if entry[2].verdict == "clear"), in_turn[0])
    apart = "," if "," in measure.title else ""  # 'Open-mindedness, as published, of a model'
    of = f"{measure.title}{apart} of {leading.model}" if leading.model else measure.title
    alone = " by the judge alone" if corrected else ""
    return Finding(
        what="effect" if leading.verdict == "clear" else "standing",
        model=leading.model,
        sentence=f"{of} ({number(leading.observed.value, measure.kind)}{alone}) {'; it '.join(_clauses(found))}.",
        n=leading.items,
        units=comparing.unit,
        exhibit=_SECTION_KEY,
        number=None if isnan(leading.together.low) else leading.together,
        kind=measure.gap,
        judge=comparing.judge(measure.name),
        assertions=tuple(_assertion(entry) for entry in found),
    )


def _assertion(found: Found) -> Assertion:
    """A null condition takes the cause away; a factor asks in another way, and is compared with as such."""
    measure, null, contrast = found
    direction: Direction = "within"
    if contrast.verdict == "clear":
        direction = "above" if contrast.difference.value > 0 else "below"
    if null.what == "null":
        value = None if isnan(contrast.observed.value) else contrast.observed.value
        return Assertion(measure=measure.name, direction=direction, null=null.name, value=value)
    return Assertion(measure=f"{measure.name} minus {null.name}", direction=direction, null=0.0)


def _clauses(found: Sequence[Found]) -> Iterator[str]:
    """The words on all nulls with the same verdict, in the order of `_VERDICT_WORDS`."""
    for verdict, words in _VERDICT_WORDS.items():
        some = [entry for entry in found if _verdict(entry[2]) == verdict]
        if some:
            said = {f"'{entry[1].name}'": _describe_numbers(entry) for entry in some}
            yield words.format(some="its null" if len(some) == 1 else "its nulls") + _list_nulls(said, verdict)


def _verdict(against: Against) -> tuple[str, str]:
    """The kind of comparison and the verdict; of a null also on which side."""
    if against.verdict == "clear" and against.what == "null":
        return against.what, "above" if against.difference.value > 0 else "below"
    return against.what, against.verdict


def _describe_numbers(found: Found) -> str:
    """A null's number and the difference, with the interval that the verdict needs: the one of all differences."""
    measure, _, contrast = found
    if isnan(contrast.difference.value):
        return _missing_reason(contrast.difference)
    apart = (
        f"{number(contrast.under_null.value, measure.kind)}, difference {number(contrast.together.value, measure.gap)}"
    )
    if isnan(contrast.together.low):
        return f"{apart}; {_missing_reason(contrast.together)}"
    return f"{apart} {interval(contrast.together, measure.gap)}"


def _list_nulls(said: Mapping[str, str], verdict: tuple[str, str]) -> str:
    """Nulls, each with what is said of it; what is said of all of them alike is said once."""
    joint = " or " if verdict == ("null", "cannot tell") else " and "
    same = set(said.values())
    names = [*said] if len(same) == 1 else [f"{name} ({numbers})" for name, numbers in said.items()]
    listed = joint.join(filter(None, [", ".join(names[:-1]), names[-1]]))
    return f"{listed} ({same.pop()})" if len(same) == 1 else listed


_VERDICT_WORDS: dict[tuple[str, str], str] = {
    ("null", "above"): "is clearly above {some} ",
    ("null", "below"): "is clearly below {some} ",
    ("null", "not clear"): "is not clear of {some} ",
    ("null", "cannot tell"): "cannot be told from {some} ",
    ("factor", "clear"): "is not the same with ",
    ("factor", "not clear"): "is the same with ",
    ("factor", "cannot tell"): "may or may not be the same with ",
}


def _missing_reason(estimate: Estimate) -> str:
    return reason(estimate) or "too few for an interval"


def sections_against(found: Sequence[Found], unit: str, level: float) -> list[Section]:
    """Every measure against its nulls: charts of those that share a scale, and a table."""
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
    """One row for each headline of each model: the observed number, and one mark for each of its nulls."""
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
        title="Headlines beside their nulls" if kind != "share" else "Shares beside their nulls",
        description="Each row has the observed number and those of its null conditions.",
        draw=lambda: dots(every, list(rows.values()), series_of(names), _null_axis(kind, every)),
    )


def _null_axis(kind: Kind, points: Sequence[Dot]) -> Axis:
    if kind == "share":
        return Axis("Share", 0, 1, "share")
    if kind == "score":
        return Axis("Score", 0, 100, "score", step=10)
    ends = finite_ends(point.estimate for point in points)
    low, high = min(ends), max(ends)
    room = 0.05 * (high - low) or 0.5
    return Axis("Value", low - room, high + room, "value")


def _row_title(measure: Measure, against: Against) -> str:
    return f"{measure.title}, {against.model}" if against.model else measure.title


def _null_table(found: Sequence[Found], level: float) -> Table:
    """Numbers are written out, since one column has measures of several kinds."""
    columns = [
        Column("Measure"),
        Column("Null"),
        Column("Observed"),
        Column("Null's value"),
        Column("Difference"),
        Column("All differences together"),
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
        f"{'; '.join(helps)}. Differences are observed minus null, with {level:.0%} intervals. Those under 'All"
        " differences together' hold at once: of headlines together with the findings, which give them, and of other"
        " measures together with each other."
    )
    return Table("Against nulls", columns, rows, note)


_VERDICT_TITLES = {
    "null": {"clear": "clear of it", "not clear": "not clear of it", "cannot tell": "cannot tell"},
    "factor": {"clear": "differs", "not clear": "the same", "cannot tell": "cannot tell"},
}


def _null_method(unit: str, level: float) -> str:
    inner = f"{2 * level - 1:.0%}"
    return (
        f"Each number and its null are taken over all {unit} that have them, and each of these is left out of both in"
        f" turn. Not clear: the {inner} interval of the difference lies within the margin of a comparison"
        f" (docs/compare.md). Clear: the {level:.0%} interval excludes 0, even when widened for all of them together,"
        f" those of headlines also with all findings (Bonferroni; max-t among differences from {FEW} {unit} on)."
        " Otherwise it cannot be decided. A factor takes nothing away: it asks the same in another way."
    )


def with_variants(document: Mapping[str, Any], found: Sequence[Found], comparing: Comparing | None) -> dict[str, Any]:
    """The JSON of an analysis in which each measure that has a place there has the variant `against_null`.

    That is for the first null that the study declares for it; those of others are called `against_null_NAME`.
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
    """The object at a place of a document, None if there is none; it and those on the way to it become copies."""
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
    "Each judge read the same answers independently. The first leads: numbers elsewhere are by its labels."
    " Where judges differ much, a number is as much about the judge as about the model."
)
_JUDGES_METHOD = (
    "Alpha is Krippendorff's, over all judges, kappa Cohen's, for two: 1 is full agreement, 0 what chance alone gives."
    " Rows to which a judge gave no label are in neither. Numbers by two judges are over the items for which both give"
    " one, each left out of both in turn."
)


def judges_section(found: Judges) -> Section:
    """The section on several judges."""
    tables = [_labels_table(found), _pairs_table(found), *_headline_tables(found)]
    shown: list[Exhibit] = [Prose(_JUDGES_NOTE), *(table for table in tables if table.rows), Method(_JUDGES_METHOD)]
    return Section("judges", "Several judges", shown)


def differing(
    rows: pl.DataFrame, others: Mapping[str, pl.DataFrame], key: Sequence[str], titles: Mapping[str, str]
) -> list[BrowseFilter]:
    """Properties of trials to browse: whether the judges differ, on which labels, and what another judge says instead.

    `rows` are the trials by the first judge, `others` those by others, matched by the columns `key`; `titles` maps the
    columns of labels to their titles. Empty if there is one judge.
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
        BrowseFilter.of("Judges differ on", [", ".join(names) or None for names in wrong], read=True),
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
    """Another judge's labels, in the order of the first one's rows."""
    import polars as pl

    found = rows.select(key).join(other.select(*key, *columns), on=list(key), how="left", maintain_order="left")
    return {column: found[column].cast(pl.String).to_list() for column in columns}


def _labels_table(found: Judges) -> Table:
    columns = [Column("Label"), Column("Judged by two or more", "count"), Column("Judges differ", "count")]
    columns.append(Column("Krippendorff's alpha", "value"))
    rows: list[list[Cell]] = [
        [_label_title(label.what), label.rows, label.differ, label.alpha] for label in found.labels
    ]
    return Table("How far the judges agree", columns, rows, summary=True)


def _pairs_table(found: Judges) -> Table:
    columns = [Column("Label"), Column("Judges"), Column("Same label", "share"), Column("Cohen's kappa", "value")]
    rows: list[list[Cell]] = [
        [_label_title(label.what), f"{two.first} and {two.second}", two.same, two.kappa]
        for label in found.labels
        for two in label.pairs
    ]
    return Table("Two judges at a time", columns, rows)


def _headline_tables(found: Judges) -> Iterator[Table]:
    """Numbers are written out, since one column has measures of several kinds."""
    first = found.judges[0]
    columns = [Column("Measure"), Column("Other judge"), Column(f"By {first}"), Column("By the other")]
    columns.append(Column("Difference"))
    rows: list[list[Cell]] = []
    for headline in found.headlines:
        kind, gap = headline.kinds
        row = f"{headline.title}, {headline.model}" if headline.model else headline.title
        numbers = (sentence_cell(headline.by_first, kind), sentence_cell(headline.by_judge, kind))
        rows.append([row, headline.judge, *numbers, sentence_cell(headline.difference, gap)])
    note = "The difference is the other judge's number minus that of the first."
    yield Table("Headlines by each judge", columns, rows, note, summary=True)


def _label_title(what: str) -> str:
    return what.replace("_", " ").capitalize()


_WEIGHTED = (
    "Numbers elsewhere weight each item in each condition by planned over asked trials, or are left out. They do not"
    " correct for stopping early, so use those of the section 'Precision' where it has them."
)
_UNWEIGHTED = (
    "Numbers elsewhere count trials alike, which gives more weight to items that were asked more often; use those of"
    " the section 'Precision' where it has them."
)


def unequal(*, weighted: bool) -> str:
    """The note on all other numbers of a run that stopped once it was precise, after its name."""
    return f"asked about each item only as often as needed. {_WEIGHTED if weighted else _UNWEIGHTED}"


_RULES = {
    "divided": "with limits at a level divided among the looks; shares have exact limits, divided likewise.",
    "repeated": (
        "with limits that are repeated confidence intervals; shares have exact limits, whose level is divided among the"
        " looks."
    ),
}
_PRECISION_METHOD = (
    "These limits are for exactly the items and wordings that were asked, and are valid however often the run looked"
    " before it stopped: a model's number is of chances pooled over its items, {rule} The intervals elsewhere in this"
    " report are over items: they say what other items like these would give, and no number of trials narrows them."
)


def precision_section(
    wanted: PrecisionTarget, reached: Mapping[str, StopState], noun: str, *, weighted: bool
) -> Section:
    """The section on precision; `reached` by model name, `noun` what the study calls an item, and whether other numbers
    are `weighted`."""
    rows = [row for model, state in reached.items() for row in _precision_rows(model, state)]
    exhibits: list[Exhibit] = [Prose(" ".join(_describe_target(wanted))), *_stop_callouts(reached)]
    exhibits.append(Callout(f"This run {unequal(weighted=weighted)}", "warning", summary=True))
    if rows:
        columns = [
            Column("Model"),
            Column("Measure"),
            Column("For these items", "value"),
            Column("Half-width", "value"),
        ]
        columns += [Column("Asked for", "value"), Column("Rounds", "count"), Column("Trials", "count")]
        exhibits.append(Table("What was reached", columns, rows, summary=True))
    exhibits += _item_tables(reached, noun)
    exhibits += _share_tables(reached, noun)
    return Section("precision", "Precision", [*exhibits, Method(_PRECISION_METHOD.format(rule=_RULES[wanted.rule]))])


def _describe_target(wanted: PrecisionTarget) -> Iterator[str]:
    said = ", ".join(f"{name} to within {width:g}" for name, width in wanted.measures.items())
    if said:
        yield f"This run asked, round by round, only where it was not yet precise: {said} to either side."
    if wanted.calls is not None:
        yield f"It was limited to {wanted.calls:,} calls."


def _stop_callouts(reached: Mapping[str, StopState]) -> Iterator[Callout]:
    for model, state in reached.items():
        if state.last.blocks:
            said = "stopped within a round: what is shown is the state at the end of the one before"
            yield Callout(f"{model} {said}. Resume the run to continue.", "warning", summary=True)
        elif short := [
            limit for limit in _model_limits(state) if limit.wanted is not None and not limit.half <= limit.wanted
        ]:
            for limit in short:
                said = f"{limit.measure} came to within {limit.half:.2f}, not {limit.wanted:g}"
                yield Callout(f"{model}: {said}; all trials or calls that were allowed are used up.", summary=True)


def _model_limits(stop_state: StopState) -> list[PrecisionLimit]:
    return [limit for limit in stop_state.last.limits if not limit.item]


def _precision_rows(model: str, stop_state: StopState) -> Iterator[list[Cell]]:
    for limit in _model_limits(stop_state):
        estimate = Estimate(
            limit.value, limit.low, limit.high, stop_state.trials, "for these items, after stopping", LEVEL
        )
        yield [model, limit.title, estimate, limit.half, limit.wanted, stop_state.rounds, stop_state.trials]
    widest: dict[str, PrecisionLimit] = {}
    for limit in stop_state.last.limits:
        if limit.item and (limit.measure not in widest or limit.half > widest[limit.measure].half):
            widest[limit.measure] = limit
    for name, limit in widest.items():
        yield [model, f"{name}, the widest", None, limit.half, limit.wanted, stop_state.rounds, stop_state.trials]


def _item_tables(reached: Mapping[str, StopState], noun: str) -> Iterator[Table]:
    rows: list[list[Cell]] = [
        [model, item, trials, why]
        for model, state in reached.items()
        for item, trials, why in _reasons_by_item(state.last.stops)
    ]
    if rows:
        columns = [Column("Model"), Column(noun, items=True), Column("Trials", "count"), Column("Stopped because")]
        yield Table("Trials of each, and why it got no more", columns, rows)


def _reasons_by_item(stops: Sequence[Stop]) -> Iterator[tuple[str, int, str]]:
    """Each item with its trials, and why it got no more: the reasons of its arms, the most common first."""
    for item, own in groupby(sorted(stops, key=lambda stop: stop.item), key=lambda stop: stop.item):
        some = list(own)
        counted = sorted({stop.why: sum(o.why == stop.why for o in some) for stop in some}.items(), key=lambda p: -p[1])
        yield item, sum(stop.trials for stop in some), "; ".join(why for why, _ in counted)


def _share_tables(reached: Mapping[str, StopState], noun: str) -> Iterator[Table]:
    rows: list[list[Cell]] = [
        [model, limit.item, limit.arm, limit.title, Estimate(limit.value, limit.low, limit.high, 0, "exact", LEVEL)]
        for model, state in reached.items()
        for limit in state.last.limits
        if limit.item and not isnan(limit.value)
    ]
    if rows:
        columns = [Column("Model"), Column(noun, items=True), Column("Condition"), Column("Of answers")]
        yield Table("Shares, with limits that are valid after stopping", [*columns, Column("Share", "share")], rows)
