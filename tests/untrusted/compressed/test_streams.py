"""Decompressed data are the compressed ones, or refused within little memory."""

from __future__ import annotations

import gzip
import tracemalloc
import zlib

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from overton.errors import Unreadable
from overton.untrusted import Limit, inflated, members, zstandard_inflated

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
def test_damaged_gzip_data_give_the_original_or_unreadable(content, data):
    body = bytearray(gzip.compress(content, mtime=0))
    place = data.draw(st.integers(0, len(body) - 1))
    body[place] ^= data.draw(st.integers(1, 255))
    for damaged in (bytes(body), bytes(body[:place])):
        try:
            b"".join(inflated([damaged], GZIP, Limit(10_000)))
        except Unreadable:
            continue


@given(st.lists(st.binary(max_size=2000), max_size=4), st.integers(1, 700), st.none() | st.integers(0, 50))
def test_each_member_stands_by_itself_with_its_place(contents, size, kept):
    pressed = [gzip.compress(content, mtime=0) for content in contents]
    body = b"".join(pressed)
    pieces = [body[start : start + size] for start in range(0, len(body), size)]
    found = list(members(pieces, GZIP, Limit(10_000), kept=kept))
    assert [member.content for member in found] == [content[:kept] for content in contents]
    assert [body[member.start : member.end] for member in found] == pressed


def test_a_limit_is_each_member_s_own_and_the_error_says_where_it_begins():
    small, large = gzip.compress(bytes(900), mtime=0), gzip.compress(bytes(1100), mtime=0)
    found = members([small * 3 + large], GZIP, Limit(1000), kept=0)
    assert [next(found).content for _ in range(3)] == [b""] * 3
    with pytest.raises(Unreadable) as caught:
        next(found)
    assert (caught.value.byte, caught.value.too_large) == (3 * len(small), True)


@given(st.integers(0, 70_000), st.sampled_from([-15, 15, 31]))
def test_all_comes_out_also_where_nothing_is_left_to_go_in(size, window):
    press = zlib.compressobj(9, zlib.DEFLATED, window)
    body = press.compress(bytes(size)) + press.flush()
    assert b"".join(inflated([body], window, Limit(100_000))) == bytes(size)
    with pytest.raises(Unreadable) as caught:
        b"".join(inflated([body[:-1]], window, Limit(100_000)))
    assert caught.value.ends_early


@given(st.lists(st.binary(max_size=2000), max_size=4), st.integers(1, 700))
def test_frames_of_zstandard_come_out_one_after_another_however_they_are_cut(contents, size):
    body = b"".join(map(zstandard.ZstdCompressor().compress, contents))
    pieces = [body[start : start + size] for start in range(0, len(body), size)]
    assert b"".join(zstandard_inflated(pieces, Limit(10_000))) == b"".join(contents)


@given(st.binary(min_size=1, max_size=300), st.data())
def test_damaged_zstandard_data_give_the_original_or_unreadable(content, data):
    body = bytearray(zstandard.ZstdCompressor().compress(content))
    place = data.draw(st.integers(0, len(body) - 1))
    body[place] ^= data.draw(st.integers(1, 255))
    for damaged in (bytes(body), bytes(body[:place])):
        try:
            b"".join(zstandard_inflated([damaged], Limit(10_000)))
        except Unreadable:
            continue
