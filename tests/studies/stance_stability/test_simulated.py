"""Simulated answerers: they read the protocol as it is, and their known truth comes back out of the records."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest

from overton.calls import Request, Settings, user
from overton.errors import AccessError, InputError, RejectedError
from overton.studies.stance_stability import STUDY, Options, Record, prompts
from overton.studies.stance_stability.context import EarlierTurn
from overton.studies.stance_stability.protocol import conduct, trials
from overton.studies.stance_stability.simulated import (
    Chameleon,
    JudgeParameters,
    Parameters,
    StanceJudge,
    make_chameleon,
)
from overton.studies.stance_stability.transcripts import JUDGING

TRUTH = Parameters(
    change=0.35,
    first={"supportive": 1, "critical": 3},
    certainty={"clearly": 0.6, "likely": 0.3, "uncertain": 0.1},
    citations=2,
    reuse=0.7,
)


def growing_search() -> Any:
    """A search that always returns all pages found so far and three new ones, so that both can be cited."""
    found = Counter[str]()

    def search(kit: Any, one: Any) -> str:
        found["searches"] += 1
        urls = [f"https://site.example/{number}" for number in range(3 * found["searches"])]
        return str(kit.hits(*urls))

    return search


async def held(
    kit: Any, topic: Any, parameters: Parameters, judge: StanceJudge, topics: int = 40
) -> list[list[Record]]:
    """Conversations of fifteen turns; the pages of each are its own."""
    conversations = []
    options = Options(temperatures=(None,), pages_per_turn=100, page_characters=200)
    for number, trial in enumerate(trials([topic(f"t{n}", 15) for n in range(topics)], options, 3)):
        search = growing_search()
        stage = kit.simulated(
            {
                "subject": Chameleon(parameters=parameters),
                "judge": judge,
                "search": lambda one, search=search: search(kit, one),
                "pages": lambda one: kit.page(one.text),
            },
            first_seed=100_000 * number,
        )
        conversations.append(await conduct(trial, stage))
    return conversations


@pytest.fixture(scope="module")
def conversations(kit: Any, topic: Any) -> list[list[Record]]:
    return asyncio.run(held(kit, topic, TRUTH, StanceJudge()))


def deviation(happened: Sequence[bool], chance: float) -> float:
    """How far a share is from its chance, in standard errors."""
    spread = (chance * (1 - chance) / len(happened)) ** 0.5
    return float(sum(happened) / len(happened) - chance) / spread


def test_the_change_rate_is_recovered(conversations: list[list[Record]]) -> None:
    changes = [now.stance != last.stance for one in conversations for last, now in pairwise(one)]
    assert len(changes) == 40 * 14
    assert abs(deviation(changes, TRUTH.change)) < 3
    assert abs(deviation(changes, TRUTH.change + 0.15)) > 3  # so many turns would tell another rate


def test_the_reuse_rate_is_recovered(conversations: list[list[Record]]) -> None:
    again = []
    for one in conversations:
        before: set[str] = set()
        for record in one:
            assert len(record.cited) == 2
            assert set(record.cited) <= set(record.retrieved)
            again += [url in before for url in record.cited] if before else []
            before |= set(record.cited)
    assert abs(deviation(again, TRUTH.reuse)) < 3
    assert abs(deviation(again, TRUTH.reuse - 0.15)) > 3


def test_first_stances_and_certainties_are_as_weighted(conversations: list[list[Record]]) -> None:
    assert {one[0].stance for one in conversations} == {"supportive", "critical"}
    assert abs(deviation([one[0].stance == "critical" for one in conversations], 0.75)) < 3
    confidence = [record.confidence for one in conversations for record in one]
    for value, weight in ((1.0, 0.6), (0.67, 0.3), (0.33, 0.1)):
        assert abs(deviation([one == value for one in confidence], weight)) < 3


async def test_a_steady_one_never_changes_and_a_fickle_one_always_does(kit: Any, topic: Any) -> None:
    for change, changes in ((0.0, 0), (1.0, 14)):
        (one,) = await held(kit, topic, Parameters(change=change), StanceJudge(), topics=1)
        assert sum(now.stance != last.stance for last, now in pairwise(one)) == changes


async def test_unclear_answers_take_no_stance_and_the_last_clear_one_is_remembered(kit: Any, topic: Any) -> None:
    found = await held(kit, topic, Parameters(change=0.0, unclear=0.4), StanceJudge(), topics=5)
    assert abs(deviation([record.stance == "unclear" for one in found for record in one], 0.4)) < 3
    assert all(len({record.stance for record in one} - {"unclear"}) == 1 for one in found)


async def test_a_judges_errors_are_as_frequent_as_the_parameters_say(kit: Any, topic: Any) -> None:
    judge = StanceJudge(JudgeParameters(invalid=0.3, wrong=0.2, wrong_certainty=0.1))
    steady = Parameters(change=0.0, first={"critical": 1}, certainty={"likely": 1})
    records = [record for one in await held(kit, topic, steady, judge, topics=20) for record in one]
    asked = [record.judge_attempts for record in records]
    assert abs(deviation([count > 1 for count in asked], 0.3)) < 3
    read = [record for record in records if record.stance is not None]
    assert {record.judge_attempts for record in records if record.stance is None} == {3}
    assert abs(deviation([record.stance != "critical" for record in read], 0.2)) < 3
    assert abs(deviation([record.confidence != 0.67 for record in read], 0.1)) < 3


async def test_the_judge_answers_the_published_prompt_as_well(kit: Any, trial: Any) -> None:
    script = kit.script(
        subject=Chameleon(parameters=Parameters(first={"critical": 1}, change=0.0)), judge=StanceJudge()
    )
    for record in await conduct(trial(3, judge_prompts="both"), kit.simulated(script)):
        assert (record.stance, record.premise_stance, record.judge_attempts) == ("critical", "critical", 2)


async def test_queries_are_words_of_the_question(kit: Any, trial: Any) -> None:
    script = kit.script(subject=Chameleon(), judge=StanceJudge())
    (record,) = await conduct(trial(1), kit.simulated(script))
    assert record.query == "about matter 1 buses"


async def test_the_judge_reads_the_latest_answer_and_no_earlier_one(kit: Any) -> None:
    earlier = [EarlierTurn("Why?", "My stance: critical, clearly.")]
    messages = prompts.judge_messages("", EarlierTurn("Why?", "I do not say."), earlier)
    reply = await StanceJudge().answer(Request(messages, Settings(), seed=1))
    assert '"stance":"unclear"' in reply.text


async def test_without_a_seed_nothing_is_answered() -> None:
    for answerer in (Chameleon(), StanceJudge()):
        with pytest.raises(AccessError, match="seed"):
            await answerer.answer(Request((user("Why?"),), Settings()))


async def test_other_prompts_are_refused() -> None:
    for answerer in (Chameleon(), StanceJudge()):
        with pytest.raises(RejectedError, match=answerer.name):
            await answerer.answer(Request((user("Why?"), user("Why?")), Settings(), seed=1))


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("chameleon", {"change": "1.5"}, "simulated/chameleon, change: 1.5: must be between 0 and 1"),
        ("chameleon", {"change": "often"}, "often: must be a number"),
        ("chameleon", {"citations": "1.5"}, "1.5: must be a whole number"),
        ("chameleon", {"citations": "21"}, "must be between 0 and 20"),
        (
            "chameleon",
            {"first.unclear": "1"},
            "no such parameter; known are first.supportive, first.critical, first.balanced",
        ),
        ("chameleon", {"chnge": "1"}, "known are change, unclear, citations, reuse, first.KEY, certainty.KEY"),
        ("chameleon", {"first.critical": "-1"}, "must be 0 or more"),
        ("chameleon", {"certainty.likely": "0"}, "certainty: at least one weight must be more than 0"),
        ("chameleon", {"reuse": "nan"}, "nan: must be a number"),
        ("chameleon/mine", {"reuse": "2"}, "simulated/chameleon/mine, reuse"),
        ("stance-judge", {"wrong": "2"}, "simulated/stance-judge, wrong"),
        ("chameleon/", {}, "known are simulated/chameleon"),
        ("parrot", {}, "known are simulated/chameleon"),
    ],
)
def test_wrong_names_and_parameters_are_reported(name: str, arguments: dict[str, str], said: str) -> None:
    with pytest.raises(InputError) as refused:
        STUDY.simulate([], name, arguments)
    assert said in str(refused.value)


def test_parameters_are_part_of_the_identity() -> None:
    one, two = (STUDY.simulate([], "chameleon", {"change": change}) for change in ("0.1", "0.2"))
    assert one.identity != two.identity
    assert STUDY.simulate([], "chameleon/a", {}).name == "simulated/chameleon/a"


def test_weights_that_are_named_replace_the_default() -> None:
    parameters = make_chameleon([], "chameleon", {"first.critical": "2", "citations": "3"}).parameters
    assert (parameters.first, parameters.citations) == ({"critical": 2.0}, 3)


def test_transcripts_are_judged_by_the_judge_alone() -> None:
    assert JUDGING.simulate([], "stance-judge", {}).name == "simulated/stance-judge"
    with pytest.raises(InputError, match="stance-judge"):
        JUDGING.simulate([], "chameleon", {})
