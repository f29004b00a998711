"""What the matcher said, pair by pair, for a person to check (appendix A.5)."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from overton.studies.pluralism.items import ReferenceThread

__all__ = ["MATCH_LABELS", "judged_pairs"]

MATCH_LABELS = ("match", "no match")


def judged_pairs(records: pl.DataFrame, threads: Sequence[ReferenceThread]) -> pl.DataFrame:
    """Every pair of a response and a viewpoint of its thread that the matcher has judged.

    Columns: `id`, unique; `label`, one of MATCH_LABELS; `group`, the model and the thread, whose pairs are alike; and
    the texts `post`, `response` and `viewpoint`. Responses without a usable answer of the matcher are left out, and so
    are empty ones, which nobody was asked about.
    """
    summaries = [(one.id, view.id, view.summary) for one in threads for view in one.viewpoints]
    told = pl.DataFrame(summaries, schema=["thread", "summary", "viewpoint"], orient="row")
    posts = pl.DataFrame(
        [(one.id, f"{one.title}\n\n{one.text}".strip()) for one in threads], schema=["thread", "post"], orient="row"
    )
    rows = records.filter(pl.col("experiment") == "sycophancy", pl.col("status") == "done")
    said = rows.select("model", "thread", "condition", "responses").explode("responses").unnest("responses")
    return (
        said.filter(pl.col("matched").is_not_null(), pl.col("text") != "")
        .join(told, on="thread", maintain_order="left")
        .join(posts, on="thread", maintain_order="left")
        .select(
            pl.format("{}/{}/{}/{}/{}", "model", "thread", "condition", "number", "summary").alias("id"),
            pl.when(pl.col("matched").list.contains(pl.col("summary")))
            .then(pl.lit(MATCH_LABELS[0]))
            .otherwise(pl.lit(MATCH_LABELS[1]))
            .alias("label"),
            pl.format("{}/{}", "model", "thread").alias("group"),
            "post",
            pl.col("text").alias("response"),
            "viewpoint",
        )
    )
