from __future__ import annotations

from collections.abc import Sequence

import pytest

from overton.calls import Form, Message, Reply
from overton.errors import CallFailed
from overton.studies.deliberation.crowd import STUDY, CrowdOptions, CrowdTrial, CrowdVerdict, UnclearComment, judged
from overton.studies.deliberation.items import VERDICTS

COMMENT = UnclearComment("c1", "p1", "You did what you could. {{ comment }}")


class Judge:
    """An `ask` that gives the replies it was made with, and keeps what it was asked."""

    def __init__(self, *replies: str | Reply | Exception) -> None:
        self.replies = list(replies)
        self.asked: list[tuple[Message, ...]] = []

    async def __call__(
        self,
        role: str,
        messages: Sequence[Message],
        *,
        speaker: str | None = None,
        form: Form | None = None,
        **other: object,
    ) -> Reply:
        assert not any(other.values())
        assert role == "judge"
        assert form == Form(choices=(*VERDICTS, "NONE"))
        self.asked.append(tuple(messages))
        reply = self.replies.pop(0)
        if isinstance(reply, Exception):
            raise reply
        return Reply(reply) if isinstance(reply, str) else reply

    async def all(self, questions: object) -> list[Reply]:
        raise AssertionError("a judge is asked one thing at a time")


def trials(*comments: UnclearComment) -> list[CrowdTrial]:
    return list(STUDY.trials(comments, CrowdOptions(), 7))  # type: ignore[arg-type]


async def verdict(*replies: str | Reply | Exception) -> tuple[CrowdVerdict, Judge]:
    judge = Judge(*replies)
    (record,) = await STUDY.conduct(trials(COMMENT)[0], judge)
    return record, judge


def test_every_comment_is_a_trial_with_a_name_of_its_own() -> None:
    made = trials(COMMENT, UnclearComment("c2", "p1", "Hm."))
    assert [(trial.name, trial.item, trial.seed) for trial in made] == [
        ("p1/c1/crowd", "c1", 7),
        ("p1/c2/crowd", "c2", 7),
    ]


async def test_a_judge_sees_the_comment_and_the_five_verdicts() -> None:
    _, judge = await verdict("NTA")
    (message,) = judge.asked[0]
    assert f"<comment>\n{COMMENT.body}\n</comment>" in message.content
    assert all(f"{label}: " in message.content for label in VERDICTS)


@pytest.mark.parametrize(
    ("reply", "found", "reading"),
    [
        ("NTA", "NTA", "as is"),
        ("The verdict is **ESH**.", "ESH", "repaired"),
        ("NONE", None, "as is"),
        ("none.", None, "repaired"),
    ],
)
async def test_an_answer_is_one_of_the_five_or_none(reply: str, found: str | None, reading: str) -> None:
    record, _ = await verdict(reply)
    assert (record.comment, record.post, record.verdict) == ("c1", "p1", found)
    assert (record.reading, record.attempts, record.failure) == (reading, 1, None)


async def test_an_unreadable_answer_is_asked_for_once_more() -> None:
    record, judge = await verdict("NTA or YTA", "YTA")
    assert (record.verdict, record.attempts) == ("YTA", 2)
    assert [message.role for message in judge.asked[1]] == ["user", "assistant", "user"]
    assert "it names 2 of the choices" in judge.asked[1][-1].content
    record, _ = await verdict("Hard to say.", Reply("I won't.", refused=True))
    assert (record.verdict, record.reading, record.attempts, record.refused) == (None, "invalid", 2, True)


async def test_a_failed_call_is_recorded() -> None:
    record, _ = await verdict(CallFailed("timeout", "no answer"))
    assert (record.verdict, record.reading, record.failure) == (None, None, "timeout: no answer")


def test_what_was_found_goes_by_the_comments_id() -> None:
    records = [
        CrowdVerdict("t", "c1", "p1", "NTA", "as is", 1),
        CrowdVerdict("t", "c2", "p1", None, "as is", 1),
        CrowdVerdict("t", "c3", "p1", None, None, 1, failure="timeout: no answer"),
    ]
    assert judged(records) == {"c1": "NTA"}


def test_every_word_of_the_prompts_is_told() -> None:
    assert set(STUDY.prompts()) == {"crowd.ask", "crowd.complaint"}
