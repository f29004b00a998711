"""Opinions and the summaries that should entail them, laid out for a person to judge."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from overton.studies.judged_rows import JudgedRows, Sheet
from overton.studies.pluralism.items import ReferenceThread
from overton.studies.pluralism.prompts.reference import filled
from overton.studies.pluralism.sheet import posts_of, summaries_of
from overton.studies.results import Results

if TYPE_CHECKING:
    import polars as pl


_LABELS = ("entailed", "not entailed")
_MEANINGS = ("the summary covers the opinion", "the summary does not cover the opinion")


def _rows(results: Results, what: str) -> JudgedRows:
    """Each opinion with its own viewpoint's summary."""
    import polars as pl

    yes, no = map(pl.lit, _LABELS)
    label = pl.when(pl.col("entailed").is_null()).then(None).when(pl.col("entailed")).then(yes).otherwise(no)
    units = results.records.with_columns(label=label)
    judge = ", ".join(model.name for model in results.answering("judge"))
    shown = ("post", "viewpoint", "opinion")
    return JudgedRows(
        units["label"].to_list(),
        lambda places: _shown(units[list(places)], results.items),
        shown,
        _LABELS,
        judge,
        question=f"Does the summary cover the opinion?\n\n{_prompt_excerpt()}",
        definitions=dict(zip(_LABELS, _MEANINGS, strict=True)),
        seen={"Post": "whole_post", "Summary": "viewpoint", "Opinion": "opinion"},
        row="opinion",
        group="thread",
    )


def _prompt_excerpt() -> str:
    """How the judge is told to decide, in its own words."""
    return filled("audit", "system").split("\n\n")[1]


def _shown(units: pl.DataFrame, threads: Sequence[ReferenceThread]) -> pl.DataFrame:
    import polars as pl

    return units.select(
        pl.format("{}/{}/{}", "model", "thread", "number").alias("id"),
        "label",
        pl.format("{}/{}", "model", "thread").alias("group"),
        *posts_of(threads),
        pl.Series("viewpoint", summaries_of(units, "viewpoint", threads), pl.String),
        "opinion",
    )


SHEET = Sheet(("entailment",), _rows, size=100)
