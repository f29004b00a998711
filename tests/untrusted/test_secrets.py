"""A key is hidden however a server writes it, and nothing else is."""

from __future__ import annotations

import json
import pickle
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overton.untrusted import HIDDEN, ApiKey

KEY = "sk-test/0123456789+abcdefghij="


def spelled(key: str, draw: st.DataObject) -> str:
    """The key as a JSON text may contain it: each character escaped in its own way."""
    ways = [lambda c: c, lambda c: f"\\u{ord(c):04x}", lambda c: f"\\u{ord(c):04X}", lambda c: f"%{ord(c):02X}"]
    return "".join(draw.draw(st.sampled_from(ways))(c) if c != "/" else "\\/" for c in key)


@given(st.data(), st.text(), st.text(), st.integers(0, 2))
def test_every_spelling_of_a_key_is_removed_at_any_depth(
    data: st.DataObject, before: str, after: str, depth: int
) -> None:
    echoed = spelled(KEY, data)
    for _ in range(depth):
        echoed = json.dumps(echoed)[1:-1]
    key = ApiKey(KEY)
    for hidden in (key.hide_in_reply(before + echoed + after), key.hide(before + echoed + after)):
        assert HIDDEN in hidden
        assert echoed not in hidden


@given(st.text())
def test_texts_without_the_key_are_left_as_they_are(text: str) -> None:
    assert ApiKey(KEY).hide_in_reply(text) == text
    assert ApiKey("").hide(text) == ApiKey("").hide_in_reply(text) == text


@pytest.mark.parametrize("begun", [KEY[:12], quote(KEY[:12], safe=""), KEY[:12].replace("/", "\\/"), KEY[:8]])
def test_an_error_that_quotes_the_beginning_of_a_key_is_cut_there(begun: str) -> None:
    assert ApiKey(KEY).hide(f"key {begun}... is bad") == f"key {HIDDEN} is bad"


def test_a_short_word_that_serves_as_a_key_may_stand_in_replies_but_not_in_errors() -> None:
    assert ApiKey("EMPTY").hide_in_reply("an EMPTY room") == "an EMPTY room"
    assert ApiKey("EMPTY").hide("bad key EMPTY") == f"bad key {HIDDEN}"


def test_a_key_is_in_no_repr_and_no_pickle() -> None:
    key = ApiKey(KEY, "SOME_KEY")
    assert "0123" not in f"{key!r} {key} {[key]}"
    with pytest.raises(TypeError):
        pickle.dumps(key)


@pytest.mark.parametrize("echo", ["{}", "Bearer {}", '{{"key": "{}"}}', "two: {} {}"])
def test_a_key_is_hidden_from_errors(echo: str) -> None:
    hidden = ApiKey(KEY).hide(echo.format(KEY, KEY))
    assert "0123456789" not in hidden
    assert HIDDEN in hidden


def test_a_key_cut_short_or_escaped_is_hidden_too() -> None:
    key = 'sk-abc/def"+0123456789'
    assert "def" not in ApiKey(key).hide(f"got {key[:14]}... and {quote(key, safe='')}")


def test_no_key_is_false_and_hides_nothing() -> None:
    assert not ApiKey(None)
    assert ApiKey(None).hide("nothing here") == "nothing here"
