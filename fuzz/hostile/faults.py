"""What can go wrong with one reply. Each fault is given the connection and the good reply, and does something else.

A fault leaves the connection to be closed by returning; those that return True leave it open for the next request.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import socket
import struct
import zlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

__all__ = ["FAULTS", "Talk"]


@dataclass
class Talk:
    """One request under way: what came, what would be answered, and the connection."""

    writer: asyncio.StreamWriter
    reader: asyncio.StreamReader
    good: bytes
    head: bytes
    key: str

    async def say(self, data: bytes) -> None:
        """Write, unless the other side has gone."""
        self.writer.write(data)
        await self.writer.drain()

    def reset(self) -> None:
        """End the connection with RST."""
        sock = self.writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()


Fault = Callable[[Talk], Awaitable[bool | None]]
FAULTS: dict[str, Fault] = {}
"""All of them by name."""


def reply(body: bytes, status: str = "200 OK", *headers: str, length: bool = True) -> bytes:
    """A reply as it should be, or with odd headers."""
    lines = [f"HTTP/1.1 {status}", "Content-Type: application/json", *headers]
    lines += [f"Content-Length: {len(body)}"] if length else []
    return "\r\n".join([*lines, "", ""]).encode("utf-8") + body


def _fault(make: Fault) -> Fault:
    FAULTS[make.__name__] = make
    return make


def _says(name: str, make: Callable[[Talk], bytes], *, stays: bool = False) -> None:
    """A fault that writes these bytes."""

    async def fault(talk: Talk) -> bool:
        await talk.say(make(talk))
        return stays

    FAULTS[name] = fault


# Connections that end, at each stage


@_fault
async def resets_after_reading(talk: Talk) -> None:
    talk.reset()


@_fault
async def closes_after_reading(talk: Talk) -> None:
    pass


@_fault
async def half_closes_and_waits(talk: Talk) -> None:
    if talk.writer.can_write_eof():
        talk.writer.write_eof()
        await asyncio.sleep(0.3)


def _cut(name: str, text: Callable[[Talk], bytes]) -> None:
    _says(f"closes_{name}", text)

    async def resets(talk: Talk) -> None:
        await talk.say(text(talk))
        await asyncio.sleep(0.005)
        talk.reset()

    FAULTS[f"resets_{name}"] = resets


_cut("in_the_status_line", lambda talk: b"HTTP/1.1 2")
_cut("in_the_headers", lambda talk: b"HTTP/1.1 200 OK\r\nContent-Ty")
_cut("after_the_headers", lambda talk: reply(talk.good)[: -len(talk.good)])
_cut("in_the_body", lambda talk: reply(talk.good)[: -len(talk.good) // 2])


@_fault
async def resets_after_the_reply(talk: Talk) -> None:
    await talk.say(reply(talk.good))
    await asyncio.sleep(0.02)
    talk.reset()


@_fault
async def closes_after_the_reply_unsaid(talk: Talk) -> None:
    await talk.say(reply(talk.good))


# Slowness


@_fault
async def drips(talk: Talk) -> bool:
    whole = reply(talk.good)
    step = max(len(whole) // 20, 1)
    for at in range(0, len(whole), step):
        await talk.say(whole[at : at + step])
        await asyncio.sleep(0.005)
    return True


@_fault
async def drips_for_ever(talk: Talk) -> None:
    await talk.say(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
    for _ in range(1000):
        await talk.say(b" ")
        await asyncio.sleep(0.05)


@_fault
async def stalls_before_replying(talk: Talk) -> None:
    await asyncio.sleep(30)


@_fault
async def stalls_in_the_body(talk: Talk) -> None:
    await talk.say(reply(talk.good)[:-5])
    await asyncio.sleep(30)


# Lengths and framing

_says("length_too_short", lambda talk: reply(talk.good, length=False, status="200 OK\r\nContent-Length: 10"), stays=True)
_says("length_too_long", lambda talk: reply(talk.good, "200 OK", f"Content-Length: {len(talk.good) + 50}", length=False))
_says("length_negative", lambda talk: reply(talk.good, "200 OK", "Content-Length: -5", length=False))
_says("length_huge", lambda talk: reply(talk.good, "200 OK", "Content-Length: 99999999999999999999999", length=False))
_says("length_of_a_terabyte", lambda talk: reply(talk.good, "200 OK", "Content-Length: 1099511627776", length=False))
_says("length_no_number", lambda talk: reply(talk.good, "200 OK", "Content-Length: ten", length=False))
_says("two_lengths", lambda talk: reply(talk.good, "200 OK", "Content-Length: 7"))
_says("no_length", lambda talk: reply(talk.good, length=False))


def chunked(*chunks: bytes, end: bytes = b"0\r\n\r\n", more: str = "") -> bytes:
    """A reply in chunks."""
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n{more}\r\n".encode()
    return head + b"".join(b"%x\r\n%b\r\n" % (len(one), one) for one in chunks) + end


_says("chunk_size_wrong", lambda talk: chunked(end=b"zz\r\n" + talk.good + b"\r\n0\r\n\r\n"))
_says("chunk_size_huge", lambda talk: chunked(end=b"ffffffffffffffffff\r\n" + talk.good))
_says("chunk_size_negative", lambda talk: chunked(end=b"-5\r\n" + talk.good + b"\r\n0\r\n\r\n"))
_says("chunks_without_end", lambda talk: chunked(talk.good, end=b""))
_says("chunks_with_trailers", lambda talk: chunked(talk.good, end=b"0\r\nX-Sum: 1\r\nSet-Cookie: a=b\r\n\r\n"), stays=True)
_says("chunks_with_extensions", lambda talk: chunked(end=b'%x;a="b;c"\r\n%b\r\n0;x\r\n\r\n' % (len(talk.good), talk.good)), stays=True)
_says("chunks_of_one_byte", lambda talk: chunked(*(bytes([one]) for one in talk.good)), stays=True)
_says("chunks_and_length", lambda talk: chunked(talk.good, more="Content-Length: 5\r\n"))
_says("chunked_twice", lambda talk: chunked(talk.good, more="Transfer-Encoding: chunked\r\n"))
_says("gzip_as_transfer_encoding", lambda talk: reply(gzip.compress(talk.good), "200 OK", "Transfer-Encoding: gzip", length=False))

# Statuses, each with and without a body

_ERROR = json.dumps({"error": {"message": "no \x1b[31mred\u202e", "type": "x", "code": "y"}}).encode()
_STATUSES = {
    100: "Continue", 101: "Switching Protocols", 103: "Early Hints", 200: "OK", 201: "Created", 203: "Altered", 204: "No Content",
    205: "Reset", 206: "Partial", 301: "Moved", 302: "Found", 304: "Not Modified", 307: "Again", 308: "For Good", 400: "Bad", 401: "Who",
    402: "Pay", 403: "No", 404: "None", 405: "Not So", 408: "Late", 409: "Busy", 413: "Large", 418: "Teapot", 422: "Odd", 425: "Early",
    429: "Many", 451: "Law", 500: "Oops", 501: "Never", 502: "Gateway", 503: "Later", 504: "Gave Up", 520: "Unknown", 529: "Overloaded",
    599: "Last", 600: "More", 999: "Most",
}  # fmt: skip
for _status, _word in _STATUSES.items():
    _more = ("Location: http://127.0.0.1:1/elsewhere",) if 300 <= _status < 400 else ()
    _said = f"{_status} {_word}"
    _says(f"status_{_status}", lambda talk, said=_said, more=_more: reply(_ERROR, said, *more))  # type: ignore[misc]
    _says(f"status_{_status}_empty", lambda talk, said=_said, more=_more: reply(b"", said, *more))  # type: ignore[misc]
_says("continue_first", lambda talk: b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\nLink: </x>\r\n\r\n" + reply(talk.good), stays=True)
_says("continues_without_end", lambda talk: b"HTTP/1.1 100 Continue\r\n\r\n" * 20_000)
_says("status_line_in_utf8", lambda talk: reply(_ERROR, "503 Página não encontrada"))
_says("status_of_one_digit", lambda talk: reply(talk.good, "2 OK"))
_says("status_no_number", lambda talk: reply(talk.good, "abc OK"))
_says("no_reason", lambda talk: reply(talk.good, "200"), stays=True)

# Retry-After

_WAITS = (
    "0", "-5", "0.001", "1e400", "nan", "inf", "soon", "", "9" * 400, "Wed, 21 Oct 99999999999999999999 07:28:00 GMT", "0x1", "1,2",
    "Wed, 21 Oct 2015 07:28:00 +9999999999", "Wed, 21 Oct 2015 07:28:00 GMT", "Wed, 99 Foo 2015 07:28:00 GMT", "\u0663",
)  # fmt: skip
for _number, _wait in enumerate(_WAITS):
    _says(f"retry_after_{_number}", lambda talk, wait=_wait: reply(_ERROR, "429 Many", f"Retry-After: {wait}"), stays=True)  # type: ignore[misc]
_says("retry_after_ms", lambda talk: reply(_ERROR, "503 Later", "retry-after-ms: -1e308", "Retry-After: x", "Retry-After: 0"), stays=True)
_says("retry_after_a_year", lambda talk: reply(_ERROR, "429 Many", "Retry-After: 31536000"), stays=True)

# Headers

_says("headers_of_a_megabyte", lambda talk: reply(talk.good, "200 OK", "X: " + "x" * 2**20))
_says("ten_thousand_headers", lambda talk: reply(talk.good, "200 OK", *(f"X-{n}: {n}" for n in range(10_000))))
_says("header_bytes_invalid", lambda talk: reply(talk.good).replace(b"Content-Type", b"X\x00\xff\x01: \xfe\xff\r\nContent-Type"))
_says("header_without_colon", lambda talk: reply(talk.good, "200 OK", "no colon here"))
_says("header_folded", lambda talk: reply(talk.good, "200 OK", "X: a\r\n folded"))
_says("header_name_empty", lambda talk: reply(talk.good, "200 OK", ": empty"))
_says("lines_end_with_lf", lambda talk: reply(talk.good).replace(b"\r\n", b"\n"), stays=True)
_says("http_0_9", lambda talk: talk.good)
_says("http_1_0", lambda talk: reply(talk.good).replace(b"HTTP/1.1", b"HTTP/1.0"))
_says("http_2_preface", lambda talk: b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00")
_says("http_7", lambda talk: reply(talk.good).replace(b"HTTP/1.1", b"HTTP/7.7"))
_says("upgrade", lambda talk: reply(talk.good, "200 OK", "Connection: upgrade", "Upgrade: websocket"))
_says("status_101_with_its_upgrade", lambda talk: b"HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n" + talk.good)
_says("tls_alert", lambda talk: b"\x15\x03\x01\x00\x02\x02\x28")
_says("ssh", lambda talk: b"SSH-2.0-OpenSSH_9.6\r\n")
_says("zeros", lambda talk: bytes(4096))

# Bodies

_says("html", lambda talk: reply(b"<!DOCTYPE html><html><body>Please log in</body></html>", "200 OK"), stays=True)
_says("empty_body", lambda talk: reply(b""), stays=True)
_says("gzip_unasked", lambda talk: reply(gzip.compress(talk.good), "200 OK", "Content-Encoding: gzip"), stays=True)
_says("deflate_unasked", lambda talk: reply(zlib.compress(talk.good), "200 OK", "Content-Encoding: deflate"), stays=True)
_BOMB = gzip.compress(b" " * (200 * 2**20), 9)
_says("gzip_bomb", lambda talk: reply(_BOMB, "200 OK", "Content-Encoding: gzip"))
_says("gzip_bomb_in_an_error", lambda talk: reply(_BOMB, "500 Oops", "Content-Encoding: gzip"))
_says("gzip_broken", lambda talk: reply(gzip.compress(talk.good)[:-9] + b"xxxx", "200 OK", "Content-Encoding: gzip"), stays=True)
_says("gzip_cut", lambda talk: reply(gzip.compress(talk.good)[:-12], "200 OK", "Content-Encoding: gzip"), stays=True)
_says("gzip_that_is_none", lambda talk: reply(talk.good, "200 OK", "Content-Encoding: gzip"), stays=True)
_says("encoding_unknown", lambda talk: reply(talk.good, "200 OK", "Content-Encoding: br"), stays=True)
_says("encodings_many", lambda talk: reply(talk.good, "200 OK", "Content-Encoding: " + "gzip, " * 50 + "gzip"), stays=True)
_says("utf8_invalid", lambda talk: reply(talk.good.replace(b'"model"', b'"model\xff\xc3"', 1).replace(b"position", b"\xff\xfe")), stays=True)
_says("utf8_invalid_in_the_text", lambda talk: reply(_text_with(talk.good, "\xff").encode("latin-1")), stays=True)
_says("utf8_invalid_in_an_error", lambda talk: reply(b'{"error": {"message": "\xff\xfe\xed\xa0\x80"}}', "500 Oops"), stays=True)
_says("utf16", lambda talk: reply(talk.good.decode().encode("utf-16")), stays=True)
_says("deep", lambda talk: reply(b"[" * 200_000), stays=True)
_says("deep_inside", lambda talk: reply(_with(talk.good, "extra", 0).replace(b'"extra": 0', b'"extra": ' + b"[" * 9000 + b"]" * 9000)), stays=True)
_says("deep_in_an_error", lambda talk: reply(b'{"error":' * 50_000, "500 Oops"), stays=True)
_says("number_huge", lambda talk: reply(_with(talk.good, "created", 0).replace(b'"created": 0', b'"created": ' + b"9" * 5000)), stays=True)
_says("nan", lambda talk: reply(_with(talk.good, "created", float("nan"))), stays=True)
_says("json_cut", lambda talk: reply(talk.good[: len(talk.good) // 2]), stays=True)
_says("json_twice", lambda talk: reply(talk.good + talk.good), stays=True)
_says("json_lines_of_events", lambda talk: reply(b"data: " + talk.good + b"\n\ndata: [DONE]\n\n"), stays=True)
_says("body_of_20_mib", lambda talk: reply(b" " * (20 * 2**20) + talk.good))
_says("body_of_20_mib_in_an_error", lambda talk: reply(b"x" * (20 * 2**20), "500 Oops"))
_says("body_without_end", lambda talk: chunked(*[b" " * 2**20] * 40))


def _text_with(good: bytes, text: str) -> str:
    found = json.loads(good)
    changed = json.dumps(found).replace('"finish_reason": "', f'"finish_reason": "{text}').replace('"stop_reason": "', f'"stop_reason": "{text}')
    return changed


def _with(good: bytes, key: str, value: Any) -> bytes:
    """The reply with one more field."""
    return json.dumps(json.loads(good) | {key: value}).encode()


def _usage(name: str, value: Any, raw: bytes = b"") -> None:
    def make(talk: Talk) -> bytes:
        held = json.loads(talk.good)
        held["usage"] = {key: value for key in held["usage"]} if value is not Ellipsis else {key: 0 for key in held["usage"]}
        body = json.dumps(held).encode()
        return reply(body.replace(b": 0", b": " + raw) if raw else body)

    _says(f"usage_{name}", make, stays=True)


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
    """A reply with something else at one place; where the other wire format has no such place, without usage."""

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

    _says(name, make, stays=True)


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
_says("keys_twice", lambda talk: reply(talk.good[:-1] + b', "choices": [], "content": [], "usage": null}'), stays=True)
_says("a_list", lambda talk: reply(b"[]"), stays=True)
_says("null", lambda talk: reply(b"null"), stays=True)
_says("a_text", lambda talk: reply(b'"hello"'), stays=True)

# Keys told


def _escaped(key: str) -> str:
    return "".join(f"\\u{ord(letter):04x}" for letter in key)


_says("echoes_the_key_in_an_error", lambda talk: reply(json.dumps({"error": {"message": f"bad key {talk.key}"}}).encode(), "500 Oops"), stays=True)
_says("echoes_the_key_escaped", lambda talk: reply(f'{{"error": {{"message": "bad key {_escaped(talk.key)}"}}}}'.encode(), "500 Oops"), stays=True)

# Replies that nobody asked for


@_fault
async def a_second_reply_at_once(talk: Talk) -> bool:
    await talk.say(reply(talk.good) + reply(b'{"choices": [{"message": {"content": "not asked for"}}]}'))
    return True


@_fault
async def a_second_reply_later(talk: Talk) -> bool:
    await talk.say(reply(talk.good))
    await asyncio.sleep(0.002)
    await talk.say(reply(b'{"choices": [{"message": {"content": "not asked for"}}]}'))
    return True


@_fault
async def half_of_a_second_reply(talk: Talk) -> bool:
    await talk.say(reply(talk.good) + b"HTTP/1.1 200 OK\r\nContent-Le")
    return True


@_fault
async def keeps_and_closes_in_silence(talk: Talk) -> None:
    await talk.say(reply(talk.good, "200 OK", "Connection: keep-alive", "Keep-Alive: timeout=600"))
    await asyncio.sleep(0.01)
