"""Judges asked again: a share of what a judge labels is shown to it a second time, with labels or materials in another
order, and how often it agrees with itself is shown beside every figure that rests on it.

A study that judges has an option `retest: Retest = RETEST`. For each thing that is labelled, the third of a trial say,
it calls `is_retested(trial.draw("retest/3"), options.retest)`; what is chosen is asked about once more, by the speaker
`retest_speaker(role, 3)`, whose calls are numbered separately, so that nothing else in the run depends on what is
repeated. The second answer goes into columns of its own, and measures use only the first.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import msgspec

from overton.calls import Draw, Form, Message
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


def reorder(draw: Draw, things: Sequence[T]) -> list[T]:
    """The things in a random order other than their own, if there is another."""
    shuffled = draw.shuffle(things)
    return shuffled if shuffled != list(things) else list(reversed(things))


def asked_in_order(
    messages: Sequence[Message], form: Form, labels: Sequence[str], order: Sequence[str]
) -> tuple[tuple[Message, ...], Form]:
    """A request with `labels` in another order: in the first message, which says what they mean, and in the form."""
    first, *material = messages
    reordered = msgspec.structs.replace(first, content=text_in_order(first.content, labels, order))
    return (reordered, *material), form_in_order(form, labels, order)


def text_in_order(text: str, labels: Sequence[str], order: Sequence[str]) -> str:
    """A prompt with `labels` in another order, and no word changed.

    Lines that define a label ('critical: the answer ...') swap places, and wherever a line names all of the labels in
    quotation marks these do too. So a published prompt stays as it is but for the order.
    """
    if tuple(order) == tuple(labels):
        return text
    lines = text.split("\n")
    defined = {label: line for line in lines if (label := _defined_label(line, labels))}
    placed = dict(zip(labels, order, strict=True))

    def reorder_line(line: str) -> str:
        if (label := _defined_label(line, labels)) and placed[label] in defined:
            return defined[placed[label]]
        named = _QUOTED.findall(line)
        if not set(labels) <= {word for _, word in named}:
            return line
        return _QUOTED.sub(lambda found: f"{found[1]}{placed.get(found[2], found[2])}{found[1]}", line)

    return "\n".join(map(reorder_line, lines))


def reverse_last_lines(text: str, count: int) -> str:
    """A prompt with its last `count` lines in reverse order: the options with which it ends."""
    listed = text.rstrip("\n")
    lines = listed.split("\n")
    return "\n".join([*lines[:-count], *reversed(lines[-count:])]) + text[len(listed) :]


_QUOTED = re.compile(r"""(["'])([^"'\n]+)\1""")


def _defined_label(line: str, labels: Iterable[str]) -> str:
    return next((label for label in labels if line.strip().startswith(f"{label}:")), "")


def form_in_order(form: Form, labels: Sequence[str], order: Sequence[str]) -> Form:
    """A form in which the `labels` of every list swap places as in `text_in_order`."""
    if tuple(order) == tuple(labels):
        return form
    placed = dict(zip(labels, order, strict=True))
    return msgspec.structs.replace(
        form, choices=tuple(_reorder_schema(list(form.choices), placed)), schema=_reorder_schema(form.schema, placed)
    )


def _reorder_schema(schema: Any, placed: Mapping[str, str]) -> Any:
    if isinstance(schema, dict):
        return {key: _reorder_schema(value, placed) for key, value in schema.items()}
    if not isinstance(schema, list):
        return schema
    if all(isinstance(entry, str) for entry in schema) and set(schema) == placed.keys():
        return [placed[entry] for entry in schema]
    return [_reorder_schema(entry, placed) for entry in schema]


_KEY_LINE = re.compile(r'"\w+": ')


def label_first(messages: Sequence[Message], form: Form, reason: str = "rationale") -> tuple[tuple[Message, ...], Form]:
    """The messages and the form with the key `reason` after all others; no word of the prompt changes.

    If a reason comes first, the label's probability is the one after that reason: mostly next to 0 or 1, and not the
    share among the judge's answers.

    The first message lists the keys: one per line ('"rationale": one short sentence'), or in one line of JSON.
    """
    first, *others = messages
    moved = msgspec.structs.replace(first, content=_move_reason_last(first.content, reason))
    return (moved, *others), msgspec.structs.replace(form, schema=_move_key_last(form.schema, reason))


def _move_reason_last(text: str, reason: str) -> str:
    lines = text.split("\n")
    at = next((place for place, line in enumerate(lines) if line.startswith(f'"{reason}": ')), None)
    if at is None:
        return re.sub(rf'\{{("{reason}": "[^"]*"), (.*)\}}', r"{\2, \1}", text)
    end = at + 1
    while end < len(lines) and _KEY_LINE.match(lines[end]):
        end += 1
    return "\n".join([*lines[:at], *lines[at + 1 : end], lines[at], *lines[end:]])


def _move_key_last(schema: dict[str, Any] | None, reason: str) -> dict[str, Any] | None:
    if schema is None:
        return None
    keys = sorted(schema["properties"], key=lambda key: key == reason)
    return schema | {"properties": {key: schema["properties"][key] for key in keys}, "required": keys}


def same_but_for_order(prompt: str, other: str) -> bool:
    """Whether two prompts have the same words, perhaps in another order; for simulated judges, which know their own."""
    if prompt == other or len(prompt) != len(other):
        return prompt == other
    return sorted(_WORD.findall(prompt)) == sorted(_WORD.findall(other))


_WORD = re.compile(r"\w+")


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
    questions: Iterable[Question], records: pl.DataFrame, items: str, level: float
) -> dict[str, SelfAgreement]:
    """The agreement of each question's labels with those of the same things in the other order, by the question's key.

    Where second labels are requested for some things only, those are compared; otherwise all that have a label. Rows
    with the same value in the column `items` are alike. Questions without anything to compare are left out.
    """
    found = {question.key: _agreement_of_orders(question, records, items, level) for question in questions}
    return {key: agreement for key, agreement in found.items() if agreement is not None}


def _agreement_of_orders(question: Question, records: pl.DataFrame, items: str, level: float) -> SelfAgreement | None:
    import polars as pl

    own, other = tuple(question.columns), tuple(question.columns.values())
    labelled = pl.any_horizontal(pl.col(*own, *other).is_not_null())
    rows = records.filter(pl.col(question.repeated) if question.repeated else labelled)
    together = rows[items].to_list() * len(own)
    return of_labels(_labels_in(rows, own), _labels_in(rows, other), together, level=level)


def _labels_in(rows: pl.DataFrame, columns: Iterable[str]) -> list[str | None]:
    """The labels of all rows in these columns, one column after another."""
    import polars as pl

    return [label for column in columns for label in rows[column].cast(pl.String).to_list()]


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
