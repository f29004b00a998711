"""Replies of endpoints: bodies of every wire format, refusals with their headers, and raw HTTP without a socket."""

from __future__ import annotations

import asyncio
import gzip
import json
import os
import zlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import cache
from typing import Any, cast
from unittest.mock import patch

import msgspec

from fuzz.mutating import json_values
from fuzz.room import ended
from fuzz.trying import Target
from overton.calls import Answerer, BatchStatus, Form, Reply, Request, Settings, user
from overton.errors import AnswerError
from overton.models import Model, http_client, open_model
from overton.models.http_connection import HttpConnection
from overton.models.inspect import reply_of
from overton.untrusted import retry_after

__all__ = ["TARGETS"]

KEY = "sk-fuzz-0123456789abcdefghij"
_said = b""


class _Line(asyncio.Transport):
    """A connection that says `_said` once a request is written, in pieces, and closes."""

    def __init__(self, protocol: asyncio.Protocol) -> None:
        super().__init__()
        self._loop = asyncio.get_running_loop()
        self._protocol = protocol
        self._open = True

    def write(self, data: Any) -> None:
        self._loop.call_soon(self._speak)

    def close(self) -> None:
        self._end(None)

    def abort(self) -> None:
        self._end(None)

    def is_closing(self) -> bool:
        return not self._open

    def _speak(self) -> None:
        """As a loop does it: a protocol's exception is reported, and the connection lost."""
        try:
            for start in range(0, len(_said), 1 << 16):
                if not self._open:
                    return
                self._protocol.data_received(_said[start : start + (1 << 16)])
            self._protocol.eof_received()
        except Exception as error:  # noqa: BLE001 - a loop would write it to the terminal
            self._loop.call_exception_handler({"message": "data_received raised", "exception": error})
            self._end(error)
            return
        self._end(None)

    def _end(self, error: Exception | None) -> None:
        if self._open:
            self._open = False
            self._loop.call_soon(self._protocol.connection_lost, error)


async def _connected(url: Any, proxy: Any, peer: str = "") -> Any:
    wire = HttpConnection()
    wire.connection_made(_Line(wire))
    return wire


@cache
def _opened(name: str) -> Model:
    keys = {"OPENAI_API_KEY": KEY, "ANTHROPIC_API_KEY": KEY}
    arguments = [("base_url", "http://fuzz.invalid/v1"), ("timeout", "50")]
    with patch.dict(os.environ, keys), patch.object(http_client, "getproxies", dict):
        return open_model(name, arguments + ([("hold", "true")] if name.startswith("openai") else []))


def _model(name: str) -> Answerer:
    return _opened(name).answerer


_REQUESTS = {
    "openai/m": Request((user("A or B?"),), Settings(max_tokens=9)),
    "openai/held": Request((user("A or B?"),), Settings(max_tokens=9), Form(choices=("A", "B"))),
    "anthropic/claude-haiku-4-5": Request((user("A or B?"),), Settings(max_tokens=9)),
}


def _say(said: bytes) -> None:
    global _said  # noqa: PLW0603 - what the connection sends; one case is tried at a time
    _said = said


def _asked(name: str, said: bytes) -> None:
    _say(said)
    model = _model(name)
    with patch.object(http_client, "connect", _connected):
        try:
            kept(ended(model.answer(_REQUESTS[name])))
        finally:
            ended(model.close())


def kept(reply: Reply) -> None:
    """Whether the journal gives the reply back, and its numbers fit in a table and on a bill.

    Raises:
        AssertionError: not so.
    """
    assert msgspec.json.decode(msgspec.json.encode(reply), type=Reply) == reply, "changed by the journal"
    for count in (reply.usage.input_tokens, reply.usage.output_tokens):
        assert count is None or 0 <= count < 2**63, f"usage of {count!r}"


def _http(body: bytes, status: str = "200 OK", *headers: str) -> bytes:
    head = [f"HTTP/1.1 {status}", "Content-Type: application/json", *headers, f"Content-Length: {len(body)}", "", ""]
    return "\r\n".join(head).encode("latin-1") + body


def _chat(text: Any = "position <<A>>", **more: Any) -> bytes:
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
    usage = {"prompt_tokens": 11, "completion_tokens": 3, "total_tokens": 14}
    return json.dumps({"id": "x", "model": "m-2026", "choices": [choice], "usage": usage, **more}).encode()


def _message(**more: Any) -> bytes:
    content = [{"type": "text", "text": "position <<A>>"}, {"type": "thinking", "thinking": "so"}]
    usage = {"input_tokens": 9, "output_tokens": 4, "cache_read_input_tokens": 2, "cache_creation_input_tokens": 1}
    return json.dumps({"content": content, "stop_reason": "end_turn", "model": "c", "usage": usage, **more}).encode()


