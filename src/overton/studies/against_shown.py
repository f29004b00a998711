"""Headlines against their nulls as they are shown: a chart, a table, one sentence each, and their place in the JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from math import isnan
from typing import Any

from overton.statistics import Estimate
from overton.studies.against import Against
from overton.studies.charts import Axis, Dot, dots, series_of
from overton.studies.comparing import Measure
from overton.studies.exhibits import Chart, Column, Exhibit, Method, Missing, Section, Table
from overton.studies.findings import Finding
from overton.studies.measuring import Comparing
from overton.studies.nulls import Null
from overton.studies.numbers import Kind, interval, number, reason, sentence
from overton.studies.plain import number_of

__all__ = ["Found", "findings_against", "sections_against", "with_variants"]

Found = tuple[Measure, Null, Against]

_KEY = "nulls"


def findings_against(found: Sequence[Found], comparing: Comparing | None) -> list[Finding]:
    """One sentence for each headline of each model: of which of its nulls it stands clear, of which not."""
    groups: dict[tuple[str, str], list[Found]] = {}
    for one in found:
        if one[2].items and comparing and (one[0].leads or comparing.place(one[0].name, one[2].model)):
            groups.setdefault((one[2].model, one[2].measure), []).append(one)
    return [_finding(one, comparing) for one in groups.values() if comparing]


def _finding(found: Sequence[Found], comparing: Comparing) -> Finding:
    """The first null leads: its number stands with the sentence where the headline stands clear of it."""
    measure, _, first = found[0]
    of = f"{measure.title} of {first.model}" if first.model else measure.title
    clear = first.verdict == "clear"
    return Finding(
        what="effect" if clear else "standing",
        model=first.model,
        sentence=f"{of} ({number(first.observed.value, measure.kind)}) {'; it '.join(_clauses(found))}.",
        n=first.items,
        units=comparing.unit,
        exhibit=_KEY,
        number=first.together if clear else None,
        kind=measure.gap,
        judge=comparing.judge(measure.name),
    )


def _clauses(found: Sequence[Found]) -> Iterator[str]:
    """What is said of all nulls of one verdict at once, in the order of the words."""
    shown = number(found[0][2].observed.value, found[0][0].kind)
    for verdict, words in _WORDS.items():
        some = [one for one in found if _verdict(one[2]) == verdict]
        if some:
            told = {f"'{one[1].name}'": _numbers(one, shown) for one in some}
            yield words.format(some="its null" if len(some) == 1 else "its nulls") + _listed(told, verdict)


def _verdict(one: Against) -> tuple[str, str]:
    """What it is held against and how it stands, of a null also on which side."""
    if one.verdict == "clear" and one.what == "null":
        return one.what, "above" if one.difference.value > 0 else "below"
    return one.what, one.verdict


def _numbers(found: Found, shown: str) -> str:
    """A null's number, the difference where that tells something; the observed number where it is another one."""
    measure, _, one = found
    if isnan(one.difference.value) or isnan(one.difference.low):
        return _why(one.difference)
    told = number(one.under_null.value, measure.kind)
    if (observed := number(one.observed.value, measure.kind)) != shown:
        told = f"{observed} against {told}"
    if one.verdict != "cannot tell":
        told += f", difference {number(one.together.value, measure.gap)} {interval(one.together, measure.gap)}"
    return told


def _listed(told: Mapping[str, str], verdict: tuple[str, str]) -> str:
    """Nulls, each with what is told of it; what is told of all of them alike is said once."""
    joint = " or " if verdict == ("null", "cannot tell") else " and "
    same = set(told.values())
    names = [*told] if len(same) == 1 else [f"{name} ({numbers})" for name, numbers in told.items()]
    listed = joint.join(filter(None, [", ".join(names[:-1]), names[-1]]))
    return f"{listed} ({same.pop()})" if len(same) == 1 else listed


