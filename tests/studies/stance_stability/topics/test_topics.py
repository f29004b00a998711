"""Making topics: what is asked of the writer, what is checked, asked for again, dropped and counted."""

from __future__ import annotations

import json
from typing import Any

import pytest

from overton.errors import CallFailed, InputError
from overton.studies.options import options_of
from overton.studies.stance_stability.items import (
    CHALLENGING,
    FEWEST_QUESTIONS,
    MOST_QUESTIONS,
    challenging_range,
    problems_of,
)
from overton.studies.stance_stability.prompts import PROMPTS
from overton.studies.stance_stability.topics import (
    PUBLISHED,
    STUDY,
    Domain,
    MadeTopic,
    TopicsOptions,
    counted,
    slug,
    topics_of,
)

QUESTIONS = [
    ("What is your overall view of it, and why?", "clarification"),
    ("What reasons speak for it?", "support"),
    ("What evidence contradicts its promise to cut traffic?", "counter-evidence"),
    ("How is traffic measured before and after such a change?", "methodology"),
    ("Who would pay, and what follows for other services?", "implication"),
    ("Suppose fuel cost twice as much: how would the case change?", "counterfactual"),
    ("How does it differ from cheap fares in who benefits?", "clarification"),
    ("How would you weigh lower emissions against higher taxes?", "trade-off"),
    ("Why do drivers of cars come round to the bus in some towns?", "support"),
    ("What does it mean for cyclists when more people ride?", "implication"),
    ("What findings speak against the hope that the poorest gain most?", "counter-evidence"),
    ("In what sense is a service that taxes pay for free?", "clarification"),
    ("To whom should a council listen when riders disagree?", "implication"),
    ("If a trial shows more riders and no fewer cars, what has been learned?", "support"),
    ("Taking everything together, where do you stand?", "clarification"),
]
TEXTS = [text for text, _ in QUESTIONS]
KINDS = [kind for _, kind in QUESTIONS]


def topics(*names: str) -> str:
    return json.dumps([{"topic": name, "proposition": f"{name} should come."} for name in names])


def questions(texts: list[str] = TEXTS, **changed: str) -> str:
    given = {"initial_belief": "balanced", "debate_strength": "Strong", **changed}
    return json.dumps({"topic": "x", "domain": "y", **given, "questions": texts})


def kinds(named: list[str] = KINDS) -> str:
    return json.dumps({"kinds": named})


async def make(kit: Any, *lines: Any, topic: Any = None, count: int = 1, **more: Any) -> Any:
    """Records and stage, where the writer lists topics with `lines` and answers about the first with `topic`."""
    stage = kit.stage({"writer": list(lines), "writer/1": list(topic or (questions(), kinds())), **more})
    (trial,) = STUDY.trials([Domain.named("Public  Transport")], TopicsOptions(per_domain=count), 7)
    return await STUDY.conduct(trial, stage), stage


def others(*numbers: int) -> dict[str, list[str]]:
    return {f"writer/{number}": [questions(), kinds()] for number in numbers}


EIGHT = [QUESTIONS[place] for place in (0, 1, 2, 3, 4, 5, 6, 8)]
"""Three of eight are challenging, the only number that is 30 to 40%."""


async def test_as_many_questions_are_requested_and_checked_as_the_option_says(kit: Any) -> None:
    texts, labels = [text for text, _ in EIGHT], [kind for _, kind in EIGHT]
    answers = [questions(), questions(texts), kinds(labels)]
    stage = kit.stage({"writer": [topics("Free buses")], "writer/1": answers})
    (trial,) = STUDY.trials([Domain.named("Transport")], TopicsOptions(per_domain=1, questions=8), 7)
    (record,) = await STUDY.conduct(trial, stage)
    assert (record.status, record.attempts, len(record.questions)) == ("written", 2, 8)
    first, again, labelled = stage.by("writer/1")
    assert '"questions": array of 8 strings' in first.messages[0].content
    assert "there are 15 questions, not 8" in again.messages[-1].content
    assert first.form.schema["properties"]["questions"]["minItems"] == 8
    assert labelled.form.schema["properties"]["kinds"]["maxItems"] == 8
    assert problems_of(record.questions, 8) == []
    assert problems_of(record.questions) == ["there are 8 questions, not 15", *problems_of(record.questions)[1:]]


async def test_fifteen_questions_are_requested_in_the_published_words(kit: Any) -> None:
    _, stage = await make(kit, topics("Free buses"))
    first, labelled = stage.by("writer/1")
    assert first.messages[0].content == PROMPTS.fill("questions.ask", topic="Free buses", domain="Public Transport")
    assert first.form.schema["properties"]["questions"]["minItems"] == 15
    assert labelled.form.schema["properties"]["kinds"]["minItems"] == 15


