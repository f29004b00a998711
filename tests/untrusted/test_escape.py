"""Hostile text made safe to show."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overton.untrusted import cell, uncelled, visible, visible_json, visible_line


@given(st.text(st.characters(codec=None)))
def test_visible_text_contains_nothing_invisible_and_can_be_encoded(text):
    shown = visible(text)
    shown.encode()
    assert not set(shown) & {*map(chr, range(9)), *map(chr, range(0x7F, 0xA0)), "\u202e", "\u2066", "\u2028", "\ufffe"}


def test_plain_text_and_its_lines_stay_as_they_are():
    text = "Zwei Wörter,\n\tein Tab und 中文 \U0001f600"
    assert visible(text) == text
    assert visible("a\r\nb\rc") == "a\nb\nc"
    assert visible_line("a\r\nb\tc\x1b[31m") == "a b c[U+001B][31m"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("=1", "'=1"),
        ("+1", "'+1"),
        ("-1", "'-1"),
        ("@a", "'@a"),
        ("\uff1d1", "'\uff1d1"),
        ("\uff0b1", "'\uff0b1"),
        ("\uff0d1", "'\uff0d1"),
        ("\uff20a", "'\uff20a"),
        ("\ufe661", "'\ufe661"),
        ("\u00a0=1", "'\u00a0=1"),
        ("\u200b\u2060=1", "'\u200b\u2060=1"),
        ("\ufeff+1", "'\ufeff+1"),
        ('"=1"', '\'"=1"'),
        ("\nword", "'\nword"),
        ("\tword", "'\tword"),
        ("\r=1", "'\n'=1"),
        ("a;=1", "a;'=1"),
        ("a; -1; +2", "a; '-1; '+2"),
        ('a;"=1', "a;\"'=1"),
        ("a\t=1", "a\t'=1"),
        ("a\n- b\r\n- c", "a\n'- b\n'- c"),
        ("a;\u200b\n \uff1d1", "a;\u200b\n '\uff1d1"),
        ("a\x00\x9b\ud800", "a[U+0000][U+009B]\ufffd"),
        ("'=1", "''=1"),
        ("''=1", "'''=1"),
        ("a;'=1", "a;''=1"),
    ],
)
def test_formulas_become_text(text, shown):
    assert cell(text) == shown


@pytest.mark.parametrize("text", ["", "a=1", "a, -1", "x;y", "one\ntwo", "it's - well", "5 = 5", "'tis", '"quoted"'])
def test_other_text_stays_as_it_is(text):
    assert cell(text) == text


@pytest.mark.parametrize("text", ["+", "-1", "\u00a0=", "\uff0bx"])
def test_an_apostrophe_that_was_put_before_a_cell_is_taken_off_again(text):
    assert uncelled(cell(text)) == text


@pytest.mark.parametrize("text", ["'tis", "left", "'", "", "a'=1", "it's; well"])
def test_an_apostrophe_of_a_persons_own_stays(text):
    assert uncelled(text) == text


@pytest.mark.parametrize("text", ["'=1", "''=1", "'", "'+", "a;'=1", "a;=1", "'\n=1", ";'@", "';=1", "\t'-\t''-"])
def test_a_text_that_looks_as_if_it_were_escaped_comes_back_whole(text):
    assert uncelled(cell(text)) == text


@given(st.text(st.sampled_from("'=+-@;\t\n a\"\uff1d\u200b") | st.characters(codec="utf-8")))
def test_escaping_a_cell_is_reversible(text):
    assert uncelled(cell(text)) == visible(text)


def test_a_long_run_of_separators_takes_no_time_that_grows_with_its_square():
    text = "a" + ";\n" * 500_000 + "b"
    assert cell(text) == text


@given(st.dictionaries(st.text(st.characters(codec="utf-8")), st.text(st.characters(codec="utf-8"))), st.booleans())
def test_json_made_visible_is_of_the_same_value(value, only_ascii):
    shown = visible_json(json.dumps(value, ensure_ascii=False), only_ascii=only_ascii)
    assert json.loads(shown) == value
    assert visible(shown) == shown
    assert shown.isascii() or not only_ascii
