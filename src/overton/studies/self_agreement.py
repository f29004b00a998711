"""Judges asked again: a share of what a judge labels is shown to it a second time, with labels or materials in another
order, and how often it agrees with itself is shown beside every figure that rests on it.

A study that judges has an option `retest: Retest = RETEST`. For each thing that is labelled, the third of a trial say,
it calls `is_retested(trial.draw("retest/3"), options.retest)`; what is chosen is asked about once more, by the speaker
`retest_speaker(role, 3)`, whose calls are numbered separately, so that nothing else in the run depends on what is
repeated. The second answer goes into columns of its own, and measures use only the first.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import msgspec

from overton.calls import Draw
from overton.judging import cohen_kappa, overlap, share
from overton.statistics import Estimate
from overton.studies.measurement import How
from overton.studies.numbers import sentence
from overton.studies.options import Option
from overton.studies.questions import Question

if TYPE_CHECKING:
    import polars as pl

    from overton.studies.tables import RawTable


T = TypeVar("T")

_Measure = Callable[..., Estimate]
"""An agreement of two lists, given which items belong together."""

RETEST = 0.02
"""The share that is repeated by default."""

Retest = Annotated[
    float,
    Option(
        "Share of what the judge labels that it is asked about again, with labels or materials in another order",
        least=0,
        most=1,
        extends=True,
    ),
]


def retest_speaker(role: str, number: int | None = None) -> str:
    """The speaker for a role's repeated calls: the role's own answerer.

    If a trial has several things to label each has its `number`, so that it does not depend on which others are
    repeated.
    """
    return f"{role}/again" if number is None else f"{role}/again/{number}"


def is_retested(draw: Draw, share: float) -> bool:
    """Whether the thing that has this draw is asked about again: a greater share includes those of a smaller one."""
    return draw.uniform() < share


class SelfAgreement(msgspec.Struct, frozen=True):
    """How far a judge agrees with itself when asked again, with labels or materials in another order.

    `repeated` counts what it was asked about again, `unread` those that lack a usable first or second answer, and are
    left out of the rest. `same` is the share that it answers alike; `kappa` is Cohen's, if an answer is one label;
    `overlap` is the mean Jaccard index, if it is a set. Intervals treat what belongs to one item as alike.
    """

    repeated: int
    unread: int
    same: Estimate
    kappa: Estimate | None
    overlap: Estimate | None


def of_labels(
    first: Sequence[str | None], second: Sequence[str | None], items: Sequence[Hashable], *, level: float = 0.95
) -> SelfAgreement | None:
    """The agreement of labels given twice, None for an answer that was not usable; None if there are no labels."""
    return _measure_agreement(first, second, items, level, kappa=cohen_kappa)


def of_sets(
    first: Sequence[Iterable[str] | None],
    second: Sequence[Iterable[str] | None],
    items: Sequence[Hashable],
    *,
    level: float = 0.95,
) -> SelfAgreement | None:
    """The same for sets."""
    first_sets, second_sets = ([None if some is None else frozenset(some) for some in side] for side in (first, second))
    return _measure_agreement(first_sets, second_sets, items, level, overlap=overlap)


def _measure_agreement(
    first: Sequence[Any], second: Sequence[Any], items: Sequence[Hashable], level: float, **measure: _Measure
) -> SelfAgreement | None:
    if not first:
        return None
    pairs = zip(first, second, items, strict=True)
    kept = [(a, b, item) for a, b, item in pairs if a is not None and b is not None]
    before, after, among = ([row[part] for row in kept] for part in range(3))
    same = share([a == b for a, b in zip(before, after, strict=True)], among, level=level)
    found = {name: of(before, after, among, level=level) for name, of in measure.items()}
    return SelfAgreement(len(first), len(first) - len(kept), same, found.get("kappa"), found.get("overlap"))


def of_records(
    records: pl.DataFrame,
    asked: str,
    items: Sequence[str],
    how: How,
    *,
    labels: Sequence[str] = (),
    sets: Sequence[str] = (),
) -> dict[str, SelfAgreement]:
    """The agreement in each column of `labels` and `sets` with the one called COLUMN_again.

    The rows are those in which the column `asked` is true. What belongs together has the same value in the first of the
    columns `items` that is present and not empty. Columns that are empty in every row are left out, since nobody asked
    for them, and so are those without the type that records have: a table that is not from a run has no agreement.
    """
    import polars as pl

    types = records.schema
    if types.get(asked) != pl.Boolean:
        return {}
    rows = records.filter(asked)
    known = [pl.col(name).replace("", None) for name in items if types.get(name) == pl.String]
    together = rows.select(pl.coalesce(*known, pl.int_range(pl.len()).cast(pl.String)))[:, 0].to_list()
    found = {
        name: of(rows[name].to_list(), rows[f"{name}_again"].to_list(), together, level=how.level)
        for of, names, kind in ((of_labels, labels, pl.String()), (of_sets, sets, pl.List(pl.String)))
        for name in names
        if types.get(name) == types.get(f"{name}_again") == kind and records[name].count()
    }
    return {name: agreement for name, agreement in found.items() if agreement is not None}


def of_questions(
    questions: Iterable[Question[Any]], records: pl.DataFrame, items: str, level: float
) -> dict[str, SelfAgreement]:
    """The agreement of each question's labels with those of the same things in the other order, by the question's key.

    Where second labels are requested for some things only, those are compared; otherwise all that have a label. Rows
    with the same value in the column `items` are alike. Questions without a first label, or without columns for second
    labels, are left out.
    """
    found = {question.key: _agreement_of_orders(question, records, items, level) for question in questions}
    return {key: agreement for key, agreement in found.items() if agreement is not None}


def _agreement_of_orders(
    question: Question[Any], records: pl.DataFrame, items: str, level: float
) -> SelfAgreement | None:
    import polars as pl

    rows = question.repeats(records) if question.repeats else _labels_twice(question, records, items)
    if rows is None or not rows["first"].count():
        return None
    compared = (rows[name].to_list() for name in ("first", "second", "item"))
    return (of_sets if isinstance(rows.schema["first"], pl.List) else of_labels)(*compared, level=level)


def _labels_twice(question: Question[Any], records: pl.DataFrame, items: str) -> pl.DataFrame | None:
    """The `first` and the `second` label of all things, one of a record's columns after another, and their `item`."""
    import polars as pl

    columns = {*question.columns, *question.columns.values(), items} | ({question.repeated} - {""})
    if not question.columns or not columns <= set(records.columns):
        return None
    labels = [*question.columns, *question.columns.values()]
    asked = pl.col(question.repeated) if question.repeated else pl.any_horizontal(pl.col(labels).is_not_null())
    rows = records.filter(asked)
    return pl.concat(
        rows.select(_as_label(rows, own).alias("first"), _as_label(rows, other).alias("second"), item=items)
        for own, other in question.columns.items()
    )


