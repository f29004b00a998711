"""Headlines against their nulls as they are shown: a chart, a table, one sentence each, and their place in the JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from math import isnan
from typing import Any

from overton.statistics import Estimate
from overton.statistics.comparison import FEW
from overton.studies.against import Against, is_said
from overton.studies.charts import Axis, Dot, dots, series_of
from overton.studies.charts.axes import finite_ends
from overton.studies.comparing import Measure
from overton.studies.exhibits import Chart, Column, Exhibit, Method, Missing, Section, Table
from overton.studies.findings import Claim, Direction, Finding
from overton.studies.measuring import Comparing
from overton.studies.nulls import Null
from overton.studies.numbers import Kind, interval, number, reason, sentence
from overton.studies.plain import number_of

__all__ = ["Found", "count_said", "findings_against", "sections_against", "with_variants"]

Found = tuple[Measure, Null, Against]

_KEY = "nulls"


def findings_against(found: Sequence[Found], comparing: Comparing | None) -> list[Finding]:
    """One sentence for each headline of each model: which of its nulls it is clear of, and which not."""
    groups: dict[tuple[str, str], list[Found]] = {}
    for measure, null, one in found:
        if one.items and comparing and is_said(measure, one.model, comparing):
            groups.setdefault((one.model, one.measure), []).append((measure, null, one))
    return [_finding(one, comparing) for one in groups.values() if comparing]


def count_said(found: Sequence[Found], comparing: Comparing | None) -> int:
    """How many differences can make a sentence: those of headlines that have an interval."""
    return sum(
        comparing is not None and is_said(measure, one.model, comparing) and not isnan(one.difference.low)
        for measure, _, one in found
    )


def _finding(found: Sequence[Found], comparing: Comparing) -> Finding:
    """The number behind the sentence is the difference that decided it: from the first null that it names as clear, or
    the first that it names if none is."""
    in_turn = sorted(found, key=lambda one: [*_WORDS].index(_verdict(one[2])))
    measure, _, leading = next((one for one in in_turn if one[2].verdict == "clear"), in_turn[0])
    apart = "," if "," in measure.title else ""  # 'Open-mindedness, as published, of a model'
    of = f"{measure.title}{apart} of {leading.model}" if leading.model else measure.title
    return Finding(
        what="effect" if leading.verdict == "clear" else "standing",
        model=leading.model,
        sentence=f"{of} ({number(leading.observed.value, measure.kind)}) {'; it '.join(_clauses(found))}.",
        n=leading.items,
        units=comparing.unit,
        exhibit=_KEY,
        number=None if isnan(leading.together.low) else leading.together,
        kind=measure.gap,
        judge=comparing.judge(measure.name),
        claims=tuple(_claim(one) for one in found),
    )


def _claim(found: Found) -> Claim:
    """A null condition takes the cause away; a factor asks in another way, and is compared with as such."""
    measure, null, one = found
    direction: Direction = "within"
    if one.verdict == "clear":
        direction = "above" if one.difference.value > 0 else "below"
    if null.what == "null":
        value = None if isnan(one.observed.value) else one.observed.value
        return Claim(measure=measure.name, direction=direction, null=null.name, value=value)
    return Claim(measure=f"{measure.name} minus {null.name}", direction=direction, null=0.0)


def _clauses(found: Sequence[Found]) -> Iterator[str]:
    """What is said of all nulls with the same verdict, in the order of `_WORDS`."""
    for verdict, words in _WORDS.items():
        some = [one for one in found if _verdict(one[2]) == verdict]
        if some:
            said = {f"'{one[1].name}'": _numbers(one) for one in some}
            yield words.format(some="its null" if len(some) == 1 else "its nulls") + _listed(said, verdict)


def _verdict(one: Against) -> tuple[str, str]:
    """What it is compared with and the verdict; of a null also on which side."""
    if one.verdict == "clear" and one.what == "null":
        return one.what, "above" if one.difference.value > 0 else "below"
    return one.what, one.verdict


def _numbers(found: Found) -> str:
    """A null's number and the difference, with the interval that the verdict needs: the one of all differences."""
    measure, _, one = found
    if isnan(one.difference.value):
        return _why(one.difference)
    apart = f"{number(one.under_null.value, measure.kind)}, difference {number(one.together.value, measure.gap)}"
    if isnan(one.together.low):
        return f"{apart}; {_why(one.together)}"
    return f"{apart} {interval(one.together, measure.gap)}"


def _listed(said: Mapping[str, str], verdict: tuple[str, str]) -> str:
    """Nulls, each with what is said of it; what is said of all of them alike is said once."""
    joint = " or " if verdict == ("null", "cannot tell") else " and "
    same = set(said.values())
    names = [*said] if len(same) == 1 else [f"{name} ({numbers})" for name, numbers in said.items()]
    listed = joint.join(filter(None, [", ".join(names[:-1]), names[-1]]))
    return f"{listed} ({same.pop()})" if len(same) == 1 else listed


