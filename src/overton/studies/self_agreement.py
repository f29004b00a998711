"""Repeat labels by judges. A judge labels a sample of its units a second time, with labels or materials in another
order. Reports then show the judge's agreement with itself next to every number that depends on the judge.

A study with a judge has an option `retest: Retest = RETEST`. For each labelled unit, such as the third unit of a trial,
the study calls `is_retested(trial.draw("retest/3"), options.retest)`. The judge labels the chosen units again, as the
speaker `retest_speaker(role, 3)`. That speaker's calls are numbered separately, so the repetition does not affect any
other call of the run. Second labels are stored in separate columns, and measures use only first labels.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import msgspec

from overton.calls import Draw
from overton.judging import cohen_kappa, overlap, share
from overton.statistics import Estimate
from overton.studies.numbers import brief_estimate, sentence
from overton.studies.options import Option
from overton.studies.questions import Question

if TYPE_CHECKING:
    import polars as pl


T = TypeVar("T")

_Measure = Callable[..., Estimate]
"""An estimate of agreement from two lists of labels and a list of clusters."""

RETEST = 0.02
"""The proportion of labels that is repeated by default."""

Retest = Annotated[
    float,
    Option(
        "Proportion of units that the judge labels again, with label options or materials in another order",
        least=0,
        most=1,
        extends=True,
    ),
]


def retest_speaker(role: str, number: int | None = None) -> str:
    """The speaker of a role's repeated calls. The model is the role's own.

    If a trial has several units to label, each unit has a `number`. Repeating one unit then does not change the calls
    about another unit.
    """
    return f"{role}/again" if number is None else f"{role}/again/{number}"


def is_retested(draw: Draw, share: float) -> bool:
    """Whether the unit with this random draw is labelled again. The sample for a larger proportion contains the sample
    for a smaller one."""
    return draw.uniform() < share


class SelfAgreement(msgspec.Struct, frozen=True):
    """A judge's agreement with itself in repeat labels, with labels or materials in another order.

    `repeated` counts the units that were labelled again. `unread` counts units without a usable first or second answer,
    which the agreement leaves out. `same` is the proportion of equal answers. `kappa` is Cohen's kappa if an answer is
    one label. `overlap` is the mean Jaccard index if an answer is a set. Intervals treat all units of one item as one
    cluster.
    """

    repeated: int
    unread: int
    same: Estimate
    kappa: Estimate | None
    overlap: Estimate | None


def of_labels(
    first: Sequence[str | None], second: Sequence[str | None], items: Sequence[Hashable], *, level: float = 0.95
) -> SelfAgreement | None:
    """The agreement of labels given twice. A label is None if the answer was not usable. If there are no labels, the
    result is None."""
    return _measure_agreement(first, second, items, level, kappa=cohen_kappa)


def of_sets(
    first: Sequence[Iterable[str] | None],
    second: Sequence[Iterable[str] | None],
    items: Sequence[Hashable],
    *,
    level: float = 0.95,
) -> SelfAgreement | None:
    """The agreement of sets of labels given twice; see `of_labels`."""
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
    """For each question, the agreement between first labels and second labels, which were requested in another order.

    `Question.agreement` names each agreement. If the run requested second labels for only some units, the agreement is
    over these units. Otherwise it is over all labelled units. `items` lists possible columns of clusters, and the first
    one that is present and not empty is used. Questions without labels, or without columns of second labels, are left
    out.
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
    """The `first` and the `second` label of all units, and their `item`. The rows of one label column follow those of
    another."""
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
    """A column of labels as texts; a column of sets of labels stays as it is."""
    import polars as pl

    return pl.col(column) if isinstance(rows.schema[column], pl.List) else pl.col(column).cast(pl.String)


def self_agreement_lines(found: Mapping[str, SelfAgreement]) -> Iterator[str]:
    """One line for each kind of label, to be printed with the judges' names. If there are no repeat labels, a single
    line states this.

    In names of kinds of label, spaces replace '_': 'premise stance' for 'premise_stance'.
    """
    if not found:
        yield "The judge's agreement with itself was not measured, because the judge labelled nothing twice."
    for what, agreement in found.items():
        said = [f"the same {what.replace('_', ' ')} in {brief_estimate(agreement.same, 'share')}"]
        if agreement.kappa is not None:
            said.append(f"Cohen's kappa {sentence(agreement.kappa, 'value')}")
        if agreement.overlap is not None:
            said.append(f"mean Jaccard index {sentence(agreement.overlap, 'value')}")
        lost = f" ({agreement.unread:,} without two usable answers)" if agreement.unread else ""
        yield (
            f"Second labels of {agreement.repeated:,} units, with label options or materials in another order{lost}:"
            f" {'; '.join(said)}."
        )
