"""Opinions and the summaries that are to entail them, laid out for a person to judge."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from overton.studies.measuring import Results
from overton.studies.pluralism.items import ReferenceThread
from overton.studies.pluralism.prompts import post_text
from overton.studies.pluralism.prompts.reference import filled
from overton.studies.sheet import JudgedRows, Sheet

if TYPE_CHECKING:
    import polars as pl

__all__ = ["SHEET"]

_LABELS = ("entailed", "not entailed")
_MEANINGS = ("the summary covers the opinion", "the summary does not cover the opinion")
_LONGEST_POST = 5_000


def _rows(results: Results, what: str) -> JudgedRows:
    """Each opinion with its own viewpoint's summary."""
    import polars as pl

    yes, no = map(pl.lit, _LABELS)
    label = pl.when(pl.col("entailed").is_null()).then(None).when(pl.col("entailed")).then(yes).otherwise(no)
    units = results.records.with_columns(label=label)
    judge = ", ".join(one.name for one in results.answering("judge"))
    shown = ("post", "viewpoint", "opinion")
    return JudgedRows(
        units["label"].to_list(),
        lambda places: _shown(units[list(places)], results.items),
        shown,
        _LABELS,
        judge,
        question=f"Does the summary cover the opinion?\n\n{_decide()}",
        definitions=dict(zip(_LABELS, _MEANINGS, strict=True)),
        seen={"Post": "whole_post", "Summary": "viewpoint", "Opinion": "opinion"},
        row="opinion",
        group="thread",
    )


def _decide() -> str:
    """How the judge is told to decide, in its own words."""
    return filled("audit", "system").split("\n\n")[1]


def _shown(units: pl.DataFrame, threads: Sequence[ReferenceThread]) -> pl.DataFrame:
    import polars as pl

    posts = {thread.id: post_text(thread) for thread in threads}
    summaries = {(thread.id, view.id): view.summary for thread in threads for view in thread.viewpoints}
    places = units.select("thread", "viewpoint").iter_rows()
    post = pl.col("thread").replace_strict(posts, return_dtype=pl.String)
    return units.select(
        pl.format("{}/{}/{}", "model", "thread", "number").alias("id"),
        "label",
        pl.format("{}/{}", "model", "thread").alias("group"),
        post.str.slice(0, _LONGEST_POST).alias("post"),
        post.alias("whole_post"),
        pl.Series("viewpoint", [summaries[place] for place in places]),
        "opinion",
    )


SHEET = Sheet(("entailment",), _rows, size=100)