_WORDS: dict[tuple[str, str], str] = {
    ("null", "above"): "is clearly above {some} ",
    ("null", "below"): "is clearly below {some} ",
    ("null", "not clear"): "is not clear of {some} ",
    ("null", "cannot tell"): "cannot be told from {some} ",
    ("factor", "clear"): "is not the same with ",
    ("factor", "not clear"): "is the same with ",
    ("factor", "cannot tell"): "may or may not be the same with ",
}


def _why(one: Estimate) -> str:
    return reason(one) or "too few for an interval"


def sections_against(found: Sequence[Found], unit: str, level: float) -> list[Section]:
    """Every measure against its nulls: charts of those that share a scale, and a table."""
    if not found:
        return []
    shown = [*_charts(found), _table(found, level), Method(_method(unit, level))]
    return [Section(_KEY, "Compared with null conditions", shown)]


def _charts(found: Sequence[Found]) -> Iterator[Exhibit]:
    by_kind: dict[Kind, list[Found]] = {}
    for one in found:
        if one[0].leads and not isnan(one[2].difference.value):
            by_kind.setdefault(one[0].kind, []).append(one)
    for kind, some in by_kind.items():
        yield _chart(kind, some)


def _chart(kind: Kind, found: Sequence[Found]) -> Chart:
    """One row for each headline of each model: the observed number, and one mark for each of its nulls."""
    names = ["observed", *dict.fromkeys(null.name for _, null, _ in found)]
    rows = {(one.model, one.measure): _row(measure, one) for measure, _, one in found}
    points: dict[tuple[str, str], Dot] = {}
    for measure, _, one in found:
        points.setdefault((one.model, one.measure), Dot(_row(measure, one), 0, one.observed))
    others = [Dot(rows[one.model, one.measure], names.index(null.name), one.under_null) for _, null, one in found]
    every = [*points.values(), *others]
    return Chart(
        name=f"nulls-{kind}",
        title="Headlines beside their nulls" if kind != "share" else "Shares beside their nulls",
        description="Each row has the observed number and those of its null conditions.",
        draw=lambda: dots(every, list(rows.values()), series_of(names), _axis(kind, every)),
    )


def _axis(kind: Kind, points: Sequence[Dot]) -> Axis:
    if kind == "share":
        return Axis("Share", 0, 1, "share")
    if kind == "score":
        return Axis("Score", 0, 100, "score", step=10)
    ends = finite_ends(one.estimate for one in points)
    low, high = min(ends), max(ends)
    room = 0.05 * (high - low) or 0.5
    return Axis("Value", low - room, high + room, "value")


def _row(measure: Measure, one: Against) -> str:
    return f"{measure.title}, {one.model}" if one.model else measure.title


def _table(found: Sequence[Found], level: float) -> Table:
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
            _row(measure, one),
            null.name if null.what == "null" else f"{null.name} (factor)",
            _cell(one.observed, measure.kind),
            _cell(one.under_null, measure.kind),
            _cell(one.difference, measure.gap),
            interval(one.together, measure.gap),
            _VERDICTS[one.what][one.verdict],
        ]
        for measure, null, one in found
    ]
    helps = dict.fromkeys(f"{null.name}: {null.help}" for _, null, _ in found)
    note = (
        f"{'; '.join(helps)}. Differences are observed minus null, with {level:.0%} intervals. Those under 'All"
        " differences together' hold at once: of headlines together with the findings, which give them, and of other"
        " measures together with each other."
    )
    return Table("Against nulls", columns, rows, note)


_VERDICTS = {
    "null": {"clear": "clear of it", "not clear": "not clear of it", "cannot tell": "cannot tell"},
    "factor": {"clear": "differs", "not clear": "the same", "cannot tell": "cannot tell"},
}


def _cell(one: Estimate, kind: Kind) -> str | Missing:
    return Missing(_why(one)) if isnan(one.value) else sentence(one, kind)


def _method(unit: str, level: float) -> str:
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
    made: dict[str, Any] = deepcopy(dict(document)) if found else dict(document)
    for measure, null, one in found:
        place = comparing.place(measure.name, one.model) if comparing else ()
        node = _at(made, place) if place else None
        if isinstance(node, dict) and isinstance(node.get("leads"), str):
            first = "against_null" not in node
            node["against_null" if first else f"against_null_{null.name}"] = {
                **number_of(one.difference),
                "null": null.name,
                "verdict": one.verdict,
            }
    return made


def _at(node: Any, place: Sequence[str]) -> Any:
    for key in place:
        node = node.get(key) if isinstance(node, dict) else None
    return node
