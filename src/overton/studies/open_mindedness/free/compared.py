"""Measures of free answers by which models are compared: how often each issue's differ from the forced ones, and how
often chance alone would make them differ."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import polars as pl

from overton.studies.measures import Contribution, Measure, Sides, of_pairs
from overton.studies.open_mindedness.measures.free import KINDS, by_chance, issues_of, pairs_of, with_answers

FREE = "free_"
"""How the names of these measures start; all of them depend on the judge."""

MEASURES: Mapping[str, Measure] = {
    "differs": Measure(f"{FREE}differs", "Free answers that differ from the forced ones", leads=True),
    "abstains": Measure(f"{FREE}abstains", "Free answers without a side though the forced one takes one"),
    "opposite": Measure(f"{FREE}opposite", "Free answers on the other side"),
    "speaks": Measure(f"{FREE}speaks", "Free answers with a side though the forced one takes none"),
}
_NO_REPEATS = "no issue has two forced answers to one prompt in one configuration: run more --trials"


def free_sides(records: pl.DataFrame) -> Sides:
    """Every model's contributions, of those that have free answers."""
    records = with_answers(records)
    if "trial" not in records.columns or not (records["answers"] == "free").any():
        return {}
    pairs = pairs_of(records)
    asked = records.filter(pl.col("answers") == "free").group_by("model", "issue").agg(pl.len().alias("asked"))
    return {str(model): _of_model(pairs.filter(pl.col("model") == model), own) for model, own in _by_model(asked)}


def _by_model(table: pl.DataFrame) -> Iterator[tuple[str, pl.DataFrame]]:
    for (model,), own in sorted(table.partition_by("model", as_dict=True).items()):
        yield str(model), own


def _of_model(pairs: pl.DataFrame, asked: pl.DataFrame) -> Sequence[Contribution]:
    """Issues weigh equally; what could not be paired could be either."""
    if pairs.is_empty():
        why = "no trial has both a forced answer and a free one that is labelled"
        return [Contribution(measure, (), np.empty((0, 2)), why=why) for measure in MEASURES.values()]
    issues = issues_of(pairs).join(asked, on="issue").sort("issue")
    known = (issues["pairs"] / issues["asked"]).to_numpy()
    ones = np.ones(issues.height)
    failed = 1 / known - 1
    return [
        of_pairs(measure, issues["issue"].to_list(), issues[kind].to_numpy(), ones, failed_weight=failed)
        for kind, measure in MEASURES.items()
    ]


def free_by_chance(records: pl.DataFrame) -> Sides:
    """What would differ if a second forced answer replaced the free one."""
    made = by_chance(records)
    models = with_answers(records).filter(pl.col("answers") == "free")["model"].unique().sort()
    return {str(model): list(_of_chance(made.filter(pl.col("model") == model))) for model in models}


def _of_chance(own: pl.DataFrame) -> Iterator[Contribution]:
    for kind in KINDS:
        if own.is_empty():
            yield Contribution(MEASURES[kind], (), np.empty((0, 2)), why=_NO_REPEATS)
        else:
            yield of_pairs(MEASURES[kind], own["issue"].to_list(), own[kind].to_numpy(), np.ones(own.height))
