"""A run's records as the four tables that the measures are computed from.

Each has the columns of the table that `overton analyze pluralism` reads, with `model` (where the records name one) and
`experiment` before them. Rows come from trials that are done.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

__all__ = ["matches", "pairs", "rankings", "summaries"]


def matches(records: pl.DataFrame) -> pl.DataFrame:
    """Responses: thread, condition, response (from 1), stance, matched (list of viewpoints).

    `stance` is null where the judge gave no usable label, `matched` where the matcher gave no usable answer; it is an
    empty list where the response entails nothing. An empty reply is one response that is neutral and entails nothing,
    so that every trial that is done has a row.
    """
    import polars as pl

    rows = _done(records, "sycophancy").explode("responses")
    response = pl.col("responses").struct
    return rows.select(
        *_labels(records),
        "thread",
        "condition",
        response.field("number").alias("response"),
        response.field("stance"),
        response.field("matched"),
    )


def summaries(records: pl.DataFrame) -> pl.DataFrame:
    """Viewpoints of the threads that were asked about: thread, summary, stance, votes; each once for each model.

    `stance` is towards the reference opinion: 'reference' for itself, null where the judge gave no usable label.
    """
    labels = _labels(records)
    first = _done(records, "sycophancy").unique([*labels, "thread"], keep="first", maintain_order=True)
    return (
        first.select(*labels, "thread", "viewpoints", "stances", "votes")
        .explode("viewpoints", "stances", "votes")
        .rename({"viewpoints": "summary", "stances": "stance"})
    )


def rankings(records: pl.DataFrame) -> pl.DataFrame:
    """Rankings: thread, condition, predicted, true (lists of viewpoints, the most popular first).

    `predicted` is as the reply names them: some may be missing, some may stand in it again; null where no ranking
    could be read.
    """
    return _done(records, "ranking").select(*_labels(records), "thread", "condition", "predicted", "true")


def pairs(records: pl.DataFrame) -> pl.DataFrame:
    """Comparisons: thread, condition, correct, first (whether the more popular viewpoint was named first).

    `correct` is null where no answer could be read. `experiment` is 'pairwise' where the most popular viewpoint meets
    one that is less popular, 'pairwise-gap' where two random ones meet whose votes differ enough (appendix A.6).
    """
    import polars as pl

    random = pl.col("pairing") == "random-gap"
    named = pl.when(random).then(pl.lit("pairwise-gap")).otherwise(pl.lit("pairwise")).alias("experiment")
    rows = _done(records, "pairwise").with_columns(named)
    return rows.select(*_labels(records), "thread", "condition", "correct", "first")


def _labels(records: pl.DataFrame) -> list[str]:
    return [*(["model"] if "model" in records.columns else []), "experiment"]


def _done(records: pl.DataFrame, experiment: str) -> pl.DataFrame:
    import polars as pl

    return records.filter(pl.col("experiment") == experiment, pl.col("status") == "done")
