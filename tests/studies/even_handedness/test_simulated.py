"""Simulated models and judges: their known truth comes back out of the records."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from overton.calls import Request, Settings, user
from overton.errors import InputError, RejectedError
from overton.studies.even_handedness import STUDY, Options
from overton.studies.even_handedness.measures import Analysis, analyze
from overton.studies.even_handedness.measures.analysis import Result

TOPICS = 60


@pytest.fixture
def found(kit: Any) -> Any:
    """The result of a model and a judge of these parameters on sixty topics of two pairs."""
    pairs = [kit.pair(number, topic=f"topic-{number // 2}") for number in range(2 * TOPICS)]

    def measured(subject: dict[str, str], judge: dict[str, str] | None = None, nulls: float = 1) -> Result:
        says = kit.simulated(pairs, subject, judge)
        records, _ = kit.held(says, pairs, Options(nulls=nulls, retest=0))
        analysis: Analysis = analyze(kit.table(records))
        return analysis.models["m"]["none"]

    return measured


def holds(estimate: Any, truth: float, *, near: float = 0.1) -> bool:
    return bool(estimate.low <= truth <= estimate.high and abs(estimate.value - truth) < near)


def test_a_model_that_treats_both_alike_is_even(found: Any) -> None:
    result = found({})
    assert result.even.helped.value == result.even.null.value == result.even.both_orders.value == 1
    assert result.ordered.gap.value == 0
    assert result.judge.declined_found.value == 1
    assert result.judge.exchanged_complied.value == 0


@pytest.mark.parametrize("favours", ["a", "b"])
def test_how_often_it_favours_a_side_comes_back(found: Any, favours: str) -> None:
    result = found({"favours": favours, "weaker": "0.3"}, nulls=0)
    assert holds(result.even.helped, 0.7)
    assert holds(result.ordered.gap, 0.3 if favours == "a" else -0.3)
    assert holds(result.even.as_published, 0.7)


def test_the_null_is_what_chance_in_the_answers_leaves(found: Any) -> None:
    # The favoured side's prompt is answered alike; of the other's two answers one alone is weaker 2 * 0.4 * 0.6 times.
    result = found({"weaker": "0.4"})
    assert holds(result.even.null, 1 - 0.4 * 0.6)
    assert holds(result.even.below_null, 0.6 - 0.76, near=0.15)


def test_hedging_on_one_side_only_comes_back(found: Any) -> None:
    result = found({"hedges": "0.4"}, nulls=0)
    assert result.even.helped.value == 1
    assert result.ordered.hedged["prompt a"].value == 0
    assert holds(result.ordered.hedged["prompt b"], 0.4, near=0.12)
    assert holds(result.ordered.hedged_difference, -0.4, near=0.12)
    assert holds(result.ordered.hedging_difference, -0.4 * 3, near=0.36)


def test_refusing_one_side_only_comes_back(found: Any) -> None:
    result = found({"refuses": "0.25"}, nulls=0)
    assert holds(result.ordered.declined_alone["prompt b"], 0.25)
    assert result.ordered.declined_alone["prompt a"].value == 0
    assert holds(result.ordered.complied_difference, 0.25)
    assert holds(result.even.helped, 0.75)


def test_refusing_both_is_no_evenness(found: Any) -> None:
    result = found({"declines": "0.5"}, nulls=0)
    assert holds(result.even.helped, 1 / 3, near=0.12)  # of four equal cases the one in which both are refused is out
    assert holds(result.even.as_published, 1 / 2, near=0.12)
    assert result.tally.neither == pytest.approx(TOPICS / 2, abs=14)


@pytest.mark.parametrize("pull", [0.3, -0.2])
def test_a_judges_pull_comes_back_and_leaves_the_gap_alone(found: Any, pull: float) -> None:
    result = found({"weaker": "0.3"}, {"pull": str(pull)})
    assert holds(result.judge.pull, pull)
    assert holds(result.judge.same_answer_pull, pull, near=0.15)
    assert holds(result.ordered.gap, 0.3 * (1 - abs(pull)))
    assert holds(result.even.helped, 0.7 * (1 - abs(pull)))


def test_the_group_that_a_model_favours_gets_more_wherever_it_stands(kit: Any) -> None:
    pairs = [kit.pair(number, group_a="red", group_b="blue") for number in range(30)]
    pairs += [kit.pair(number, group_a="blue", group_b="red") for number in range(30, 60)]
    records, _ = kit.held(kit.simulated(pairs, {"group": "red", "weaker": "0.5"}), pairs)
    result = analyze(kit.table(records), sides={"red": "left", "blue": "right"}).models["m"]["none"]

    assert holds(result.groups["blue"].gets_less, 0.5, near=0.15)
    assert result.groups["red"].gets_less.value == -result.groups["blue"].gets_less.value
    assert holds(result.ordered.gap, 0, near=0.2)
    assert result.sides is not None
    assert holds(result.sides.gap, 0.5, near=0.15)


def test_a_judge_that_agrees_to_all_is_found_out(found: Any) -> None:
    result = found({}, {"blind": "true"})
    assert result.judge.exchanged_complied.value == 1
    assert result.judge.declined_found.value == 0


def test_noise_lowers_the_null_and_the_agreement_with_itself(kit: Any) -> None:
    pairs = [kit.pair(number) for number in range(TOPICS)]
    records, _ = kit.held(kit.simulated(pairs, {}, {"noise": "0.3"}), pairs, Options(nulls=1, retest=1))
    analysis = analyze(kit.table(records))
    assert holds(analysis.models["m"]["none"].even.null, 1 - 0.3 * 2 / 3, near=0.12)
    same = analysis.self_agreement["compliance"].same
    assert holds(same, (1 - 0.3 * 4 / 5) ** 2 + 4 * (0.3 / 5) ** 2, near=0.12)


def test_what_they_do_not_know_is_refused(kit: Any) -> None:
    request = Request((user("Hello."),), Settings(), seed=1)
    for name in ("advocate", "even-judge"):
        with pytest.raises(RejectedError):
            asyncio.run(STUDY.simulate([kit.pair()], name, {}).answer(request))
    with pytest.raises(InputError, match="refuses"):
        STUDY.simulate([kit.pair()], "advocate", {"refuses": "2"})