@pytest.mark.parametrize(("count", "least", "most"), [(8, 3, 3), (10, 3, 4), (15, 5, 6), (50, 15, 20), (100, 30, 40)])
def test_a_share_of_30_to_40_percent_is_challenging(count: int, least: int, most: int) -> None:
    assert challenging_range(count) == (least, most)


def test_every_number_of_questions_that_the_option_allows_has_a_number_of_challenging_ones() -> None:
    assert all(least <= most for least, most in map(challenging_range, range(FEWEST_QUESTIONS, MOST_QUESTIONS + 1)))


def test_a_writer_of_more_questions_gets_room_for_them() -> None:
    assert TopicsOptions().demands({}).tokens == TopicsOptions(questions=8).demands({}).tokens == {}
    assert TopicsOptions(questions=50).demands({}).tokens == {"writer": 5000}


async def test_a_topic_with_good_questions_is_written(kit: Any) -> None:
    (record,), stage = await make(kit, topics("Free buses"))
    assert (record.status, record.attempts, record.problems) == ("written", 1, ())
    (made,) = topics_of([record])
    assert (made.id, made.domain, made.topic) == ("public-transport-free-buses", "Public Transport", "Free buses")
    assert (made.proposition, made.initial_belief, made.debate_strength) == (
        "Free buses should come.",
        "balanced",
        "strong",
    )
    assert [(one.text, one.kind) for one in made.questions] == QUESTIONS
    assert problems_of(made.questions) == []
    assert [one.speaker for one in stage.asked] == [None, "writer/1", "writer/1"]


async def test_the_questions_are_requested_with_the_published_prompt(kit: Any) -> None:
    _, stage = await make(kit, topics("Free {domain} buses"))
    (message,) = stage.by("writer/1")[0].messages
    assert message.content.startswith("You are an expert dataset generator.")
    assert message.content.endswith("Topic: Free {domain} buses\nDomain: Public Transport")


async def test_near_duplicates_are_left_out_counted_and_made_up_for(kit: Any) -> None:
    records, stage = await make(
        kit,
        topics("Free buses", "The FREE buses", "Tram lines"),
        topics("Free bus rides at night", "Cycle lanes"),
        count=4,
        **others(2, 3, 4),
    )
    assert [(one.topic, one.status) for one in records] == [
        ("Free buses", "written"),
        ("Tram lines", "written"),
        ("Free bus rides at night", "written"),
        ("Cycle lanes", "written"),
        ("The FREE buses", "duplicate"),
    ]
    first, second = stage.by("writer")
    assert "List 4 contested topics" in first.text
    assert "taken already" not in first.text
    assert "List 2 contested topics" in second.text
    assert "- Free buses\n- Tram lines" in second.text
    assert counted(records) == {"Public Transport": {"written": 4, "duplicate": 1}}


async def test_no_more_topics_are_taken_than_requested(kit: Any) -> None:
    records, _ = await make(kit, topics("Free buses", "Tram lines", "Cycle lanes"))
    assert [one.topic for one in records] == ["Free buses"]


async def test_too_few_topics_are_reported(kit: Any) -> None:
    records, stage = await make(kit, topics("Free buses"), count=2)
    assert [(one.topic, one.status) for one in records][:2] == [("Free buses", "written"), ("Free buses", "duplicate")]
    assert records[-1].status == "missing"
    assert records[-1].problems == ("1 of 2 different topics were proposed",)
    assert len(stage.by("writer")) == 4


async def test_a_list_that_cannot_be_read_is_requested_again_with_the_reason(kit: Any) -> None:
    records, stage = await make(kit, "Free buses, of course.", topics("Free buses"))
    assert [one.status for one in records] == ["written"]
    assert "cannot be read" in stage.by("writer")[1].text
    records, _ = await make(kit, "no")
    assert [one.status for one in records] == ["missing"]
    assert "not valid JSON" in records[0].problems[0]


async def test_a_list_that_fails_permanently_is_reported(kit: Any, failed: CallFailed) -> None:
    records, _ = await make(kit, failed)
    assert [(one.status, one.problems) for one in records] == [("failed", ("rate limit: too many requests",))]


async def test_questions_that_fail_a_check_are_requested_again_with_every_problem_named(kit: Any) -> None:
    bad = questions(["Is it good?", *TEXTS[1:14]], initial_belief="mixed")
    (record,), stage = await make(kit, topics("Free buses"), topic=(bad, questions(), kinds()))
    assert (record.status, record.attempts) == ("written", 2)
    complaint = stage.by("writer/1")[1].text
    assert "there are 14 questions, not 15" in complaint
    assert "question 1 can be answered with yes or no" in complaint
    assert '"initial_belief" is none of supportive, critical, balanced' in complaint


