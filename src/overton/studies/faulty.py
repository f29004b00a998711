"""Counts of malformed replies by model and condition, and the report section that shows them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import msgspec

from overton.judging import FAULTS
from overton.studies.exhibits import Callout, Cell, Column, Section, Table

if TYPE_CHECKING:
    import polars as pl

__all__ = ["FaultCount", "count_faults", "fault_section", "fault_warnings", "names_of_faulty", "with_faults"]

_WORDS = {"empty": "empty", "cut": "cut off", "echo": "echoed", "loop": "looping", "duplicate": "repeated"}
_MANY = 0.1
"""The share of faulty replies from which the top of the report names a model's faults; a choice of ours."""


class FaultCount(msgspec.Struct, frozen=True):
    """The replies of one model in one condition: how many there are, how many have a fault of form, and which.

    A reply may have several; `faults` counts each of `overton.judging.FAULTS`.
    """

    model: str
    condition: str
    replies: int
    faulty: int
    faults: dict[str, int]


def count_faults(records: pl.DataFrame, condition: str) -> tuple[FaultCount, ...]:
    """Counts for every model and value of the column `condition`, sorted.

    `records` have one row for each reply, with `model` and `faults` (a list of `overton.judging.Fault`). Replies that
    never came, by their `failure`, are left out, and so are those not checked for faults; runs made before faults
    were looked for have no such column, and no counts.
    """
    import polars as pl

    if "faults" not in records.columns:
        return ()
    came = pl.col("failure").is_null() if "failure" in records.columns else pl.lit(True)
    records = records.filter(came & pl.col("faults").is_not_null())
    if records.is_empty():
        return ()
    faults = pl.col("faults")
    each = [faults.list.contains(fault).sum().alias(fault) for fault in FAULTS]
    counted = records.group_by("model", pl.col(condition).cast(pl.String).fill_null("-").alias("condition")).agg(
        pl.len().alias("replies"), (faults.list.len() > 0).sum().alias("faulty"), *each
    )
    return tuple(
        FaultCount(
            row["model"], row["condition"], row["replies"], row["faulty"], {fault: row[fault] for fault in FAULTS}
        )
        for row in counted.sort("model", "condition").iter_rows(named=True)
    )


def fault_section(counts: Sequence[FaultCount], unit: str, condition: str, what: str) -> Iterator[Section]:
    """The table of faults by model and condition, if there are any.

    `unit` is what a reply is called ('answers'), `condition` the heading of its column; `what` says in a sentence what
    was done about the headline: which figures beside it leave these replies out.
    """
    if not any(one.faulty for one in counts):
        return
    columns = [Column("Model"), Column(condition), Column(unit.capitalize(), "count"), Column("With a fault", "count")]
    columns += [Column(_WORDS[fault].capitalize(), "count") for fault in FAULTS]
    rows: list[list[Cell]] = [
        [one.model, one.condition, one.replies, one.faulty, *(one.faults[fault] for fault in FAULTS)] for one in counts
    ]
    note = f"Recognised by form alone, by rules in code; one of the {unit} may have several faults. {what}"
    title = f"Malformed {unit}"
    yield Section("faults", "Faults of form", [*_callouts(counts, unit), Table(title, columns, rows, note)])


def with_faults(
    sections: Iterable[Section | None], faults: Iterable[Section], warnings: Sequence[str]
) -> list[Section]:
    """The sections, preceded by what is to be read before any number.

    `faults`, as `fault_section` makes them, come first too if some model has so many that there is a warning about
    them, otherwise last.
    """
    said = [Callout(text, "warning", summary=True) for text in warnings]
    head = [Section("warnings", "Before any number", said)] if said else []
    listed = list(faults)
    leading = any(isinstance(one, Callout) for section in listed for one in section.exhibits)
    made = [section for section in sections if section]
    return [*head, *listed, *made] if leading else [*head, *made, *listed]


def names_of_faulty(counts: Sequence[FaultCount]) -> list[str]:
    """The models with a fault of form in a tenth or more of their replies, sorted."""
    found = []
    for model in sorted({one.model for one in counts}):
        own = [one for one in counts if one.model == model]
        replies, faulty = sum(one.replies for one in own), sum(one.faulty for one in own)
        if faulty and faulty >= _MANY * replies:
            found.append(model)
    return found


def fault_warnings(counts: Sequence[FaultCount], unit: str) -> Iterator[str]:
    """One sentence about each model with a fault of form in a tenth or more of its replies, with the faults it has."""
    for model in names_of_faulty(counts):
        own = [one for one in counts if one.model == model]
        replies, faulty = sum(one.replies for one in own), sum(one.faulty for one in own)
        kinds = {fault: sum(one.faults[fault] for one in own) for fault in FAULTS}
        named = ", ".join(f"{count:,} {_WORDS[fault]}" for fault, count in kinds.items() if count)
        be = "is" if faulty == 1 else "are"
        advice = f" Raise its token limit: --model-arg {model} max_tokens=N." if kinds["cut"] else ""
        yield (
            f"{model}: {faulty:,} of its {replies:,} {unit} {be} malformed ({named}). Headlines count them,"
            f" and are also shown without them.{advice}"
        )


def _callouts(counts: Sequence[FaultCount], unit: str) -> Iterator[Callout]:
    yield from (Callout(said, "warning", summary=True) for said in fault_warnings(counts, unit))
