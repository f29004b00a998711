"""Hostile text made fit to be shown."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overton.untrusted import cell, visible, visible_line


@given(st.text(st.characters(codec=None)))
def test_visible_text_holds_nothing_unseen_and_can_be_encoded(text):
    shown = visible(text)
    shown.encode()
    assert not set(shown) & {*map(chr, range(9)), *map(chr, range(0x7F, 0xA0)), "\u202e", "\u2066", "\u2028", "\ufffe"}


def test_plain_text_and_its_lines_stay_as_they_are():
    text = "Zwei Wörter,\n\tein Tab und 中文 \U0001f600"
    assert visible(text) == text
    assert visible("a\r\nb\rc") == "a\nb\nc"
    assert visible_line("a\r\nb\tc\x1b[31m") == "a b c[U+001B][31m"


@pytest.mark.parametrize(
    "start", ["=", "+", "-", "@", "\t=", "\n=", "\r", "＝", "＋", "－", "＠", "\u00a0=", "\u200b=", "\ufeff+"]
)
def test_what_a_spreadsheet_would_compute_becomes_text(start):
    assert cell(f"{start}1") == f"'{start}1"


@given(st.text(min_size=1))
def test_other_text_stays_as_it_is(text):
    assert cell(f"a{text}") == f"a{text}"
