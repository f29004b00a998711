"""How precise deliberations are so far: consensus, and changes of verdict, on these very dilemmas.

Both headlines are means over dilemmas and conditions, each with the weight that it has in the whole design
(`overton.studies.precision`). Inertia and conformity are parameters of a model
fitted to all decisions, not means, so no half-width can be requested for them. Nor can one for rounds to consensus, a
mean over the deliberations that reach it, of which some dilemmas have none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from overton.errors import InputError
from overton.statistics.jackknife import Jackknife
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

    from overton.studies.deliberation.protocol import DilemmaTrial
    from overton.studies.deliberation.record import Record
    from overton.studies.grouping import Frame
    from overton.studies.measures import Measure


CONSENSUS, CHANGED = "consensus", "changed"
_CONSENSUS = "share of deliberations on these dilemmas that end in consensus"
_SHARE = "deliberations that end in consensus"
_COLUMNS = ("deliberation", "format", "goal", "round", "position", "model", "verdict", "agent", "failure")


def _block(trial: DilemmaTrial) -> tuple[str, int]:
    """All orders of the same agents together, so that everybody speaks first equally often."""
    who = "-".join(map(str, sorted(trial.order)))
    return f"{trial.format}/{trial.goal}/{who}", trial.repetition


def _like(record: Record, trial: DilemmaTrial) -> Record:
    """The same message in another deliberation, by the agent in the same seat."""
    return msgspec.structs.replace(
        record,
        deliberation=trial.name,
        dilemma=trial.item,
        agents=" + ".join(trial.models),
        model=trial.models[int(record.agent.removeprefix("Agent ")) - 1],
    )


def _longest(trial: DilemmaTrial) -> DilemmaTrial:
    """The judge is asked again about every message, if about any."""
    return msgspec.structs.replace(trial, retest=float(trial.retest > 0))


def judged(looked: InterimResult, measures: Mapping[str, float]) -> PrecisionState:
    """What deliberations show so far, each record under its arm; `measures` are the half-widths wanted."""
    from overton.studies.deliberation import measures as declared

    arms, frame = sorted(looked.records), _frame(looked)
    seats = _seats(looked)
    consensus: dict[Arm, AnsweredTrial] = {}
    changed: dict[str, dict[Arm, AnsweredTrial]] = {model: {} for _, model in sorted(seats)}
    if frame is not None:
        consensus = _answered(arms, frame, declared.CONSENSUS, "", Counter())
        changed = {
            model: _answered(
                arms, frame, declared.CHANGED, model, Counter({name: seats[name, model] for name, _ in seats})
            )
            for model in changed
        }
    return judged_by_means(looked, measures, list(_means(looked, arms, seats, consensus, changed)), consensus, _SHARE)


def _frame(looked: InterimResult) -> Frame | None:
    """The deliberations and agents of these records, with arms in the place of dilemmas; None if so far a call failed
    in every deliberation."""
    from overton.studies.deliberation.measures import STUDY_MEASURES
    from overton.studies.deliberation.options import DeliberationHow
    from overton.studies.deliberation.rows import units_of
    from overton.studies.grouping import Frame

    records = _decisions(looked, sorted(looked.records))
    try:
        units = units_of(records, DeliberationHow(), (), ("deliberations", "agents"), weighed=False)
    except InputError:
        return None
    return Frame(units, STUDY_MEASURES.measures, Jackknife())


def _means(
    looked: InterimResult,
    arms: Sequence[Arm],
    seats: Counter[tuple[str, str]],
    consensus: Mapping[Arm, AnsweredTrial],
    changed: Mapping[str, Mapping[Arm, AnsweredTrial]],
) -> Iterator[Mean]:
    """Consensus, and each model's changes; a model in several seats has that many times the weight."""
    sizes = {arm: float(looked.sizes.get(arm, 1)) for arm in arms}
    yield Mean(CONSENSUS, _CONSENSUS, {arm: consensus.get(arm, AnsweredTrial()) for arm in arms}, sizes)
    for model, found in changed.items():
        own = [arm for arm in arms if seats[arm.name, model]]
        title = f"share of deliberations on these dilemmas in which {model} changes its verdict"
        weights = {arm: sizes[arm] * seats[arm.name, model] for arm in own}
        yield Mean(CHANGED, title, {arm: found.get(arm, AnsweredTrial()) for arm in own}, weights)


def _seats(looked: InterimResult) -> Counter[tuple[str, str]]:
    """How many seats each model has, by condition and model."""
    found: dict[tuple[str, str], set[str]] = {}
    for arm, records in looked.records.items():
        for record in records:
            found.setdefault((arm.name, record.model), set()).add(record.agent)
    return Counter({key: len(agents) for key, agents in found.items()})


def _decisions(looked: InterimResult, arms: Sequence[Arm]) -> pl.DataFrame:
    """The records as decisions, with the number of their arm as dilemma."""
    import polars as pl

    records = [record for arm in arms for record in looked.records[arm]]
    columns: dict[str, list[Any]] = {name: [getattr(record, name) for record in records] for name in _COLUMNS}
    columns["dilemma"] = [f"{place:09}" for place, arm in enumerate(arms) for _ in looked.records[arm]]
    schema: dict[str, Any] = dict.fromkeys(columns, pl.String) | {"round": pl.Int64, "position": pl.Int64}
    return pl.DataFrame(columns, schema=schema)


def _answered(
    arms: Sequence[Arm], frame: Frame, measure: Measure, model: str, seats: Counter[str]
) -> dict[Arm, AnsweredTrial]:
    """Each arm's deliberations. A model's seats in one deliberation are not separate answers: together they are one,
    which is a 'yes' to the extent that theirs are."""
    made = frame.contributions(measure).get((model, ""))
    found: dict[Arm, AnsweredTrial] = {}
    for place, (yes, of) in zip(made.items, made.parts.tolist(), strict=True) if made else ():
        arm = arms[int(place)]
        each = max(seats[arm.name], 1)
        found[arm] = AnsweredTrial(yes / each, of / each)
    return found


BLOCKS: Blocks = Blocks(
    of=_block,
    goals={
        CONSENSUS: Goal(_CONSENSUS, 0.5),
        CHANGED: Goal(
            "share of deliberations on these dilemmas in which a model changes its verdict, each model's", 0.5
        ),
        SHARE: Goal(f"share of {_SHARE}, of each dilemma in a condition", 0.5),
    },
    judge=judged,
    first=twice,
    check=check_trials,
    trial="deliberation",
    like=_like,
    longest=_longest,
    weighted=True,
)
"""A block is a repetition of a format and goal: the same agents in all their orders."""
