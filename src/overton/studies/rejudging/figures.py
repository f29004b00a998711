"""How steady a judge is, as tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from overton.studies.exhibits import Callout, Cell, Column, Exhibit, Exhibits, Prose, Section, Table
from overton.studies.measuring import How, Measuring
from overton.studies.rejudging.measures import AGAIN, ORDER, PEOPLE, RUN, Analysis, Drift, Steady, measure
from overton.studies.results import Results

__all__ = ["MEASURING"]

_READ = (
    "The judge was asked about the same units once word for word and once with labels or materials in another order."
    " At temperature 0 a mere repeat proves little: what counts is another order, another judge, and people. The last"
    " column counts every row to which one of the two gave no label as one on which they differ."
)


def _analysis() -> type[Analysis]:
    return Analysis


def _sections(analysis: Analysis) -> Sequence[Section]:
    sections = [Section(f"steady-{number}", _title(one), _steady(one)) for number, one in enumerate(analysis.steady, 1)]
    drift = [_drifting(one) for one in analysis.drift]
    return [*sections, Section("drift", "Two runs by one judge", drift)] if drift else sections


def _title(one: Steady) -> str:
    whose = "asked again" if one.by == one.of else f"and {one.of}, the run's judge"
    return f"{one.by} {whose}: {one.what.replace('_', ' ')}, {one.run}"


def _steady(one: Steady) -> list[Exhibit]:
    by = f"{one.by_people:,} of them labelled by people" if one.by_people else "none of them labelled by people"
    exhibits: list[Exhibit] = [Prose(f"{one.rows:,} rows of {one.units:,} units of {one.run}, {by}. {_READ}")]
    lost = sum(part.unlabelled for part in one.without)
    if lost:
        asked = sum(part.asked for part in one.without)
        said = f"{one.by} gave no label to {lost:,} of {asked:,} readings: see below for which conditions."
        exhibits.append(Callout(said, "warning", summary=True))
    exhibits += [_compared(one), _shares(one), _without(one)]
    if one.first_unlabelled:
        exhibits.append(_unlabelled(one))
    return exhibits


def _compared(one: Steady) -> Table:
    columns = [Column("Whose labels"), Column("Rows", "count"), Column("Without a label", "count", detail=True)]
    columns += [Column("Same label", "share"), Column("Cohen's kappa", "value")]
    columns.append(Column("Same, refusals counted", "share"))
    rows: list[list[Cell]] = [
        [f"{_who(pair.a, one)} and {_who(pair.b, one)}", *msgspec.structs.astuple(pair)[2:]] for pair in one.compared
    ]
    return Table(f"How far {one.by} agrees", columns, rows, summary=True)


def _who(name: str, one: Steady) -> str:
    return {RUN: f"{RUN} ({one.of})", AGAIN: f"{one.by} {AGAIN}", ORDER: f"{one.by} {ORDER}"}.get(name, name)


def _shares(one: Steady) -> Table:
    known = [who for who in (RUN, AGAIN, ORDER, PEOPLE) if any(who in said for said in one.shares.values())]
    columns = [Column("Label"), *(Column(f"By {_who(who, one)}", "share") for who in known)]
    rows: list[list[Cell]] = [[label, *(said.get(who) for who in known)] for label, said in one.shares.items()]
    return Table("How often each label is given", columns, rows, note="Over rows that both judges labelled.")


def _without(one: Steady) -> Table:
    columns = [Column("Condition"), Column("Units of the run", "count"), Column("Unlabelled by its judge", "count")]
    columns += [Column("Readings", "count"), Column("Unlabelled", "count")]
    columns += [Column(name, "count") for name in ("Refused", "Failed", "Unread")]
    rows: list[list[Cell]] = [[part.condition or "all", *msgspec.structs.astuple(part)[1:]] for part in one.without]
    note = "Refused: the endpoint flagged the last reply. A refusal in the judge's own words counts as unread."
    return Table("What got no label, by condition", columns, rows, note=note)


def _unlabelled(one: Steady) -> Table:
    columns = [Column(name) for name in ("Unit", "Condition", "Asked", "Why", "Last reply")]
    rows = [[part.unit, part.condition or "all", part.reading, part.why, part.said] for part in one.first_unlabelled]
    return Table("The first without a label", columns, rows)


def _drifting(one: Drift) -> Table:
    columns = [Column("Label"), Column("By their own judges", "points"), Column(f"By {one.by}", "points")]
    columns.append(Column("The judges' part", "points"))
    rows: list[list[Cell]] = [[label, part.by_own, part.by_one, part.drift] for label, part in one.labels.items()]
    note = (
        "Shares in the first-named run minus the other, over rows that both judges of a run labelled. If the last"
        " interval excludes 0, the runs' own judges use the label differently: do not trust a comparison by them."
    )
    return Table(f"{one.b} minus {one.a}", columns, rows, note=note, summary=True)


def _exhibits(results: Results, analysis: Analysis, how: How) -> Exhibits:
    said = "Whether a judge labels the same units alike: word for word, in another order, and compared with others."
    return Exhibits(summary=said, sections=_sections(analysis), trials=None, warnings=list(_warnings(results)))


def _warnings(results: Results) -> Iterator[str]:
    for one in {judge.name: judge for run in results.runs for some in run.roles.values() for judge in some}.values():
        if one.spec.startswith("simulated/"):
            yield f"The judge {one.name} is simulated: its labels are for tests."


MEASURING: Measuring[Analysis, Any] = Measuring(
    analysis=_analysis,
    records=measure,
    sections=_sections,
    exhibits=_exhibits,
)
