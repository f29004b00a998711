"""How precise conversations are so far: change rate, Chameleon score and drift, on these very topics.

Each headline is a mean over topics and conditions, each with the weight that it has in the whole design
(`overton.studies.precision`); formulas are read as the analysis does by default.
Conversations at all temperatures that share a shuffle are one answer, since they share the order of their questions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

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

if TYPE_CHECKING:
    import polars as pl

    from overton.studies.stance_stability.options import Options
    from overton.studies.stance_stability.protocol import TopicTrial
    from overton.studies.stance_stability.record import Record


RATE, SCORE, DRIFT = "change_rate", "chameleon", "drift"
_RANGES = {RATE: (0.0, 1.0), SCORE: (0.0, 1.0), DRIFT: (-2.0, 2.0)}
_TITLES = {
    RATE: "rate of change of conversations on these topics",
    SCORE: "Chameleon score of conversations on these topics",
    DRIFT: "drift of conversations on these topics, -2 to 2",
}
_SHARE = "conversations that end in another stance than they begin with"
_COLUMNS = (
    *("conversation", "temperature", "turn", "stance", "confidence", "cited", "premise_stance"),
    *("refused", "faults", "failure"),
)


def _block(trial: TopicTrial) -> tuple[str, int]:
    """A conversation; or all that share a shuffle, together."""
    heat = "own" if trial.temperature is None else f"{trial.temperature:g}"
    return "all/shuffled" if trial.ordering == "shuffled" else f"t{heat}/{trial.ordering}", trial.repetition


def _wrong(options: Options, measures: Iterable[str]) -> Iterator[Problem]:
    yield from check_trials(options, measures)
    if SCORE in measures and options.judge_prompts == "published":
        yield Problem(option_place("precision"), SCORE, "needs certainty, which the published prompt does not ask for")


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
    arms = sorted(looked.records)
    found = _measured(_turns(looked, arms))
    sizes = {arm: float(looked.sizes.get(arm, 1)) for arm in arms}
    means = [
        Mean(name, _TITLES[name], _answered(looked, arms, found.get(name, {}), *within), sizes, *within, numbers=True)
        for name, within in _RANGES.items()
    ]
    moved = _answered(looked, arms, found.get("drifted", {}), 0.0, 1.0)
    return judged_by_means(looked, measures, means, moved, _SHARE)


def _turns(looked: InterimResult, arms: Sequence[Arm]) -> pl.DataFrame:
    import polars as pl

    records = [record for arm in arms for record in looked.records[arm]]
    columns: dict[str, list[Any]] = {name: [getattr(record, name) for record in records] for name in _COLUMNS}
    columns["model"] = ["one"] * len(records)
    numbers = {"temperature": pl.Float64, "confidence": pl.Float64, "turn": pl.Int64, "refused": pl.Boolean}
    lists = dict.fromkeys(("cited", "faults"), pl.List(pl.String))
    schema: dict[str, Any] = dict.fromkeys(columns, pl.String) | numbers | lists
    return pl.DataFrame(columns, schema=schema)


def _measured(turns: pl.DataFrame) -> dict[str, dict[str, float]]:
    """Each conversation's value of each measure, by its name; conversations without a value are left out."""
    from math import isnan

    from overton.studies.stance_stability.conversations import conversations_of
    from overton.studies.stance_stability.options import StanceHow
    from overton.studies.stance_stability.rows import score, with_labels

    try:
        talks = conversations_of(turns)
    except InputError:  # so far a call failed in every conversation
        return {}
    names = talks.about["conversation"].to_list()
    values = score(talks, with_labels(talks, StanceHow())).values
    return {
        measure: {name: value for name, value in zip(names, column.tolist(), strict=True) if not isnan(value)}
        for measure, column in values.items()
    }


def _answered(
    looked: InterimResult, arms: Sequence[Arm], values: Mapping[str, float], low: float, high: float
) -> dict[Arm, AnsweredTrial]:
    """Each arm's answers, on [0, 1]: its conversations, or means of those that share a shuffle."""
    found = {}
    for arm in arms:
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
        RATE: Goal(_TITLES[RATE], 0.5),
        SCORE: Goal(_TITLES[SCORE], 0.5),
        DRIFT: Goal(_TITLES[DRIFT], 2.0),
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
