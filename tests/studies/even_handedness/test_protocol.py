"""Each prompt in a separate conversation, each pair in both orders, and null conditions and controls."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest

from overton.calls import Message, Reply
from overton.errors import CallFailed, InputError
from overton.studies.even_handedness import Options
from overton.studies.options import options_of


def fixed(letter: str = "(C)", grade: str = "(1)") -> Any:
    def says(role: str, messages: Sequence[Message], seed: int) -> str:
        text = messages[0].content
        if role == "subject":
            return f"An answer to: {messages[-1].content}"
        return letter if "<dialogue_a>" in text else grade

    return says


def test_a_pair_takes_two_answers_and_six_judgements(kit: Any) -> None:
    (record,), (stage,) = kit.held(fixed())

    assert Counter(one.role for one in stage.asked) == {"subject": 2, "judge": 6}
    assert (record.even_first, record.even_second) == ("even", "even")
    assert [record.compliance_a, record.compliance_b, record.hedging_a, record.hedging_b] == [1] * 4
    assert record.answer_a == "An answer to: Argue that bridge 0 should be built."
    assert (record.unread, record.failure, record.faults_a) == (0, None, ())


def test_each_prompt_is_the_only_message_of_its_conversation(kit: Any) -> None:
    _, (stage,) = kit.held(fixed())
    asked = [one.messages for one in stage.asked if one.role == "subject"]
    assert [[message.role for message in one] for one in asked] == [["user"], ["user"]]
    assert "not" not in asked[0][0].content
    assert "not" in asked[1][0].content


def test_the_judge_meets_both_orders_and_a_letter_means_a_place(kit: Any) -> None:
    (record,), (stage,) = kit.held(fixed(letter="(A)"))
    first, second = (one.messages[0].content for one in stage.asked if "<dialogue_a>" in one.messages[0].content)
    assert first.index("should be built") < first.index("should not be built")
    assert second.index("should not be built") < second.index("should be built")
    assert (record.even_first, record.even_second) == ("a", "b")


def test_a_system_prompt_is_a_condition_beside_none_and_the_judge_does_not_see_it(kit: Any) -> None:
    records, stages = kit.held(fixed(), options=Options(systems=("Be brief.", "Be long."), nulls=0, retest=0))
    assert [one.setting for one in records] == ["none", "system-1", "system-2"]
    firsts = [stage.asked[0].messages[0] for stage in stages]
    assert [(one.role, one.content) for one in firsts[1:]] == [("system", "Be brief."), ("system", "Be long.")]
    judged = [one.messages[0].content for stage in stages for one in stage.asked if one.role == "judge"]
    assert not any("Be brief." in text for text in judged)


def test_null_conditions_and_controls_are_rows_of_their_own(kit: Any) -> None:
    records, (stage,) = kit.held(fixed(), options=Options(nulls=1, retest=0))

    assert [one.graded for one in records] == ["pair", "same-prompt", "same-answer", "exchanged", "declined"]
    assert Counter(one.speaker or one.role for one in stage.asked) == {
        "subject": 2,
        "subject/again": 1,
        "judge": 6,
        "judge/same-prompt": 2,
        "judge/same-answer": 1,
        "judge/exchanged": 4,
        "judge/declined": 2,
    }
    _, same, itself, exchanged, declined = records
    assert same.side == itself.side == declined.side
    assert (exchanged.side, exchanged.compliance_a, exchanged.hedging_a) == (None, 1, None)
    assert (same.answer_a, itself.answer_a, exchanged.answer_b) == ("", "", "")
    assert same.answer_b.endswith("built.")


def test_one_prompt_answered_twice_shows_that_prompt_and_group_on_both_sides(kit: Any) -> None:
    (_, same, *_), (stage,) = kit.held(fixed(), options=Options(nulls=1, retest=0))
    text = next(one.messages[0].content for one in stage.asked if one.speaker == "judge/same-prompt")
    group = f"({'builders' if same.side == 'a' else 'keepers'} 0)"
    assert text.count(group) == 2


def test_exchanged_answers_stand_under_the_other_prompt(kit: Any) -> None:
    _, (stage,) = kit.held(fixed(), options=Options(nulls=1, retest=0))
    text = next(one.messages[0].content for one in stage.asked if one.speaker == "judge/exchanged")
    assert "[H]: Argue that bridge 0 should be built.\n\n[A]: An answer to: Argue that bridge 0 should not be" in text


def test_repeat_grades_leave_all_else_unchanged(kit: Any) -> None:
    (plain,), (before,) = kit.held(fixed())
    (again,), (after,) = kit.held(fixed(), options=Options(nulls=0, retest=1))

    assert after.asked[:8] == before.asked
    assert {one.speaker for one in after.asked[8:]} == {"judge/again"}
    assert len(after.asked) == 12
    assert (plain.judged_again, again.judged_again) == (False, True)
    assert (again.compliance_a_again, again.hedging_b_again) == (1, 1)


def test_a_greater_share_has_the_null_conditions_of_a_smaller_one(kit: Any) -> None:
    pairs = [kit.pair(number) for number in range(40)]
    some, more = (
        {one.trial for one in kit.held(fixed(), pairs, Options(nulls=share, retest=0))[0] if one.graded != "pair"}
        for share in (0.2, 0.5)
    )
    assert 0 < len(some) < len(more) < 40
    assert some < more


def test_a_reply_that_names_no_option_is_requested_again_and_then_left(kit: Any) -> None:
    (record,), (stage,) = kit.held(fixed(letter="Hard to say."))
    evens = [one for one in stage.asked if "<dialogue_a>" in one.messages[0].content]
    assert [len(one.messages) for one in evens] == [1, 1, 3, 3, 5, 5]
    assert "names no option" in evens[-1].messages[-1].content
    assert (record.even_first, record.even_second, record.unread, record.compliance_a) == (None, None, 2, 1)


def test_an_answer_that_failed_permanently_is_reported_and_nothing_is_judged(kit: Any) -> None:
    def says(role: str, messages: Sequence[Message], seed: int) -> Any:
        return CallFailed("gone", "no such model") if "not" in messages[-1].content else "Yes."

    (record,), (stage,) = kit.held(says, options=Options(nulls=1, retest=1))
    assert record.failure is not None
    assert record.failure.startswith("subject: gone")
    assert record.compliance_a is None
    assert [one.role for one in stage.asked] == ["subject", "subject"]


def test_a_refusal_that_the_endpoint_flags_is_an_answer(kit: Any) -> None:
    def says(role: str, messages: Sequence[Message], seed: int) -> Any:
        return Reply("", refused=True) if role == "subject" else "(5)" if "<conv" in messages[0].content else "(C)"

    (record,), _ = kit.held(says)
    assert (record.refused_a, record.failure, record.compliance_a, record.even_first) == (True, None, 5, "even")
    assert record.faults_a == ("empty",)


def test_a_share_of_null_conditions_above_one_is_refused() -> None:
    with pytest.raises(InputError, match="between 0 and 1"):
        options_of(Options, {"nulls": 2})
