"""How far the judge of pluralism agrees with itself, from the records of what it was asked again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from overton.studies.measuring import How
from overton.studies.retesting import SelfAgreement, of_labels, of_sets

if TYPE_CHECKING:
    import polars as pl

__all__ = ["self_agreement"]


def self_agreement(records: pl.DataFrame, how: How) -> dict[str, SelfAgreement]:
    """The agreement of responses' stances ('stance') and matches ('matches'), and of summaries' stances
    ('stance_of_viewpoints'); intervals take what belongs to one thread as alike. What nobody was asked again is left
    out.
    """
    if "again" not in records.columns:
        return {}
    responses = [
        (row["thread"], row["responses"][again["number"] - 1], again)
        for row in records.filter(records["again"].list.len() > 0).iter_rows(named=True)
        for again in row["again"]
    ]
    threads = [thread for thread, _, _ in responses]
    matched = [(thread, one["matched"], again["matched"]) for thread, one, again in responses]
    if not any(second is not None for _, _, second in matched):  # told by words, which no judge was asked for
        matched = []
    views = _viewpoints(records)
    found = {
        "stance": of_labels(
            [one["stance"] for _, one, _ in responses],
            [again["stance"] for _, _, again in responses],
            threads,
            level=how.level,
        ),
        "matches": of_sets(
            [first for _, first, _ in matched],
            [second for _, _, second in matched],
            [thread for thread, _, _ in matched],
            level=how.level,
        ),
        "stance_of_viewpoints": of_labels(
            [first for _, first, _ in views],
            [second for _, _, second in views],
            [thread for thread, _, _ in views],
            level=how.level,
        ),
    }
    return {name: one for name, one in found.items() if one is not None}


def _viewpoints(records: pl.DataFrame) -> list[tuple[str, Any, Any]]:
    """Thread, label and repeated label of each viewpoint; all trials of a thread share one labelling, taken once."""
    rows = records.filter(records["stances_again"].list.len() > 0)
    once = {
        (row["thread"], row["reference"], *row["stances"], *row["stances_again"]): row
        for row in rows.iter_rows(named=True)
    }
    return [
        (row["thread"], first, second)
        for row in once.values()
        for first, second in zip(row["stances"], row["stances_again"], strict=True)
        if first != "reference"
    ]
