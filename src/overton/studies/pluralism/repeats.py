"""How well the judge of pluralism agrees with itself, from the records of what it was asked again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from overton.studies.measurement import How
from overton.studies.pluralism.tables import RESPONSES
from overton.studies.self_agreement import SelfAgreement, of_labels, of_sets

if TYPE_CHECKING:
    import polars as pl


_KINDS = {
    **dict.fromkeys(("thread", "reference"), ("String",)),
    **dict.fromkeys(("stances", "stances_again"), ("List(String)",)),
    "responses": RESPONSES,
    "again": ("List(Struct({'number': Int64, 'stance': String, 'matched': List(String)}))",),
}
"""The types of the columns of a run's records that this needs."""


def self_agreement(records: pl.DataFrame, how: How) -> dict[str, SelfAgreement]:
    """The agreement of responses' stances ('stance') and matches ('matches'), and of summaries' stances
    ('stance_of_viewpoints'); intervals are clustered by thread. Whatever was not asked again is left out, and so is
    whatever records do not contain: those made before judges were asked again say nothing.
    """
    if any(str(records.schema.get(name)) not in kinds for name, kinds in _KINDS.items()):
        return {}
    responses, views = _responses(records), _viewpoints(records)
    # Told by words, no response has matches that a judge was asked for.
    matched = responses.clear() if responses["matched"].is_null().all() else responses
    found = {
        "stance": of_labels(*_columns(responses, "first_stance", "stance", "thread"), level=how.level),
        "matches": of_sets(*_columns(matched, "first_matched", "matched", "thread"), level=how.level),
        "stance_of_viewpoints": of_labels(*_columns(views, "stances", "stances_again", "thread"), level=how.level),
    }
    return {name: agreement for name, agreement in found.items() if agreement is not None}


def _columns(rows: pl.DataFrame, *names: str) -> list[list[Any]]:
    return [rows[name].to_list() for name in names]


def _responses(records: pl.DataFrame) -> pl.DataFrame:
    """Thread, number, stance and matched of each response that was judged again, with the first stance and matched."""
    import polars as pl

    rows = records.filter(pl.col("again").list.len() > 0).select("thread", "responses", "again").with_row_index("row")
    again = rows.select("row", "thread", "again").explode("again").unnest("again")
    first = rows.select("row", "responses").explode("responses").unnest("responses")
    judged = first.select(
        "row", "number", pl.col("stance").alias("first_stance"), pl.col("matched").alias("first_matched")
    )
    return again.join(judged, on=["row", "number"], maintain_order="left")


def _viewpoints(records: pl.DataFrame) -> pl.DataFrame:
    """Thread, label and repeated label of each viewpoint; all trials of a thread share one labelling, taken once."""
    import polars as pl

    repeated = pl.col("stances_again").list.len()
    rows = records.select("thread", "reference", "stances", "stances_again").filter(
        repeated > 0, repeated == pl.col("stances").list.len()
    )
    once = rows.unique(maintain_order=True).explode("stances", "stances_again")
    return once.filter(pl.col("stances").ne_missing("reference"))
