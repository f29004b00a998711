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

__all__ = ["SHEET", "beliefs", "matches", "post_of", "stances", "summaries_of", "summary_stances"]


def _rows(results: Results, what: str) -> JudgedRows:
    """Each response with each viewpoint ('match'), or with the reference ('stance'); each viewpoint with the reference
    ('summary'); each belief with the opinion that it states or denies ('belief')."""
    judge = ", ".join(one.name for one in results.answering("judge"))
    if what == "summary":
        shown = ("post", "reference", "viewpoint")
        return JudgedRows(*summary_stances(results.records, results.items), shown, STANCES, judge)
    if what == "belief":
        shown = ("opinion", "asked", "belief")
        return JudgedRows(*beliefs(results.records, results.items), shown, _BELIEF_LABELS, judge)
    if what == "stance":
        shown = ("post", "reference", "response")
        return JudgedRows(*stances(results.records, results.items), shown, STANCES, judge)
    lexical = any(run.options.get("matching") == "lexical" for run in results.runs)
    shown = ("post", "viewpoint", "response")
    named = "words in common" if lexical else judge
    return JudgedRows(*matches(results.records, results.items), shown, _MATCH_LABELS, named)


SHEET = Sheet(("match", "stance", "summary", "belief"), _rows, size=100)


_MATCH_LABELS = ("match", "no match")
"""Whether a response entails a viewpoint."""

_BELIEF_LABELS = ("says that", "does not")
"""Whether a belief states the opinion, or its negation, as was asked; the judge that wrote it holds that it does."""

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


def summary_stances(records: pl.DataFrame, threads: Sequence[ReferenceThread]) -> tuple[list[str | None], Drawn]:
    """The labels of viewpoints towards a reference opinion, those of threads that did not qualify among them.

    They define which viewpoints are 'supporting' and 'against', and are the same for all models: each stands once.
    """
    import polars as pl

    held = records.filter(pl.col("experiment") == "sycophancy").unique("thread", keep="first", maintain_order=True)
    if "tried" in records.columns:
        tried = held.select("thread", "viewpoints", "tried").explode("tried").drop_nulls("tried").unnest("tried")
        rows = tried.rename({"viewpoint": "reference"})
    else:  # a run made before labels of those that do not qualify were kept
        rows = held.filter(pl.col("status") == "done").select("thread", "reference", "viewpoints", "stances")
    exploded = rows.explode("viewpoints", "stances")
    units = exploded.select("thread", "reference", viewpoint="viewpoints", label="stances")
    units = units.filter(pl.col("viewpoint") != pl.col("reference"))
    return units["label"].to_list(), lambda places: _viewed(units[list(places)], threads)


def beliefs(records: pl.DataFrame, threads: Sequence[ReferenceThread]) -> tuple[list[str | None], Drawn]:
    """The beliefs that the judge wrote, each once, with the viewpoint and whether its negation was asked for."""
    import polars as pl

    held = records.filter(pl.col("belief") != "", pl.col("reference").is_not_null())
    named = held.select("thread", "reference", "belief", opposing=pl.col("arm") == "opposing")
    units = named.unique(["thread", "reference", "opposing"], keep="first", maintain_order=True)
    return [_BELIEF_LABELS[0]] * units.height, lambda places: _stated(units[list(places)], threads)


def _stated(units: pl.DataFrame, threads: Sequence[ReferenceThread]) -> pl.DataFrame:
    import polars as pl

    asked = pl.when("opposing").then(pl.lit("its opposite")).otherwise(pl.lit("the opinion"))
    return units.select(
        pl.format(
            "{}/{}/{}", "thread", "reference", pl.when("opposing").then(pl.lit("opposing")).otherwise(pl.lit("toward"))
        ).alias("id"),
        pl.lit(_BELIEF_LABELS[0]).alias("label"),
        pl.col("thread").alias("group"),
        pl.Series("opinion", summaries_of(units, "reference", threads), pl.String),
        asked.alias("asked"),
        "belief",
    )


def _viewed(units: pl.DataFrame, threads: Sequence[ReferenceThread]) -> pl.DataFrame:
    import polars as pl

    told = {name: summaries_of(units, name, threads) for name in ("reference", "viewpoint")}
    return units.select(
        pl.format("{}/{}/{}", "thread", "reference", "viewpoint").alias("id"),
        "label",
        pl.col("thread").alias("group"),
        post_of(threads),
        *(pl.Series(name, told[name], pl.String) for name in told),
    )


def post_of(threads: Sequence[ReferenceThread]) -> pl.Expr:
    """The column `post` for rows with a `thread`: what a person is shown of it."""
    import polars as pl

    posts = {thread.id: post_text(thread)[:_LONGEST_POST] for thread in threads}
    return pl.col("thread").replace_strict(posts, return_dtype=pl.String).alias("post")


def summaries_of(units: pl.DataFrame, name: str, threads: Sequence[ReferenceThread]) -> list[str]:
    """For rows with a `thread`, the summaries of the viewpoints in the column `name`."""
    known = {(thread.id, view.id): view.summary for thread in threads for view in thread.viewpoints}
    return [known[place] for place in units.select("thread", name).iter_rows()]


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
        post_of(threads),
        pl.col("summary").alias(about),
        pl.col("text").alias("response"),
    )
