"""Mutations of valid documents. They flip, cut, splice and repeat bytes, exchange values of JSON, and insert nasty
words."""

from __future__ import annotations

import gzip
import json
import re
import zlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from io import BytesIO
from random import Random
from typing import Any

import zstandard

from fuzz.trying import Mutation, Target

__all__ = ["TOKENS", "bomb", "inside", "json_values", "mutated"]

LARGEST = 1 << 20
"""Cases are cut to this many bytes."""

TOKENS: tuple[bytes, ...] = (
    b"", b"\x00", b"\xff", b"\xfe\xff", b"\xc3\x28", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xef\xbb\xbf", b"\x1b[2J",
    b"\x1b]0;x\x07", b"\x9b", b"\xe2\x80\xae", b"\xe2\x80\x8b", b"\xe2\x80\xa8", b"\r", b"\n", b"\r\n", b"\r\n\r\n",
    b"\t",
    b"\x0b", b"\x0c", b"\x85", b'"', b"'", b"\\", b"\\u0000", b"\\ud800", b"\\udc00\\ud800", b"{", b"}", b"[", b"]",
    b":",
    b",", b";", b"=", b"=1+1", b"@", b"#", b"%", b"%00", b"%s", b"%n", b"..", b"../../etc/passwd", b"/", b"//[]@",
    b"http://[]@",
    b"http://[::1", b"http://[::ffff:127.1]/", b"http://\xc4\xb0/", b"http://a:99999999999/", b"null", b"true",
    b"false", b"NaN",
    b"Infinity", b"-Infinity", b"-0", b"-1", b"0", b"1e400", b"-1e400", b"1e-400", b"1" * 400, b"9" * 5000,
    b"0." + b"1" * 400,
    b"2147483648", b"4294967296", b"9007199254740993", b"9223372036854775807", b"9223372036854775808",
    b"18446744073709551616",
    b"-9223372036854775809", b"0x10", b"1_000", b"\xd9\xa3", b"\xc2\xb2", b"inf", b"nan", b"{}", b"[]", b'""',
    b"[[[[[[[[",
    b"[" * 1100, b"[" * 20_000, b'{"a":' * 1100, b'{"a":' * 20_000, b"(" * 1100, b"<" * 3000, b"<div>" * 3000,
    b"```json\n",
    b"</script><script>", b"<!--", b"]]>", b"<?xml", b"&#0;", b"&#xD800;", b"&#99999999999;", b"99999999999999999999",
    b"Wed, 21 Oct 99999999999999999999 07:28:00 GMT", b"Wed, 21 Oct 2015 07:28:00 +99999999",
    b"Wed, 21 Oct 2015 07:28:00 -2400",
    b"Wed, 99 Oct 2015 07:28:00 GMT", b"SELECT", b"\xf0\x9f\x98\x80", b"A" * 5000, b"\xc3\xa9" * 3000, b"<<A>>",
    b"<<B>>",
)  # fmt: skip

_NUMBER = re.compile(rb"-?\d+(?:\.\d+)?")
_STRING = re.compile(rb'"(?:[^"\\]|\\.){0,200}"')
_WORD = re.compile(rb"[A-Za-z_-]{2,30}")
_VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 2**31, 2**53 + 1, 2**63 - 1, 2**63, 2**64, -(2**63) - 1, 10**400, 0.5, -0.0, 1e308,
    float("nan"),
    float("inf"), "", " ", "x", "\x00", "\ud800", "\u202e", "é" * 300, "1", "NaN", "=1+1", "../..", "http://[]@", [],
    {}, [[]], [None],
    [""], {"": ""}, [{}], ["a", 1], {"a": {"b": []}},
)  # fmt: skip


def mutated(chance: Random, target: Target, seeds: Sequence[bytes]) -> bytes:
    """One case."""
    data = chance.choice(seeds)
    tokens = TOKENS + target.tokens
    for _ in range(1 + min(int(chance.expovariate(0.7)), 8)):
        if target.mutations and chance.random() < 0.6:
            data = chance.choice(target.mutations)(chance, data)
        else:
            data = chance.choice(_BYTES)(chance, data, tokens, seeds)
        data = data[:LARGEST]
    return data


# Any bytes


def _span(chance: Random, data: bytes, most: int = 64) -> tuple[int, int]:
    start = chance.randrange(len(data) + 1)
    return start, min(len(data), start + int(chance.expovariate(1 / most)))


def _flip(chance: Random, data: bytes, tokens: Sequence[bytes], seeds: Sequence[bytes]) -> bytes:
    changed = bytearray(data)
    for _ in range(1 + int(chance.expovariate(0.5))):
        if changed:
            changed[chance.randrange(len(changed))] ^= 1 << chance.randrange(8)
    return bytes(changed)


def _any_byte(chance: Random, data: bytes, tokens: Sequence[bytes], seeds: Sequence[bytes]) -> bytes:
    start, end = _span(chance, data, 3)
    return data[:start] + chance.randbytes(chance.randrange(1, 5)) + data[end:]


def _cut_off(chance: Random, data: bytes, tokens: Sequence[bytes], seeds: Sequence[bytes]) -> bytes:
    return data[: chance.randrange(len(data) + 1)]


