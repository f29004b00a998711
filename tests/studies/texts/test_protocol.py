"""Each text takes one label, some of them another with the labels in reverse."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from overton.calls import Form, Message, Reply
from overton.errors import CallFailed
from overton.studies.texts import STUDY, Record, TableOptions, TextRow
from overton.studies.texts.question_files import read_question

ROW = TextRow("a", {"text": "Thank you."}, "m", "g", "c")


def held(kit: Any, *replies: str | Exception, retest: float = 0.0) -> tuple[Record, list[tuple[str | None, str]]]:
    asked: list[tuple[str | None, str]] = []
    waiting = iter(replies)

    async def ask(
        role: str, messages: Sequence[Message], *, speaker: str | None = None, form: Form | None = None, **_: Any
    ) -> Reply:
        assert role == "judge"
        assert form is not None
        assert set(form.choices) == {"(warm)", "(cold)", "(neither)"}
        asked.append((speaker, messages[-1].content))
        if isinstance(reply := next(waiting), Exception):
            raise reply
        return Reply(reply)

    (trial,) = STUDY.trials([ROW], TableOptions(read_question(kit.words), retest), 0)
    (record,) = asyncio.run(STUDY.conduct(trial, ask))  # type: ignore[arg-type]
    return record, asked


def test_a_record_has_the_label_and_the_subject_of_the_text(kit: Any) -> None:
    record, ((speaker, _),) = held(kit, "(warm)")
    assert record == Record(trial="a", text="a", model="m", group="g", condition="c", label="warm")
    assert speaker == "judge/1"


def test_a_retest_has_a_speaker_of_its_own_and_labels_in_reverse(kit: Any) -> None:
    record, asked = held(kit, "(warm)", "(cold)", retest=1.0)
    assert (record.label, record.judged_again, record.label_again) == ("warm", True, "cold")
    assert [speaker for speaker, _ in asked] == ["judge/1", "judge/1/again"]
    assert asked[1][1].index("(cold)") < asked[1][1].index("(warm)")


def test_a_reply_that_names_no_label_is_requested_again_twice(kit: Any) -> None:
    record, asked = held(kit, "Hm.", "(a)", "(cold)")
    assert (record.label, record.unread, len(asked)) == ("cold", 0, 3)
    record, asked = held(kit, "Hm.", "Hm.", "Hm.")
    assert (record.label, record.unread, len(asked)) == (None, 1, 3)


def test_a_call_that_fails_is_recorded(kit: Any) -> None:
    record, _ = held(kit, CallFailed("overloaded", "try later"))
    assert (record.label, record.unread, record.failure) == (None, 0, "judge: overloaded: try later")


def test_one_judge_labels_a_table() -> None:
    with pytest.raises(Exception, match="one judge labels a table"):
        TableOptions.complete({}, {"judge": ["a", "b"]})
