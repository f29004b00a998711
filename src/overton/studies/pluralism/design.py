"""What was asked about: which threads qualify, and why others do not (table 7); how far apart pairs are (6.3.1)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from overton.studies.exhibits import Cell, Column, Section, Table
from overton.studies.pluralism.record import ENOUGH

if TYPE_CHECKING:
    import polars as pl

__all__ = ["none_qualifies", "sections"]


def none_qualifies(records: pl.DataFrame) -> str:
    """Why there is nothing to measure, where no thread has a reference opinion and nothing else was asked; else ''."""
    import polars as pl

    held = records.filter(pl.col("experiment") == "sycophancy")
    if held.is_empty() or held.height < records.filter(pl.col("status") != "failed").height:
        return ""
    if held.filter(pl.col("status") != "not eligible").height:
        return ""
    why = Counter(_lacking(row) for row in _threads(held))
    told = "; ".join(f"{count} {reason}" for reason, count in sorted(why.items()))
    return (
        f"none of {why.total()} threads has a viewpoint that at least {ENOUGH} others support and {ENOUGH} oppose, so"
        f" no responses were asked for: {told}"
    )


def sections(records: pl.DataFrame) -> Iterator[Section]:
    """Threads by community, and the gaps of pairs."""
    made = [*_feasible(records), *_gaps(records)]
    if made:
        yield Section("design", "What was asked about", made)


_REASONS = (
    "have fewer than five viewpoints",
    "have no viewpoint with two supporting ones",
    "have no viewpoint with two against it",
    "have both, but for no one viewpoint",
    "could not be labelled",
)
_NOT_KEPT = "do not say why: the run is from before labels of such threads were kept"


def _threads(held: pl.DataFrame) -> list[dict[str, Any]]:
    """Each thread once, as any model's first trial has it."""
    names = [name for name in ("thread", "community", "status", "viewpoints", "tried") if name in held.columns]
    ordered = held.select(names).sort("status")  # 'done' before 'failed' and 'not eligible'
    return ordered.unique("thread", keep="first", maintain_order=True).to_dicts()


def _lacking(row: dict[str, Any]) -> str:
    """Why a thread does not qualify, from the labels that its viewpoints got."""
    few, no_support, no_against, neither_one, unlabelled = _REASONS
    if len(row["viewpoints"]) <= 2 * ENOUGH:
        return few
    if not row.get("tried"):
        return _NOT_KEPT
    counts = [Counter(one["stances"]) for one in row["tried"]]
    if not any(one["supporting"] + one["against"] + one["neutral"] for one in counts):
        return unlabelled
    if max(one["supporting"] for one in counts) < ENOUGH:
        return no_support
    if max(one["against"] for one in counts) < ENOUGH:
        return no_against
    return neither_one


def _feasible(records: pl.DataFrame) -> Iterator[Table]:
    import polars as pl

    held = _threads(records.filter(pl.col("experiment") == "sycophancy"))
    if not held:
        return
    communities = sorted({row["community"] for row in held})
    reasons = [*_REASONS, *([_NOT_KEPT] if _NOT_KEPT in _lacking_in(held) else [])]
    rows = [_counted(one, [row for row in held if row["community"] == one], reasons) for one in communities]
    rows += [_counted("all communities", held, reasons)] if len(communities) > 1 else []
    columns = [Column("Community"), Column("Threads", "count"), Column("Feasible", "count")]
    columns += [Column(reason.removeprefix("have ").capitalize(), "count", detail=True) for reason in reasons]
    note = "A thread is feasible where a viewpoint has two others that support it and two that oppose it."
    yield Table("Threads with a reference opinion", columns, rows, note, "table 7", summary=len(communities) > 1)


def _counted(community: str, held: Sequence[dict[str, Any]], reasons: Sequence[str]) -> list[Cell]:
    lacking = _lacking_in(held)
    feasible = sum(row["status"] == "done" for row in held)
    return [community, len(held), feasible, *(lacking[reason] for reason in reasons)]


def _lacking_in(held: Sequence[dict[str, Any]]) -> Counter[str]:
    return Counter(_lacking(row) for row in held if row["status"] == "not eligible")


def _gaps(records: pl.DataFrame) -> Iterator[Table]:
    """The mean gap of votes in pairs, each pair once whoever compared it."""
    import polars as pl

    held = records.filter(pl.col("experiment") == "pairwise", pl.col("gap").is_not_null())
    pairs = held.unique(["thread", "pairing", "popular", "other"])
    if pairs.is_empty():
        return
    columns = [Column("Pairs"), Column("Community"), Column("Number", "count"), Column("Mean gap of votes", "value")]
    columns.append(Column("Median gap", "value"))
    grouped = pairs.group_by("pairing", "community").agg(
        pl.len(), pl.col("gap").mean().alias("mean"), pl.col("gap").median().alias("median")
    )
    rows: list[list[Cell]] = [list(row) for row in grouped.sort("pairing", "community").iter_rows()]
    yield Table("Gaps of votes in pairs", columns, rows, source="section 6.3.1")
