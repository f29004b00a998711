"""The precision of change rate, Chameleon score and drift during a run, on exactly these topics.

Each headline is a mean over topics and conditions, which have the same weights as in the whole design
(`overton.studies.precision`). Formulas use the analysis' default options. If conversations about a topic have the same
shuffled order of questions, they count together as one answer, even at different temperatures.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

import msgspec

from overton.errors import InputError, Problem
from overton.studies.options import option_place
from overton.studies.precision import (
    SHARE,
    AnsweredTrial,
    Arm,
    Blocks,
    Goal,
    InterimResult,
    Mean,
    PrecisionState,
    check_trials,
    judged_by_means,
    twice,
)
from overton.studies.stance_stability.declarations import CHAMELEON, DRIFT, RATE

if TYPE_CHECKING:
    import polars as pl

    from overton.studies.stance_stability.options import Options
    from overton.studies.stance_stability.protocol import TopicTrial
    from overton.studies.stance_stability.record import Record


_MEANS = {
    RATE: "change rate of conversations on these topics",
    CHAMELEON: "Chameleon score of conversations on these topics",
    DRIFT: "drift of conversations on these topics, -2 to 2",
}
_SHARE = "conversations that end with another stance than their first"


def _block(trial: TopicTrial) -> tuple[str, int]:
    """The block of a conversation. Conversations that share a shuffle of the questions share a block."""
    heat = "own" if trial.temperature is None else f"{trial.temperature:g}"
    return "all/shuffled" if trial.ordering == "shuffled" else f"t{heat}/{trial.ordering}", trial.repetition


def _wrong(options: Options, measures: Iterable[str]) -> Iterator[Problem]:
    yield from check_trials(options, measures)
    if CHAMELEON.name in measures and options.judge_prompts == "published":
        reason = "needs certainty, and the published judge prompt does not ask for it"
        yield Problem(option_place("precision"), CHAMELEON.name, reason)


def _like(record: Record, trial: TopicTrial) -> Record:
    """The record of the same turn in another conversation."""
    return msgspec.structs.replace(
        record, conversation=trial.name, topic=trial.item, domain=trial.topic.domain, temperature=trial.temperature
    )


def _longest(trial: TopicTrial) -> TopicTrial:
    """The trial with the most calls. If some answers get a second label, every answer of this trial gets one. The trial
    has one page per turn, because page calls are shared between conversations and one page is processed faster than
    twenty."""
    often = float(trial.options.retest > 0)
    options = msgspec.structs.replace(trial.options, retest=often, pages_per_turn=1)
    return msgspec.structs.replace(trial, options=options)


def judged(looked: InterimResult, measures: Mapping[str, float]) -> PrecisionState:
    """The results of the conversations so far, by arm; `measures` are the requested half-widths."""
    table = _conversations(looked)
    sizes = {arm: float(looked.sizes.get(arm, 1)) for arm in sorted(looked.records)}
    means = [
        Mean(
            measure.name,
            title,
            _answered(looked, table, measure.name, *measure.within),
            sizes,
            *measure.within,
            numbers=True,
        )
        for measure, title in _MEANS.items()
    ]
    moved = _answered(looked, table, "drifted", 0.0, 1.0)
    return judged_by_means(looked, measures, means, moved, _SHARE)


def _conversations(looked: InterimResult) -> pl.DataFrame | None:
    """The conversations with their measures; None if a call failed in every conversation so far."""
    from overton.studies.stance_stability.options import StanceHow
    from overton.studies.stance_stability.rows import units_of
    from overton.studies.study_measures import table_of

    turns = table_of([record for arm in sorted(looked.records) for record in looked.records[arm]])
    try:
        return units_of(turns, StanceHow(), kinds=("conversations",), weighed=False)["conversations"].table
    except InputError:
        return None


def _answered(
    looked: InterimResult, table: pl.DataFrame | None, measure: str, low: float, high: float
) -> dict[Arm, AnsweredTrial]:
    """A summary of each arm's answers, rescaled to [0, 1]. An answer is a conversation's measure, or the mean over
    conversations that share a shuffle."""
    found, values = {}, dict[str, float]()
    if table is not None and measure in table.columns:
        values = dict(table.select("conversation", measure).drop_nulls().iter_rows())
    for arm in sorted(looked.records):
        shared: dict[str, list[float]] = {}
        for name in sorted({record.conversation for record in looked.records[arm]} & values.keys()):
            key = name.rpartition("/")[2] if arm.name == "all/shuffled" else name
            shared.setdefault(key, []).append((values[name] - low) / (high - low))
        each = [sum(some) / len(some) for some in shared.values()]
        mean = sum(each) / max(len(each), 1)
        found[arm] = AnsweredTrial(sum(each), len(each), sum((value - mean) ** 2 for value in each))
    return found


BLOCKS: Blocks = Blocks(
    of=_block,
    goals={
        **{measure.name: Goal(title, (measure.within[1] - measure.within[0]) / 2) for measure, title in _MEANS.items()},
        SHARE: Goal(f"share of {_SHARE}, of each topic in a condition", 0.5),
    },
    judge=judged,
    first=twice,
    check=_wrong,
    trial="conversation",
    like=_like,
    longest=_longest,
    weighted=True,
)
"""A block is a conversation at one temperature. If questions are shuffled, a block has a conversation at each
temperature, all with the same order of questions.
"""
