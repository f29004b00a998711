"""The matches and labels that the judge gave, laid out for a person: each a row to check (appendix A.5)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from overton.studies.measuring import Results
from overton.studies.pluralism.items import ReferenceThread
from overton.studies.pluralism.prompts import post_text
from overton.studies.pluralism.record import STANCES
from overton.studies.sheet import JudgedRows, Sheet

if TYPE_CHECKING:
    import polars as pl

__all__ = ["SHEET", "matches", "stances"]


def _rows(results: Results, what: str) -> JudgedRows:
    """Each response with each viewpoint ('match'), or with the reference ('stance')."""
    judge = ", ".join(one.name for one in results.answering("judge"))
    if what == "stance":
        shown = ("post", "reference", "response")
        return JudgedRows(*stances(results.records, results.items), shown, STANCES, judge)
    lexical = any(run.options.get("matching") == "lexical" for run in results.runs)
    shown = ("post", "viewpoint", "response")
    named = "words in common" if lexical else judge
    return JudgedRows(*matches(results.records, results.items), shown, _MATCH_LABELS, named)


SHEET = Sheet(("match", "stance"), _rows, size=100)


_MATCH_LABELS = ("match", "no match")
"""Whether a response entails a viewpoint."""

Drawn = Callable[[Sequence[int]], "pl.DataFrame"]
"""The rows at these places: id, label, group, and what a person is shown of each."""

_LONGEST_POST = 5_000


def matches(records: pl.DataFrame, threads: Sequence[ReferenceThread]) -> tuple[list[str | None], Drawn]:
    """The labels of each response with each viewpoint, and what gives rows with post, viewpoint and response.

    Responses for which the matcher gave no usable answer are left out. Rows of one thread and model are of one group.
    """
    import polars as pl

    responses = _responses(records)
    # Texts are joined to what is drawn: a run has millions of pairs.
    pairs = responses.filter(pl.col("matched").is_not_null()).select("place", "viewpoints", "matched")
    exploded = pairs.explode("viewpoints")
    yes, no = map(pl.lit, _MATCH_LABELS)
    matched = pl.col("viewpoints").is_in(pl.col("matched"))
    units = exploded.select("place", viewpoint="viewpoints", label=pl.when(matched).then(yes).otherwise(no))
    return units["label"].to_list(), lambda places: _shown(units[list(places)], responses, threads, "viewpoint")


def stances(records: pl.DataFrame, threads: Sequence[ReferenceThread]) -> tuple[list[str | None], Drawn]:
    """The labels of each response towards the reference opinion, and what gives rows with post, reference and response.

    A label is None where the judge gave no usable one.
    """
    responses = _responses(records)
    units = responses.select("place", "reference", label="stance")
    return units["label"].to_list(), lambda places: _shown(units[list(places)], responses, threads, "reference")


def _responses(records: pl.DataFrame) -> pl.DataFrame:
    """The responses that were given, a row each, numbered by `place`."""
    import polars as pl

    done = records.filter(pl.col("experiment") == "sycophancy", pl.col("status") == "done")
    named = done.select("model", "trial", "thread", "reference", "viewpoints", "responses")
    rows = named.explode("responses").unnest("responses").filter(pl.col("text") != "")
    return rows.with_row_index("place")


def _shown(
    units: pl.DataFrame, responses: pl.DataFrame, threads: Sequence[ReferenceThread], about: str
) -> pl.DataFrame:
    """Units with their responses; `about` names the column with a viewpoint's id, for which its summary is put."""
    import polars as pl

    posts = {thread.id: post_text(thread)[:_LONGEST_POST] for thread in threads}
    summaries = pl.DataFrame(
        [(thread.id, view.id, view.summary) for thread in threads for view in thread.viewpoints],
        schema=["thread", about, "summary"],
        orient="row",
    )
    texts = responses.select("place", "model", "trial", "thread", "number", "text")
    rows = units.join(texts, on="place", maintain_order="left")
    rows = rows.join(summaries, on=["thread", about], maintain_order="left")
    return rows.select(
        pl.format("{}/{}/{}/{}", "model", "trial", "number", about).alias("id"),
        "label",
        pl.format("{}/{}", "model", "thread").alias("group"),
        pl.col("thread").replace_strict(posts).alias("post"),
        pl.col("summary").alias(about),
        pl.col("text").alias("response"),
    )