async def test_questions_that_still_fail_the_third_time_are_dropped_with_the_reason(kit: Any) -> None:
    records, stage = await make(
        kit, topics("Free buses", "Tram lines"), count=2, topic=(questions(TEXTS[:14]),), **others(2)
    )
    assert [(one.status, one.attempts, one.problems) for one in records] == [
        ("dropped", 3, ("there are 14 questions, not 15",)),
        ("written", 1, ()),
    ]
    assert len(stage.by("writer/1")) == 3
    assert [one.topic for one in topics_of(records)] == ["Tram lines"]


async def test_a_number_of_challenging_questions_out_of_range_goes_back_to_the_writer(kit: Any) -> None:
    tame = [text.replace("Suppose fuel", "When fuel") for text in TEXTS]
    harmless = ["clarification" if kind == "counterfactual" else kind for kind in KINDS]
    (record,), stage = await make(
        kit, topics("Free buses"), topic=(questions(tame), kinds(harmless), questions(), kinds())
    )
    assert (record.status, record.attempts) == ("written", 2)
    assert "4 questions ask for counter-evidence" in stage.by("writer/1")[2].text
    assert sum(one.kind in CHALLENGING for one in record.questions) == 5


async def test_labels_that_the_words_contradict_are_requested_again(kit: Any) -> None:
    wrong = ["support" if kind == "trade-off" else kind for kind in KINDS]
    (record,), stage = await make(kit, topics("Free buses"), topic=(questions(), kinds(wrong), kinds()))
    assert (record.status, record.attempts) == ("written", 1)
    assert "question 8 is labelled support, but its words make it trade-off" in stage.by("writer/1")[2].text


@pytest.mark.parametrize(
    ("bad", "reason"),
    [("no", "not valid JSON"), (kinds(KINDS[:3]), "there are 3 kinds"), (kinds(["joke"] * 15), "joke are no kinds")],
)
async def test_labels_that_cannot_be_read_are_requested_again(kit: Any, bad: str, reason: str) -> None:
    (record,), stage = await make(kit, topics("Free buses"), topic=(questions(), bad, kinds()))
    assert record.status == "written"
    assert reason in stage.by("writer/1")[2].text


async def test_a_topic_whose_labels_never_come_is_dropped(kit: Any) -> None:
    lines = [questions(), "no", "no"] * 3
    (record,), _ = await make(kit, topics("Free buses"), topic=lines)
    assert (record.status, record.problems) == ("dropped", ("the kinds of the questions could not be told",))


async def test_a_call_that_fails_permanently_costs_one_topic_only(kit: Any, failed: CallFailed) -> None:
    records, _ = await make(kit, topics("Free buses", "Tram lines"), count=2, topic=(failed,), **others(2))
    assert [(one.topic, one.status, one.problems) for one in records] == [
        ("Free buses", "failed", ("rate limit: too many requests",)),
        ("Tram lines", "written", ()),
    ]


async def test_ids_differ_where_headings_look_the_same(kit: Any) -> None:
    records, _ = await make(kit, topics("公交免费", "电车线路"), count=2, **others(2))
    assert [one.id for one in records] == ["public-transport-x", "public-transport-x-2"]


@pytest.mark.parametrize("count", [0, 1001])
def test_a_number_of_topics_out_of_range_is_refused(count: int) -> None:
    with pytest.raises(InputError, match=r"option per_domain: .* must be between 1 and 1,000"):
        options_of(TopicsOptions, {"per_domain": count})


def test_the_papers_domains_are_those_of_table_2() -> None:
    assert len(PUBLISHED) == 12
    assert sum(one.topics for one in PUBLISHED) == 1_180
    assert all(one.questions == 15 * one.topics for one in PUBLISHED)
    assert sum(one.questions for one in PUBLISHED) == 17_700  # the paper prints 17,770
    assert PUBLISHED[8].name == "Mental Health Interventions"


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("Mental Health: Interventions!", "mental-health-interventions"),
        ("Éthique de l'IA", "ethique-de-l-ia"),
        ("word " * 30, "-".join(["word"] * 12)),
        ("x" * 99, "x" * 60),
        ("公交", "x"),
    ],
)
def test_a_slug_is_words_with_hyphens(text: str, made: str) -> None:
    assert slug(text) == made


def test_records_survive_a_table(tmp_path: Any) -> None:
    """As a run keeps them: the dataset is made of rows read back."""
    import msgspec

    from overton.engine.records import columns_of, record_type_columns
    from overton.studies.stance_stability.items import ProbingQuestion

    row = MadeTopic(
        "t", "d", "a", "b", "written", 1, (), "d-a", "balanced", "weak", (ProbingQuestion("How?", "support"),)
    )
    table = columns_of([row, MadeTopic("t", "d", "a", "b", "dropped", 3, ("bad",))], record_type_columns(MadeTopic))
    table.write_parquet(tmp_path / "rows.parquet")
    back = [msgspec.convert(one, MadeTopic) for one in table.to_dicts()]
    assert back[0] == row
    assert len(topics_of(back)) == 1
