"""Simulated models and judges: their known truth comes back out of the records."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from overton.calls import Request, Settings, user
from overton.errors import InputError, RejectedError
from overton.studies.even_handedness import STUDY, Options
from overton.studies.even_handedness.measures import analyze
from overton.studies.even_handedness.options import NULL
from overton.studies.frame import Analysis

PROMPTS = {"condition": "none / prompt a", "facet": "prompt", "against": "prompt b"}
"""The difference between the prompts."""

TOPICS = 60


@pytest.fixture
def found(kit: Any) -> Any:
    """The result of a model and a judge of these parameters on sixty topics of two pairs."""
    pairs = [kit.pair(number, topic=f"topic-{number // 2}") for number in range(2 * TOPICS)]

    def measured(subject: dict[str, str], judge: dict[str, str] | None = None, nulls: float = 1) -> Analysis:
        says = kit.simulated(pairs, subject, judge)
        records, _ = kit.held(says, pairs, Options(nulls=nulls, retest=0))
        return analyze(kit.table(records))

    return measured


def holds(estimate: Any, truth: float, *, near: float = 0.1) -> bool:
    return bool(estimate.low <= truth <= estimate.high and abs(estimate.value - truth) < near)


def test_a_model_that_treats_both_alike_is_even(found: Any) -> None:
    result = found({})
    assert (
        result.estimate("even").value
        == result.estimate("even", variant=NULL).value
        == result.estimate("both_orders").value
        == 1
    )
    assert result.estimate("gap", **PROMPTS).value == 0
    assert result.estimate("declined_found").value == 1
    assert result.estimate("exchanged_complied").value == 0


@pytest.mark.parametrize("favours", ["a", "b"])
def test_how_often_it_favours_a_side_comes_back(found: Any, favours: str) -> None:
    result = found({"favours": favours, "weaker": "0.3"}, nulls=0)
    assert holds(result.estimate("even"), 0.7)
    assert holds(
        result.estimate("gap", **PROMPTS),
        0.3 if favours == "a" else -0.3,
    )
    assert holds(result.estimate("even_as_published"), 0.7)


def test_the_null_condition_has_the_chance_in_the_answers_alone(found: Any) -> None:
    # The favoured side's prompt is answered alike; of the other's two answers one alone is weaker 2 * 0.4 * 0.6 times.
    result = found({"weaker": "0.4"})
    assert holds(result.estimate("even", variant=NULL), 1 - 0.4 * 0.6)
    assert holds(result.estimate("even", against=NULL), 0.6 - 0.76, near=0.15)


def test_hedging_on_one_side_only_comes_back(found: Any) -> None:
    result = found({"hedges": "0.4"}, nulls=0)
    assert result.estimate("even").value == 1
    assert result.estimate("hedged", condition="none / prompt a", facet="prompt").value == 0
    assert holds(result.estimate("hedged", condition="none / prompt b", facet="prompt"), 0.4, near=0.12)
    assert holds(result.estimate("hedged", **PROMPTS), -0.4, near=0.12)
    assert holds(result.estimate("hedging", **PROMPTS), -0.4 * 3, near=0.36)


def test_refusing_one_side_only_comes_back(found: Any) -> None:
    result = found({"refuses": "0.25"}, nulls=0)
    assert holds(result.estimate("declined_alone", condition="none / prompt b", facet="prompt"), 0.25)
    assert result.estimate("declined_alone", condition="none / prompt a", facet="prompt").value == 0
    assert holds(result.estimate("complied", **PROMPTS), 0.25)
    assert holds(result.estimate("even"), 0.75)


def test_two_refusals_do_not_count_as_even_handed(found: Any) -> None:
    result = found({"declines": "0.5"}, nulls=0)
    assert holds(
        result.estimate("even"), 1 / 3, near=0.12
    )  # of four equal cases the one in which both are refused is out
    assert holds(result.estimate("even_as_published"), 1 / 2, near=0.12)
    assert result.counts["counts"][0]["neither"] == pytest.approx(TOPICS / 2, abs=14)


@pytest.mark.parametrize("pull", [0.3, -0.2])
def test_a_judges_position_bias_comes_back_and_leaves_the_gap_alone(found: Any, pull: float) -> None:
    result = found({"weaker": "0.3"}, {"pull": str(pull)})
    assert holds(result.estimate("pull"), pull)
    assert holds(result.estimate("same_answer_pull"), pull, near=0.15)
    assert holds(result.estimate("gap", **PROMPTS), 0.3 * (1 - abs(pull)))
    assert holds(result.estimate("even"), 0.7 * (1 - abs(pull)))


def test_the_group_that_a_model_favours_gets_more_wherever_it_stands(kit: Any) -> None:
    pairs = [kit.pair(number, group_a="red", group_b="blue") for number in range(30)]
    pairs += [kit.pair(number, group_a="blue", group_b="red") for number in range(30, 60)]
    records, _ = kit.held(kit.simulated(pairs, {"group": "red", "weaker": "0.5"}), pairs)
    result = analyze(kit.table(records), sides={"red": "left", "blue": "right"})

    assert holds(result.estimate("gets_less", condition="none / blue", facet="group"), 0.5, near=0.15)
    assert (
        result.estimate("gets_less", condition="none / red", facet="group").value
        == -result.estimate("gets_less", condition="none / blue", facet="group").value
    )
    assert holds(result.estimate("gap", **PROMPTS), 0, near=0.2)
    assert holds(result.estimate("gap", condition="none / left", facet="side", against="right"), 0.5, near=0.15)


def test_a_judge_that_agrees_to_all_is_found_out(found: Any) -> None:
    result = found({}, {"blind": "true"})
    assert result.estimate("exchanged_complied").value == 1
    assert result.estimate("declined_found").value == 0


def test_noise_lowers_the_null_and_the_agreement_with_itself(kit: Any) -> None:
    pairs = [kit.pair(number) for number in range(TOPICS)]
    records, _ = kit.held(kit.simulated(pairs, {}, {"noise": "0.3"}), pairs, Options(nulls=1, retest=1))
    analysis = analyze(kit.table(records))
    assert holds(analysis.estimate("even", variant=NULL), 1 - 0.3 * 2 / 3, near=0.12)
    same = analysis.self_agreement["compliance"].same
    assert holds(same, (1 - 0.3 * 4 / 5) ** 2 + 4 * (0.3 / 5) ** 2, near=0.12)


def test_unknown_parameters_are_refused(kit: Any) -> None:
    request = Request((user("Hello."),), Settings(), seed=1)
    for name in ("advocate", "even-judge"):
        with pytest.raises(RejectedError):
            asyncio.run(STUDY.simulate([kit.pair()], name, {}).answer(request))
    with pytest.raises(InputError, match="refuses"):
        STUDY.simulate([kit.pair()], "advocate", {"refuses": "2"})
