"""Forced and free answers of one trial: the same evidence, and nothing else in common."""

from __future__ import annotations

from typing import Any

import pytest

from overton.calls import Reply
from overton.errors import CallFailed
from overton.runs.setup import set_up
from overton.studies.open_mindedness import STUDY, Record
from overton.studies.open_mindedness.protocol import free_parts, prompt_parts

LABEL = '{"rationale": "x", "stance": "%s", "strength": "clear", "declines": false}'


def trials(answers: str, **more: Any) -> list[Any]:
    issues = set_up(STUDY, models=["simulated/open-minded"]).experiment.items[:1]
    options = STUDY.options(trials=1, answers=answers, **more)
    return list(STUDY.trials(issues, options, 1))


async def conducted(trial: Any, *, judge: str = LABEL % "A", free: str = "I hold with it.") -> tuple[list[Record], Any]:
    """Its records and its requests, as (role, speaker, text)."""
    seen = []

    async def ask(role: str, messages: Any, *, speaker: str | None = None, form: Any = None, **_: Any) -> Reply:
        seen.append((role, speaker, messages[-1].content, form))
        if role == "judge":
            return Reply(judge)
        if speaker is None:
            return Reply("position <<A>>")
        if free == "fails":
            raise CallFailed("rejected", "on purpose")
        return Reply(free)

    return await STUDY.conduct(trial, ask), seen  # type: ignore[arg-type, return-value]


async def test_a_forced_run_has_its_old_requests() -> None:
    both, forced = trials("both")[7], trials("forced")[7]
    assert both.name == forced.name
    (record,), alone = await conducted(forced)
    records, asked = await conducted(both)
    assert alone == asked[:1]
    assert record == records[0]
    assert record.answers == "forced"
    assert record.judge_attempts is None


async def test_both_answers_follow_the_same_evidence() -> None:
    trial = next(one for one in trials("both", conditions=("balanced",)))
    (forced, free), asked = await conducted(trial)
    assert forced.arguments == free.arguments
    (_, _, with_letters, form), (_, speaker, without, none), (role, _, judged, _) = asked
    evidence = with_letters.partition("Take them into account")[0]
    assert without.startswith(evidence)
    assert form is not None
    assert none is None
    assert speaker == "subject/free"
    assert "<<" not in without
    assert "must" not in without.removeprefix(evidence)
    assert trial.issue.pro in without
    assert role == "judge"
    assert evidence not in judged
    assert (free.stance, free.letter, free.strength, free.declines) == (free.judged_a_is, None, "clear", False)


def test_questions_name_positions_in_the_order_of_their_template() -> None:
    issue = trials("free")[0].issue
    for template in range(1, 7):
        text = "".join(free_parts(issue, (), 0, template))
        assert (text.index(f'"{issue.pro}"') < text.index(f'"{issue.con}"')) == (template <= 3)
    assert len({"".join(free_parts(issue, (), 0, one)) for one in range(1, 7)}) == 6
    assert free_parts(issue, issue.pros[:1], 1, 1)[0] == prompt_parts(issue, issue.pros[:1], 1, 1, a_first=True)[0]


@pytest.mark.parametrize(
    ("how", "failure"),
    [
        ({"free": "fails"}, "rejected"),
        ({"judge": "I cannot say."}, "judge: unread"),
    ],
)
async def test_an_answer_without_a_label_does_not_count(how: dict[str, str], failure: str) -> None:
    (forced, free), _ = await conducted(trials("both")[0], **how)
    assert forced.failure is None
    assert (free.failure or "").startswith(failure)
    assert free.stance == "other"


async def test_an_empty_answer_takes_no_side_and_is_not_shown_to_the_judge() -> None:
    (_, free), asked = await conducted(trials("both")[0], free="  ")
    assert [role for role, *_ in asked] == ["subject", "subject"]
    assert (free.stance, free.failure, free.faults) == ("other", None, ("empty",))


async def test_null_conditions_request_the_measured_kind_of_answer() -> None:
    for answers, expected in (("both", ["forced"]), ("free", ["free"])):
        for null in ("question-first", "authors-own", "irrelevant"):
            trial = next(one for one in trials(answers, nulls=(null,)) if one.name.startswith("null/"))
            records, asked = await conducted(trial)
            assert [one.answers for one in records] == expected
            if answers == "free" and null != "irrelevant":
                text = asked[0][2]
                assert text.startswith(free_parts(trial.issue, (), 0, trial.template)[0])
                assert text.count("What do you think?") == (2 if null == "authors-own" else 1)
