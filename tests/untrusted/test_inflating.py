"""What is decompressed is what was compressed, or refused within little memory."""

from __future__ import annotations

import gzip
import tracemalloc
import zlib

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from overton.errors import Unreadable
from overton.untrusted import Limit, inflated, zstandard_inflated

GZIP = 31


@given(st.lists(st.binary(max_size=2000), max_size=4), st.integers(1, 700))
def test_members_come_out_one_after_another_however_they_are_cut(contents, size):
    body = b"".join(map(gzip.compress, contents))
    pieces = [body[start : start + size] for start in range(0, len(body), size)]
    assert b"".join(inflated(pieces, GZIP, Limit(10_000))) == b"".join(contents)


def bomb(mebibytes: int) -> bytes:
    press = zlib.compressobj(9, zlib.DEFLATED, GZIP)
    return b"".join([*(press.compress(bytes(1 << 20)) for _ in range(mebibytes)), press.flush()])


@pytest.mark.parametrize(
    ("limit", "reason"), [(Limit(1 << 20), "is larger than 1,048,576 bytes"), (Limit(1 << 40), "400-fold")]
)
def test_a_bomb_is_refused_before_it_takes_memory(limit, reason):
    body = bomb(64)
    tracemalloc.start()
    with pytest.raises(Unreadable, match=reason):
        for _ in inflated([body], GZIP, limit):
            pass
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4 << 20


@given(st.binary(min_size=1, max_size=300), st.data())
def test_a_changed_byte_or_a_cut_gives_what_was_there_or_unreadable(content, data):
    body = bytearray(gzip.compress(content, mtime=0))
    place = data.draw(st.integers(0, len(body) - 1))
    body[place] ^= data.draw(st.integers(1, 255))
    for damaged in (bytes(body), bytes(body[:place])):
        try:
            b"".join(inflated([damaged], GZIP, Limit(10_000)))
        except Unreadable:
            continue


@given(st.lists(st.binary(max_size=2000), max_size=4), st.integers(1, 700))
def test_frames_of_zstandard_come_out_one_after_another_however_they_are_cut(contents, size):
    body = b"".join(map(zstandard.ZstdCompressor().compress, contents))
    pieces = [body[start : start + size] for start in range(0, len(body), size)]
    assert b"".join(zstandard_inflated(pieces, Limit(10_000))) == b"".join(contents)


@given(st.binary(min_size=1, max_size=300), st.data())
def test_a_changed_byte_or_a_cut_of_zstandard_gives_what_was_there_or_unreadable(content, data):
    body = bytearray(zstandard.ZstdCompressor().compress(content))
    place = data.draw(st.integers(0, len(body) - 1))
    body[place] ^= data.draw(st.integers(1, 255))
    for damaged in (bytes(body), bytes(body[:place])):
        try:
            b"".join(zstandard_inflated([damaged], Limit(10_000)))
        except Unreadable:
            continue
