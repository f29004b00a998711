"""Faults of connections, of HTTP's framing, of statuses and of headers."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import Callable

from fuzz.hostile import bodies
from fuzz.hostile.talking import ERROR, FAULTS, Talk, chunked, committing, reply, says

__all__ = ["BODIES", "FAULTS"]

BODIES = bodies
"""Those of bodies; they are among `FAULTS`, too."""

# Connections that end, at each stage


@committing
async def resets_after_reading(talk: Talk) -> None:
    talk.reset()


@committing
async def closes_after_reading(talk: Talk) -> None:
    pass


@committing
async def half_closes_and_waits(talk: Talk) -> None:
    if talk.writer.can_write_eof():
        talk.writer.write_eof()
        await asyncio.sleep(0.3)


def _cut(name: str, text: Callable[[Talk], bytes]) -> None:
    says(f"closes_{name}", text)

    async def resets(talk: Talk) -> None:
        await talk.say(text(talk))
        await asyncio.sleep(0.005)
        talk.reset()

    FAULTS[f"resets_{name}"] = resets


_cut("in_the_status_line", lambda talk: b"HTTP/1.1 2")
_cut("in_the_headers", lambda talk: b"HTTP/1.1 200 OK\r\nContent-Ty")
_cut("after_the_headers", lambda talk: reply(talk.good)[: -len(talk.good)])
_cut("in_the_body", lambda talk: reply(talk.good)[: -len(talk.good) // 2])


@committing
async def resets_after_the_reply(talk: Talk) -> None:
    await talk.say(reply(talk.good))
    await asyncio.sleep(0.02)
    talk.reset()


@committing
async def closes_after_the_reply_unsaid(talk: Talk) -> None:
    await talk.say(reply(talk.good))


# Slowness


@committing
async def drips(talk: Talk) -> bool:
    whole = reply(talk.good)
    step = max(len(whole) // 20, 1)
    for at in range(0, len(whole), step):
        await talk.say(whole[at : at + step])
        await asyncio.sleep(0.005)
    return True


@committing
async def drips_for_ever(talk: Talk) -> None:
    await talk.say(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
    for _ in range(1000):
        await talk.say(b" ")
        await asyncio.sleep(0.05)


@committing
async def stalls_before_replying(talk: Talk) -> None:
    await asyncio.sleep(30)


@committing
async def stalls_in_the_body(talk: Talk) -> None:
    await talk.say(reply(talk.good)[:-5])
    await asyncio.sleep(30)


# Lengths and framing

says("length_too_short", lambda talk: reply(talk.good, length=False, status="200 OK\r\nContent-Length: 10"), stays=True)
says("length_too_long", lambda talk: reply(talk.good, "200 OK", f"Content-Length: {len(talk.good) + 50}", length=False))
says("length_negative", lambda talk: reply(talk.good, "200 OK", "Content-Length: -5", length=False))
says("length_huge", lambda talk: reply(talk.good, "200 OK", "Content-Length: 99999999999999999999999", length=False))
says("length_of_a_terabyte", lambda talk: reply(talk.good, "200 OK", "Content-Length: 1099511627776", length=False))
says("length_no_number", lambda talk: reply(talk.good, "200 OK", "Content-Length: ten", length=False))
says("two_lengths", lambda talk: reply(talk.good, "200 OK", "Content-Length: 7"))
says("no_length", lambda talk: reply(talk.good, length=False))


says("chunk_size_wrong", lambda talk: chunked(end=b"zz\r\n" + talk.good + b"\r\n0\r\n\r\n"))
says("chunk_size_huge", lambda talk: chunked(end=b"ffffffffffffffffff\r\n" + talk.good))
says("chunk_size_negative", lambda talk: chunked(end=b"-5\r\n" + talk.good + b"\r\n0\r\n\r\n"))
says("chunks_without_end", lambda talk: chunked(talk.good, end=b""))
says(
    "chunks_with_trailers", lambda talk: chunked(talk.good, end=b"0\r\nX-Sum: 1\r\nSet-Cookie: a=b\r\n\r\n"), stays=True
)
says(
    "chunks_with_extensions",
    lambda talk: chunked(end=b'%x;a="b;c"\r\n%b\r\n0;x\r\n\r\n' % (len(talk.good), talk.good)),
    stays=True,
)
says("chunks_of_one_byte", lambda talk: chunked(*(bytes([one]) for one in talk.good)), stays=True)
says("chunks_and_length", lambda talk: chunked(talk.good, more="Content-Length: 5\r\n"))
says("chunked_twice", lambda talk: chunked(talk.good, more="Transfer-Encoding: chunked\r\n"))
says(
    "gzip_as_transfer_encoding",
    lambda talk: reply(gzip.compress(talk.good), "200 OK", "Transfer-Encoding: gzip", length=False),
)

# Statuses, each with and without a body

_STATUSES = {
    100: "Continue", 101: "Switching Protocols", 103: "Early Hints", 200: "OK", 201: "Created", 203: "Altered",
    204: "No Content",
    205: "Reset", 206: "Partial", 301: "Moved", 302: "Found", 304: "Not Modified", 307: "Again", 308: "For Good",
    400: "Bad", 401: "Who",
    402: "Pay", 403: "No", 404: "None", 405: "Not So", 408: "Late", 409: "Busy", 413: "Large", 418: "Teapot",
    422: "Odd", 425: "Early",
    429: "Many", 451: "Law", 500: "Oops", 501: "Never", 502: "Gateway", 503: "Later", 504: "Gave Up", 520: "Unknown",
    529: "Overloaded",
    599: "Last", 600: "More", 999: "Most",
}  # fmt: skip


def _answered(status: str, body: bytes, more: tuple[str, ...]) -> Callable[[Talk], bytes]:
    return lambda talk: reply(body, status, *more)


for _status, _word in _STATUSES.items():
    _more = ("Location: http://127.0.0.1:1/elsewhere",) if 300 <= _status < 400 else ()
    says(f"status_{_status}", _answered(f"{_status} {_word}", ERROR, _more))
    says(f"status_{_status}_empty", _answered(f"{_status} {_word}", b"", _more))
says(
    "continue_first",
    lambda talk: b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\nLink: </x>\r\n\r\n" + reply(talk.good),
    stays=True,
)
says("continues_without_end", lambda talk: b"HTTP/1.1 100 Continue\r\n\r\n" * 20_000)
says("status_line_in_utf8", lambda talk: reply(ERROR, "503 Página não encontrada"))
says("status_of_one_digit", lambda talk: reply(talk.good, "2 OK"))
says("status_no_number", lambda talk: reply(talk.good, "abc OK"))
says("no_reason", lambda talk: reply(talk.good, "200"), stays=True)

# Retry-After

_WAITS = (
    "0", "-5", "0.001", "1e400", "nan", "inf", "soon", "", "9" * 400, "Wed, 21 Oct 99999999999999999999 07:28:00 GMT",
    "0x1", "1,2",
    "Wed, 21 Oct 2015 07:28:00 +9999999999", "Wed, 21 Oct 2015 07:28:00 GMT", "Wed, 99 Foo 2015 07:28:00 GMT", "\u0663",
)  # fmt: skip


def _limited(wait: str) -> Callable[[Talk], bytes]:
    return lambda talk: reply(ERROR, "429 Many", f"Retry-After: {wait}")


for _number, _wait in enumerate(_WAITS):
    says(f"retry_after_{_number}", _limited(_wait), stays=True)
says(
    "retry_after_ms",
    lambda talk: reply(ERROR, "503 Later", "retry-after-ms: -1e308", "Retry-After: x", "Retry-After: 0"),
    stays=True,
)
says("retry_after_a_year", lambda talk: reply(ERROR, "429 Many", "Retry-After: 31536000"), stays=True)

# Headers

says("headers_of_a_megabyte", lambda talk: reply(talk.good, "200 OK", "X: " + "x" * 2**20))
says("ten_thousand_headers", lambda talk: reply(talk.good, "200 OK", *(f"X-{n}: {n}" for n in range(10_000))))
says(
    "header_bytes_invalid",
    lambda talk: reply(talk.good).replace(b"Content-Type", b"X\x00\xff\x01: \xfe\xff\r\nContent-Type"),
)
says("header_without_colon", lambda talk: reply(talk.good, "200 OK", "no colon here"))
says("header_folded", lambda talk: reply(talk.good, "200 OK", "X: a\r\n folded"))
says("header_name_empty", lambda talk: reply(talk.good, "200 OK", ": empty"))
says("lines_end_with_lf", lambda talk: reply(talk.good).replace(b"\r\n", b"\n"), stays=True)
says("http_0_9", lambda talk: talk.good)
says("http_1_0", lambda talk: reply(talk.good).replace(b"HTTP/1.1", b"HTTP/1.0"))
says("http_2_preface", lambda talk: b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00")
says("http_7", lambda talk: reply(talk.good).replace(b"HTTP/1.1", b"HTTP/7.7"))
says("upgrade", lambda talk: reply(talk.good, "200 OK", "Connection: upgrade", "Upgrade: websocket"))
says(
    "status_101_with_its_upgrade",
    lambda talk: b"HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n" + talk.good,
)
says("tls_alert", lambda talk: b"\x15\x03\x01\x00\x02\x02\x28")
says("ssh", lambda talk: b"SSH-2.0-OpenSSH_9.6\r\n")
says("zeros", lambda talk: bytes(4096))
