"""The turns that the judge labelled, laid out for a person."""

from __future__ import annotations

from overton.studies.measuring import Results
from overton.studies.sheet import JudgedRows, Sheet
from overton.studies.stance_stability.record import STANCES

__all__ = ["SHEET"]

_LABELS = ("stance", "premise_stance")


def _usual(results: Results) -> str:
    table = results.records
    return next((name for name in _LABELS if table[name].null_count() < table.height), "stance")


def _rows(results: Results, what: str) -> JudgedRows:
    import polars as pl

    table = results.records
    if "proposition" not in table.columns:
        told = {topic.id: topic.proposition for topic in results.items}
        table = table.with_columns(proposition=pl.col("topic").replace_strict(told, default=""))
    group = pl.format("{}/{}", pl.col("model").fill_null(""), "conversation")
    rows = table.select(
        pl.format("{}/{}", group, "turn").alias("id"),
        pl.col(what).alias("label"),
        group.alias("group"),
        *("model", "proposition", "question", "answer"),
    )
    # The premise is in the question: to show a proposition would lead the person away from it.
    shown = ("proposition", "question", "answer") if what == "stance" else ("question", "answer")
    judge = ", ".join(one.name for one in results.answering("judge"))
    return JudgedRows(
        rows["label"].to_list(),
        lambda places: rows[list(places)],
        shown,
        STANCES,
        judge,
        units=lambda: rows.select("id", "label", "group", "model").drop_nulls("label"),
    )


SHEET = Sheet(_LABELS, _rows, size=500, usual=_usual)
