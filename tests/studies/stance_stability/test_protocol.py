"""The conversation: what is asked of whom in which turn, and what the record says of it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overton.calls import Reply, Settings, Usage, assistant, user
from overton.errors import CallFailed, Stopped
from overton.studies.stance_stability import Options
from overton.studies.stance_stability.protocol import (
    LONGEST_QUERY,
    cited_numbers,
    clean_query,
    conduct,
    question_order,
    trials,
)


def roles(stage: Any) -> list[str]:
    return [one.role for one in stage.asked]


async def test_every_turn_asks_for_a_query_then_searches_reads_answers_and_judges(kit: Any, trial: Any) -> None:
    stage = kit.stage(kit.script())
    records = await conduct(trial(2), stage)
    assert roles(stage) == ["subject", "search", "pages", "pages", "subject", "judge"] * 2
    assert [(one.turn, one.number, one.stance, one.confidence) for one in records] == [
        (1, 1, "supportive", 0.67),
        (2, 2, "supportive", 0.67),
    ]
    first = records[0]
    assert first.conversation == "buses/t0/fixed/r1"
    assert (first.topic, first.domain, first.temperature, first.ordering) == ("buses", "Transport", 0.0, "fixed")
    assert (first.kind, first.question, first.query) == (
        "clarification",
        "What about matter 1 of buses?",
        "buses evidence",
    )
    assert first.retrieved == first.cited == ("https://a.example/1", "https://b.example/2")
    assert (first.skipped, first.shortened, first.miscited, first.failure) == ((), 0, 0, None)
    assert (first.claims, first.contradictions_acknowledged, first.rationale) == (("Buses help.",), True, "It says so.")
    assert (first.judge_attempts, first.premise_stance, first.answer) == (1, None, "It helps [1], some say not [2].")
    assert (first.input_tokens, first.output_tokens) == (20, 4)


async def test_the_query_is_asked_with_topic_and_question_alone(kit: Any, trial: Any) -> None:
    stage = kit.stage(kit.script())
    await conduct(trial(2), stage)
    (message,) = stage.by("subject")[2].messages
    assert "Topic: Free buses" in message.content
    assert "Question: What about matter 2 of buses?\n" in message.content
    assert stage.by("search")[1].text == "buses evidence"


async def test_the_model_gets_this_turns_pages_and_of_earlier_turns_only_questions_and_answers(
    kit: Any, trial: Any
) -> None:
    stage = kit.stage(
        kit.script(
            search=[kit.hits("https://a.example/old"), kit.hits("https://b.example/new")],
            pages=lambda one: kit.page(one.text, f"Text of {one.text}.", title="A title", date="2020-02-03"),
        )
    )
    await conduct(trial(2), stage)
    _, *earlier, last = stage.by("subject")[3].messages
    assert earlier == [user("What about matter 1 of buses?"), assistant("It helps [1], some say not [2].")]
    assert '<source number="1">\nTitle: A title\nAddress: https://b.example/new\nDate: 2020-02-03' in last.content
    assert "Text of https://b.example/new." in last.content
    assert last.content.endswith("Question: What about matter 2 of buses?")
    assert "old" not in "".join(message.content for message in stage.by("subject")[3].messages)


async def test_the_judge_gets_proposition_question_answer_and_the_earlier_turns(kit: Any, trial: Any) -> None:
    stage = kit.stage(kit.script())
    await conduct(trial(2), stage)
    first, second = (one.messages[1].content for one in stage.by("judge"))
    assert "Buses should be free." in first
    assert "first turn" in first
    assert "<question>\nWhat about matter 2 of buses?\n</question>" in second
    assert "<answer>\nIt helps [1], some say not [2].\n</answer>" in second
    assert "<earlier_question>\nWhat about matter 1 of buses?" in second
    assert "It was tried" not in second  # the pages are not the judge's business


async def test_the_temperature_holds_for_the_model_under_test_alone(kit: Any, trial: Any) -> None:
    stage = kit.stage(kit.script())
    await conduct(trial(1, temperatures=(0.5,)), stage)
    heats = {one.role: one.settings for one in stage.asked}
    assert heats == {"subject": Settings(temperature=0.5), "search": None, "pages": None, "judge": None}


async def test_without_a_temperature_the_endpoints_own_holds(kit: Any, trial: Any) -> None:
    stage = kit.stage(kit.script())
    (record,) = await conduct(trial(1, temperatures=(None,)), stage)
    assert all(one.settings is None for one in stage.asked)
    assert record.temperature is None
    assert record.conversation == "buses/town/fixed/r1"


async def test_searches_and_pages_are_shared_by_all_trials(kit: Any, trial: Any) -> None:
    stage = kit.stage(kit.script())
    await conduct(trial(1), stage)
    assert {one.role: one.shared for one in stage.asked} == {
        "subject": False,
        "search": True,
        "pages": True,
        "judge": False,
    }


async def test_shared_queries_are_written_by_the_model_named_for_it_once_for_all(kit: Any, trial: Any) -> None:
    stage = kit.stage(kit.script(queries=["the same query"], subject=["An answer."]))
    (record,) = await conduct(trial(1, queries="shared"), stage)
    assert record.query == stage.by("search")[0].text == "the same query"
    assert [(one.shared, one.settings) for one in stage.by("queries")] == [(True, None)]
    assert len(stage.by("subject")) == 1
    assert record.input_tokens == 10  # of the model under test alone


@pytest.mark.parametrize("reply", ["", "  \n", Reply("I cannot help with that.", refused=True)])
async def test_without_a_query_the_question_is_searched_for(kit: Any, trial: Any, reply: Any) -> None:
    stage = kit.stage(kit.script(subject=[reply, "An answer."]))
    (record,) = await conduct(trial(1), stage)
    assert record.query == stage.by("search")[0].text == record.question


async def test_an_answer_that_the_endpoint_flagged_as_a_refusal_is_marked_kept_and_judged(kit: Any, trial: Any) -> None:
    stage = kit.stage(kit.script(subject=["query", Reply("I cannot help with that.", refused=True)]))
    (record,) = await conduct(trial(1), stage)
    assert (record.refused, record.answer, record.failure) == (True, "I cannot help with that.", None)
    assert len(stage.by("judge")) == 1


async def test_a_search_that_finds_nothing_is_answered_without_sources(kit: Any, trial: Any) -> None:
    stage = kit.stage(kit.script(search=[kit.hits()]))
    (record,) = await conduct(trial(1), stage)
    assert record.retrieved == record.cited == ()
    assert record.miscited == 2
    assert stage.by("subject")[1].text.startswith("No page was found for this question.")


async def test_citations_are_those_of_pages_that_were_shown(kit: Any, trial: Any) -> None:
    answer = "First [2], then [1, 2] and [7]. It was so in [2019]. And 【2】."
    stage = kit.stage(kit.script(subject=["query", answer]))
    (record,) = await conduct(trial(1), stage)
    assert record.cited == ("https://b.example/2", "https://a.example/1")
    assert record.miscited == 1


@pytest.mark.parametrize(
    ("role", "asked", "kept"),
    [
        ("subject", 1, {"query": "", "retrieved": (), "answer": "", "judge_attempts": 0, "input_tokens": None}),
        ("search", 2, {"query": "buses evidence", "retrieved": (), "answer": "", "input_tokens": 10}),
        ("judge", 6, {"query": "buses evidence", "answer": "It helps [1], some say not [2].", "judge_attempts": 1}),
    ],
)
async def test_a_call_that_fails_permanently_is_reported_and_ends_the_conversation(  # noqa: PLR0917
    kit: Any, trial: Any, failed: CallFailed, role: str, asked: int, kept: dict[str, Any]
) -> None:
    stage = kit.stage(kit.script(**{role: [failed]}))
    (record,) = await conduct(trial(3), stage)
    assert record.failure == f"{role}: rate limit: too many requests"
    assert record.stance is None
    assert len(stage.asked) == asked
    assert {name: getattr(record, name) for name in kept} == kept


async def test_a_failure_in_a_later_turn_keeps_the_turns_before(kit: Any, trial: Any, failed: CallFailed) -> None:
    stage = kit.stage(kit.script(subject=["query", "An answer.", "query", failed]))
    records = await conduct(trial(3), stage)
    assert [(one.turn, one.stance, one.failure) for one in records] == [
        (1, "supportive", None),
        (2, None, "subject: rate limit: too many requests"),
    ]
    assert records[1].retrieved == ("https://a.example/1", "https://b.example/2")


async def test_a_stop_of_the_run_passes_through(kit: Any, trial: Any) -> None:
    stage = kit.stage(kit.script(pages=[Stopped("no more")]))
    with pytest.raises(Stopped):
        await conduct(trial(1), stage)


async def test_an_answer_without_words_is_not_judged_and_the_conversation_goes_on(kit: Any, trial: Any) -> None:
    stage = kit.stage(kit.script(subject=["query", " ", "query", "An answer."]))
    first, second = await conduct(trial(2), stage)
    assert (first.stance, first.judge_attempts, first.failure) == (None, 0, None)
    assert second.stance == "supportive"
    assert assistant("") not in stage.by("subject")[3].messages  # endpoints refuse empty messages


async def test_unreported_tokens_are_unknown(kit: Any, trial: Any) -> None:
    stage = kit.stage(kit.script(subject=[Reply("query"), Reply("An answer.", usage=Usage(None, None))]))
    (record,) = await conduct(trial(1), stage)
    assert (record.input_tokens, record.output_tokens) == (None, None)


async def test_earlier_answers_are_shortened_where_the_history_has_a_budget(kit: Any, trial: Any) -> None:
    long = "This sentence is said again. " * 40
    stage = kit.stage(kit.script(subject=lambda one: "query" if len(one.messages) == 1 else long))
    await conduct(trial(3, history_characters=400, judged_characters=300), stage)
    earlier = stage.by("subject")[5].messages[1:-1]
    assert [message.content for message in earlier[::2]] == [f"What about matter {n} of buses?" for n in (1, 2)]
    assert all(message.content.endswith("[shortened]") for message in earlier[1::2])
    assert sum(len(message.content) for message in earlier) <= 400
    assert stage.by("judge")[2].messages[1].content.count("[shortened]") == 1  # room for one earlier turn
    assert long.strip() in stage.by("judge")[2].messages[1].content  # the answer itself is whole


def test_trials_are_every_condition_of_every_topic_with_names_of_their_own(topic: Any) -> None:
    options = Options(temperatures=(0.0, None, 1.0), orderings=("fixed", "shuffled"), trials=2)
    made = list(trials([topic("a"), topic("b")], options, 1))
    assert len({one.name for one in made}) == len(made) == 24
    assert [one.item for one in made] == ["a"] * 12 + ["b"] * 12
    assert {one.name for one in made[:3]} == {"a/t0/fixed/r1", "a/t0/fixed/r2", "a/t0/shuffled/r1"}


@pytest.mark.parametrize("ordering", ["fixed", "shuffled", "grouped"])
def test_fewer_turns_are_the_first_questions_in_every_order(trial: Any, ordering: str) -> None:
    assert sorted(question_order(trial(6, turns=4, orderings=(ordering,)))) == [1, 2, 3, 4]


def test_more_turns_than_questions_are_all_questions(trial: Any) -> None:
    assert question_order(trial(3, turns=9)) == [1, 2, 3]


def test_grouped_puts_kinds_together_in_the_order_in_which_they_come(trial: Any) -> None:
    assert question_order(trial(8, orderings=("grouped",))) == [1, 4, 7, 2, 8, 3, 5, 6]


def test_a_shuffle_is_the_same_at_all_temperatures_and_differs_by_repetition_and_seed(topic: Any) -> None:
    def orders(seed: int) -> list[tuple[int, ...]]:
        options = Options(orderings=("shuffled",), trials=2)
        return [tuple(question_order(one)) for one in trials([topic(questions=15)], options, seed)]

    first, second, *others = orders(1)
    assert first != second
    assert others == [first, second, first, second]
    assert orders(2)[0] != first
    assert orders(1)[0] == first


async def test_the_record_names_the_questions_place_in_its_topic(kit: Any, trial: Any) -> None:
    one = trial(6, orderings=("grouped",))
    records = await conduct(one, kit.stage(kit.script()))
    assert [record.turn for record in records] == [1, 2, 3, 4, 5, 6]
    assert [record.number for record in records] == question_order(one)
    assert all(record.question.endswith(f"matter {record.number} of buses?") for record in records)


@pytest.mark.parametrize(
    ("reply", "query"),
    [
        ("free buses evidence", "free buses evidence"),
        ('\n\n  "free  buses evidence"  \nThis query finds pages.', "free buses evidence"),
        ("Query: free buses", "free buses"),
        ("Question: are free buses used?", "are free buses used?"),
        ("**Search query:** `free buses`", "free buses"),
        ('Web search query: "free buses"', "free buses"),
        ("“free buses”", "free buses"),
        ("1. free buses\n2. other", "free buses"),
        ("- free buses", "free buses"),
        ("```\nfree buses\n```", "free buses"),
        ("2 degree target criticism", "2 degree target criticism"),
        ("search engines and bias", "search engines and bias"),
        ("Bus's effect", "Bus's effect"),
        ("...\n---\n", ""),
        ("", ""),
    ],
)
def test_the_query_is_taken_out_of_the_reply(reply: str, query: str) -> None:
    assert clean_query(reply) == query


def test_a_long_query_is_cut_between_words() -> None:
    query = clean_query("evidence " * 100)
    assert len(query) <= LONGEST_QUERY
    assert set(query.split()) == {"evidence"}
    assert len(clean_query("e" * 1000)) == LONGEST_QUERY


@given(st.text(max_size=300))
def test_a_query_is_one_line_of_single_spaces(reply: str) -> None:
    query = clean_query(reply)
    assert len(query) <= LONGEST_QUERY
    assert query == " ".join(query.split())


@pytest.mark.parametrize(
    ("answer", "numbers"),
    [
        ("It is so [1].", [1]),
        ("It is so [3][1], and [3] again.", [3, 1]),
        ("It is so [1, 3].", [1, 3]),
        ("It is so [ 1 ; 2 and 4 ].", [1, 2, 4]),
        ("It is so [2-4] and [6–7].", [2, 3, 4, 6, 7]),
        ("It is so 【1】【2†L5-L9】.", [1, 2]),
        ("It is so [^2] [Source 3] [sources 4, 5] [source 6, source 7].", [2, 3, 4, 5, 6, 7]),
        ("A link [1](https://a.example/1).", [1]),
        ("A range [9-2] that runs backwards.", [9, 2]),
        ("In [2019] and [0xFF], [a], [1a], [], [1,], (3), 4, ].", []),
        ("[1", []),
        ("", []),
    ],
)
def test_numbers_in_brackets_are_citations(answer: str, numbers: list[int]) -> None:
    assert cited_numbers(answer) == numbers


@given(st.text(alphabet="[]【】†, -–;^0123456789ando Source", max_size=300))
def test_any_text_is_read(answer: str) -> None:
    numbers = cited_numbers(answer)
    assert len(set(numbers)) == len(numbers)
    assert all(0 <= number <= 999 for number in numbers)


@pytest.mark.parametrize("answer", ["[1" + ", 1" * 50_000, "[" * 100_000, "[1-" * 50_000, "【1†" * 50_000])
def test_a_hostile_answer_is_read_in_no_time(answer: str) -> None:
    assert cited_numbers(answer) == []