def _cut_out(chance: Random, data: bytes, tokens: Sequence[bytes], seeds: Sequence[bytes]) -> bytes:
    start, end = _span(chance, data)
    return data[:start] + data[end:]


def _put_in(chance: Random, data: bytes, tokens: Sequence[bytes], seeds: Sequence[bytes]) -> bytes:
    start, end = _span(chance, data, 4)
    return data[:start] + chance.choice(tokens) + data[end if chance.random() < 0.5 else start :]


def _repeat(chance: Random, data: bytes, tokens: Sequence[bytes], seeds: Sequence[bytes]) -> bytes:
    start, end = _span(chance, data)
    return data[:start] + data[start:end] * chance.choice((2, 3, 10, 300, 3000)) + data[end:]


def _splice(chance: Random, data: bytes, tokens: Sequence[bytes], seeds: Sequence[bytes]) -> bytes:
    other = chance.choice(seeds)
    return data[: chance.randrange(len(data) + 1)] + other[chance.randrange(len(other) + 1) :]


def _swapped(pattern: re.Pattern[bytes]) -> Callable[[Random, bytes, Sequence[bytes], Sequence[bytes]], bytes]:
    """Exchange one thing of a kind, a number say, for a token or another of its kind."""

    def swap(chance: Random, data: bytes, tokens: Sequence[bytes], seeds: Sequence[bytes]) -> bytes:
        found = [match.span() for match in pattern.finditer(data[:100_000])]
        if not found:
            return data
        (start, end), (other, to) = chance.choice(found), chance.choice(found)
        return data[:start] + (chance.choice(tokens) if chance.random() < 0.7 else data[other:to]) + data[end:]

    return swap


_BYTES = (
    _flip, _any_byte, _cut_off, _cut_out, _put_in, _put_in, _repeat, _splice,
    _swapped(_NUMBER), _swapped(_NUMBER), _swapped(_STRING), _swapped(_WORD),
)  # fmt: skip


# JSON


def json_values(chance: Random, data: bytes) -> bytes:
    """A JSON document, or one line of several, with one of its values exchanged, dropped, doubled or wrapped."""
    lines = data.split(b"\n")
    places = [place for place, line in enumerate(lines) if line.strip()]
    with suppress(ValueError, RecursionError):
        return _written(_exchanged(chance, json.loads(data)))
    if places:
        place = chance.choice(places)
        with suppress(ValueError, RecursionError):
            lines[place] = _written(_exchanged(chance, json.loads(lines[place])))
    return b"\n".join(lines)


def _written(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")


def _exchanged(chance: Random, value: Any) -> Any:
    """The value with a change somewhere inside it, or replaced."""
    inner = list(value) if isinstance(value, dict) else list(range(len(value))) if isinstance(value, list) else []
    if not inner or chance.random() < 0.12:
        return _instead(chance, value)
    at = chance.choice(inner)
    match chance.randrange(12):
        case 0:
            del value[at]
        case 1 if isinstance(value, dict):
            value[chance.choice(("", "\x00", "\ud800", "id", f"{at} ", str(at).upper()))] = value.pop(at)
        case 1:
            value.insert(at, value[at])
        case _:
            value[at] = _exchanged(chance, value[at])
    return value


def _instead(chance: Random, value: Any) -> Any:
    if chance.random() < 0.2:
        return [value] if chance.random() < 0.5 else {"a": value}
    if isinstance(value, str) and chance.random() < 0.5:
        start = chance.randrange(len(value) + 1)
        return value[:start] + chance.choice([one for one in _VALUES if isinstance(one, str)]) + value[start:]
    return chance.choice(_VALUES)


# Compressed data


def inside(*inner: Mutation) -> Mutation:
    """Unpack gzip or zstandard, change the content, pack it again."""

    def change(chance: Random, data: bytes) -> bytes:
        if data.startswith(b"\x1f\x8b"):
            with suppress(OSError, EOFError, zlib.error), gzip.open(BytesIO(data)) as packed:
                return gzip.compress(_again(chance, packed.read(LARGEST), inner), 1)
        if data.startswith(b"\x28\xb5\x2f\xfd"):
            with suppress(zstandard.ZstdError):
                unpacked = zstandard.ZstdDecompressor().stream_reader(data).read(LARGEST)
                return zstandard.ZstdCompressor().compress(_again(chance, unpacked, inner))
        return _again(chance, data, inner)

    return change


@cache
def bomb(head: bytes, letter: bytes, size: int, packed: str = "gzip") -> bytes:
    """Data that unpacks to `head` and `size` bytes of one letter; made in pieces, since memory is bounded here too."""
    packer = zstandard.ZstdCompressor().compressobj() if packed == "zstandard" else zlib.compressobj(9, wbits=31)
    pieces = [packer.compress(head), *(packer.compress(letter * (1 << 20)) for _ in range(size >> 20)), packer.flush()]
    return b"".join(pieces)


def _again(chance: Random, data: bytes, inner: Sequence[Mutation]) -> bytes:
    if inner and chance.random() < 0.5:
        return chance.choice(inner)(chance, data)
    return chance.choice(_BYTES)(chance, data, TOKENS, [data])
