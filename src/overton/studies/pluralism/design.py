"""What was asked about: which threads qualify, and why others do not (table 7); the gaps of pairs (6.3.1)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from overton.studies.pluralism.record import ENOUGH

if TYPE_CHECKING:
    import polars as pl

    from overton.studies.frame import Cells

REASONS: Mapping[str, str] = {
    "few_viewpoints": "have fewer than five viewpoints",
    "none_supporting": "have no viewpoint with two supporting ones",
    "none_against": "have no viewpoint with two against it",
    "not_for_one": "have both, but not for the same viewpoint",
    "unlabelled": "could not be labelled",
    "not_kept": "do not say why: the run dates from before labels of such threads were kept",
}
"""Why threads do not qualify."""

_COLUMNS = (
    *("model", "condition", "thread", "community", "experiment", "status", "viewpoints", "tried"),
    *("pairing", "popular", "other", "gap"),
)


def asked_of(records: pl.DataFrame) -> pl.DataFrame:
    """The trials of a run: what each asked about, and whether it did."""
    return records.select(name for name in _COLUMNS if name in records.columns)


def none_qualifies(records: pl.DataFrame) -> str:
    """Why there is nothing to measure, if no thread has a reference opinion and nothing else was asked; else ''."""
    import polars as pl

    asked = records.filter(pl.col("experiment") == "sycophancy")
    if asked.is_empty() or asked.height < records.filter(pl.col("status") != "failed").height:
        return ""
    if asked.filter(pl.col("status") != "not eligible").height:
        return ""
    threads = _threads(asked)
    return (
        f"none of {len(threads)} threads has a viewpoint that at least {ENOUGH} others support and {ENOUGH} oppose, so"
        f" no responses were requested: {_list_reasons(threads)}"
    )


def without_references(records: pl.DataFrame) -> str:
    """Why no responses could be measured, if every thread lacks a usable reference opinion; else ''."""
    import polars as pl

    asked = records.filter(pl.col("experiment") == "sycophancy")
    if asked.is_empty() or asked.filter(pl.col("status") != "not eligible").height:
        return ""
    threads = asked["thread"].n_unique()
    found = f"the judge found no usable reference opinion in {threads} of {threads} threads"
    return f"{found} ({_list_reasons(_threads(asked))})"


def _list_reasons(threads: Sequence[dict[str, Any]]) -> str:
    why = Counter(REASONS[_lacking(row)] for row in threads)
    return "; ".join(f"{count} {reason}" for reason, count in sorted(why.items()))


def tables_of_design(asked: pl.DataFrame) -> dict[str, tuple[Cells, ...]]:
    """The tables 'threads', on threads by community, and 'gaps', on the votes of pairs; '' are all communities."""
    return {"threads": tuple(_feasible(asked)), "gaps": tuple(_gaps(asked))}


def _threads(records: pl.DataFrame) -> list[dict[str, Any]]:
    """Each thread once, as any model's first trial has it."""
    names = [name for name in ("thread", "community", "status", "viewpoints", "tried") if name in records.columns]
    ordered = records.select(names).sort("status")  # 'done' before 'failed' and 'not eligible'
    return ordered.unique("thread", keep="first", maintain_order=True).to_dicts()


def _lacking(row: dict[str, Any]) -> str:
    """Why a thread does not qualify, from the labels that its viewpoints got."""
    if len(row["viewpoints"]) <= 2 * ENOUGH:
        return "few_viewpoints"
    if not row.get("tried"):
        return "not_kept"
    counts = [Counter(tried["stances"]) for tried in row["tried"]]
    if not any(count["supporting"] + count["against"] + count["neutral"] for count in counts):
        return "unlabelled"
    if max(count["supporting"] for count in counts) < ENOUGH:
        return "none_supporting"
    if max(count["against"] for count in counts) < ENOUGH:
        return "none_against"
    return "not_for_one"


def _feasible(asked: pl.DataFrame) -> Iterator[Cells]:
    import polars as pl

    threads = _threads(asked.filter(pl.col("experiment") == "sycophancy"))
    communities = sorted({row["community"] for row in threads})
    for community in (*communities, *([""] if len(communities) > 1 else [])):
        own = [row for row in threads if community in {row["community"], ""}]
        lacking = Counter(_lacking(row) for row in own if row["status"] == "not eligible")
        feasible = sum(row["status"] == "done" for row in own)
        reasons = {reason: lacking[reason] for reason in REASONS}
        yield {"community": community, "threads": len(own), "feasible": feasible, **reasons}


def _gaps(asked: pl.DataFrame) -> Iterator[Cells]:
    """The mean gap of votes in pairs, each pair counted once whichever models compared it."""
    import polars as pl

    if "gap" not in asked.columns:
        return
    compared = asked.filter(pl.col("experiment") == "pairwise", pl.col("gap").is_not_null())
    pairs = compared.unique(["thread", "pairing", "popular", "other"])
    grouped = pairs.group_by("pairing", "community").agg(
        pairs=pl.len().cast(pl.Int64), mean=pl.col("gap").mean(), median=pl.col("gap").median()
    )
    yield from grouped.sort("pairing", "community").iter_rows(named=True)
