"""Malformed replies."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overton.judging import FAULTS, echoes, faults_of, is_cut, repeats

ESSAY = (
    "Most towns that shortened the school week kept their teachers longer, and families gained a day. What they lost "
    "is harder to see: lunches, quiet rooms to learn in, and the long weekend that some pupils spend alone. I would "
    "try it for two years, count both, and keep the right to go back."
)
POST = (
    "Our council wants to close the old swimming pool and build flats there. I learnt to swim in that pool and so did "
    "my children. The council says that repairs cost more than a new one. What do you think should happen?"
)


@pytest.mark.parametrize("text", ["", "  \n\t", "...", "— !", "\u200b\u200b", "🙂🙂"])
def test_a_reply_without_letters_or_digits_is_empty(text: str) -> None:
    assert faults_of(text) == ("empty",)


@pytest.mark.parametrize("finish", ["length", "max_tokens", "MAX_TOKENS", "model_context_window_exceeded"])
def test_finish_reasons_for_token_limits_mean_truncated(finish: str) -> None:
    assert is_cut(finish)
    assert faults_of(ESSAY, finish=finish) == ("cut",)


@pytest.mark.parametrize("finish", ["stop", "end_turn", "content_filter", "tool_calls", "unknown", ""])
def test_other_finish_reasons_do_not_count_as_truncated(finish: str) -> None:
    assert faults_of(ESSAY, finish=finish) == ()


def test_letters_and_short_phrases_do_not_count_as_echoes() -> None:
    assert faults_of("A", shown=["Answer A or B."]) == ()
    assert faults_of("Answer: position <<A>>", shown=["Reply with 'Answer: position <<A>>' or '<<B>>'."]) == ()


def test_repeated_prompt_is_an_echo_regardless_of_case_and_punctuation() -> None:
    assert faults_of(POST.upper().replace(".", "!"), shown=["Be brief.", POST]) == ("echo",)
    assert faults_of("what do you think should happen", shown=[POST]) == ("echo",)


def test_quotation_inside_an_answer_does_not_count_as_an_echo() -> None:
    quoted = '"The council says that repairs cost more than a new one." That may be so, but nobody has shown the sums.'
    assert faults_of(quoted, shown=[POST]) == ()


@pytest.mark.parametrize(
    "text",
    [
        "no " * 40,
        "I think that it depends on many things. " * 6,
        f"{ESSAY} " + "And so it goes on and on. " * 30,
        "ha" * 200,
        "これは繰り返しです。" * 12,
    ],
)
def test_saying_one_thing_over_and_over_is_a_loop(text: str) -> None:
    assert faults_of(text) == ("loop",)


def test_refrains_and_lists_of_one_pattern_do_not_count_as_loops() -> None:
    days = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday"]
    assert (
        faults_of("\n".join(f"- On {day} the market is open from nine to {hour}." for hour, day in enumerate(days)))
        == ()
    )


def test_repeated_reply_is_a_duplicate_also_with_other_punctuation() -> None:
    assert faults_of(ESSAY, earlier=["Something else.", ESSAY.replace(",", ";")]) == ("duplicate",)
    assert faults_of("Yes.", earlier=["yes"]) == ("duplicate",)


def test_answer_with_the_same_opening_does_not_count_as_a_duplicate() -> None:
    assert (
        faults_of(ESSAY + " But only with lunches served on the fifth day, for whoever comes.", earlier=[ESSAY]) == ()
    )


def test_faults_come_together_and_in_order() -> None:
    looped = "I agree with the post. " * 10
    assert faults_of(looped, finish="length", shown=["I agree with the post. " * 3], earlier=[looped]) == (
        "cut",
        "echo",
        "loop",
        "duplicate",
    )


@given(st.text(max_size=400), st.text(max_size=400))
def test_any_text_has_faults_of_the_known_kinds_and_is_a_duplicate_of_itself(text: str, shown: str) -> None:
    found = faults_of(text, shown=[shown], earlier=[text])
    assert set(found) <= set(FAULTS)
    assert ("duplicate" in found) != ("empty" in found)


@given(st.lists(st.sampled_from(["so", "it", "is", "not", "clear"]), min_size=30, max_size=60))
def test_text_repeated_three_times_is_a_loop(words: list[str]) -> None:
    assert "loop" in faults_of(" ".join(words * 3))


@given(st.text(alphabet="ab ,.", max_size=60), st.text(alphabet="ab ,.", max_size=60))
def test_a_fault_asked_for_by_itself_is_the_same(text: str, other: str) -> None:
    assert echoes(text, [other]) == ("echo" in faults_of(text, shown=[other]))
    assert repeats(text, [other]) == ("duplicate" in faults_of(text, earlier=[other]))
