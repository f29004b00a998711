"""Parts of a report on human labels: the annotators, their agreement with the judge, and corrected numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import isnan
from typing import TYPE_CHECKING

from overton.studies.findings import counted
from overton.studies.numbers import Kind, number, reason, sentence
from overton.studies.sections import Callout, Cell, Column, EmptyCell, Exhibit, Method, Section, Table, sentence_cell

if TYPE_CHECKING:
    from overton.judging.annotators import AnnotatorAgreement
    from overton.judging.judged_tables import CorrectedRow, JudgedResult
    from overton.statistics import Estimate
    from overton.studies.label_shares import LabelledNumbers, LabelledShares, Variants


def correction_tables(found: JudgedResult) -> list[Table]:
    """Tables of the labels' proportions and mean: over all rows, by group, and as differences between groups. The last
    table has the agreement of judge and people."""
    said = f"{found.labelled:,} of {found.units:,} rows have human labels. The numbers describe {found.population}."
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
    """The cells of each row. A mean is not a proportion, so its cells are formatted as texts."""
    for row in rows:
        judge, corrected, labelled = row.number.judge, row.number.corrected, row.number.labelled
        if row.label is None:
            yield ["mean", number(judge, "value"), sentence(corrected, "value"), sentence(labelled, "value")]
        else:
            judged: Cell = EmptyCell("the judge gives no such label") if isnan(judge) else judge
            yield [row.label, judged, corrected, labelled]


ALONE = "There are no human labels, so every judged number depends on the judge alone."
"""The first sentence of a report if a judge labelled and no person did."""

CHECKED = (
    "People checked the judge on a sheet that Overton 0.2.0 read. Sheets read by 0.2.0 correct no numbers. Read the"
    " sheet again to use its labels: overton judge agreement SHEET --run RUN"
)
"""The first sentence of a report if a run has only what Overton 0.2.0 stored of a sheet."""

_METHOD = (
    "A corrected proportion is the judge's proportion, shifted by the judge's errors on the units with human labels"
    " (prediction-powered inference with power tuning). It describes units like those of the run, unless the method"
    " says otherwise. Its interval accounts for the clustering of units in groups. If people disagree about a unit"
    " that was not adjudicated, each person counts equally. Tables and charts below use the corrected number if it is"
    " the preferred estimate."
)


def people_tables(found: AnnotatorAgreement) -> list[Table]:
    """People's agreement with each other, and the judge's agreement with people."""
    heads = [Column("Person"), Column("Page", "count"), Column("Labelled", "count"), Column("Cannot tell", "count")]
    people = Table(
        "People", heads, [[person.name, person.page, person.labelled, person.cannot_tell] for person in found.people]
    )
    heads = [Column("Label"), Column("Labelled", "count"), Column("By two or more", "count")]
    heads += [Column("Settled", "count"), Column("Open", "count"), Column("Krippendorff's alpha", "value")]
    row: list[Cell] = [found.what, found.labelled, found.shared, found.settled, found.open, found.alpha]
    tables = [people, Table("Agreement between people", heads, [row])]
    heads = [Column("Two people"), Column("Both labelled", "count")]
    heads += [Column("Same label", "share"), Column("Cohen's kappa", "value")]
    pairs: list[list[Cell]] = [[f"{pair.a}, {pair.b}", pair.n, pair.same, pair.kappa] for pair in found.pairs]
    tables += [Table("Each pair of people", heads, pairs)] if pairs else []
    return [*tables, *_judge_tables(found)]


def _judge_tables(found: AnnotatorAgreement) -> Iterator[Table]:
    judge = found.judge
    heads = [Column("Judge"), Column("Same label", "share"), Column("Cohen's kappa", "value")]
    yield Table("Agreement of the judge with people", heads, [[found.by, judge.same, judge.kappa]])
    names = list(next(iter(judge.confusion.values()), {}))
    whole = all(count == int(count) for counts in judge.confusion.values() for count in counts.values())
    heads = [Column("Judged"), *(Column(name, "count" if whole else "value") for name in names)]
    heads += [Column("Confirmed", "share"), Column("Given although people did not", "share")]
    rows: list[list[Cell]] = [
        [label, *(counts[name] for name in names), judge.by_label.get(label), judge.leniency.get(label)]
        for label, counts in judge.confusion.items()
    ]
    if rows:
        note = (
            "Rows are the judge's labels, columns are human labels. If people disagree about a unit, each person"
            " counts equally."
        )
        yield Table("Human labels by the judge's label", heads, rows, note)


def labelled_section(found: Sequence[LabelledShares], without: str = ALONE) -> Section:
    """The section on human labels and their effect on a run's numbers. Without human labels, the section contains only
    the text `without`."""
    if not found:
        return Section("labels", "Human labels", [Callout(without, "warning", summary=True)])
    exhibits = [exhibit for labelled_shares in found for exhibit in shares_exhibits(labelled_shares)]
    return Section("labels", "Human labels", [*exhibits, Method(_METHOD)])


def too_few(found: LabelledShares) -> str:
    """The first sentence of a report if its human labels cannot correct numbers, or are too few. '' for other
    reports."""
    what = found.what.replace("_", " ")
    if found.why:
        return (
            f"The human labels of {what} cannot correct numbers, because {found.why}. Every judged number depends on"
            " the judge alone."
        )
    if found.labelled < found.enough:
        return (
            f"There are too few human labels of {what} ({found.labelled:,}) to correct numbers: {found.enough} are"
            " needed. Every judged number depends on the judge alone."
        )
    return ""


def shares_exhibits(found: LabelledShares) -> Iterator[Exhibit]:
    """Each label's proportion: over all units, by model, and as differences between models."""
    what = found.what.replace("_", " ")
    if found.why:
        yield Callout(
            f"The human labels of {what} cannot correct numbers, because {found.why}.", "warning", summary=True
        )
        return
    if found.labelled < found.enough:
        said = f"People labelled {counted(found.labelled, 'units')} ({what})"
        leads = (
            f"From {found.enough} units on, results use the corrected number; until then, they use the judge's number."
        )
        yield Callout(f"{said}. {leads}", "warning", summary=True)
    yield _label_table(f"{what}, all models", found.shares, "share", _describe_labelling(found), summary=True)
    if len(found.models) > 1:
        for name, shares in found.models.items():
            yield _label_table(f"{what}, {name}", shares, "share", summary=True)
        for difference in found.differences:
            yield _label_table(f"{what}, {difference.a} minus {difference.b}", difference.shares, "points")
    if found.measures is not None:
        yield from measures_exhibits(found.measures)


