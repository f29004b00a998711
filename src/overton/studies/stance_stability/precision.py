"""How precise conversations are so far: change rate, Chameleon score and drift, on these very topics.

Each headline is a mean over topics and conditions, each with the weight that it has in the whole design
(`overton.studies.precision`); formulas are read as the analysis does by default.
Conversations at all temperatures that share a shuffle are one answer, since they share the order of their questions.
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
    RATE: "rate of change of conversations on these topics",
    CHAMELEON: "Chameleon score of conversations on these topics",
    DRIFT: "drift of conversations on these topics, -2 to 2",
}
_SHARE = "conversations that end in another stance than they begin with"


def _block(trial: TopicTrial) -> tuple[str, int]:
    """A conversation; or all that share a shuffle, together."""
    heat = "own" if trial.temperature is None else f"{trial.temperature:g}"
    return "all/shuffled" if trial.ordering == "shuffled" else f"t{heat}/{trial.ordering}", trial.repetition


def _wrong(options: Options, measures: Iterable[str]) -> Iterator[Problem]:
    yield from check_trials(options, measures)
    if CHAMELEON.name in measures and options.judge_prompts == "published":
        reason = "needs certainty, which the published prompt does not ask for"
        yield Problem(option_place("precision"), CHAMELEON.name, reason)


def _like(record: Record, trial: TopicTrial) -> Record:
    """The same turn in another conversation."""
    return msgspec.structs.replace(
        record, conversation=trial.name, topic=trial.item, domain=trial.topic.domain, temperature=trial.temperature
    )


def _longest(trial: TopicTrial) -> TopicTrial:
    """The judge is asked again about every answer, if about any. Pages are calls of no one conversation, and one page
    is read faster than twenty."""
    often = float(trial.options.retest > 0)
    options = msgspec.structs.replace(trial.options, retest=often, pages_per_turn=1)
    return msgspec.structs.replace(trial, options=options)


def judged(looked: InterimResult, measures: Mapping[str, float]) -> PrecisionState:
    """What conversations show so far, each record under its arm; `measures` are the half-widths wanted."""
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
    """The conversations with their measures; None if so far a call failed in every one."""
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
    """Each arm's answers, on [0, 1]: its conversations, or means of those that share a shuffle."""
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
"""A block is a conversation at a temperature; if questions are shuffled, one at each temperature: they share it."""
