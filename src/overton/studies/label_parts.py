"""Parts of a report on people's labels: who labelled, how well they and the judge agree, and corrected numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import isnan
from typing import TYPE_CHECKING

from overton.studies.numbers import Kind, number, reason, sentence
from overton.studies.sections import Callout, Cell, Column, EmptyCell, Exhibit, Method, Section, Table, sentence_cell

if TYPE_CHECKING:
    from overton.judging.annotators import AnnotatorAgreement
    from overton.judging.judged_tables import CorrectedRow, JudgedResult
    from overton.statistics import Estimate
    from overton.studies.label_shares import LabelledNumbers, LabelledShares, Variants


def correction_tables(found: JudgedResult) -> list[Table]:
    """Shares and mean of all rows, of each group, and between groups; then how well judge and people agree."""
    said = (
        f"{found.labelled:,} of {found.units:,} rows are labelled by people; the numbers describe {found.population}."
    )
    groups = dict.fromkeys((row.group, row.against) for row in found.rows)
    tables = [_correction_table(found.rows_of(*sides), "" if any(sides) else said) for sides in groups]
    agreement = found.agreement
    heads = [Column("Judge and people"), Column("Same label", "share"), Column("Cohen's kappa", "value")]
    heads.append(Column("Krippendorff's alpha", "value"))
    row: list[Cell] = ["labelled rows", agreement.same, agreement.kappa, agreement.alpha]
    return [*tables, Table("Agreement", heads, [row])]


def _correction_table(rows: Sequence[CorrectedRow], note: str) -> Table:
    first = rows[0]
    kind: Kind = "share" if first.against is None else "points"
    heads = [Column("Label"), Column("Judge alone", kind), Column("Corrected", kind), Column("Labelled alone", kind)]
    title = "All rows" if first.group is None else first.group
    return Table(title if first.against is None else f"{title} minus {first.against}", heads, list(_cells(rows)), note)


def _cells(rows: Sequence[CorrectedRow]) -> Iterator[list[Cell]]:
    """A mean is another kind of number than a share, and so is written out."""
    for row in rows:
        judge, corrected, labelled = row.number.judge, row.number.corrected, row.number.labelled
        if row.label is None:
            yield ["mean", number(judge, "value"), sentence(corrected, "value"), sentence(labelled, "value")]
        else:
            judged: Cell = EmptyCell("the judge gives no such label") if isnan(judge) else judge
            yield [row.label, judged, corrected, labelled]


ALONE = "No labels by people: everything that rests on the judge here rests on the judge alone."
"""The first sentence of a report if a judge labelled and no person did."""

CHECKED = (
    "People checked the judge on a sheet that Overton 0.2.0 read, which corrects nothing. Read the sheet again, and its"
    " labels correct numbers: overton judge agreement SHEET --run RUN"
)
"""The same if a run has only what an earlier version stored of a sheet."""

_METHOD = (
    "Corrected: the judge's share, shifted by its errors on the units that people labelled (prediction-powered, with"
    " power tuning), for units like these unless the method says otherwise; units of one group are alike. Where people"
    " differ and have not settled it, each counts equally. Tables and charts below use a corrected number wherever it"
    " leads; the numbers beside it are the judge's."
)


def people_tables(found: AnnotatorAgreement) -> list[Table]:
    """How well people agree with each other, and the judge with them."""
    heads = [Column("Person"), Column("Page", "count"), Column("Labelled", "count"), Column("Cannot tell", "count")]
    people = Table(
        "People", heads, [[person.name, person.page, person.labelled, person.cannot_tell] for person in found.people]
    )
    heads = [Column("Label"), Column("Labelled", "count"), Column("By two or more", "count")]
    heads += [Column("Settled", "count"), Column("Open", "count"), Column("Krippendorff's alpha", "value")]
    row: list[Cell] = [found.what, found.labelled, found.shared, found.settled, found.open, found.alpha]
    tables = [people, Table("Agreement of people", heads, [row])]
    heads = [Column("Two people"), Column("Both labelled", "count")]
    heads += [Column("Same label", "share"), Column("Cohen's kappa", "value")]
    pairs: list[list[Cell]] = [[f"{pair.a}, {pair.b}", pair.n, pair.same, pair.kappa] for pair in found.pairs]
    tables += [Table("Each pair of people", heads, pairs)] if pairs else []
    return [*tables, *_judge_tables(found)]


def _judge_tables(found: AnnotatorAgreement) -> Iterator[Table]:
    judge = found.judge
    heads = [Column("Judge"), Column("Same label", "share"), Column("Cohen's kappa", "value")]
    yield Table("The judge and people", heads, [[found.by, judge.same, judge.kappa]])
    names = list(next(iter(judge.confusion.values()), {}))
    whole = all(count == int(count) for counts in judge.confusion.values() for count in counts.values())
    heads = [Column("Judged"), *(Column(name, "count" if whole else "value") for name in names)]
    heads += [Column("Confirmed", "share"), Column("Given where they differ", "share")]
    rows: list[list[Cell]] = [
        [label, *(counts[name] for name in names), judge.by_label.get(label), judge.leniency.get(label)]
        for label, counts in judge.confusion.items()
    ]
    if rows:
        note = "Rows are the judge's labels, columns people's; where people differ, each counts equally."
        yield Table("What people say of each label", heads, rows, note)


def labelled_section(found: Sequence[LabelledShares], without: str = ALONE) -> Section:
    """The section on what people's labels change in a run's numbers; if there are none, with `without` instead."""
    if not found:
        return Section("labels", "Labels by people", [Callout(without, "warning", summary=True)])
    exhibits = [exhibit for labelled_shares in found for exhibit in shares_exhibits(labelled_shares)]
    return Section("labels", "Labels by people", [*exhibits, Method(_METHOD)])


def too_few(found: LabelledShares) -> str:
    """The first sentence of a report if labels correct nothing, or are too few for a corrected number to lead; '' if it
    does."""
    what = found.what.replace("_", " ")
    if found.why:
        return f"Labels by people of {what} correct nothing: {found.why}. What rests on the judge rests on it alone."
    if found.labelled < found.enough:
        return (
            f"Too few labels by people: {found.labelled:,} of {what}. From {found.enough} on the corrected number"
            " leads; until then, everything that rests on the judge here is the judge's."
        )
    return ""


def shares_exhibits(found: LabelledShares) -> Iterator[Exhibit]:
    """The shares of each label three times: of all units, by model, between models."""
    what = found.what.replace("_", " ")
    if found.why:
        yield Callout(f"Labels by people of {what}: nothing is corrected, since {found.why}.", "warning", summary=True)
        return
    if found.labelled < found.enough:
        said = f"People labelled {found.labelled:,} units ({what}); from {found.enough} on the corrected number leads"
        yield Callout(f"{said}, until then the judge's.", "warning", summary=True)
    yield _label_table(f"{what}, all models", found.shares, "share", _describe_labelling(found), summary=True)
    if len(found.models) > 1:
        for name, shares in found.models.items():
            yield _label_table(f"{what}, {name}", shares, "share", summary=True)
        for difference in found.differences:
            yield _label_table(f"{what}, {difference.a} minus {difference.b}", difference.shares, "points")
    if found.measures is not None:
        yield from measures_exhibits(found.measures)


def measures_exhibits(found: LabelledNumbers) -> Iterator[Exhibit]:
    """Measures of many labels, group by group; those of all models and of whole models in the summary too."""
    title, said = _HOW[found.how]
    by_units = found.how != "errors undone"
    tests = (found.together, *(equal_error.sentence(by_units=by_units) for equal_error in found.equal_errors))
    yield Callout(" ".join(filter(None, (said, *tests))), summary=True)
    for group, measures in found.groups.items():
        heads = ["Measure", "Corrected", "Judge alone", "Labelled alone", "Takes"]
        rows: list[list[Cell]] = [
            [
                name.replace("/", ", ").replace("_", " "),
                *(sentence_cell(number, "value") for number in (measure.corrected, measure.plain, measure.labelled)),
                measure.leads,
            ]
            for name, measure in measures.items()
        ]
        yield Table(
            f"{title}, {group or 'all models'}",
            [Column(head) for head in heads],
            rows,
            summary=not group or found.how == "single labels",
        )


_MANY = "Measures of many labels"
_HOW = {
    "whole units": (
        _MANY,
        f"{_MANY} together: people labelled whole units, and each unit's own value is corrected, which assumes only"
        " that the draw is random.",
    ),
    "errors undone": (
        _MANY,
        f"{_MANY} together: the judge's errors are undone label by label, which assumes that errors in one unit are"
        " independent and equally frequent everywhere.",
    ),
    "single labels": (
        "Headlines",
        "Headlines: each unit has one label, and its value is corrected, which assumes only that the draw is random.",
    ),
}
"""The title of the measures, and how they are corrected."""


def _describe_labelling(found: LabelledShares) -> str:
    said = f"{', '.join(found.people)} labelled {found.labelled:,} of {found.units:,} units of {found.run} that"
    said += f" {found.judge} judged."
    if found.without_label:
        said += f" {found.without_label:,} units have no label by the judge, and are left out."
    if found.set_aside:
        said += f" {found.set_aside:,} more are in groups that were drawn whole and are not completely labelled."
    if found.cannot_tell:
        said += f" For {found.cannot_tell:g} they could not tell: 'at most' is the share if all these had this label."
    if found.open:
        said += f" They differ on {found.open:,} units that are not settled."
    return said


def _label_table(
    title: str, shares: Mapping[str, Variants], kind: Kind, note: str = "", *, summary: bool = False
) -> Table:
    """The number that leads comes first."""
    leads = any(share.leads == "corrected" for share in shares.values())
    bounded = any(share.corrected_at_most for share in shares.values())
    least = any(share.corrected_at_least for share in shares.values())
    heads = {"plain": "Judge alone", "corrected": "Corrected", "labelled": "Labelled alone"}
    order = ["corrected", "plain", "labelled"] if leads else ["plain", "corrected", "labelled"]
    names = [*order, *(["corrected_at_least"] if least else []), *(["corrected_at_most"] if bounded else [])]
    heads |= {"corrected_at_least": "Corrected, at least", "corrected_at_most": "Corrected, at most"}
    rows: list[list[Cell]] = [
        [label, *(_value_cell(share.plain) if name == "plain" else getattr(share, name) for name in names)]
        for label, share in shares.items()
    ]
    return Table(title, [Column("Label"), *(Column(heads[name], kind) for name in names)], rows, note, summary=summary)


def _value_cell(estimate: Estimate) -> Cell:
    """The judge's number alone; an interval would leave out the judge's errors."""
    return EmptyCell(reason(estimate)) if isnan(estimate.value) else estimate.value
