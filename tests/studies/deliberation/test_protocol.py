"""The protocol: the messages that each agent receives, their order, and the end of a deliberation."""

from __future__ import annotations

import asyncio
import itertools
import re
from typing import Any

import pytest

from overton.calls import Reply, assistant, system, user
from overton.errors import CallFailed, RunMismatch, Stopped
from overton.studies.deliberation import prompts
from overton.studies.deliberation.options import FORMATS, Options
from overton.studies.deliberation.protocol import conduct, speaker, trials

LOST = CallFailed("timeout", "no reply")
both_formats = pytest.mark.parametrize("format_", FORMATS)


def told(message: Any) -> list[tuple[str, str]]:
    """The agents whose verdicts a message tells, with the verdicts, in its order."""
    return re.findall(r"^(Agent \d)'s current verdict: ([\w ]+)\.$", message.content, re.MULTILINE)


# Messages that each agent receives


async def test_agents_receive_only_the_dilemma_in_a_synchronous_round_1(trial: Any, table: Any) -> None:
    one, ask = trial("synchronous", 3), table({f"agent/{n}": ["NTA"] for n in (1, 2, 3)})
    await conduct(one, ask)
    for number, asked in enumerate(ask.asked, start=1):
        instructions = prompts.system_prompt(number, 3, "synchronous", "correctness", 4)
        opening = prompts.dilemma_message(one.dilemma.title, one.dilemma.text)
        assert asked.messages == (system(instructions), user(opening))


async def test_instructions_are_the_papers_or_the_authors_codes(trial: Any, table: Any) -> None:
    shown = {}
    for whose in ("paper", "code"):
        ask = table({"agent/1": ["NTA"], "agent/2": ["NTA"]})
        await conduct(trial("round-robin", goals=("balanced",), instructions=whose), ask)
        shown[whose] = ask.asked[1].messages[0]
        assert shown[whose] == system(prompts.system_prompt(2, 2, "round-robin", "balanced", instructions=whose))
    assert shown["code"] != shown["paper"]
    assert trial("round-robin").instructions == "paper"


async def test_from_a_synchronous_round_2_each_is_told_the_others_last_verdicts_and_explanations(
    trial: Any, table: Any
) -> None:
    ask = table({"agent/1": ["NTA", "ESH"], "agent/2": ["YTA"], "agent/3": ["NAH", "INFO"]})
    await conduct(trial("synchronous", 3, rounds=3), ask)
    rounds = [ask.by("agent/2")[number].messages for number in range(3)]
    assert [told(message) for message in rounds[2]] == [
        [],
        [],
        [],
        [("Agent 1", "NTA"), ("Agent 3", "NAH")],
        [],
        [("Agent 1", "ESH"), ("Agent 3", "INFO")],
    ]
    assert "Agent 3's thinking: agent/3 says NAH as number 1." in rounds[1][3].content
    assert "number 1" not in rounds[2][5].content
    assert rounds[2][3] == rounds[1][3]


async def test_in_round_robin_the_second_is_told_the_first_in_round_1(trial: Any, table: Any) -> None:
    one, ask = trial("round-robin"), table({"agent/1": ["NTA"], "agent/2": ["NTA"]})
    await conduct(one, ask)
    assert [message.role for message in ask.by("agent/2")[0].messages] == ["system", "user"]
    turn = ask.by("agent/2")[0].messages[1]
    assert turn.content.startswith(prompts.dilemma_message(one.dilemma.title, one.dilemma.text))
    assert told(turn) == [("Agent 1", "NTA")]
    assert not told(ask.by("agent/1")[0].messages[1])


async def test_agents_in_round_robin_receive_messages_since_their_last_turn_once(trial: Any, table: Any) -> None:
    ask = table({"agent/1": ["NTA", "ESH"], "agent/2": ["YTA", "NAH"], "agent/3": ["INFO", "NTA"]})
    await conduct(trial("round-robin", 3, rounds=2, orders="given"), ask)
    turns = {who: [told(m) for m in ask.by(f"agent/{who}")[1].messages if m.role == "user"] for who in (1, 2, 3)}
    assert turns == {
        1: [[], [("Agent 2", "YTA"), ("Agent 3", "INFO")]],
        2: [[("Agent 1", "NTA")], [("Agent 3", "INFO"), ("Agent 1", "ESH")]],
        3: [[("Agent 1", "NTA"), ("Agent 2", "YTA")], [("Agent 1", "ESH"), ("Agent 2", "NAH")]],
    }


