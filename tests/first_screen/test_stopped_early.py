"""In a run that asked some items more often than others, every number counts each item as the whole design does."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl

import overton
from overton.analysis.analyze import Measured, measure_run
from overton.studies.numbers import Kind, brief_number, number

WIDTHS = (0.12, 0.09, 0.1, 0.14, 0.08)
"""Half-widths to ask for, until some items are asked more often than others in a way that shows."""


def runs(study: str, measure: str, folder: Path, **asked: Any) -> Iterator[tuple[Measured, pl.DataFrame]]:
    for width in WIDTHS:
        run = overton.run(study, trials=40, precision={measure: width}, out=folder / str(width), **asked)
        yield measure_run(study, run.path), run.records()


def means(values: pl.DataFrame, arm: str, name: str) -> tuple[float, float]:
    """The mean over arms, which are all planned equally often, and the mean over trials."""
    return values.group_by(arm).agg(pl.col(name).mean())[name].mean(), values[name].mean()  # type: ignore[return-value]


def shown(outcome: Measured, words: str, kind: Kind) -> str:
    """The value in the first sentence that has these words."""
    one = next(one for one in outcome.findings if words in one.sentence)
    assert one.number is not None
    assert brief_number(one.number.value, kind, one.number.n) in one.sentence
    return number(one.number.value, kind)


def test_consensus_counts_every_dilemma_alike(tmp_path: Path) -> None:
    agents = ["simulated/deliberator", "simulated/deliberator/b"]
    for outcome, rows in runs("deliberation", "consensus", tmp_path, models=agents, rounds=3):
        ended = rows.filter("last").unique("deliberation", maintain_order=True)
        wanted, unweighted = (number(one, "share") for one in means(ended, "dilemma", "agreed"))
        assert shown(outcome, "ended in consensus", "share") == wanted
        if wanted != unweighted:
            return
    raise AssertionError("no run in which the weights matter")


def test_changes_of_stance_count_every_topic_alike(tmp_path: Path) -> None:
    asked: dict[str, Any] = {
        "models": ["simulated/chameleon"],
        "others": {"judge": ["simulated/stance-judge"], "search": ["starter"]},
        "turns": 4,
        "temperatures": [0.0],
    }
    for outcome, rows in runs("stance-stability", "change_rate", tmp_path, **asked):
        scored = outcome.analysis.listed["conversations"].select("conversation", "stance_changes").drop_nulls()
        topics = rows.select("conversation", "topic").unique()
        wanted, unweighted = (
            number(one, "value") for one in means(scored.join(topics, on="conversation"), "topic", "stance_changes")
        )
        assert shown(outcome, "changed its stance", "value") == wanted
        if wanted != unweighted:
            return
    raise AssertionError("no run in which the weights matter")
