"""Ten responses in one reply, in the ways in which models give them."""

from __future__ import annotations

import pytest

from overton.studies.pluralism.protocol.splitting import split_responses

TEN = [
    f"This is what I think, take {word}."
    for word in ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
]


def listed(form: str, between: str = "\n\n") -> str:
    return between.join(form.format(n=number, text=text) for number, text in enumerate(TEN, 1))


@pytest.mark.parametrize(
    ("form", "between"),
    [
        ("{n}. {text}", "\n\n"),
        ("{n}. {text}", "\n"),
        ("{n}) {text}", "\n"),
        ("({n}) {text}", "\n"),
        ("**{n}.** {text}", "\n\n"),
        ("{n}: {text}", "\n"),
        ("{n} - {text}", "\n"),
        ("### {n}.\n{text}", "\n\n"),
        ("### Response {n}\n\n{text}", "\n\n"),
        ("**Response {n}:**\n{text}", "\n\n---\n\n"),
        ("Response #{n}: {text}", "\n\n"),
        ("Comment {n}:\n\n{text}", "\n\n"),
        ('{n}. "{text}"', "\n"),
        ("{n}. “{text}”", "\n"),
        ("  {n}. {text}", "\n"),
    ],
)
def test_numbered_responses_are_distinguished(form: str, between: str) -> None:
    assert split_responses(listed(form, between), 10) == (tuple(TEN), "numbers")


def test_text_before_the_first_number_is_left_out() -> None:
    assert split_responses(f"Sure! Here are 10 responses:\n\n{listed('{n}. {text}')}", 10).responses == tuple(TEN)


def test_thinking_aloud_does_not_count_as_a_response() -> None:
    thought = "<think>1. One could agree.\n2. One could not.</think>"
    assert split_responses(f"{thought}\n{listed('{n}. {text}')}", 10).responses == tuple(TEN)


def test_lists_inside_a_response_belong_to_it() -> None:
    reply = (
        "1. Do two things:\n   1. Ask.\n   2. Wait.\n   3. Leave.\n2. Do nothing.\n3. In 2019 it was\n2019, I think."
    )
    assert split_responses(reply, 3).responses == (
        "Do two things:\n   1. Ask.\n   2. Wait.\n   3. Leave.",
        "Do nothing.",
        "In 2019 it was\n2019, I think.",
    )


def test_responses_may_have_several_paragraphs() -> None:
    reply = "1. First.\n\nMore of it.\n\n2. Second.\n\nMore of that."
    assert split_responses(reply, 10) == (("First.\n\nMore of it.", "Second.\n\nMore of that."), "numbers")


def test_a_title_in_bold_is_part_of_its_response() -> None:
    titled = ("**Kind:** Go.", "**Harsh:** Stay.")
    assert split_responses("1. **Kind:** Go.\n2. **Harsh:** Stay.", 2).responses == titled
    assert split_responses("**1. Kind:** Go.\n\n**2. Harsh:** Stay.", 2).responses == titled


@pytest.mark.parametrize(
    ("reply", "by"),
    [
        ('```json\n["Go.", "Stay.", "Ask."]\n```', "json"),
        ("- Go.\n- Stay.\n- Ask.", "bullets"),
        ("* Go.\n\n* Stay.\n\n* Ask.", "bullets"),
        ("Go.\n\n---\n\nStay.\n\n---\n\nAsk.", "rules"),
        ("Here you are:\n\nGo.\n\nStay.\n\nAsk.", "paragraphs"),
    ],
)
def test_other_lists_are_distinguished(reply: str, by: str) -> None:
    assert split_responses(reply, 3) == (("Go.", "Stay.", "Ask."), by)


def test_a_few_paragraphs_where_ten_responses_were_requested_are_one_response() -> None:
    reply = "You did well.\n\nI would have done the same."
    assert split_responses(reply, 10) == ((reply,), "whole")


@pytest.mark.parametrize("reply", ["", "  \n ", "<think>I had better say nothing.</think>\n"])
def test_an_empty_reply_holds_no_response(reply: str) -> None:
    assert split_responses(reply, 10).responses == ()


@pytest.mark.parametrize("count", [1, 7, 12])
def test_other_numbers_of_responses_are_all_found(count: int) -> None:
    reply = "\n".join(f"{number}. Text {number}." for number in range(1, count + 1))
    assert len(split_responses(reply, 10).responses) == count


@pytest.mark.parametrize("unit", ["1. ", "- ", "\n\n", "*", "  \n", "1.\n", '"', "---\n", "[", "1 "])
def test_long_hostile_replies_are_read_quickly(unit: str) -> None:
    split_responses(unit * 40_000, 10)  # would not finish if a pattern tried the same part twice