def _chats() -> list[bytes]:
    parts = [{"type": "text", "text": "A"}, {"type": "text", "text": "B"}]
    return [
        _chat(), _chat('{"answer": "A"}'), _chat(parts), _chat(None), _chat(choices=[]), _chat(error={"code": 429}),
        _chat(choices=[{"message": {"refusal": "no"}, "finish_reason": "content_filter"}]),
    ]  # fmt: skip


def _messages() -> list[bytes]:
    return [_message(), _message(content=[]), _message(stop_reason="refusal"), _message(usage=None)]


_ERRORS: tuple[Any, ...] = (
    {"error": {"message": "too many", "type": "rate_limit", "code": "rate_limit_exceeded"}},
    {"error": "no such model"},
    {"detail": [{"loc": ["body"], "msg": "field required"}]},
    [{"error": {"code": 503, "status": "UNAVAILABLE", "details": [{"retryDelay": "3.5s"}]}}],
    {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}},
    f"the key {KEY} is wrong",
    "<html><body>Bad gateway</body></html>",
)
_HEADERS = (
    "Retry-After: 3", "Retry-After: Wed, 21 Oct 2026 07:28:00 GMT", "retry-after-ms: 120", "Retry-After: -1",
    "Retry-After: Wed, 21 Oct 2026 07:28:00 +0200", "X-RateLimit-Reset: 1419704", "Connection: close",
)  # fmt: skip
_STATUSES = (
    "429 Too Many", "503 Unavailable", "400 Bad", "401 No", "404 Gone", "500 Oops", "529 Busy", "302 Found", "204 None",
)  # fmt: skip


def _refusals() -> list[bytes]:
    """Without a length, so that a change leaves a reply that can be read: the connection's end is its end."""
    return [
        f"HTTP/1.1 {status}\r\n{header}\r\n\r\n".encode() + json.dumps(error).encode()
        for number, status in enumerate(_STATUSES)
        for header in _HEADERS[number % 3 :: 3]
        for error in _ERRORS[number % 3 :: 3]
    ]


def _replies(body: bytes) -> list[bytes]:
    packed = gzip.compress(body)
    chunks = b"%x\r\n%b\r\n" % (len(body), body)
    head = b"HTTP/1.1 200 OK\r\n"
    return [
        _http(body),
        _http(packed, "200 OK", "Content-Encoding: gzip"),
        _http(zlib.compress(body), "200 OK", "Content-Encoding: deflate"),
        head + b"Transfer-Encoding: chunked\r\n\r\n" + chunks + b"0\r\n\r\n",
        head + b"Transfer-Encoding: chunked\r\n\r\n" + chunks + b"0;ext=1\r\nX-Trailer: 1\r\n\r\n",
        head + b"\r\n" + body,
        b"HTTP/1.1 100 Continue\r\n\r\n" + _http(body),
        b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" + _http(body),
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n" + body,
        _http(body) + _http(body),
        _http(b"", "204 No Content"),
        b"HTTP/1.0 200 OK\r\n\r\n" + body,
        *_refusals()[:6],
    ]


_WIRE_TOKENS = (
    b"HTTP/1.1 ", b"HTTP/2.0 200", b"HTTP/0.9", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"Content-Length: ",
    b"Content-Length: -1\r\n",
    b"Content-Length: 99999999999999999999\r\n", b"Content-Length: 5\r\nContent-Length: 6\r\n",
    b"Transfer-Encoding: chunked\r\n",
    b"Transfer-Encoding: gzip, chunked\r\n", b"Content-Encoding: gzip\r\n", b"Content-Encoding: br\r\n",
    b"Connection: upgrade\r\n",
    b"Upgrade: websocket\r\n", b"0\r\n\r\n", b"ffffffffffffffff\r\n", b"-1\r\n", b": x\r\n", b"X: \xff\x00\r\n",
    b" folded\r\n",
    b"Set-Cookie: a=b\r\n", b"Location: //[]@\r\n", b"Trailer: X\r\n", b"999 ", b"000 ", b"1000 ", b"2 ",
    b"101 Switching Protocols",
    b"Retry-After: ", b"304 Not Modified",
)  # fmt: skip


def _output(data: bytes) -> None:
    """A reply as one of Inspect's providers gives it."""
    from inspect_ai.model import ModelOutput

    try:
        output = ModelOutput.model_validate_json(data)
    except ValueError:
        return  # Inspect's own refusal
    kept(reply_of(output))


def _outputs() -> list[bytes]:
    from inspect_ai.model import ModelOutput, ModelUsage

    plain = ModelOutput.from_content("m", "position <<A>>")
    plain.usage = ModelUsage(input_tokens=3, output_tokens=4, total_tokens=7, input_tokens_cache_read=1)
    refused = ModelOutput.from_content("m", "no", stop_reason="content_filter")
    return [cast(str, one.model_dump_json()).encode() for one in (plain, refused, ModelOutput(model="m"))]


