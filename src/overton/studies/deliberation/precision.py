"""The precision of consensus and changes of verdict during a run, for exactly the dilemmas of the run.

Consensus and changes of verdict are means over dilemmas and conditions, each with its weight in the whole design
(`overton.studies.precision`). No half-width can be requested for inertia and conformity, because they are parameters of
a model fitted to all decisions, not means. No half-width can be requested for rounds to consensus either. Their mean is
over deliberations that reach consensus, and some dilemmas have no such deliberation.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from overton.errors import InputError
from overton.studies.precision import (
    SHARE,
    AnsweredTrial,
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
    from overton.studies.deliberation.protocol import DilemmaTrial
    from overton.studies.deliberation.record import Record
    from overton.studies.grouping import Frame
    from overton.studies.measures import Measure


CONSENSUS, CHANGED = "consensus", "changed"
_CONSENSUS = "share of deliberations on these dilemmas that end in consensus"
_SHARE = "deliberations that end in consensus"
_COLUMNS = ("deliberation", "format", "goal", "round", "position", "model", "verdict", "agent", "failure")


def _block(trial: DilemmaTrial) -> tuple[str, int]:
    """The block of a trial.

    A block has all orders of the same agents, so that every agent speaks first equally often.
    """
    who = "-".join(map(str, sorted(trial.order)))
    return f"{trial.format}/{trial.goal}/{who}", trial.repetition


def _like(record: Record, trial: DilemmaTrial) -> Record:
    """Copy a message to another deliberation, as a message of the agent in the same seat."""
    return msgspec.structs.replace(
        record,
        deliberation=trial.name,
        dilemma=trial.item,
        agents=" + ".join(trial.models),
        model=trial.models[int(record.agent.removeprefix("Agent ")) - 1],
    )


def _longest(trial: DilemmaTrial) -> DilemmaTrial:
    """The longest version of a trial. If the judge repeats some labels, it repeats all of them here."""
    return msgspec.structs.replace(trial, retest=float(trial.retest > 0))


def judged(looked: InterimResult, measures: Mapping[str, float]) -> PrecisionState:
    """The precision of the deliberations so far, from their records by arm. `measures` are the requested half-widths.

    A model in several seats has a weight equal to the number of its seats. Its seats in one deliberation count as one
    answer, whose value is the proportion of seats with a 'yes'.
    """
    from overton.studies.deliberation import measures as declared

    arms, frame = sorted(looked.records), _frame(looked)
    sizes = {arm: float(looked.sizes.get(arm, 1)) for arm in arms}
    spoken = {(arm.name, record.model, record.agent) for arm in arms for record in looked.records[arm]}
    seats = Counter((name, model) for name, model, _ in spoken)

    def mean(measure: Measure, title: str, model: str = "") -> Mean:
        own = [arm for arm in arms if not model or seats[arm.name, model]]
        times = {arm: max(seats[arm.name, model], 1) for arm in own}
        answers = {arm: AnsweredTrial() for arm in own}
        found = frame.contributions(measure).get((model, "")) if frame is not None else None
        for place, (yes, of) in zip(found.items, found.parts.tolist(), strict=True) if found else ():
            arm = arms[int(place)]
            answers[arm] = AnsweredTrial(yes / times[arm], of / times[arm])
        return Mean(measure.name, title, answers, {arm: sizes[arm] * times[arm] for arm in own})

    consensus = mean(declared.CONSENSUS, _CONSENSUS)
    changes = "share of deliberations on these dilemmas in which {} changes its verdict"
    changed = [mean(declared.CHANGED, changes.format(name), name) for name in sorted({model for _, model in seats})]
    return judged_by_means(looked, measures, [consensus, *changed], consensus.answers, _SHARE)


def _frame(looked: InterimResult) -> Frame | None:
    """The deliberations and agents of these records, with arms' numbers in place of dilemmas.

    None if every deliberation so far has a failed call.
    """
    import polars as pl

    from overton.statistics.jackknife import Jackknife
    from overton.studies.deliberation.measures import STUDY_MEASURES
    from overton.studies.deliberation.options import DeliberationHow
    from overton.studies.deliberation.rows import units_of
    from overton.studies.grouping import Frame

    every = [
        (f"{place:09}", record) for place, arm in enumerate(sorted(looked.records)) for record in looked.records[arm]
    ]
    columns: dict[str, list[Any]] = {name: [getattr(record, name) for _, record in every] for name in _COLUMNS}
    columns["dilemma"] = [place for place, _ in every]
    schema: dict[str, Any] = dict.fromkeys(columns, pl.String) | {"round": pl.Int64, "position": pl.Int64}
    records = pl.DataFrame(columns, schema=schema)
    try:
        units = units_of(records, DeliberationHow(), (), ("deliberations", "agents"), weighed=False)
    except InputError:
        return None
    return Frame(units, STUDY_MEASURES.measures, Jackknife())


BLOCKS: Blocks = Blocks(
    of=_block,
    goals={
        CONSENSUS: Goal(_CONSENSUS, 0.5),
        CHANGED: Goal("each model's share of deliberations on these dilemmas in which it changes its verdict", 0.5),
        SHARE: Goal(f"share of {_SHARE}, for each dilemma in each condition", 0.5),
    },
    judge=judged,
    first=twice,
    check=check_trials,
    trial="deliberation",
    like=_like,
    longest=_longest,
    weighted=True,
)
"""Blocks of trials. Each is a repetition of a format and goal, with the same agents in all their orders."""
