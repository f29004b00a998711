from __future__ import annotations

from collections.abc import Sequence

import pytest

from overton.calls import Form, Message, Reply
from overton.errors import CallFailed
from overton.studies.deliberation.dilemmas.crowd import (
    STUDY,
    CrowdOptions,
    CrowdTrial,
    CrowdVerdict,
    UnclearComment,
    judged,
    self_agreement,
)
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


async def test_an_unreadable_answer_is_requested_once_more() -> None:
    record, judge = await verdict("NTA or YTA", "YTA")
    assert (record.verdict, record.attempts) == ("YTA", 2)
    assert [message.role for message in judge.asked[1]] == ["user", "assistant", "user"]
    assert "it names 2 of the choices" in judge.asked[1][-1].content
    record, _ = await verdict("Hard to say.", Reply("I won't.", refused=True))
    assert (record.verdict, record.reading, record.attempts, record.refused) == (None, "invalid", 2, True)


async def test_a_failed_call_is_recorded() -> None:
    record, _ = await verdict(CallFailed("timeout", "no answer"))
    assert (record.verdict, record.reading, record.failure) == (None, None, "timeout: no answer")


def test_results_are_keyed_by_the_comments_id() -> None:
    records = [
        CrowdVerdict("t", "c1", "p1", "NTA", "as is", 1),
        CrowdVerdict("t", "c2", "p1", None, "as is", 1),
        CrowdVerdict("t", "c3", "p1", None, None, 1, failure="timeout: no answer"),
    ]
    assert judged(records) == {"c1": "NTA"}


def test_every_text_of_the_prompts_is_listed() -> None:
    assert set(STUDY.prompts()) == {"crowd.ask", "crowd.complaint"}


async def test_a_share_is_asked_again_with_the_verdicts_in_another_order_and_the_comment_as_it_is() -> None:
    comment = UnclearComment("c1", "p1", 'Lists:\nYTA: a\nNTA: b\n"YTA" "NTA" "ESH" "NAH" "INFO"')
    (trial,) = STUDY.trials([comment], CrowdOptions(retest=1.0), 7)  # type: ignore[arg-type]
    asked: list[tuple[str | None, str, Form]] = []

    async def ask(
        role: str, messages: Sequence[Message], *, form: Form, speaker: str | None = None, **_: object
    ) -> Reply:
        asked.append((speaker, messages[0].content, form))
        return Reply("NTA" if speaker is None else "NONE")

    (record,) = await STUDY.conduct(trial, ask)  # type: ignore[arg-type]
    assert (record.verdict, record.judged_again, record.verdict_again, record.reading_again) == (
        "NTA",
        True,
        None,
        "as is",
    )
    (_, first, _), (speaker, second, form) = asked
    assert speaker == "judge/again"
    assert first != second
    assert sorted(first.split("\n")) == sorted(second.split("\n"))
    assert comment.body in second
    assert set(form.choices) == {*VERDICTS, "NONE"}
    assert form.choices[:-1] != VERDICTS


async def test_repeat_labels_leave_all_else_unchanged() -> None:
    record, judge = await verdict("NTA")
    assert not record.judged_again
    assert len(judge.asked) == 1


def test_a_judge_agrees_with_itself_where_both_answers_could_be_read() -> None:
    def record(number: int, first: str | None, second: str | None, reading: str = "as is") -> CrowdVerdict:
        again = {"judged_again": True, "verdict_again": second, "reading_again": reading}
        return CrowdVerdict(f"p/{number}", str(number), "p", first, "as is", 1, **again)  # type: ignore[arg-type]

    records = [
        record(1, "NTA", "NTA"),
        record(2, None, None),
        record(3, "YTA", None),
        record(4, "YTA", None, "invalid"),
    ]
    found = self_agreement(records)
    assert found is not None
    assert (found.repeated, found.unread, found.same.n) == (4, 1, 3)
    assert found.same.value == pytest.approx(2 / 3)
    assert self_agreement([CrowdVerdict("p/5", "5", "p", "NTA", "as is", 1)]) is None
