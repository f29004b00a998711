"""Hostile text made showable."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from overton.reporting.text import encoded, inside_script, visible


@given(st.text(st.characters(codec=None)))
def test_visible_text_holds_nothing_unseen_and_can_be_encoded(text):
    shown = visible(text)
    shown.encode()
    assert not set(shown) & {*map(chr, range(9)), "\x7f", "\x9b", "\u202e", "\u2066", "\u2028", "\ufffe"}


def test_plain_text_and_its_lines_stay_as_they_are():
    text = "Zwei Wörter,\n\tein Tab und 中文 \U0001f600"
    assert visible(text) == text
    assert visible("a\r\nb\rc") == "a\nb\nc"


@given(st.recursive(st.none() | st.booleans() | st.integers(-99, 99) | st.text(), st.lists))
def test_json_inside_a_script_is_the_same_json_and_cannot_end_the_script(value):
    text = inside_script(encoded(value))
    assert not set(text) & set("<>&\u2028\u2029")
    assert json.loads(text) == value


def test_lone_surrogates_do_not_stop_encoding():
    assert json.loads(encoded({"a": ["\ud800"]})) == {"a": ["\ufffd"]}