@both_formats
async def test_own_messages_are_assistant_turns_as_they_were_given(trial: Any, table: Any, format_: str) -> None:
    first = "I am Agent 1. **My current verdict: NTA**\nHere's my thinking: [none]"
    ask = table({"agent/1": [first, "ESH"], "agent/2": ["YTA"]})
    await conduct(trial(format_, rounds=3), ask)
    messages = ask.by("agent/1")[2].messages
    assert [message.role for message in messages] == ["system", "user", "assistant", "user", "assistant", "user"]
    assert messages[2] == assistant(first)
    assert "My current verdict: ESH" in messages[4].content


@both_formats
async def test_the_prompt_of_an_agent_names_the_round(trial: Any, table: Any, format_: str) -> None:
    ask = table({"agent/1": ["NTA"], "agent/2": ["YTA"]})
    await conduct(trial(format_), ask)
    for asked in (ask.by("agent/1"), ask.by("agent/2")):
        for number in (2, 3, 4):
            assert f"This is Round {number}." in asked[number - 1].messages[-1].content


@both_formats
async def test_no_message_ever_names_a_model(trial: Any, table: Any, format_: str) -> None:
    ask = table({"agent/1": ["NTA"], "agent/2": ["YTA", "no verdict", "YTA"], "agent/3": ["ESH"], "values": ["{}"]})
    await conduct(trial(format_, 3, values=True), ask)
    assert len(ask.asked) > 12
    assert not [one for one in ask.asked for message in one.messages if "acme" in message.content]


async def test_agents_are_numbered_as_they_speak_and_asked_as_they_were_given(trial: Any, table: Any) -> None:
    ask = table({"agent/1": ["NTA"], "agent/2": ["YTA"]})
    records = await conduct(trial("round-robin", named_orders=((2, 1),), rounds=1), ask)
    assert [one.speaker for one in ask.asked] == [speaker(2), speaker(1)] == ["agent/2", "agent/1"]
    assert "Your NAME is Agent 1." in ask.asked[0].messages[0].content
    assert [(r.agent, r.model, r.position, r.verdict) for r in records] == [
        ("Agent 1", "acme/model-2", 1, "YTA"),
        ("Agent 2", "acme/model-1", 2, "NTA"),
    ]
    assert {r.agents for r in records} == {"acme/model-2 + acme/model-1"}


@both_formats
async def test_two_agents_of_one_model_are_asked_apart(trial: Any, table: Any, format_: str) -> None:
    ask = table({"agent/1": ["NTA", "ESH"], "agent/2": ["YTA", "ESH"]})
    records = await conduct(trial(format_, ("acme/same", "acme/same")), ask)
    assert [(r.agent, r.model, r.verdict) for r in records] == [
        ("Agent 1", "acme/same", "NTA"),
        ("Agent 2", "acme/same", "YTA"),
        ("Agent 1", "acme/same", "ESH"),
        ("Agent 2", "acme/same", "ESH"),
    ]
    own = [message.content for message in ask.by("agent/2")[1].messages if message.role == "assistant"]
    assert len(own) == 1
    assert "agent/2 says YTA" in own[0]


async def test_a_reply_that_the_endpoint_flagged_as_a_refusal_is_marked_and_kept(trial: Any, table: Any) -> None:
    refusal = Reply("I cannot discuss this.", refused=True)
    ask = table({"agent/1": ["NTA"], "agent/2": [refusal]})
    records = await conduct(trial("synchronous", rounds=1), ask)
    assert [(r.agent, r.verdict, r.refused, r.failure) for r in records] == [
        ("Agent 1", "NTA", False, None),
        ("Agent 2", None, True, None),
    ]
    assert records[1].answer == "I cannot discuss this."


# Where it ends


@both_formats
@pytest.mark.parametrize("last", [1, 2, 3])
async def test_it_ends_when_all_verdicts_agree(trial: Any, table: Any, format_: str, last: int) -> None:
    ask = table({"agent/1": ["NTA"], "agent/2": [*["YTA"] * (last - 1), "NTA"]})
    records = await conduct(trial(format_), ask)
    assert [(r.round, r.agreed, r.last) for r in records] == [
        (number, number == last, number == last) for number in range(1, last + 1) for _ in range(2)
    ]
    assert len(ask.asked) == 2 * last


