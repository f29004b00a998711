"""How precise deliberations are so far: intervals shown after stopping cover these dilemmas' true shares."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from overton.errors import InputError
from overton.runs.experiment import Experiment
from overton.runs.precision import check_one_judge, check_wanted, design_of
from overton.studies.deliberation import STUDY, Dilemma, Options, Record
from overton.studies.deliberation.precision import BLOCKS, judged
from overton.studies.deliberation.protocol import DilemmaTrial, conduct, trials
from overton.studies.precision import Arm, Decision, InterimResult, PrecisionTarget, StoppingPlan, TrialOutcome, decide

AGENTS = ("acme/a", "acme/b")


def dilemmas(count: int) -> list[Dilemma]:
    return [Dilemma(f"d{number}", f"AITA for number {number}?", "I did it.") for number in range(count)]


def planned(count: int = 4, repetitions: int = 6, **options: Any) -> list[DilemmaTrial]:
    return list(trials(dilemmas(count), Options(**{"agents": AGENTS, "trials": repetitions} | options), 0))


def said(trial: DilemmaTrial, *rounds: Sequence[str | None], failure: str | None = None) -> list[Record]:
    """The records of a deliberation in which the agents gave these verdicts, round by round."""
    blank = msgspec.structs.replace(EXAMPLE, deliberation=trial.name, dilemma=trial.item, format=trial.format)
    return [
        msgspec.structs.replace(
            blank,
            round=number,
            position=seat if trial.format == "round-robin" else None,
            agent=f"Agent {seat}",
            model=trial.models[seat - 1],
            verdict=verdict,
            failure=failure,
        )
        for number, verdicts in enumerate(rounds, 1)
        for seat, verdict in enumerate(verdicts, 1)
    ]


async def _unreadable(*_: Any, **__: Any) -> Any:
    from overton.calls import Reply

    return Reply("My current verdict: NTA.\n\nHere's my thinking: so.")


EXAMPLE = asyncio.run(conduct(planned(1)[0], _unreadable))[0]  # type: ignore[arg-type]
AGREED, OPPOSED, CAME_OVER = (("NTA", "NTA"),), (("NTA", "YTA"), ("NTA", "YTA")), (("NTA", "YTA"), ("NTA", "NTA"))


def discussed(trial: DilemmaTrial, chance: float, seed: int) -> list[Record]:
    draw = random.Random(f"{seed}/{trial.name}")
    agreed, at_once = draw.random() < chance, draw.random() < 0.5
    return said(trial, *((AGREED if at_once else CAME_OVER) if agreed else OPPOSED))


def looked(held: Mapping[str, Sequence[Record]], asked: Sequence[DilemmaTrial]) -> InterimResult:
    records: dict[Arm, list[Record]] = {}
    for trial in asked:
        records.setdefault(Arm(trial.item, BLOCKS.of(trial)[0]), []).extend(held.get(trial.name, ()))
    return InterimResult(records, 5, 8, 0.95, 0, dict.fromkeys(records, 1))


def of_chances(chances: Sequence[float], seed: int = 0) -> tuple[dict[str, list[Record]], list[DilemmaTrial]]:
    asked = planned(len(chances))
    return {trial.name: discussed(trial, chances[int(trial.item[1:])], seed) for trial in asked}, asked


def stopped(chances: Sequence[float], wanted: PrecisionTarget, seed: int, repetitions: int = 15) -> Decision:
    """The last decision of a run that stops so."""
    design = StoppingPlan(BLOCKS, planned(len(chances), repetitions), wanted, 0)
    ended: dict[str, TrialOutcome] = {}
    while (decision := decide(design, ended)).blocks:
        for trial in design.chosen(decision, ended.keys()):
            assert isinstance(trial, DilemmaTrial)
            ended[trial.name] = TrialOutcome(discussed(trial, chances[int(trial.item[1:])], seed), 2)
    return decision


def test_a_block_has_everybody_speak_first_as_often() -> None:
    asked = planned(2, 3, agents=(*AGENTS, "acme/c"), formats=("synchronous", "round-robin"), sizes=(2, 3))
    blocks: dict[tuple[str, str, int], list[tuple[int, ...]]] = {}
    for trial in asked:
        blocks.setdefault((trial.item, *BLOCKS.of(trial)), []).append(trial.order)
    for (_, name, _), orders in blocks.items():
        assert len({tuple(sorted(order)) for order in orders}) == 1
        firsts = [order[0] for order in orders]
        assert name.startswith("synchronous") or len({firsts.count(one) for one in set(firsts)}) == 1
    assert {number for _, _, number in blocks} == {1, 2, 3}


@settings(max_examples=15, deadline=None)
@given(st.randoms(use_true_random=False), st.lists(st.sampled_from([0.0, 0.3, 0.5, 1.0]), min_size=2, max_size=4))
def test_the_order_of_records_changes_nothing(shuffle: random.Random, chances: list[float]) -> None:
    held, asked = of_chances(chances)
    wanted = {"consensus": 0.1, "changed": 0.1, "share": 0.2}
    before = judged(looked(held, asked), wanted)
    arms = [(arm, list(records)) for arm, records in looked(held, asked).records.items()]
    shuffle.shuffle(arms)
    for _, records in arms:
        shuffle.shuffle(records)
    after = judged(looked(held, asked)._replace(records=dict(arms)), wanted)
    assert sorted(after.limits, key=str) == sorted(before.limits, key=str)
    assert (after.wide, after.headline_wide, after.variance) == (before.wide, before.headline_wide, before.variance)


def test_a_dilemma_weighs_the_same_however_often_it_was_discussed() -> None:
    asked = planned(2, 40)
    held = {
        trial.name: said(trial, *(AGREED if trial.item == "d0" else OPPOSED))
        for trial in asked
        if trial.item == "d0" or trial.repetition <= 8
    }
    (limit,) = judged(looked(held, asked), {"consensus": 0.2}).limits
    assert limit.value == pytest.approx(0.5, abs=0.04)


def test_who_changes_is_reported_by_model() -> None:
    asked = planned(3, 20)
    found = judged(looked({trial.name: said(trial, *CAME_OVER) for trial in asked}, asked), {"changed": 0.1}).limits
    assert [limit.value > 0.9 for limit in found] == [False, True]
    assert [model in limit.title for limit, model in zip(found, AGENTS, strict=True)] == [True, True]


def test_seats_of_one_model_are_one_answer() -> None:
    """Both of its agents come over or stay together, which tells no more than one would."""
    pair, alone = planned(6, 6, agents=("acme/a",) * 2), planned(6, 6)
    both = {trial.name: said(trial, ("NTA", "YTA"), ("YTA", "NTA")) for trial in pair if trial.repetition % 2}
    both |= {trial.name: said(trial, *OPPOSED) for trial in pair if not trial.repetition % 2}
    one = {trial.name: said(trial, *(CAME_OVER if trial.repetition % 2 else OPPOSED)) for trial in alone}
    (wide,) = judged(looked(both, pair), {"changed": 0.1}).limits
    _, other = judged(looked(one, alone), {"changed": 0.1}).limits
    assert (wide.value, wide.half) == pytest.approx((other.value, other.half))


def test_failed_deliberations_and_mute_models_do_not_count_as_answers() -> None:
    held, asked = of_chances([0.5, 0.5])
    before = judged(looked(held, asked), {"consensus": 0.1}).limits
    failed = {name: said(trial, *OPPOSED, failure="timeout: none") for trial in asked[:2] if (name := trial.name)}
    without = {name: records for name, records in held.items() if name not in failed}
    assert judged(looked(held | failed, asked), {"consensus": 0.1}).limits != before
    assert judged(looked(held | failed, asked), {"consensus": 0.1}) == judged(
        looked(without, asked), {"consensus": 0.1}
    )
    mute = {trial.name: said(trial, ("NTA", None)) for trial in asked}
    for nothing in (mute, {trial.name: said(trial, *OPPOSED, failure="timeout: none") for trial in asked}):
        found = judged(looked(nothing, asked), {"consensus": 0.1, "share": 0.4})
        assert found.headline_wide
        assert len(found.wide) == 2
        assert (found.limits[0].low, found.limits[0].high) == (0.0, 1.0)


def test_dilemmas_that_are_sure_need_the_first_round_only() -> None:
    decision = stopped([1.0, 0.0] * 6, PrecisionTarget({"consensus": 0.15}), 0)
    assert {stop.blocks for stop in decision.stops} == {2}


def test_dilemmas_that_divide_get_more_than_those_that_do_not() -> None:
    stops = stopped([0.5] * 6 + [0.0] * 6, PrecisionTarget({"consensus": 0.1}), 1).stops
    divided = sum(stop.trials for stop in stops if int(stop.item[1:]) < 6)
    assert divided > 1.3 * sum(stop.trials for stop in stops if int(stop.item[1:]) >= 6)


def test_dilemmas_stop_by_themselves() -> None:
    stops = stopped([0.5, 0.0, 1.0], PrecisionTarget({"share": 0.36}), 4).stops
    got = {stop.item: stop.blocks for stop in stops}
    assert got["d0"] > got["d1"] == got["d2"]


@pytest.mark.long
@pytest.mark.parametrize("chances", [[0.5] * 12, [0.02] * 6 + [0.5] * 6, [0.0] * 11 + [0.5], [0.9, 0.6, 0.2]])
def test_consensus_shown_after_stopping_holds_the_true_one(chances: list[float]) -> None:
    """Of 60 runs 94 in a hundred: all but four, since a few more than that happen by chance."""
    true = sum(chances) / len(chances)
    limits = [stopped(chances, PrecisionTarget({"consensus": 0.13}), seed).limits[0] for seed in range(60)]
    assert sum(one.low <= true <= one.high for one in limits) >= 56


def test_a_run_without_widths_is_about_consensus() -> None:
    held, asked = of_chances([0.5, 0.5])
    found = judged(looked(held, asked), {})
    assert [limit.measure for limit in found.limits] == ["consensus"]
    assert found.headline_wide


@pytest.mark.parametrize(
    ("options", "wanted", "said_of_it"),
    [
        ({"trials": 2}, {"consensus": 0.1}, "asks everything twice"),
        ({"trials": 6}, {"inertia": 0.1}, "no such measure; known are consensus, changed, share"),
        ({"trials": 6}, {"consensus": 0.5}, "below 0.5"),
    ],
)
def test_incompatible_options_are_refused(options: dict[str, Any], wanted: dict[str, float], said_of_it: str) -> None:
    with pytest.raises(InputError, match=said_of_it):
        check_wanted(STUDY, PrecisionTarget(wanted), Options(agents=AGENTS, **options))


def test_several_judges_are_refused() -> None:
    check_one_judge(STUDY, {"agent": AGENTS, "values": ["one"]})
    with pytest.raises(InputError, match="2 judges, each would stop at a different point"):
        check_one_judge(STUDY, {"agent": AGENTS, "values": ["one", "two"]})


def test_a_pilots_records_are_those_of_whoever_sits_there() -> None:
    first, *_, last = planned(2, agents=AGENTS), planned(2, agents=("acme/x", "acme/y"))
    stands = [BLOCKS.like(record, last[-1]) for record in said(first[0], *CAME_OVER)]
    assert {record.deliberation for record in stands} == {last[-1].name}
    assert {record.dilemma for record in stands} == {last[-1].item}
    assert [record.model for record in stands[:2]] == ["acme/x", "acme/y"]


def test_no_more_calls_are_decided_on_than_are_allowed_though_deliberations_may_be_long() -> None:
    items, options = dilemmas(6), Options(agents=AGENTS, trials=12)
    longest = design_of(Experiment(STUDY, items, options), PrecisionTarget({}), 1).most
    assert set(longest.values()) == {2 * 4 * 2}
    design = design_of(Experiment(STUDY, items, options), PrecisionTarget({}, 220), 1)
    ended: dict[str, TrialOutcome] = {}
    decisions = 0
    while (decision := decide(design, ended)).blocks:
        decisions += 1
        for trial in design.chosen(decision, ended.keys()):
            assert isinstance(trial, DilemmaTrial)
            ended[trial.name] = TrialOutcome(discussed(trial, 0.5, 0), 4)
    assert 100 < sum(one.calls for one in ended.values()) <= 220
    assert decisions <= design.most_looks
