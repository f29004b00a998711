"""Judges asked again: a share of what a judge labels is shown to it a second time, with labels or materials in another
order, and how often it agrees with itself is shown beside every figure that rests on it.

A study that judges has an option `retest: Retest = RETEST`. For each thing that is labelled, the third of a trial say,
it calls `is_retested(trial.draw("retest/3"), options.retest)`; what is chosen is asked about once more, by the speaker
`retest_speaker(role, 3)`, whose calls are numbered separately, so that nothing else in the run depends on what is
repeated. The second answer goes into columns of its own, and measures use only the first.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import msgspec

from overton.calls import Draw
from overton.judging import cohen_kappa, overlap, share
from overton.statistics import Estimate
from overton.studies.numbers import sentence
from overton.studies.options import Option
from overton.studies.questions import Question

if TYPE_CHECKING:
    import polars as pl


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


def of_questions(
    questions: Iterable[Question[Any]], records: pl.DataFrame, items: str | tuple[str, ...], level: float
) -> dict[str, SelfAgreement]:
    """The agreement of each question's labels with those of the same things in the other order.

    It is named by `Question.agreement`. Where second labels are requested for some things only, those are compared;
    otherwise all that have a label. Rows with the same value in the first of the columns `items` that is present and
    not empty are alike. Questions without labels, or without columns of second labels, are left out: a table that is
    not from a run has no agreement.
    """
    names = (items,) if isinstance(items, str) else items
    found = {
        question.agreement or question.key: _agreement_of_orders(question, records, names, level)
        for question in questions
    }
    return {name: agreement for name, agreement in found.items() if agreement is not None}


def _agreement_of_orders(
    question: Question[Any], records: pl.DataFrame, items: tuple[str, ...], level: float
) -> SelfAgreement | None:
    import polars as pl

    rows = question.repeats(records) if question.repeats else _labels_twice(question, records, items)
    if rows is None:
        return None
    compared = (rows[name].to_list() for name in ("first", "second", "item"))
    return (of_sets if isinstance(rows.schema["first"], pl.List) else of_labels)(*compared, level=level)


def _labels_twice(question: Question[Any], records: pl.DataFrame, items: tuple[str, ...]) -> pl.DataFrame | None:
    """The `first` and the `second` label of all things, one of a record's columns after another, and their `item`."""
    import polars as pl

    types, both = records.schema, question.columns.items()
    if not both or any(types.get(own) is None or types.get(own) != types.get(other) for own, other in both):
        return None
    if question.repeated and types.get(question.repeated) != pl.Boolean:
        return None
    if not any(records[own].count() for own in question.columns):
        return None
    labels = [column for pair in both for column in pair]
    asked = pl.col(question.repeated) if question.repeated else pl.any_horizontal(pl.col(labels).is_not_null())
    known = [pl.col(name).replace("", None) for name in items if types.get(name) == pl.String]
    item = pl.coalesce(*known, pl.int_range(pl.len()).cast(pl.String))
    rows = records.filter(asked).with_columns(item=item)
    return pl.concat(
        rows.select("item", _as_label(rows, own).alias("first"), _as_label(rows, other).alias("second"))
        for own, other in both
    )


def _as_label(rows: pl.DataFrame, column: str) -> pl.Expr:
    """A column of labels as texts, or of sets of labels as they are."""
    import polars as pl

    return pl.col(column) if isinstance(rows.schema[column], pl.List) else pl.col(column).cast(pl.String)


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