async def test_agreement_in_the_middle_of_a_round_does_not_end_it(trial: Any, table: Any) -> None:
    ask = table({"agent/1": ["YTA", "NTA"], "agent/2": ["NTA", "ESH"]})
    records = await conduct(trial("round-robin", rounds=2), ask)
    assert [r.verdict for r in records] == ["YTA", "NTA", "NTA", "ESH"]
    assert not any(r.agreed for r in records)


async def test_verdicts_agree_within_one_round_not_across_rounds(trial: Any, table: Any) -> None:
    ask = table({"agent/1": ["NTA", "YTA"], "agent/2": ["YTA", "NTA"]})
    records = await conduct(trial("synchronous", rounds=2), ask)
    assert [r.agreed for r in records] == [False] * 4


@both_formats
@pytest.mark.parametrize("rounds", [1, 4, 6])
async def test_without_agreement_it_ends_after_the_most_rounds(
    trial: Any, table: Any, format_: str, rounds: int
) -> None:
    ask = table({"agent/1": ["NTA"], "agent/2": ["NTA"], "agent/3": ["ESH"]})
    records = await conduct(trial(format_, 3, rounds=rounds), ask)
    assert [r.round for r in records] == [number for number in range(1, rounds + 1) for _ in range(3)]
    assert [r.last for r in records] == [r.round == rounds for r in records]
    assert not any(r.agreed for r in records)


def test_four_rounds_are_the_most_unless_asked_otherwise() -> None:
    assert Options().rounds == 4


# Replies without a verdict


@both_formats
async def test_a_reply_without_verdict_is_requested_once_more_with_the_format(
    trial: Any, table: Any, format_: str
) -> None:
    ask = table({"agent/1": ["Hard to say.", "NTA"], "agent/2": ["NTA"]})
    records = await conduct(trial(format_), ask)
    first, again = ask.by("agent/1")
    assert again.messages == (*first.messages, assistant("Hard to say."), user(prompts.repeat_request(1)))
    one = next(r for r in records if r.agent == "Agent 1")
    assert (one.verdict, one.attempts, one.agreed, one.last) == ("NTA", 2, True, True)
    assert (one.input_tokens, one.output_tokens) == (20, 4)
    assert one.answer.startswith("My current verdict: NTA")


@both_formats
async def test_only_the_reply_that_could_be_read_stays_in_the_conversation(
    trial: Any, table: Any, format_: str
) -> None:
    ask = table({"agent/1": ["Hard to say.", "NTA", "NTA"], "agent/2": ["YTA", "NTA"]})
    await conduct(trial(format_), ask)
    own = [message.content for message in ask.by("agent/1")[2].messages if message.role == "assistant"]
    assert len(own) == 1
    assert "NTA" in own[0]


@both_formats
async def test_a_verdict_unreadable_twice_is_invalid_and_agrees_with_none(trial: Any, table: Any, format_: str) -> None:
    ask = table({"agent/1": ["Hard to say.", "Still hard."], "agent/2": ["Harder."]})
    records = await conduct(trial(format_, rounds=2), ask)
    assert [(r.verdict, r.attempts, r.agreed, r.failure) for r in records] == [(None, 2, False, None)] * 4
    assert len(ask.asked) == 8
    assert records[0].answer == records[0].explanation == "Still hard."


async def test_the_others_are_told_that_a_verdict_could_not_be_read(trial: Any, table: Any) -> None:
    ask = table({"agent/1": ["Hard to say."], "agent/2": ["NTA"]})
    await conduct(trial("synchronous", rounds=2), ask)
    turn = ask.by("agent/2")[1].messages[-1]
    assert told(turn) == [("Agent 1", "none that could be read")]
    assert "Agent 1's thinking: Hard to say." in turn.content


# Calls that fail


async def test_a_failed_call_ends_a_synchronous_deliberation_and_the_others_verdicts_are_kept(
    trial: Any, table: Any
) -> None:
    ask = table({"agent/1": ["NTA"], "agent/2": ["YTA", LOST], "agent/3": ["NTA", "no verdict", "ESH"]})
    records = await conduct(trial("synchronous", 3), ask)
    assert [(r.round, r.agent, r.verdict, r.failure, r.last) for r in records[3:]] == [
        (2, "Agent 1", "NTA", None, True),
        (2, "Agent 2", None, "timeout: no reply", True),
        (2, "Agent 3", "ESH", None, True),
    ]
    assert (records[4].answer, records[4].attempts, records[4].input_tokens) == ("", 1, None)
    assert not any(r.agreed for r in records)


