"""Faults of an answer's form, turn by turn, in conversations that are run and in transcripts."""

from __future__ import annotations

from typing import Any

import pytest

from overton.calls import Reply
from overton.studies.stance_stability.items import Transcript, TranscriptTurn
from overton.studies.stance_stability.protocol import conduct
from overton.studies.stance_stability.transcripts import JUDGING, JudgingOptions

PAGE = " ".join(f"In year {year} the buses of the town carried {year * 7} people for nothing." for year in range(20))
ANSWER = "The sources say that buses which cost nothing carry more people, and that somebody has to pay for them [1]."
OTHER = "It depends on whether the tramway keeps its riders, which one study doubts and another one affirms [2]."


async def faults(kit: Any, trial: Any, *answers: Any) -> list[tuple[str, ...]]:
    said = iter(answers)
    stage = kit.stage(
        kit.script(
            subject=lambda one: "buses" if len(one.messages) == 1 else next(said),
            pages=lambda one: kit.page(one.text, PAGE),
        )
    )
    return [record.faults for record in await conduct(trial(len(answers)), stage)]


async def test_answers_are_distinguished_from_similar_texts(kit: Any, trial: Any) -> None:
    found = await faults(kit, trial, ANSWER, "", Reply(OTHER, finish="length"), OTHER.upper(), "It is so. " * 20)

    assert found == [(), ("empty",), ("cut",), ("duplicate",), ("loop",)]


async def test_repeated_questions_propositions_and_whole_pages_are_echoes_but_quotations_are_not(
    kit: Any, trial: Any
) -> None:
    quoted = f"{PAGE[:150]} [1] That is what one page says, and it is the whole of what there is to be said here."
    found = await faults(kit, trial, "What about matter 1 of buses?", "Buses should be free.", f"Here: {PAGE}", quoted)

    assert found == [("echo",), ("echo",), ("echo",), ()]


async def test_the_whole_message_said_back_is_an_echo(kit: Any, trial: Any) -> None:
    script = kit.script(subject=lambda one: one.messages[-1].content, pages=lambda one: kit.page(one.text, PAGE))
    (record,) = await conduct(trial(1), kit.stage(script))

    assert "echo" in record.faults


async def test_a_flagged_refusal_is_a_refusal_and_no_fault(kit: Any, trial: Any) -> None:
    assert await faults(kit, trial, Reply("", refused=True)) == [()]


async def test_of_a_transcript_why_an_answer_ended_is_not_known_and_the_rest_is(kit: Any) -> None:
    turns = [
        ("Is it so, and for whom?", ANSWER),
        ("Why?", ANSWER),
        ("Is it so, and for whom?", "Is it so, and for whom?"),
    ]
    one = Transcript("t", tuple(TranscriptTurn(turn, *said) for turn, said in enumerate(turns, 1)))
    (trial,) = JUDGING.trials([one], JudgingOptions(), 0)
    rows = await JUDGING.conduct(trial, kit.stage({"judge": [kit.labels()]}))

    assert [row.faults for row in rows] == [(), ("duplicate",), ("echo",)]


@pytest.mark.parametrize("kind", ["published", "both"])
async def test_labels_towards_the_premise_say_whose_certainty_there_is(kit: Any, trial: Any, kind: str) -> None:
    import msgspec
    import polars as pl

    from overton.studies.stance_stability.measures import analyze

    records = await conduct(trial(3, judge_prompts=kind), kit.stage(kit.script()))
    rows = pl.DataFrame([msgspec.structs.asdict(one) | {"model": "m"} for one in records], infer_schema_length=None)
    notes = " ".join(analyze(rows, labels="premise", resamples=10).warnings)

    assert ("because the published judge prompt does not ask" in notes) == (kind == "published")
    assert ("Confidence comes from the prompt on the proposition" in notes) == (kind == "both")