_NOW = datetime(2026, 10, 21, tzinfo=UTC)


def _waited(data: bytes) -> None:
    """The two headers, which come over the wire as Latin-1 text."""
    text = data.decode("latin-1")
    seconds = [retry_after({name: text}, _NOW) for name in ("retry-after", "retry-after-ms")]
    assert all(one is None or one >= 0 for one in seconds), f"a wait of {seconds}"


def _body_of(name: str) -> Callable[[bytes], None]:
    return lambda data: _asked(name, _http(data))


# Batches


def _batch_of(name: str) -> Callable[[bytes], None]:
    """A provider's reply about a batch, as its progress and as its results."""

    def read(data: bytes) -> None:
        batching = _opened(name).batching
        assert batching is not None
        _say(_http(data))
        looked = None
        with patch.object(http_client, "connect", _connected):
            try:
                with suppress(AnswerError):
                    looked = ended(batching.look("batch_1"))
                found = ended(batching.results(looked or BatchStatus(over=True, files=("file-1",)), 3))
            finally:
                ended(_model(name).close())
        for body in found.values():
            if isinstance(body, bytes):
                with suppress(AnswerError):
                    kept(batching.read(_REQUESTS[name], body))

    return read


def _batches(progress: Sequence[Any], lines: Sequence[Any]) -> list[bytes]:
    results = [json.dumps(line).encode() for line in lines]
    return [*(json.dumps(one).encode() for one in progress), b"\n".join(results), b"\r\n\r\n".join(results[::-1])]


def _openai_batches() -> list[bytes]:
    counts = {"total": 3, "completed": 1, "failed": 1}
    batch = {"id": "batch_1", "created_at": 1, "metadata": {"overton": "x"}, "request_counts": counts}
    progress = [
        batch | {"status": "completed", "output_file_id": "file-1", "error_file_id": "file-2"},
        batch | {"status": "failed", "errors": {"data": [{"code": "token_limit_exceeded", "message": "full"}]}},
        batch | {"status": "expired"},
    ]
    body = json.loads(_chat())
    lines = [
        {"custom_id": "a-0", "response": {"status_code": 200, "body": body}, "error": None},
        {"custom_id": "a-1", "response": {"status_code": 400, "body": {}}, "error": None},
        {"custom_id": "a-2", "response": None, "error": {"code": "batch_expired", "message": "late"}},
    ]
    return _batches(progress, lines)


def _anthropic_batches() -> list[bytes]:
    counts = {"processing": 1, "succeeded": 1, "errored": 0, "canceled": 0, "expired": 1}
    progress = [
        {
            "id": "msgbatch_1",
            "processing_status": status,
            "request_counts": counts,
            "created_at": "2026-10-21T07:28:00Z",
        }
        for status in ("in_progress", "canceling", "ended")
    ]
    error = {"type": "error", "error": {"type": "invalid_request_error", "message": "no"}}
    lines = [
        {"custom_id": "a-0", "result": {"type": "succeeded", "message": json.loads(_message())}},
        {"custom_id": "a-1", "result": {"type": "errored", "error": error}},
        {"custom_id": "a-2", "result": {"type": "expired"}},
    ]
    return _batches(progress, lines)


def _raw_of(name: str) -> Callable[[bytes], None]:
    return lambda data: _asked(name, data)


_CLAUDE = "anthropic/claude-haiku-4-5"
_FORMAT_TOKENS = (
    b'"usage":{"prompt_tokens":-1}',
    b'"choices":[],',
    b'"choices":null,',
    b'"error":"x",',
    b'"content":null,',
)
TARGETS = {
    target.name: target
    for target in (
        Target("openai-body", _body_of("openai/m"), _chats, mutations=(json_values,), tokens=_FORMAT_TOKENS),
        Target("anthropic-body", _body_of(_CLAUDE), _messages, mutations=(json_values,), tokens=_FORMAT_TOKENS),
        Target("held-choice", _body_of("openai/held"), _chats, mutations=(json_values,)),
        Target("openai-http", _raw_of("openai/m"), lambda: _replies(_chat()), tokens=_WIRE_TOKENS),
        Target("anthropic-http", _raw_of(_CLAUDE), lambda: _replies(_message()), tokens=_WIRE_TOKENS),
        Target("openai-refusal", _raw_of("openai/m"), _refusals, tokens=_WIRE_TOKENS),
        Target("anthropic-refusal", _raw_of(_CLAUDE), _refusals, tokens=_WIRE_TOKENS),
        Target("openai-batch", _batch_of("openai/m"), _openai_batches, mutations=(json_values,)),
        Target("anthropic-batch", _batch_of(_CLAUDE), _anthropic_batches, mutations=(json_values,)),
        Target("inspect-output", _output, _outputs, mutations=(json_values,)),
        Target("retry-after", _waited, lambda: [one.partition(": ")[2].encode() for one in _HEADERS[:5]]),
    )
}
