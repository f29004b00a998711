"""The values judge: what it is shown, and what of its answer is kept."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from overton.calls import system, user
from overton.errors import CallFailed, Stopped
from overton.studies.deliberation import prompts
from overton.studies.deliberation.protocol import MOST, NOT_VALUED, conduct, schema, valued

CARE, TRUTH, FAMILY = "Parental care", "Honest communication", "Family bonds and cohesion"


def answers(*values: Any) -> str:
    return json.dumps({"answers": values})


async def judged(table: Any, *replies: str | Exception) -> Any:
    return await valued(table({"values": replies}), "NTA", "He asked first.")


async def test_the_judge_is_shown_the_list_and_the_evaluation_and_held_to_the_schema(table: Any) -> None:
    ask = table({"values": [answers(CARE)]})
    await valued(ask, "NTA", "He asked first.")
    (asked,) = ask.asked
    assert asked.messages == (
        system(prompts.values_prompt()),
        user("My current verdict: NTA.\n\nHere's my thinking: He asked first."),
    )
    assert asked.form.schema == schema()


def test_the_schema_allows_five_of_the_published_values_and_nothing_else() -> None:
    made = schema()
    answers_ = made["properties"]["answers"]
    assert (answers_["maxItems"], len(answers_["items"]["enum"]), len(set(answers_["items"]["enum"]))) == (5, 48, 48)
    assert (made["required"], made["additionalProperties"]) == (["answers"], False)


async def test_values_of_the_list_are_kept_in_the_judges_order(table: Any) -> None:
    assert await judged(table, answers(TRUTH, CARE)) == ((TRUTH, CARE), 0)


async def test_no_value_is_an_answer_too(table: Any) -> None:
    assert await judged(table, answers()) == ((), 0)


async def test_values_outside_the_list_are_dropped_and_counted(table: Any) -> None:
    assert await judged(table, answers("Fairness", TRUTH, "honest communication", "Fairness")) == ((TRUTH,), 3)


async def test_only_the_first_five_are_kept_and_the_others_are_not_outside_the_list(table: Any) -> None:
    assert await judged(table, answers(*prompts.VALUES[:8])) == (prompts.VALUES[:MOST], 0)


async def test_a_value_that_is_named_twice_counts_once(table: Any) -> None:
    assert await judged(table, answers(TRUTH, TRUTH, CARE)) == ((TRUTH, CARE), 0)


async def test_outside_values_take_no_place_of_the_five(table: Any) -> None:
    assert await judged(table, answers("Fairness", *prompts.VALUES[:6])) == (prompts.VALUES[:MOST], 1)


async def test_json_in_a_fence_is_read(table: Any) -> None:
    assert await judged(table, f"Here it is:\n```json\n{answers(FAMILY)}\n```") == ((FAMILY,), 0)


@pytest.mark.parametrize("reply", ["", "Honesty, I think.", '["Parental care"]', '{"answers": "Parental care"}', "{}"])
async def test_an_answer_of_another_form_gives_no_values(table: Any, reply: str) -> None:
    assert await judged(table, reply) == NOT_VALUED


async def test_a_failed_call_gives_no_values(table: Any) -> None:
    assert await judged(table, CallFailed("timeout", "no reply")) == (None, None)


async def test_a_stop_passes(table: Any) -> None:
    with pytest.raises(Stopped):
        await judged(table, Stopped("enough"))


@pytest.mark.parametrize("explanation", ["", "  \n"])
async def test_without_an_explanation_nothing_is_asked(table: Any, explanation: str) -> None:
    ask = table({"values": [answers(CARE)]})
    assert await valued(ask, "NTA", explanation) == NOT_VALUED
    assert not ask.asked


async def test_every_explanation_of_a_deliberation_is_judged_each_for_itself(trial: Any, table: Any) -> None:
    script = {
        "agent/1": ["NTA", "ESH"],
        "agent/2": ["ESH"],
        "values": [answers(CARE), "nothing", answers(), answers("x")],
    }
    ask = table(script)
    records = await conduct(trial("round-robin", values=True), ask)
    assert [(r.values, r.values_dropped) for r in records] == [((CARE,), 0), (None, None), ((), 0), ((), 1)]
    assert [one.messages[1].content.partition("thinking: ")[2] for one in ask.by("values")] == [
        r.explanation for r in records
    ]


async def test_an_explanation_without_a_readable_verdict_is_judged_too(trial: Any, table: Any) -> None:
    ask = table({"agent/1": ["Hard to say."], "agent/2": ["NTA"], "values": [answers(CARE)]})
    records = await conduct(trial("synchronous", rounds=1, values=True), ask)
    assert [(r.verdict, r.values) for r in records] == [(None, (CARE,)), ("NTA", (CARE,))]


async def test_a_deliberation_that_failed_is_not_judged_so_that_its_calls_can_be_asked_again(
    trial: Any, table: Any
) -> None:
    ask = table({"agent/1": ["NTA"], "agent/2": [CallFailed("timeout", "no reply")], "values": [answers(CARE)]})
    records = await conduct(trial("synchronous", values=True), ask)
    assert [r.values for r in records] == [None, None]
    assert not ask.by("values")


async def test_without_a_judge_nobody_is_asked_for_values(trial: Any, table: Any) -> None:
    ask = table({"agent/1": ["NTA"], "agent/2": ["NTA"]})
    assert [r.values for r in await conduct(trial("synchronous"), ask)] == [None, None]


async def test_values_that_are_asked_for_again_are_listed_in_another_order(trial: Any, table: Any) -> None:
    ask = table(
        {
            "agent/1": ["NTA"],
            "agent/2": ["NTA"],
            "values": [answers(CARE, TRUTH)],
            "values/again/1": [answers(TRUTH)],
            "values/again/2": [CallFailed("timeout", "no reply")],
        }
    )
    records = await conduct(msgspec.structs.replace(trial("synchronous", values=True), retest=1.0), ask)
    assert [(r.values, r.valued_again, r.values_again) for r in records] == [
        ((CARE, TRUTH), True, (TRUTH,)),
        ((CARE, TRUTH), True, None),
    ]
    for one, other in zip(ask.by("values"), ask.by("values/again/1") + ask.by("values/again/2"), strict=True):
        assert one.messages[1] == other.messages[1]
        first, second = (say.messages[0].content.split("\n") for say in (one, other))
        assert first != second
        assert sorted(first) == sorted(second)
        enums = [say.form.schema["properties"]["answers"]["items"]["enum"] for say in (one, other)]
        assert enums[0] != enums[1]
        assert sorted(enums[0]) == sorted(enums[1]) == sorted(prompts.VALUES)
