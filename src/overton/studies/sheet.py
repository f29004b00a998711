"""What a study's judge labelled, laid out so that people can label the same; how well they agree, as tables."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from overton.calls import Ask, Draw
from overton.judging.agreement import SheetAgreement, leniency
from overton.studies.exhibits import Cell, Column, Table

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

    import polars as pl

    from overton.statistics.misclassification import LabelCount
    from overton.studies.results import Results

__all__ = [
    "JudgedAgain",
    "JudgedOnce",
    "JudgedRows",
    "JudgedUnits",
    "LabelPlans",
    "Sheet",
    "agreement_tables",
    "definitions_in",
    "plans_table",
]


@dataclass(frozen=True)
class JudgedRows:
    """What a judge labelled.

    `given` has the label of every unit, `drawn` the units at some places: `id`, `label`, `group` (units of one group
    are alike), `model` if each unit is one model's, and the columns `shown` to a person. `labels` are the values that a
    label can have, `judge` gave them.

    The rest is for pages on which people label, and may be left out. `question` is what they are asked: its first
    paragraph is shown beside each row, the others say how to decide. `definitions` says what each label means, in the
    judge's own words (`definitions_in`), so that people and judge answer the same question. `seen` has all that the
    judge saw of a row, mapping a heading to its column of `drawn`; by default what is `shown`. `row` and `group` are
    the names of one row and one group in a sentence. If `drawn` has a column `whole`, that is what rows are drawn with
    when whole groups are drawn. `units()` gives the columns of `drawn` except what is shown, for all labelled units in
    the order of `given`, if that costs less than drawing them all.
    """

    given: Sequence[str | None]
    drawn: Callable[[Sequence[int]], pl.DataFrame]
    shown: Sequence[str]
    labels: Sequence[str]
    judge: str
    question: str = ""
    definitions: Mapping[str, str] = field(default_factory=dict)
    seen: Mapping[str, str] = field(default_factory=dict)
    row: str = "row"
    group: str = "group"
    units: Callable[[], pl.DataFrame] | None = None


@dataclass(frozen=True)
class JudgedOnce:
    """One request to a judge, with all that is needed to ask about it again.

    `labels` has what it said of each row, by what follows `id` and a slash in the row's id, '' if the row has the same
    id; None if it gave no label. Units of one `group` are alike. `material` can be written as JSON.
    """

    id: str
    group: str
    labels: Mapping[str, str | None]
    material: Mapping[str, Any]


@dataclass(frozen=True)
class JudgedUnits:
    """Everything that a judge was asked about, including what it gave no label to, in order: each one's id, its
    condition, and whether the judge labelled any of its rows; `drawn(places)` lays out some of them."""

    ids: Sequence[str]
    conditions: Sequence[str]
    labelled: Sequence[bool]
    drawn: Callable[[Sequence[int]], Sequence[JudgedOnce]]


@dataclass(frozen=True)
class JudgedAgain:
    """How a study's judge is asked again about what it judged: what `overton judge again` needs from a study.

    `role` answers. `units(results, what)` are those of one run; it raises `InputError` if `what` is not a judgement.
    `ask(ask, what, material, draw, speaker)` asks as the study itself does: without `draw` word for word as before,
    with it with labels or materials in another order; it gives the rows' labels as in `JudgedOnce`, and leaves out
    those that could not be read. `item(material)` is the study's item behind it, for simulated judges who know theirs.
    `controls()` finds the file of texts whose label is beyond doubt, one per line of JSON
    (`overton.studies.controls.units.Control`), on which a judge is tried. `manner(results)` is what all materials of a
    run share, such as whether the label was requested before its reason: its judge is tried in that way, too.
    """

    role: str
    units: Callable[[Results, str], JudgedUnits]
    ask: Callable[[Ask, str, Mapping[str, Any], Draw | None, str | None], Awaitable[Mapping[str, str | None]]]
    item: Callable[[Mapping[str, Any]], Any] | None = None
    controls: Callable[[], Traversable] | None = None
    manner: Callable[[Results], Mapping[str, Any]] | None = None


@dataclass(frozen=True)
class LabelPlans:
    """How many labels by people the measures of many labels together need.

    `measures` rest on labels of the kind `what`, and `of(results, people, measure, width)` says how many bring the
    interval of one to a width, from the labels so far (`people_table`); GROUP/MEASURE names one of a condition if the
    measures are by condition.
    """

    what: str
    measures: tuple[str, ...]
    of: Callable[[Results, pl.DataFrame, str, float], Sequence[LabelCount]]


@dataclass(frozen=True)
class Sheet:
    """Which labels people can check: `rows(results, what)` lays out those of the kind `what`, one of `whats`.

    The first of `whats` that the results contain is the default; `usual(results)` names it. `size` is how many rows a
    sheet has by default. `again` says how the judge is asked again, if it can be, and `plans` how many labels the
    measures of many of them need. Labels named in `whole` are drawn for pages in whole groups by default: the measures
    of many of them are then corrected without assumptions about the judge's errors.
    """

    whats: tuple[str, ...]
    rows: Callable[[Results, str], JudgedRows]
    size: int
    usual: Callable[[Results], str] | None = None
    again: JudgedAgain | None = None
    plans: LabelPlans | None = None
    whole: tuple[str, ...] = ()


def definitions_in(prompt: str, labels: Sequence[str]) -> dict[str, str]:
    """What each label means, word for word from a judge's prompt, where a line 'LABEL: ...' says so.

    Raises:
        ValueError: the prompt has no such line for a label.
    """
    lines = [line.strip().partition(": ") for line in prompt.splitlines()]
    found = {name: meaning.strip() for name, _, meaning in lines if name in labels and meaning}
    if missing := [label for label in labels if label not in found]:
        raise ValueError(f"the prompt does not say in a line of its own what {missing[0]!r} means")
    return {label: found[label] for label in labels}


def agreement_tables(found: SheetAgreement) -> list[Table]:
    """The agreement over all rows, then what the person confirms of each label."""
    columns = [Column("Label"), Column("Rows", "count"), Column("Left empty", "count")]
    columns += [Column("Same label", "share"), Column("Cohen's kappa", "value")]
    row: list[Cell] = [found.what, found.drawn - found.blank, found.blank, found.same, found.kappa]
    if found.what == "match":
        columns.append(Column("Where they differ, judged match", "share"))
        row.append(leniency(found, "match"))
    heads = [Column("Judged"), Column("Rows", "count"), Column("Confirmed", "share")]
    rows: list[list[Cell]] = [[label, confirmed.n, confirmed] for label, confirmed in found.by_label.items()]
    whole = Table(f"{found.judge} and a person", columns, [row])
    return [whole, Table("What the person confirms", heads, rows)] if rows else [whole]


def plans_table(
    measure: str, width: float, labelled: int, names: tuple[str, str], plans: Sequence[LabelCount]
) -> Table:
    """How many labels bring a measure's interval to a width; `names` are those of a row and of a group."""
    row, group = names
    columns = [Column("What is labelled"), Column("Labels", "count"), Column("Width that they give", "value")]
    columns += [Column("Width that labelling all leaves", "value"), Column("Why not")]
    rows: list[list[Cell]] = [
        [
            f"single {row}s" if one.unit == "rows" else f"whole {group}s ({one.units:,})",
            None if one.why else one.labels,
            None if one.why else one.width,
            one.least,
            one.why,
        ]
        for one in plans
    ]
    note = f"From {labelled:,} labels so far: valid as far as the judge errs elsewhere as it does in these."
    return Table(f"Labels for {measure}, an interval {width:g} wide", columns, rows, note=note)
