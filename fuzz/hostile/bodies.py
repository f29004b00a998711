"""Faults of a reply's body and content, and unrequested replies."""

from __future__ import annotations

import asyncio
import gzip
import json
import zlib
from typing import Any

from fuzz.hostile.talking import Talk, chunked, committing, reply, says

__all__: list[str] = []

says("html", lambda talk: reply(b"<!DOCTYPE html><html><body>Please log in</body></html>", "200 OK"), stays=True)
says("empty_body", lambda talk: reply(b""), stays=True)
says("gzip_unasked", lambda talk: reply(gzip.compress(talk.good), "200 OK", "Content-Encoding: gzip"), stays=True)
says("deflate_unasked", lambda talk: reply(zlib.compress(talk.good), "200 OK", "Content-Encoding: deflate"), stays=True)
_BOMB = gzip.compress(b" " * (200 * 2**20), 9)
says("gzip_bomb", lambda talk: reply(_BOMB, "200 OK", "Content-Encoding: gzip"))
says("gzip_bomb_in_an_error", lambda talk: reply(_BOMB, "500 Oops", "Content-Encoding: gzip"))
says(
    "gzip_broken",
    lambda talk: reply(gzip.compress(talk.good)[:-9] + b"xxxx", "200 OK", "Content-Encoding: gzip"),
    stays=True,
)
says("gzip_cut", lambda talk: reply(gzip.compress(talk.good)[:-12], "200 OK", "Content-Encoding: gzip"), stays=True)
says("gzip_that_is_none", lambda talk: reply(talk.good, "200 OK", "Content-Encoding: gzip"), stays=True)
says("encoding_unknown", lambda talk: reply(talk.good, "200 OK", "Content-Encoding: br"), stays=True)
says(
    "encodings_many", lambda talk: reply(talk.good, "200 OK", "Content-Encoding: " + "gzip, " * 50 + "gzip"), stays=True
)
says(
    "utf8_invalid",
    lambda talk: reply(talk.good.replace(b'"model"', b'"model\xff\xc3"', 1).replace(b"position", b"\xff\xfe")),
    stays=True,
)
says("utf8_invalid_in_the_text", lambda talk: reply(_text_with(talk.good, "\xff").encode("latin-1")), stays=True)
says(
    "utf8_invalid_in_an_error",
    lambda talk: reply(b'{"error": {"message": "\xff\xfe\xed\xa0\x80"}}', "500 Oops"),
    stays=True,
)
says("utf16", lambda talk: reply(talk.good.decode().encode("utf-16")), stays=True)
says("deep", lambda talk: reply(b"[" * 200_000), stays=True)
says(
    "deep_inside",
    lambda talk: reply(_with(talk.good, "extra", 0).replace(b'"extra": 0', b'"extra": ' + b"[" * 9000 + b"]" * 9000)),
    stays=True,
)
says("deep_in_an_error", lambda talk: reply(b'{"error":' * 50_000, "500 Oops"), stays=True)
says(
    "number_huge",
    lambda talk: reply(_with(talk.good, "created", 0).replace(b'"created": 0', b'"created": ' + b"9" * 5000)),
    stays=True,
)
says("nan", lambda talk: reply(_with(talk.good, "created", float("nan"))), stays=True)
says("json_cut", lambda talk: reply(talk.good[: len(talk.good) // 2]), stays=True)
says("json_twice", lambda talk: reply(talk.good + talk.good), stays=True)
says("json_lines_of_events", lambda talk: reply(b"data: " + talk.good + b"\n\ndata: [DONE]\n\n"), stays=True)
says("body_of_20_mib", lambda talk: reply(b" " * (20 * 2**20) + talk.good))
says("body_of_20_mib_in_an_error", lambda talk: reply(b"x" * (20 * 2**20), "500 Oops"))
says("body_without_end", lambda talk: chunked(*[b" " * 2**20] * 40))


def _text_with(good: bytes, text: str) -> str:
    found = json.loads(good)
    return (
        json.dumps(found)
        .replace('"finish_reason": "', f'"finish_reason": "{text}')
        .replace('"stop_reason": "', f'"stop_reason": "{text}')
    )


def _with(good: bytes, key: str, value: Any) -> bytes:
    """The reply with one more field."""
    return json.dumps(json.loads(good) | {key: value}).encode()


def _usage(name: str, value: Any, raw: bytes = b"") -> None:
    def make(talk: Talk) -> bytes:
        held = json.loads(talk.good)
        held["usage"] = (
            dict.fromkeys(held["usage"], value) if value is not Ellipsis else dict.fromkeys(held["usage"], 0)
        )
        body = json.dumps(held).encode()
        return reply(body.replace(b": 0", b": " + raw) if raw else body)

    says(f"usage_{name}", make, stays=True)


_usage("negative", -5)
_usage("of_2_to_the_63", 2**63)
_usage("of_2_to_the_64", 2**64)
_usage("of_400_digits", ..., b"9" * 400)
_usage("a_fraction", 1.5)
_usage("a_text", "three")
_usage("true", True)
_usage("a_list", [1])
_usage("in_exponents", ..., b"1e2")
_usage("minus_2_to_the_63", -(2**63) - 1)


def _replaced(name: str, value: Any, *path: Any) -> None:
    """A reply with something else in one place; if the other wire format has no such place, without usage."""

    def make(talk: Talk) -> bytes:
        held = json.loads(talk.good)
        at: Any = held
        try:
            for step in path[:-1]:
                at = at[step]
            at[path[-1]] = value
        except (KeyError, IndexError, TypeError):
            held = value
        return reply(json.dumps(held).encode())

    says(name, make, stays=True)


_replaced("choices_empty", [], "choices")
_replaced("choices_null", None, "choices")
_replaced("choices_an_object", {"0": {}}, "choices")
_replaced("choice_null", None, "choices", 0)
_replaced("message_null", None, "choices", 0, "message")
_replaced("message_a_text", "hello", "choices", 0, "message")
_replaced("content_a_number", 5, "choices", 0, "message", "content")
_replaced("content_of_odd_parts", [1, None, {"x": 1}], "choices", 0, "message", "content")
_replaced("finish_a_list", [], "choices", 0, "finish_reason")
_replaced("model_an_object", {}, "model")
_replaced("error_beside", {"code": 5000, "message": [1]}, "error")
_replaced("error_in_the_choice", {"code": "x"}, "choices", 0, "error")
says("keys_twice", lambda talk: reply(talk.good[:-1] + b', "choices": [], "content": [], "usage": null}'), stays=True)
says("a_list", lambda talk: reply(b"[]"), stays=True)
says("null", lambda talk: reply(b"null"), stays=True)
says("a_text", lambda talk: reply(b'"hello"'), stays=True)

# Keys echoed


def _escaped(key: str) -> str:
    return "".join(f"\\u{ord(letter):04x}" for letter in key)


says(
    "echoes_the_key_in_an_error",
    lambda talk: reply(json.dumps({"error": {"message": f"bad key {talk.key}"}}).encode(), "500 Oops"),
    stays=True,
)
says(
    "echoes_the_key_escaped",
    lambda talk: reply(f'{{"error": {{"message": "bad key {_escaped(talk.key)}"}}}}'.encode(), "500 Oops"),
    stays=True,
)

# Unrequested replies


@committing
async def a_second_reply_at_once(talk: Talk) -> bool:
    await talk.say(reply(talk.good) + reply(b'{"choices": [{"message": {"content": "not asked for"}}]}'))
    return True


@committing
async def a_second_reply_later(talk: Talk) -> bool:
    await talk.say(reply(talk.good))
    await asyncio.sleep(0.002)
    await talk.say(reply(b'{"choices": [{"message": {"content": "not asked for"}}]}'))
    return True


@committing
async def half_of_a_second_reply(talk: Talk) -> bool:
    await talk.say(reply(talk.good) + b"HTTP/1.1 200 OK\r\nContent-Le")
    return True


@committing
async def keeps_and_closes_in_silence(talk: Talk) -> None:
    await talk.say(reply(talk.good, "200 OK", "Connection: keep-alive", "Keep-Alive: timeout=600"))
    await asyncio.sleep(0.01)
