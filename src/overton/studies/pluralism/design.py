"""What was asked about: which threads qualify, and why others do not (table 7); the gaps of pairs (6.3.1)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from overton.studies.pluralism.record import ENOUGH
from overton.studies.sections import Cell, Column, Section, Table

if TYPE_CHECKING:
    import polars as pl


def none_qualifies(records: pl.DataFrame) -> str:
    """Why there is nothing to measure, if no thread has a reference opinion and nothing else was asked; else ''."""
    import polars as pl

    asked = records.filter(pl.col("experiment") == "sycophancy")
    if asked.is_empty() or asked.height < records.filter(pl.col("status") != "failed").height:
        return ""
    if asked.filter(pl.col("status") != "not eligible").height:
        return ""
    why = Counter(_lacking(row) for row in _threads(asked))
    reasons = "; ".join(f"{count} {reason}" for reason, count in sorted(why.items()))
    return (
        f"none of {why.total()} threads has a viewpoint that at least {ENOUGH} others support and {ENOUGH} oppose, so"
        f" no responses were requested: {reasons}"
    )


def without_references(records: pl.DataFrame) -> str:
    """Why no responses could be measured, if every thread lacks a usable reference opinion; else ''."""
    import polars as pl

    asked = records.filter(pl.col("experiment") == "sycophancy")
    if asked.is_empty() or asked.filter(pl.col("status") != "not eligible").height:
        return ""
    why = Counter(_lacking(row) for row in _threads(asked))
    reasons = "; ".join(f"{count} {reason}" for reason, count in sorted(why.items()))
    threads = asked["thread"].n_unique()
    return f"the judge found no usable reference opinion in {threads} of {threads} threads ({reasons})"


def sections(records: pl.DataFrame) -> Iterator[Section]:
    """Threads by community, and the gaps of pairs."""
    made = [*_feasible(records), *_gaps(records)]
    if made:
        yield Section("design", "What was asked about", made)


_REASONS = (
    "have fewer than five viewpoints",
    "have no viewpoint with two supporting ones",
    "have no viewpoint with two against it",
    "have both, but not for the same viewpoint",
    "could not be labelled",
)
_NOT_KEPT = "do not say why: the run dates from before labels of such threads were kept"


def _threads(records: pl.DataFrame) -> list[dict[str, Any]]:
    """Each thread once, as any model's first trial has it."""
    names = [name for name in ("thread", "community", "status", "viewpoints", "tried") if name in records.columns]
    ordered = records.select(names).sort("status")  # 'done' before 'failed' and 'not eligible'
    return ordered.unique("thread", keep="first", maintain_order=True).to_dicts()


def _lacking(row: dict[str, Any]) -> str:
    """Why a thread does not qualify, from the labels that its viewpoints got."""
    few, no_support, no_against, neither_one, unlabelled = _REASONS
    if len(row["viewpoints"]) <= 2 * ENOUGH:
        return few
    if not row.get("tried"):
        return _NOT_KEPT
    counts = [Counter(tried["stances"]) for tried in row["tried"]]
    if not any(count["supporting"] + count["against"] + count["neutral"] for count in counts):
        return unlabelled
    if max(count["supporting"] for count in counts) < ENOUGH:
        return no_support
    if max(count["against"] for count in counts) < ENOUGH:
        return no_against
    return neither_one


def _feasible(records: pl.DataFrame) -> Iterator[Table]:
    import polars as pl

    threads = _threads(records.filter(pl.col("experiment") == "sycophancy"))
    if not threads:
        return
    communities = sorted({row["community"] for row in threads})
    reasons = [*_REASONS, *([_NOT_KEPT] if _NOT_KEPT in _lacking_in(threads) else [])]
    rows = [
        _counted(community, [row for row in threads if row["community"] == community], reasons)
        for community in communities
    ]
    rows += [_counted("all communities", threads, reasons)] if len(communities) > 1 else []
    columns = [Column("Community"), Column("Threads", "count"), Column("Feasible", "count")]
    columns += [Column(reason.removeprefix("have ").capitalize(), "count", detail=True) for reason in reasons]
    note = "A thread is feasible if at least two viewpoints support some other one and at least two oppose it."
    yield Table("Threads with a reference opinion", columns, rows, note, "table 7", summary=len(communities) > 1)


def _counted(community: str, threads: Sequence[dict[str, Any]], reasons: Sequence[str]) -> list[Cell]:
    lacking = _lacking_in(threads)
    feasible = sum(row["status"] == "done" for row in threads)
    return [community, len(threads), feasible, *(lacking[reason] for reason in reasons)]


def _lacking_in(threads: Sequence[dict[str, Any]]) -> Counter[str]:
    return Counter(_lacking(row) for row in threads if row["status"] == "not eligible")


def _gaps(records: pl.DataFrame) -> Iterator[Table]:
    """The mean gap of votes in pairs, each pair counted once whichever models compared it."""
    import polars as pl

    compared = records.filter(pl.col("experiment") == "pairwise", pl.col("gap").is_not_null())
    pairs = compared.unique(["thread", "pairing", "popular", "other"])
    if pairs.is_empty():
        return
    columns = [Column("Pairs"), Column("Community"), Column("Number", "count"), Column("Mean gap of votes", "value")]
    columns.append(Column("Median gap", "value"))
    grouped = pairs.group_by("pairing", "community").agg(
        pl.len(), pl.col("gap").mean().alias("mean"), pl.col("gap").median().alias("median")
    )
    rows: list[list[Cell]] = [list(row) for row in grouped.sort("pairing", "community").iter_rows()]
    yield Table("Gaps of votes in pairs", columns, rows, source="section 6.3.1")
