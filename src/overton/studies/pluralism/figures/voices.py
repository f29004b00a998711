"""Which viewpoints are voiced under each condition (tables 4 to 6)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from overton.statistics import Estimate
from overton.studies.charts import Axis
from overton.studies.exhibits import Cell, Chart, Column, Exhibit, Method, Section, Table
from overton.studies.pluralism.figures import names
from overton.studies.pluralism.figures.charts import by_model, points
from overton.studies.pluralism.measures.analysis import Analysis, Group

__all__ = ["voices"]

_SETS = tuple(
    f"{side}/{name}" for side in ("supporting", "against", "global") for name in ("precision", "recall", "f1")
)
_FIRST = ("supporting/recall", "against/recall", "global/precision", "global/recall")
_OTHERS = ("redundancy", "ndcg")
_SOURCES = "tables 4 to 6"
_AFTER = (1, 2, 3, 5, 10, 20, 50)
_RECALLS = {"global": "all viewpoints", "supporting": "supporting viewpoints", "against": "viewpoints against"}
_DENOMINATORS = {
    "non-neutral": "all responses that are not neutral",
    "labelled": "the responses labelled with it",
}


def voices(analysis: Analysis) -> Section | None:
    """Precision, recall and F1; coverage, redundancy and NDCG."""
    conditions = names.conditions(analysis, "sycophancy")
    if not conditions:
        return None
    exhibits: list[Exhibit] = [_chart(analysis, conditions, side) for side in _RECALLS]
    for community in names.communities(analysis):
        exhibits += [_sets(analysis, community, conditions), _others(analysis, community, conditions)]
    return Section("voices", "Viewpoints that are voiced", [*exhibits, Method(_method(analysis))])


def _method(analysis: Analysis) -> str:
    return (
        "Of each thread: precision is the share of responses that match at least one viewpoint, recall the share of "
        "viewpoints that at least one response matches, F1 their harmonic mean; then averaged over threads. For a "
        "stance towards the reference opinion, precision counts responses labelled so that match a viewpoint of it, "
        f"over {_DENOMINATORS[analysis.denominator]}; recall counts viewpoints of it that a response labelled with it "
        "matches. The reference opinion itself is in the global set only. An empty denominator gives 0. Coverage is "
        "recall after so many responses, redundancy one minus the share of matches that are of different viewpoints. "
        "NDCG takes viewpoints in the order in which they are first voiced, with votes as gain, negative votes as 0. "
        "Intervals resample threads."
    )


def _chart(analysis: Analysis, conditions: Sequence[str], side: str) -> Chart:
    def recall(group: Group, condition: str) -> Estimate | None:
        result = group.experiments.get("sycophancy", {}).get(condition)
        return result.measures[f"{side}/recall"] if result else None

    axis = Axis(f"Recall of {_RECALLS[side]} (%)", 0, 1, "share")
    spec = by_model(analysis, conditions, points(analysis, conditions, recall), axis)
    about = f"For each model, the mean share of {_RECALLS[side]} that its responses voice under each condition."
    return Chart(f"recall-{side}", f"Recall of {_RECALLS[side]}", about, spec, source=_SOURCES)


def _rows(analysis: Analysis, community: str | None, conditions: Sequence[str]) -> Iterator[tuple[Group, str]]:
    for group in names.groups(analysis, community):
        yield from ((group, one) for one in conditions if one in group.experiments.get("sycophancy", {}))


def _title(title: str, community: str | None, analysis: Analysis) -> str:
    return f"{title}, {community}" if community else f"{title}, all communities" if analysis.communities else title


def _sets(analysis: Analysis, community: str | None, conditions: Sequence[str]) -> Table:
    columns = [Column("Model"), Column("Condition"), Column("Threads", "count")]
    columns += [Column(names.MEASURES[name], "value", detail=name not in _FIRST) for name in _SETS]
    columns.append(Column("Differs from neutral"))
    rows: list[list[Cell]] = []
    for group, one in _rows(analysis, community, conditions):
        result = group.experiments["sycophancy"][one]
        cells = [names.estimate(result, name) for name in _SETS]
        different = names.differs(result, "neutral", _SETS)
        rows.append([names.model(group.model), names.condition(one), result.counts["threads"], *cells, different])
    note = names.differs_note(analysis, "sycophancy", community)
    title = _title("Precision, recall and F1", community, analysis)
    return Table(title, columns, rows, note=note, source=_SOURCES, summary=community is None)


def _others(analysis: Analysis, community: str | None, conditions: Sequence[str]) -> Table:
    every = analysis.group().experiments["sycophancy"].values()
    last = max(int(name.partition("/")[2]) for one in every for name in one.measures if name.startswith("coverage/"))
    after = sorted({*(number for number in _AFTER if number < last), last})
    shown = [name for name in _OTHERS if name not in analysis.not_computed]
    columns = [Column("Model"), Column("Condition"), *(Column(f"After {number}", "value") for number in after)]
    columns += [Column(names.MEASURES[name], "value") for name in shown]
    rows: list[list[Cell]] = []
    for group, one in _rows(analysis, community, conditions):
        result = group.experiments["sycophancy"][one]
        cells = [names.estimate(result, name) for name in (*(f"coverage/{number}" for number in after), *shown)]
        rows.append([names.model(group.model), names.condition(one), *cells])
    note = "Coverage: recall of all viewpoints after so many responses."
    return Table(_title("Coverage, redundancy and NDCG", community, analysis), columns, rows, note, "section 4.2")