def _as_label(rows: pl.DataFrame, column: str) -> pl.Expr:
    """A column of labels as texts, or of sets of labels as they are."""
    import polars as pl

    return pl.col(column) if isinstance(rows.schema[column], pl.List) else pl.col(column).cast(pl.String)


Analysis = TypeVar("Analysis", bound=msgspec.Struct)


@dataclass(frozen=True)
class Repeated:
    """Which columns of a study's records have what its judge said when asked again; see `of_records`."""

    asked: str
    items: tuple[str, ...]
    labels: tuple[str, ...] = ()
    sets: tuple[str, ...] = ()

    def beside(self, analysis: Analysis, records: pl.DataFrame, how: How) -> Analysis:
        """The analysis of these records with the judge's agreement with itself, its `self_agreement`."""
        found = of_records(records, self.asked, self.items, how, labels=self.labels, sets=self.sets)
        return msgspec.structs.replace(analysis, self_agreement=found)

    def of_table(self, table: RawTable, how: How, measured: Callable[[RawTable], Analysis]) -> Analysis:
        """The analysis `measured` from a table, and this if it may be a run's records; no file is read twice."""
        if self.asked not in table.columns:
            return measured(table)
        frame = table.frame()
        return self.beside(measured(replace(table, frame=lambda: frame)), frame, how)


def self_agreement_lines(found: Mapping[str, SelfAgreement]) -> Iterator[str]:
    """One line for each thing that judges label, to show beside who judged; one that says so if nothing was repeated.

    What is labelled is named with spaces for '_': 'premise stance' for 'premise_stance'.
    """
    if not found:
        yield "How well a judge agrees with itself has not been measured: nothing was asked again."
    for what, agreement in found.items():
        said = [f"the same {what.replace('_', ' ')} in {sentence(agreement.same, 'share')}"]
        if agreement.kappa is not None:
            said.append(f"Cohen's kappa {sentence(agreement.kappa, 'value')}")
        if agreement.overlap is not None:
            said.append(f"mean Jaccard index {sentence(agreement.overlap, 'value')}")
        lost = f", {agreement.unread:,} of them without two usable answers" if agreement.unread else ""
        yield f"Asked about {agreement.repeated:,} again in another order{lost}, it gives {'; '.join(said)}."
