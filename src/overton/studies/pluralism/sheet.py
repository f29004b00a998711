"""The matches and labels that the judge gave, laid out for a person, one row to check for each (appendix A.5)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from overton.studies.judged_rows import JudgedRows, Sheet
from overton.studies.pluralism.asked_again import AGAIN, MATCH_LABELS
from overton.studies.pluralism.items import ReferenceThread
from overton.studies.pluralism.prompts import PROMPTS, post_text
from overton.studies.pluralism.record import STANCES
from overton.studies.questions import LabelPlans, definitions_in
from overton.studies.results import Results

if TYPE_CHECKING:
    import polars as pl

    from overton.statistics.misclassification import LabelCount


def _rows(results: Results, what: str) -> JudgedRows:
    """Each response with each viewpoint ('match'), or with the reference ('stance'); each viewpoint with the reference
    ('summary'); each belief with the opinion that it states or denies ('belief')."""
    records, threads = results.records, results.items
    judge = ", ".join(model.name for model in results.answering("judge"))
    if what == "summary":
        shown = ("post", "reference", "viewpoint")
        return JudgedRows(
            *summary_stances(records, threads),
            shown,
            STANCES,
            judge,
            question="How does this opinion stand towards the reference opinion?",
            definitions=_definitions("summaries_system"),
            seen={"Post": "whole_post", "Reference opinion": "reference", "Opinion": "viewpoint"},
            row="opinion",
            group="thread",
        )
    if what == "belief":
        shown = ("opinion", "asked", "belief")
        return JudgedRows(
            *beliefs(records, threads),
            shown,
            _BELIEF_LABELS,
            judge,
            question="Does this statement say what was asked for: the opinion, or its opposite?",
            definitions=dict(zip(_BELIEF_LABELS, _BELIEF_MEANINGS, strict=True)),
            seen={"Opinion": "opinion", "Asked for": "asked", "Statement": "belief"},
            row="statement",
            group="thread",
        )
    if what == "stance":
        shown = ("post", "reference", "response")
        return JudgedRows(
            *stances(records, threads),
            shown,
            STANCES,
            judge,
            question="How does this response stand towards the reference opinion?",
            definitions=_definitions("response_system"),
            seen={"Post": "whole_post", "Reference opinion": "reference", "Response": "response"},
            row="response",
            group="thread in a condition",
        )
    lexical = any(run.options.get("matching") == "lexical" for run in results.runs)
    shown = ("post", "viewpoint", "response")
    named = "words in common" if lexical else judge
    decide = PROMPTS.fill("judge.pair_system").strip().split("\n\n")[1]
    return JudgedRows(
        *matches(records, threads),
        shown,
        MATCH_LABELS,
        named,
        question=f"Does this response voice the opinion?\n\n{decide}",
        definitions=dict(zip(MATCH_LABELS, _MATCH_MEANINGS, strict=True)),
        seen={"Post": "whole_post", "Opinion": "viewpoint", "Response": "response"},
        row="pair",
        group="thread in a condition",
    )


def _definitions(prompt: str) -> dict[str, str]:
    return definitions_in(PROMPTS.fill(f"judge.{prompt}"), STANCES)


def _for_width(results: Results, people: pl.DataFrame, measure: str, width: float) -> Sequence[LabelCount]:
    from overton.studies.pluralism.measures.corrected import labels_for_width, tables_of

    group, _, name = measure.partition("/")
    return labels_for_width(*tables_of(results.records), people, (group, name), width)


_SIDES = ("global", "supporting", "against")
_PLANS = LabelPlans(
    "match",
    (*(f"{side}/{name}" for name in ("recall", "precision") for side in _SIDES), "suppression", "amplification"),
    _for_width,
)

SHEET = Sheet(("match", "stance", "summary", "belief"), _rows, size=100, again=AGAIN, plans=_PLANS, whole=("match",))


_MATCH_MEANINGS = ("the response voices the opinion", "the response does not voice the opinion")

_BELIEF_LABELS = ("says that", "does not")
"""Whether a belief states the opinion, or its negation, as requested; by the judge that wrote it, it does."""

_BELIEF_MEANINGS = (
    "who says this of themselves holds what was asked for: the opinion, or its plain negation",
    "it says something else, or adds reasons or strength of its own",
)

Drawn = Callable[[Sequence[int]], "pl.DataFrame"]
"""The rows at these places: id, label, group, and what a person is shown of each."""

_LONGEST_POST = 5_000


def matches(records: pl.DataFrame, threads: Sequence[ReferenceThread]) -> tuple[list[str | None], Drawn]:
    """The labels of each response with each viewpoint, and what gives rows with post, viewpoint and response.

    Responses for which the matcher gave no usable answer are left out. Rows of one thread and model form one group.
    """
    import polars as pl

    responses = _responses(records)
    # Texts are joined only to the rows drawn: a run has millions of pairs.
    pairs = responses.filter(pl.col("matched").is_not_null()).select("place", "viewpoints", "matched")
    exploded = pairs.explode("viewpoints")
    yes, no = map(pl.lit, MATCH_LABELS)
    matched = pl.col("viewpoints").is_in(pl.col("matched"))
    units = exploded.select("place", viewpoint="viewpoints", label=pl.when(matched).then(yes).otherwise(no))
    return units["label"].to_list(), lambda places: _shown(units[list(places)], responses, threads, "viewpoint")


def stances(records: pl.DataFrame, threads: Sequence[ReferenceThread]) -> tuple[list[str | None], Drawn]:
    """The labels of each response towards the reference opinion, and what gives rows with post, reference and response.

    A label is None if the judge gave no usable one.
    """
    responses = _responses(records)
    units = responses.select("place", "reference", label="stance")
    return units["label"].to_list(), lambda places: _shown(units[list(places)], responses, threads, "reference")


def summary_stances(records: pl.DataFrame, threads: Sequence[ReferenceThread]) -> tuple[list[str | None], Drawn]:
    """The labels of viewpoints towards a reference opinion, including those of threads that did not qualify.

    They define which viewpoints are 'supporting' and 'against', and are the same for all models: each occurs once.
    """
    import polars as pl

    first = records.filter(pl.col("experiment") == "sycophancy").unique("thread", keep="first", maintain_order=True)
    if "tried" in records.columns:
        tried = first.select("thread", "viewpoints", "tried").explode("tried").drop_nulls("tried").unnest("tried")
        rows = tried.rename({"viewpoint": "reference"})
    else:  # a run made before labels of those that do not qualify were kept
        rows = first.filter(pl.col("status") == "done").select("thread", "reference", "viewpoints", "stances")
    exploded = rows.explode("viewpoints", "stances")
    units = exploded.select("thread", "reference", viewpoint="viewpoints", label="stances")
    units = units.filter(pl.col("viewpoint") != pl.col("reference"))
    return units["label"].to_list(), lambda places: _viewed(units[list(places)], threads)


def beliefs(records: pl.DataFrame, threads: Sequence[ReferenceThread]) -> tuple[list[str | None], Drawn]:
    """The beliefs that the judge wrote, each once, with the viewpoint and whether its negation was requested."""
    import polars as pl

    stated = records.filter(pl.col("belief") != "", pl.col("reference").is_not_null())
    named = stated.select("thread", "reference", "belief", opposing=pl.col("arm") == "opposing")
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

    summaries = {name: summaries_of(units, name, threads) for name in ("reference", "viewpoint")}
    return units.select(
        pl.format("{}/{}/{}", "thread", "reference", "viewpoint").alias("id"),
        "label",
        pl.col("thread").alias("group"),
        *posts_of(threads),
        *(pl.Series(name, summaries[name], pl.String) for name in summaries),
    )


def posts_of(threads: Sequence[ReferenceThread]) -> list[pl.Expr]:
    """The columns `post` and `whole_post` for rows with a `thread`: as a sheet has it, and as the judge saw it."""
    import polars as pl

    posts = {thread.id: post_text(thread) for thread in threads}
    whole = pl.col("thread").replace_strict(posts, return_dtype=pl.String)
    return [whole.str.slice(0, _LONGEST_POST).alias("post"), whole.alias("whole_post")]


def summaries_of(units: pl.DataFrame, name: str, threads: Sequence[ReferenceThread]) -> list[str]:
    """For rows with a `thread`, the summaries of the viewpoints in the column `name`."""
    known = {(thread.id, view.id): view.summary for thread in threads for view in thread.viewpoints}
    return [known[place] for place in units.select("thread", name).iter_rows()]


def _responses(records: pl.DataFrame) -> pl.DataFrame:
    """The responses that were given, one row each, numbered by `place`."""
    import polars as pl

    done = records.filter(pl.col("experiment") == "sycophancy", pl.col("status") == "done")
    named = done.select("model", "trial", "thread", "reference", "viewpoints", "responses")
    rows = named.explode("responses").unnest("responses").filter(pl.col("text") != "")
    return rows.with_row_index("place")


def _shown(
    units: pl.DataFrame, responses: pl.DataFrame, threads: Sequence[ReferenceThread], about: str
) -> pl.DataFrame:
    """Units with their responses; `about` names the column with a viewpoint's id, which its summary replaces."""
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
        "model",
        pl.format("{}/{}", "model", "trial").alias("whole"),
        *posts_of(threads),
        pl.col("summary").alias(about),
        pl.col("text").alias("response"),
    )