def measures_exhibits(found: LabelledNumbers) -> Iterator[Exhibit]:
    """Measures that depend on many labels, with a table for each group. The summary shows the table of all models. If
    each unit has a single label, the summary shows every table."""
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
        f"{_MANY}: whole units have human labels, and each unit's own value is corrected. This assumes only that the"
        " labelled units were chosen at random.",
    ),
    "errors undone": (
        _MANY,
        f"{_MANY}: the judge's errors are corrected label by label. This assumes that errors in one unit are"
        " independent and equally frequent everywhere.",
    ),
    "single labels": (
        "Headlines",
        "Headlines: each unit has one label, and its value is corrected. This assumes only that the labelled units"
        " were chosen at random.",
    ),
}
"""For each method of correction, the title of the measures and a description of the method."""


def _describe_labelling(found: LabelledShares) -> str:
    said = f"{', '.join(found.people)} labelled {found.labelled:,} of the {found.units:,} units of {found.run} that"
    said += f" {found.judge} judged."
    if found.without_label:
        said += f" Left out: {counted(found.without_label, 'units')} without a label from the judge."
    if found.set_aside:
        aside = counted(found.set_aside, "units")
        said += f" Also left out: {aside} in groups that were sampled whole but are only partly labelled."
    if found.cannot_tell:
        said += (
            f" People could not tell for {found.cannot_tell:g} units. The column 'Corrected, at most' assumes that"
            " all of them have the label."
        )
    if found.open:
        said += f" They disagree on {counted(found.open, 'units')} without adjudication so far."
    return said


def _label_table(
    title: str, shares: Mapping[str, Variants], kind: Kind, note: str = "", *, summary: bool = False
) -> Table:
    """A table with a row for each label. The preferred number comes first."""
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
    """The judge's number without its interval, because the interval would ignore the judge's errors."""
    return EmptyCell(reason(estimate)) if isnan(estimate.value) else estimate.value
