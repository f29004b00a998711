"""Free answers as the judge was shown them, for people and for a judge that is asked again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from overton.studies.open_mindedness.answer_counts import with_answers
from overton.studies.open_mindedness.free.judging import positions
from overton.studies.open_mindedness.items import Issue
from overton.studies.results import Results

if TYPE_CHECKING:
    import polars as pl


WHATS = ("side", "strength", "declines")
"""What the judge says about an answer: each is a label of its own."""


def answers_of(results: Results, what: str) -> pl.DataFrame:
    """Every free answer that a judge was asked about: `id`, `label` (of `what`, None if it gave none), `group` (the
    issue), `model`, `condition`, `judged_a_is`, and what it was shown: `question`, `pro`, `con`, `answer`."""
    import polars as pl

    issues = {issue.id: issue for issue in results.items if isinstance(issue, Issue)}
    known = pl.col("judge_attempts").is_not_null() & pl.col("issue").is_in(list(issues))
    rows = with_answers(results.records)
    if "judge_attempts" not in rows.columns:
        rows = rows.with_columns(judge_attempts=pl.lit(None, pl.Int64))
    rows = rows.filter((pl.col("answers") == "free") & known)
    shown = {name: [issue.question, *positions(issue)] for name, issue in issues.items()}
    return rows.select(
        pl.format("{}/{}", "model", "trial").alias("id"),
        _label(what).alias("label") if rows.height else pl.lit(None, pl.String).alias("label"),
        pl.col("issue").alias("group"),
        "model",
        "condition",
        "judged_a_is",
        *(
            pl.Series(name, [shown[issue][place] for issue in rows["issue"].to_list()], pl.String)
            for place, name in enumerate(("question", "pro", "con"))
        ),
        "answer",
    )


def _label(what: str) -> pl.Expr:
    import polars as pl

    labelled = pl.col("failure").is_null()
    side = pl.col("stance").cast(pl.String).replace("other", "neither")
    said = {
        "side": side,
        "strength": pl.col("strength").cast(pl.String).fill_null("none"),
        "declines": pl.when("declines").then(pl.lit("declines")).otherwise(pl.lit("does not")),
    }
    return pl.when(labelled).then(said[what])