_WORDS: dict[tuple[str, str], str] = {
    ("null", "above"): "stands clear of {some}, above ",
    ("null", "below"): "stands clear of {some}, below ",
    ("null", "not clear"): "does not stand clear of {some} ",
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
    return [Section(_KEY, "Against what nothing would look like", shown)]


def _charts(found: Sequence[Found]) -> Iterator[Exhibit]:
    by_kind: dict[Kind, list[Found]] = {}
    for one in found:
        if one[0].leads and not isnan(one[2].observed.value):
            by_kind.setdefault(one[0].kind, []).append(one)
    for kind, some in by_kind.items():
        yield _chart(kind, some)


def _chart(kind: Kind, found: Sequence[Found]) -> Chart:
    """A row for each headline of each model: the observed number, and one mark for each of its nulls."""
    names = ["observed", *dict.fromkeys(null.name for _, null, _ in found)]
    rows = {(one.model, one.measure): _row(measure, one) for measure, _, one in found}
    points = {(one.model, one.measure): Dot(_row(measure, one), 0, one.observed) for measure, _, one in found}
    others = [Dot(rows[one.model, one.measure], names.index(null.name), one.under_null) for _, null, one in found]
    every = [*points.values(), *others]
    return Chart(
        name=f"nulls-{kind}",
        title="Headlines beside their nulls" if kind != "share" else "Shares beside their nulls",
        description=f"{len(rows)} rows, each with the number that was observed and what its nulls give.",
        draw=lambda: dots(every, list(rows.values()), series_of(names), _axis(kind, every)),
    )


def _axis(kind: Kind, points: Sequence[Dot]) -> Axis:
    if kind == "share":
        return Axis("Share", 0, 1, "share")
    if kind == "score":
        return Axis("Score", 0, 100, "score")
    told = [bound for one in points for bound in _bounds(one.estimate)]
    low, high = min(told), max(told)
    room = 0.05 * (high - low) or 0.5
    return Axis("Value", low - room, high + room, "value")


def _bounds(one: Estimate) -> Iterator[float]:
    yield from (bound for bound in (one.value, one.low, one.high) if not isnan(bound))


def _row(measure: Measure, one: Against) -> str:
    return f"{measure.title}, {one.model}" if one.model else measure.title


def _table(found: Sequence[Found], level: float) -> Table:
    """Numbers are written out, since measures of several kinds stand in one column."""
    columns = [
        Column("Measure"),
        Column("Null"),
        Column("Observed"),
        Column("Null's value"),
        Column("Difference"),
        Column("Stands"),
    ]
    rows = [
        [
            _row(measure, one),
            null.name if null.what == "null" else f"{null.name} (factor)",
            _cell(one.observed, measure.kind),
            _cell(one.under_null, measure.kind),
            _cell(one.difference, measure.gap),
            _stands(one),
        ]
        for measure, null, one in found
    ]
    told = dict.fromkeys(f"{null.name}: {null.help}" for _, null, _ in found)
    note = f"{'; '.join(told)}. Differences are observed minus null, with {level:.0%} intervals."
    return Table("Against nulls", columns, rows, note)


_STANDS = {
    "null": {"clear": "clear of it", "not clear": "not clear of it", "cannot tell": "cannot tell"},
    "factor": {"clear": "differs", "not clear": "the same", "cannot tell": "cannot tell"},
}


def _stands(one: Against) -> str:
    return _STANDS[one.what][one.verdict]


def _cell(one: Estimate, kind: Kind) -> str | Missing:
    return Missing(_why(one)) if isnan(one.value) else sentence(one, kind)


def _method(unit: str, level: float) -> str:
    inner = f"{2 * level - 1:.0%}"
    return (
        f"Each number and its null are of the {unit} that have both, and each of these is left out of both in turn."
        f" Not clear: the {inner} interval of the difference lies within the margin of a comparison (docs/compare.md)."
        f" Clear: the {level:.0%} interval leaves out 0, also when it is widened for all differences in the table"
        " together (max-t). Else it cannot be told. A factor takes nothing away: it asks the same in another way."
    )


def with_variants(document: Mapping[str, Any], found: Sequence[Found], comparing: Comparing | None) -> dict[str, Any]:
    """The JSON of an analysis in which each measure that has its place there has the variant `against_null`.

    That is of the first null that the study declares for it; those of others are called `against_null_NAME`.
    """
    made: dict[str, Any] = deepcopy(dict(document)) if found else dict(document)
    for measure, null, one in found:
        place = comparing.place(measure.name, one.model) if comparing else ()
        held = _at(made, place) if place else None
        if isinstance(held, dict) and isinstance(held.get("leads"), str):
            first = "against_null" not in held
            held["against_null" if first else f"against_null_{null.name}"] = {
                **number_of(one.difference),
                "null": null.name,
                "verdict": one.verdict,
            }
    return made


def _at(held: Any, place: Sequence[str]) -> Any:
    for key in place:
        held = held.get(key) if isinstance(held, dict) else None
    return held
