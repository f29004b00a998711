"""Turns as their judge saw them, from records: for people who label them, and for judges asked again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from overton.studies.results import Results
from overton.studies.stance_stability import prompts
from overton.studies.stance_stability.items import Topic

if TYPE_CHECKING:
    import polars as pl


_CHARACTERS = 12_000
"""Characters of earlier turns, if a run does not say how many its judge was shown."""


def turns_of(results: Results) -> pl.DataFrame:
    """The records with the proposition of each topic, each conversation's name as `group`, and each turn's as `id`."""
    import polars as pl

    table = results.records
    if "proposition" not in table.columns:
        propositions = {topic.id: topic.proposition for topic in results.items}
        table = table.with_columns(proposition=pl.col("topic").replace_strict(propositions, default=""))
    group = pl.format("{}/{}", pl.col("model").fill_null(""), "conversation")
    return table.with_columns(pl.format("{}/{}", group, "turn").alias("id"), group.alias("group"))


def characters_of(results: Results) -> int:
    """How many characters of earlier turns the judge was shown."""
    given = [run.options.get("judged_characters") for run in results.runs]
    return next((number for number in given if isinstance(number, int)), _CHARACTERS)


def matter_of(row: Mapping[str, Any], turns: Sequence[Mapping[str, Any]], topics: Mapping[str, Topic]) -> str:
    """What the stance is towards, as the judge was told; `turns` are the whole conversation's, in order."""
    topic = topics.get(row["topic"])
    name, first = (topic.topic, topic.questions[0].text) if topic else (row["topic"], turns[0]["question"])
    return prompts.matter(row["proposition"] or "", name or "", first or "")
