"""Any bytes become a value or `Unreadable`."""

from __future__ import annotations

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from overton.errors import Unreadable
from overton.untrusted import converted, decode_json, decode_text, decode_toml, python_of


class Usage(msgspec.Struct):
    tokens: int = 0


anything = msgspec.json.Decoder().decode
usage = msgspec.json.Decoder(Usage).decode
convert = msgspec.convert

DEEP = "[" * 200_000
BAD = {
    "half": (b'{"tokens": 1', "is not complete JSON"),
    "not UTF-8": (b'{"tokens": "\xff"}', "is not UTF-8"),
    "not UTF-8 in a key": (b'{"\xff": 1}', "is not UTF-8"),
    "deep": (b'{"tokens": 1, "x": ' + DEEP.encode(), "nested too deeply"),
}


@pytest.mark.parametrize("name", BAD)
def test_invalid_json_is_unreadable_with_the_reason(name):
    body, reason = BAD[name]
    with pytest.raises(Unreadable, match=reason):
        decode_json(body, anything)


@pytest.mark.parametrize("text", ["a = ", "a = [" + "[" * 20_000, "a = 1\na = 2", "\0"])
def test_invalid_toml_is_unreadable(text):
    with pytest.raises(Unreadable):
        decode_toml(text)


def test_toml_is_tables():
    assert decode_toml("[[guard]]\nmargin = 5\n") == {"guard": [{"margin": 5}]}


def test_deep_json_is_unreadable_to_every_reader():
    for read in (lambda: decode_json(DEEP, anything), lambda: python_of(DEEP)):
        with pytest.raises(Unreadable, match="nested too deeply"):
            read()


def test_json_of_another_form_says_so():
    with pytest.raises(Unreadable, match=r"Expected `int`.*\$\.tokens") as caught:
        decode_json(b'{"tokens": "many"}', usage)
    assert caught.value.wrong_form


def test_numbers_of_any_length_are_read_or_refused():
    for text in ("9" * 400, "9" * 5000, "1e400", "-1e400"):
        for read in (lambda text=text: decode_json(text, anything), lambda text=text: python_of(text)):
            try:
                read()
            except Unreadable:
                continue


@given(st.binary())
def test_bytes_become_a_value_or_unreadable(body):
    for read in (lambda: decode_json(body, anything), lambda: decode_json(body, usage), lambda: decode_text(body)):
        try:
            read()
        except Unreadable:
            continue


@given(
    st.recursive(
        st.none() | st.integers() | st.floats() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_plain_values_become_a_struct_or_unreadable(value):
    try:
        assert isinstance(converted(value, Usage), Usage)
    except Unreadable:
        return


def test_pythons_reader_takes_its_own_arguments_and_says_where_it_failed():
    assert python_of('{"a": 1, "a": 2}', object_pairs_hook=list) == [("a", 1), ("a", 2)]
    with pytest.raises(Unreadable) as caught:
        python_of('{\n"a": ]')
    assert (caught.value.line, caught.value.column) == (2, 6)


def test_text_is_utf8_with_or_without_a_mark():
    assert decode_text("\ufeffé".encode()) == "é"
    with pytest.raises(Unreadable) as caught:
        decode_text(b"\xef\xbb\xbfab\xff")
    assert caught.value.byte == 5


@given(st.text(st.characters(codec="utf-8")))
def test_encoded_text_is_decoded_unchanged(text):
    assert decode_json(json.dumps([text]), anything) == [text]