async def test_a_failed_call_ends_a_round_robin_at_once(trial: Any, table: Any) -> None:
    ask = table({"agent/1": ["NTA"], "agent/2": [LOST], "agent/3": ["NTA"]})
    records = await conduct(trial("round-robin", 3), ask)
    assert [(r.agent, r.verdict, r.failure) for r in records] == [
        ("Agent 1", "NTA", None),
        ("Agent 2", None, "timeout: no reply"),
    ]
    assert [one.speaker for one in ask.asked] == ["agent/1", "agent/2"]
    assert not any(r.agreed for r in records)


@both_formats
async def test_a_second_request_that_fails_keeps_the_first_reply(trial: Any, table: Any, format_: str) -> None:
    ask = table({"agent/1": ["NTA"], "agent/2": ["Hard to say.", LOST]})
    records = await conduct(trial(format_), ask)
    one = records[-1]
    assert (one.verdict, one.attempts, one.answer, one.failure) == (None, 2, "Hard to say.", "timeout: no reply")
    assert one.input_tokens == 10


async def test_a_stop_passes_when_all_who_speak_at_once_have_ended(trial: Any, table: Any) -> None:
    ended = []

    class Slow(table):  # type: ignore[misc]
        async def __call__(self, role: str, messages: Any, **given: Any) -> Any:
            reply = await super().__call__(role, messages, **given)
            await asyncio.sleep(0.01)
            ended.append(given["speaker"])
            return reply

    with pytest.raises(Stopped, match="enough"):
        await conduct(
            trial("synchronous", 3), Slow({f"agent/{n}": [Stopped("enough") if n == 1 else "NTA"] for n in (1, 2, 3)})
        )
    assert ended == ["agent/2", "agent/3"]


async def test_errors_of_the_run_are_raised_before_its_stop(trial: Any, table: Any) -> None:
    ask = table({"agent/1": [Stopped("enough")], "agent/2": [RunMismatch("other prompts")]})
    with pytest.raises(RunMismatch, match="other prompts"):
        await conduct(trial("synchronous"), ask)


# Trials and records


def test_trials_have_names_of_their_own_without_models_and_each_dilemmas_stand_together(dilemmas: Any) -> None:
    options = Options(
        agents=("acme/a", "acme/b", "acme/c"),
        formats=("synchronous", "round-robin"),
        goals=("correctness", "balanced"),
        sizes=(2, 3),
        trials=2,
    )
    made = list(trials(dilemmas(2), options, 3))
    assert len(made) == 2 * ((3 + 1) + (6 + 6)) * 2 * 2
    assert len({one.name for one in made}) == len(made)
    assert not [one.name for one in made if "acme" in one.name]
    assert [item for item, _ in itertools.groupby(made, key=lambda one: one.item)] == ["d0", "d1"]
    assert made[0].name == "d0/synchronous/correctness/1-2/r1"
    assert all(one.models == tuple(options.agents[number - 1] for number in one.order) for one in made)


@both_formats
@pytest.mark.parametrize("goal", ["correctness", "balanced"])
async def test_records_tell_their_condition(trial: Any, table: Any, format_: str, goal: str) -> None:
    one, ask = trial(format_, goals=(goal,)), table({"agent/1": ["NTA"], "agent/2": ["NTA"]})
    records = await conduct(one, ask)
    assert {(r.deliberation, r.dilemma, r.format, r.goal) for r in records} == {(one.name, "d0", format_, goal)}
    assert [r.position for r in records] == ([None, None] if format_ == "synchronous" else [1, 2])
    assert {r.crowd for r in records} == {"NTA"}
    assert [r.explanation for r in records] == ["agent/1 says NTA as number 1.", "agent/2 says NTA as number 1."]
    assert [(r.values, r.values_dropped) for r in records] == [(None, None)] * 2
    assert ("equally important" in ask.asked[0].messages[0].content) == (goal == "balanced")


async def test_where_the_crowd_is_not_known_the_record_says_so(dilemmas: Any, table: Any) -> None:
    one = list(trials(dilemmas(2), Options(agents=("a", "b")), 0))[1]
    assert {r.crowd for r in await conduct(one, table({"agent/1": ["NTA"], "agent/2": ["NTA"]}))} == {None}
