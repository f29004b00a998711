"""Decisions where a run continues: whole balanced blocks, which depend on finished trials only."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping
from typing import get_args

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from overton.calls import Trial
from overton.errors import InputError
from overton.runs.precision import precision_of
from overton.studies.precision import (
    Arm,
    Blocks,
    Decision,
    Goal,
    InterimResult,
    PrecisionLimit,
    PrecisionState,
    PrecisionTarget,
    Rule,
    StoppingPlan,
    TrialOutcome,
    decide,
)

ITEMS, ARMS, TEMPLATES, BLOCKS = ("a", "b", "c"), ("plain", "argued"), (1, 2, 3), 12


class Asked(Trial, frozen=True):
    arm: str
    template: int
    block: int


def trials(blocks: int = BLOCKS) -> list[Asked]:
    return [
        Asked(f"{item}/{arm}/{template}/{block}", item, 0, arm, template, block)
        for item in ITEMS
        for arm in ARMS
        for template in TEMPLATES
        for block in range(1, blocks + 1)
    ]


def spread(some: list[float]) -> float:
    mean = sum(some) / len(some)
    return sum((one - mean) ** 2 for one in some) / max(len(some) - 1, 1)


def judge(looked: InterimResult, measures: Mapping[str, float]) -> PrecisionState:
    """A mean over arms, its width from the spread in them."""
    variance = {arm: spread(list(some)) / len(some) + 1e-3 for arm, some in looked.records.items()}
    half = 2 * sum(variance.values()) ** 0.5 / len(variance)
    limits = [PrecisionLimit("mean", "mean", 0.0, -half, half, measures.get("mean"))]
    wide = frozenset(arm for arm, own in variance.items() if 2 * own**0.5 > measures.get("own", 99.0))
    return PrecisionState(limits, wide, "mean" in measures and half > measures["mean"], variance)


def design(
    wanted: PrecisionTarget, calls: int | None = None, asked: list[Asked] | None = None, most: int = 1
) -> StoppingPlan:
    blocks = Blocks(lambda trial: (trial.arm, trial.block), {"mean": Goal("mean", 9), "own": Goal("own", 9)}, judge)
    longest = {Arm(item, arm): most for item in ITEMS for arm in ARMS}
    return StoppingPlan(blocks, trials() if asked is None else asked, wanted, 0, longest, calls)


def answer(trial: Trial, seed: int, calls: int = 1) -> TrialOutcome:
    chance = random.Random(f"{seed}/{trial.name}")
    return TrialOutcome([chance.gauss(0, 2.0 if trial.item == "a" else 0.2)], chance.randint(1, calls))


def course(of: StoppingPlan, seed: int = 0, calls: int = 1) -> list[tuple[Decision, list[Trial]]]:
    """Every decision of a run with the trials that it adds, the last one without any."""
    ended: dict[str, TrialOutcome] = {}
    made = []
    while not made or made[-1][1]:
        decision = decide(of, ended)
        added = of.chosen(decision, ended.keys())
        made.append((decision, added))
        ended |= {trial.name: answer(trial, seed, calls) for trial in added}
    return made


WANTED = st.sampled_from([{"mean": 0.3}, {"own": 0.5}, {"mean": 0.4, "own": 0.8}, {"mean": 0.01}])


@settings(max_examples=25)
@given(measures=WANTED, seed=st.integers(0, 50), shuffle=st.randoms())
def test_the_order_of_finished_trials_does_not_matter(
    measures: dict[str, float], seed: int, shuffle: random.Random
) -> None:
    of = design(PrecisionTarget(measures))
    ended = [(trial.name, answer(trial, seed)) for _, added in course(of, seed)[:-1] for trial in added]
    before = decide(of, dict(ended))
    shuffle.shuffle(ended)
    assert decide(of, dict(ended)) == before


@settings(max_examples=40)
@given(measures=WANTED, seed=st.integers(0, 50))
def test_blocks_are_whole_and_balanced_in_every_round(measures: dict[str, float], seed: int) -> None:
    of = design(PrecisionTarget(measures))
    asked: Counter[tuple[str, str, int]] = Counter()
    for _, added in course(of, seed):
        asked.update((trial.item, trial.arm, trial.template) for trial in added)  # type: ignore[attr-defined]
        for item in ITEMS:
            for arm in ARMS:
                counts = {asked[item, arm, template] for template in TEMPLATES}
                assert len(counts) == 1
                assert counts <= {*of.looks[Arm(item, arm)]}


def test_it_continues_where_it_is_not_precise_and_nowhere_else() -> None:
    last, _ = course(design(PrecisionTarget({"own": 0.5})))[-1]
    got = Counter(dict.fromkeys(ITEMS, 0))
    for stop in last.stops:
        got[stop.item] += stop.trials
    assert got["a"] > 2 * got["b"]
    assert {stop.why for stop in last.stops if stop.item == "b"} == {"precise enough"}


def test_blocks_go_where_they_narrow_the_headline_most() -> None:
    decisions = course(design(PrecisionTarget({"mean": 0.15})))
    assert {trial.item for trial in decisions[1][1]} == {"a"}


def test_trials_of_a_round_are_in_plan_order() -> None:
    for _, added in course(design(PrecisionTarget({"mean": 0.01}))):
        names = [trial.name for trial in added]
        assert names == sorted(names, key=[trial.name for trial in trials()].index)


@pytest.mark.parametrize("calls", [18, 40, 90])
def test_no_more_calls_are_decided_on_than_are_allowed(calls: int) -> None:
    decisions = course(design(PrecisionTarget({"mean": 0.01}), calls))
    asked = sum(len(added) for _, added in decisions)
    assert asked <= calls
    assert asked > calls - 3 * 6
    assert "no more calls were allowed" in {stop.why for stop in decisions[-1][0].stops}


def test_all_trials_are_asked_at_most_and_it_says_so() -> None:
    decisions = course(design(PrecisionTarget({"mean": 1e-6})))
    assert sum(len(added) for _, added in decisions) == len(trials())
    assert {stop.why for stop in decisions[-1][0].stops} == {"all of its trials were asked"}


@given(seed=st.integers(0, 50))
def test_it_looks_no_more_often_than_its_limits_allow_for(seed: int) -> None:
    of = design(PrecisionTarget({"mean": 1e-6}))
    assert len(course(of, seed)) - 1 <= of.most_looks


@settings(max_examples=60)
@given(
    seed=st.integers(0, 50), most=st.integers(2, 30), made=st.integers(1, 30), allowed=st.none() | st.floats(1.0, 6.0)
)
def test_trials_that_end_early_let_it_look_no_more_often(
    seed: int, most: int, made: int, allowed: float | None
) -> None:
    """Rounds are as large as they can be in calls, whatever they come to; within calls that are allowed, too."""
    whole = design(PrecisionTarget({"mean": 1e-6}), most=most)
    calls = None if allowed is None else int(whole.first_round * allowed)
    of = design(PrecisionTarget({"mean": 1e-6}), calls, most=most)
    decisions = course(of, seed, min(made, most))
    assert len(decisions) - 1 <= of.most_looks
    assert calls is None or decisions[-1][0].calls <= calls
    assert calls is not None or sum(len(added) for _, added in decisions) == len(trials())


def test_a_block_that_is_not_whole_counts_for_nothing() -> None:
    of = design(PrecisionTarget({"mean": 0.3}))
    first = {trial.name: answer(trial, 0) for trial in course(of)[0][1]}
    more = answer(trials()[1], 0)
    with_one = decide(of, first | {trials()[1].name: more})
    assert with_one.blocks == decide(of, first).blocks


def test_null_conditions_are_not_asked_in_part() -> None:
    null = Asked("null/none/a/plain/1/1", "a", 0, "plain", 1, 1)
    with pytest.raises(InputError, match="null conditions cannot stop early"):
        design(PrecisionTarget({"mean": 1.0}), asked=[*trials(), null])


def test_limits_of_the_whole_are_repeated_intervals_unless_the_manifest_is_older_than_the_rule() -> None:
    reach = {rule: InterimResult({}, 7, 7, 0.95, 0, rule=rule).reach for rule in get_args(Rule)}
    assert reach == {"divided": pytest.approx(2.690, abs=1e-3), "repeated": pytest.approx(2.490, abs=1e-3)}
    assert msgspec.convert({"measures": {"mean": 0.1}}, PrecisionTarget).rule == "divided"
    asked = precision_of({"mean": 0.1}, None)
    assert asked is not None
    assert asked.rule == "repeated"
