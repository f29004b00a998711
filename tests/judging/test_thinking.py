"""A model's thinking is separated from its reply, for all marks around it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overton.calls import Alternative, Reply, Spot
from overton.judging.thinking import thinking_in, without_thinking

MARKED = [
    ("<think>A or B?</think>\nA", "A"),
    ("<think>\nFirst.\n\nSecond.\n</think>\n\nposition <<B>>\n", "position <<B>>"),
    ("<think></think>\n\nA", "A"),
    ("Only the end is marked.\n</think>\nB", "B"),
    ("<thinking>x</thinking>y", "y"),
    ("<THINK>x</THINK> y", "y"),
    ("[THINK]x[/THINK]y", "y"),
    ("<seed:think>x</seed:think>y", "y"),
    ("◁think▷x◁/think▷y", "y"),
    ("<think>one</think><think>two</think>three", "three"),
    ("<think>one</think>\ntwo\n<think>three</think>\nfour", "two\n\nfour"),
    ("<|channel|>analysis<|message|>B or A<|end|><|start|>assistant<|channel|>final<|message|>A<|return|>", "A"),
    ("two\n<think>not finished", "two"),
]
UNFINISHED = ["<think>", "<think>B, position <<A>>, or", "  <think>\n\n", "<|channel|>analysis<|message|>We must"]
UNTOUCHED = ["A", "", " A ", "I think A.", "The tag <think> opens a thought.", "a < b > c", "<answer>A</answer>"]


@pytest.mark.parametrize(("text", "left"), MARKED)
def test_reply_without_thinking_is_the_rest(text: str, left: str) -> None:
    read = without_thinking(Reply(text, finish="length", refused=True))
    assert (read.text, read.finish, read.refused) == (left, "length", True)
    assert read.thinking


@pytest.mark.parametrize("text", UNFINISHED)
def test_a_reply_that_ended_while_thinking_is_all_thinking(text: str) -> None:
    read = without_thinking(Reply(text))
    assert read.text == ""
    assert read.thinking == text[thinking_in(text)[0][0] :]


@pytest.mark.parametrize("text", UNTOUCHED)
def test_a_reply_without_thinking_is_the_same_object(text: str) -> None:
    reply = Reply(text)
    assert without_thinking(reply) is reply


def test_places_of_probabilities_move_with_their_text() -> None:
    alternatives = (Alternative("A", 0.6, 0.6), Alternative("B", 0.4, 0.4))
    text = "<think>A?</think>\n\nB"
    spots = (Spot(text.index("A"), "A", alternatives), Spot(len(text) - 1, "B", alternatives))
    read = without_thinking(Reply(text, spots=spots))
    (spot,) = read.spots
    assert (read.text[spot.at], spot.token) == ("B", "B")


@given(st.text(), st.text(alphabet=st.characters(exclude_characters="<[◁")))
def test_thinking_before_a_reply_changes_nothing_else(thought: str, said: str) -> None:
    read = without_thinking(Reply(f"<think>{thought.replace('</', '')}</think>{said}"))
    assert read.text == said.strip() or "<" in thought or "[" in thought or "◁" in thought


@given(st.text(alphabet="<>/think[]THINK◁▷ \nA|channelfinalmessage"))
def test_any_text_is_split_into_parts_in_order(text: str) -> None:
    spans = thinking_in(text)
    places = [place for span in spans for place in span]
    assert places == sorted(places)
    assert all(0 <= place <= len(text) for place in places)
    read = without_thinking(Reply(text))
    assert without_thinking(read).text in {read.text, without_thinking(Reply(read.text)).text}
