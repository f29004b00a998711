"""Anthropic's Messages API, and its batches.

One request makes a batch of calls (`POST /messages/batches`). The batch is then polled (`GET /messages/batches/ID`),
and its results are read (`GET /messages/batches/ID/results`). A batch has no name, so Overton recognises it in the list
of batches by the ids of its calls. Limits as of 2026: 100,000 calls or 256 MB per batch, done within 24 hours, results
kept for 29 days (platform.claude.com/docs/en/build-with-claude/batch-processing).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec

from overton.calls import BatchStatus, Message, Reply, Request, Settings, Tokens, Usage
from overton.errors import AnswerError
from overton.models.arguments import settings_checked
from overton.models.batch_api import (
    MOST_PAGES,
    decode_result,
    expired,
    failed,
    garbled,
    keep_result,
    lines_of,
    most_result_bytes,
    safe_id,
)
from overton.models.endpoint import without_key
from overton.models.http_client import ApiClient, HttpClient, decode_body, encoded
from overton.models.http_errors import ErrorContext

HEADERS = {"anthropic-version": "2023-06-01"}

_ANSWER_TOKENS = 1024
_THINKING_TOKENS = {"none": 0, "minimal": 4096, "low": 4096, "medium": 10_000, "high": 16_000}
_LEAST_THINKING_TOKENS = 1024
_MOST_THINKING_TOKENS = 32_000
_BUDGETED_MODELS = re.compile(r"claude-(3-7-sonnet|(opus|sonnet|haiku)-4(-[015])?)(-20\d{6}|-latest)?$")
_encode = msgspec.json.Encoder().encode


class _Block(msgspec.Struct, gc=False):
    type: str
    text: str | None = None


class _Usage(msgspec.Struct, gc=False):
    input_tokens: Tokens | None = None
    output_tokens: Tokens | None = None
    cache_creation_input_tokens: Tokens | None = None
    cache_read_input_tokens: Tokens | None = None


class _MessageBody(msgspec.Struct, gc=False):
    content: list[_Block]
    stop_reason: str | None = None
    model: str | None = None


class _Answer(_MessageBody, gc=False):
    usage: _Usage | None = None


_decode = msgspec.json.Decoder(_Answer, strict=False).decode
_decode_without_usage = msgspec.json.Decoder(_MessageBody, strict=False).decode


_MIN_CACHED_BYTES = 4096
"""The minimum size in bytes of a conversation that is marked for the cache. No model caches fewer than 1,024 tokens."""
_CACHE_MARK = {"type": "ephemeral"}


def _is_cacheable_turn(messages: Sequence[Message]) -> bool:
    """Whether a request is a later turn of a conversation that is long enough to cache. Another turn may then
    follow."""
    if messages[-1].role != "user" or not any(message.role == "assistant" for message in messages):
        return False
    return sum(len(message.content) for message in messages) >= _MIN_CACHED_BYTES


def _mark_for_cache(message: Message) -> dict[str, Any]:
    """The message with a cache mark at its end. The mark changes no answer, so it is not part of a call's identity."""
    return {"role": message.role, "content": [{"type": "text", "text": message.content, "cache_control": _CACHE_MARK}]}


def _default_max_tokens(effort: str | None) -> int:
    """The default limit on output tokens, because this API requires a limit: 1,024 tokens, and more for reasoning."""
    return _ANSWER_TOKENS + (0 if effort is None else _THINKING_TOKENS.get(effort, _MOST_THINKING_TOKENS))


def _thinking_fields(model: str, effort: str, max_tokens: int) -> dict[str, Any]:
    """The fields for a reasoning effort. Models up to Claude 4.5 take a token budget, later ones a word."""
    if effort == "none":
        return {"thinking": {"type": "disabled"}}
    if _BUDGETED_MODELS.match(model):
        room = max(max_tokens - _ANSWER_TOKENS, _LEAST_THINKING_TOKENS)  # reasoning tokens count as output
        budget = min(_THINKING_TOKENS.get(effort, _MOST_THINKING_TOKENS), room)
        return {"thinking": {"type": "enabled", "budget_tokens": budget}}
    return {"thinking": {"type": "adaptive"}, "output_config": {"effort": effort}}


class AnthropicModel:
    """A model behind the Messages API, which accepts no seed and offers no constrained decoding.

    All system messages, wherever they occur, become the single system prompt of the request. With `cache`, the end of a
    conversation in progress is marked, so that the next turn reads the messages before the mark from the provider's
    cache. Prompts that are never repeated are not marked, because writing to the cache costs a quarter more.
    """

    holds_form = False

    def __init__(self, transport: HttpClient, *, name: str, identity: str, model: str, cache: bool = True) -> None:
        self.name = name
        self.identity = identity
        self._transport = transport
        self._model = model
        self._cache = cache
        self._settings: Settings | None = None
        self._head = b""

    def __repr__(self) -> str:
        return f"AnthropicModel({self.name!r})"

    async def answer(self, request: Request) -> Reply:
        """Answer once; raises as `overton.calls.Answerer` says."""
        return self.read(request, *await self._transport.post(self.body(request)))

    def read(self, _: Request, body: bytes, target: ErrorContext) -> Reply:
        """The reply in a response body; raises as `answer` does."""
        return _read_reply(body, target)

    async def close(self) -> None:
        """Close all connections."""
        await self._transport.close()

    def body(self, request: Request, *, marked: bool = True) -> bytes:
        """The body of a request. With `marked`, a conversation may be marked for the cache."""
        if request.settings is not self._settings:  # nearly always the settings of the previous request
            self._head = self._make_head(settings_checked(request.settings))
            self._settings = request.settings
        system = "\n\n".join(m.content for m in request.messages if m.role == "system")
        turns: tuple[Any, ...] = tuple(m for m in request.messages if m.role != "system")
        if marked and self._cache and _is_cacheable_turn(request.messages):
            turns = (*turns[:-1], _mark_for_cache(turns[-1]))
        parts = [self._head, encoded(turns), b',"system":' + encoded(system) if system else b"", b"}"]
        return b"".join(parts)

    def _make_head(self, settings: Settings) -> bytes:
        """The body up to its messages, which is the same for all requests with these settings."""
        max_tokens = settings.max_tokens or _default_max_tokens(settings.reasoning_effort)
        body: dict[str, Any] = {"model": self._model, "max_tokens": max_tokens}
        if settings.temperature is not None:
            body["temperature"] = settings.temperature
        if settings.top_p is not None:
            body["top_p"] = settings.top_p
        if settings.reasoning_effort is not None:
            body |= _thinking_fields(self._model, settings.reasoning_effort, max_tokens)
        return _encode(body | settings.extra)[:-1] + b',"messages":'


def _read_reply(body: bytes, target: ErrorContext) -> Reply:
    answer: _MessageBody = decode_body(body, target, _decode, _decode_without_usage)
    finish = answer.stop_reason or "stop"
    usage = answer.usage if isinstance(answer, _Answer) else None
    read = Reply(
        text="".join(block.text or "" for block in answer.content if block.type == "text"),
        finish=finish,
        refused=finish == "refusal",
        usage=Usage() if usage is None else _read_usage(usage),
        model=answer.model,
    )
    return without_key(read, target.key)


def _read_usage(usage: _Usage) -> Usage:
    """The token counts of a reply. Tokens read from or written to a cache count as input."""
    parts = (usage.input_tokens, usage.cache_creation_input_tokens, usage.cache_read_input_tokens)
    given = sum(part or 0 for part in parts) if usage.input_tokens is not None else None
    return Usage.said(given, usage.output_tokens, usage.cache_read_input_tokens, usage.cache_creation_input_tokens)


_BATCHES_PATH = "/messages/batches"


class _RequestCounts(msgspec.Struct):
    processing: int = 0
    succeeded: int = 0
    errored: int = 0
    canceled: int = 0
    expired: int = 0

    @property
    def total(self) -> int:
        return self.processing + self.succeeded + self.errored + self.canceled + self.expired


class _Batch(msgspec.Struct):
    id: str
    processing_status: str = ""
    created_at: str = ""
    request_counts: _RequestCounts | None = None


class _Page(msgspec.Struct):
    data: list[_Batch] = []
    has_more: bool = False


class _Result(msgspec.Struct):
    type: str = ""
    message: msgspec.Raw = msgspec.Raw()
    error: Any = None


class _Line(msgspec.Struct):
    custom_id: str
    result: _Result | None = None


_decode_batch = msgspec.json.Decoder(_Batch).decode
_decode_page = msgspec.json.Decoder(_Page).decode
_decode_line = msgspec.json.Decoder(_Line).decode


class AnthropicBatches:
    """The batches of one model behind the Messages API. Conversations are not marked for the cache, because the cache
    expires before a batch finishes."""

    most_calls = 100_000
    most_bytes = 256_000_000
    hours = 24.0
    named = False

    def __init__(self, service: ApiClient, model: AnthropicModel) -> None:
        self._service = service
        self._model = model

    def line(self, id_: str, request: Request) -> bytes:
        """See `BatchApi`."""
        return b'{"custom_id":%b,"params":%b}' % (_encode(id_), self._model.body(request, marked=False))

    def read(self, request: Request, body: bytes) -> Reply:
        """See `BatchApi`."""
        return self._model.read(request, body, self._service.target)

    async def upload(self, name: str, lines: Sequence[bytes]) -> str:
        """Do nothing, because the calls are sent with the batch; see `BatchApi`."""
        return ""

    async def find_uploads(self, name: str, since: float) -> list[str]:
        """See `BatchApi`: nothing is uploaded."""
        return []

    async def discard(self, upload: str) -> None:
        """See `BatchApi`: nothing is uploaded."""

    async def create(self, name: str, upload: str, lines: Sequence[bytes]) -> str:
        """See `BatchApi`."""
        body = b'{"requests":[%b]}' % b",".join(lines)
        return safe_id(
            decode_result(self._service, await self._service.exchange("POST", _BATCHES_PATH, body), _decode_batch).id
        )

    async def find(self, name: str, calls: int, since: float) -> list[str]:
        """Find all batches with this many calls; see `BatchApi`."""
        found: list[str] = []
        after = ""
        for _ in range(MOST_PAGES):
            page = decode_result(
                self._service, await self._service.exchange("GET", f"{_BATCHES_PATH}?limit=100{after}"), _decode_page
            )
            recent = [batch for batch in page.data if _parse_time(batch.created_at, since) >= since]
            found += [batch.id for batch in recent if batch.request_counts and batch.request_counts.total == calls]
            if not page.has_more or len(recent) < len(page.data) or not page.data:
                break
            after = f"&after_id={safe_id(page.data[-1].id)}"
        return found

    async def look(self, id_: str) -> BatchStatus:
        """See `BatchApi`."""
        batch = decode_result(
            self._service, await self._service.exchange("GET", f"{_BATCHES_PATH}/{safe_id(id_)}"), _decode_batch
        )
        counts = batch.request_counts or _RequestCounts()
        return BatchStatus(
            over=batch.processing_status == "ended",
            done=counts.total - counts.processing,
            total=counts.total,
            cut=bool(counts.canceled or counts.expired),
            cancelled=bool(counts.canceled),
            files=(id_,),
        )

    async def results(self, looked: BatchStatus, calls: int) -> Mapping[str, bytes | AnswerError]:
        """Read the results; see `BatchApi`. The address that the provider gives for results is not used, because it
        could point anywhere."""
        found: dict[str, bytes | AnswerError] = {}
        path = f"{_BATCHES_PATH}/{safe_id(looked.files[0])}/results"
        body = await self._service.exchange("GET", path, most=most_result_bytes(calls))
        for line in lines_of(self._service, body, _decode_line):
            keep_result(found, line.custom_id, self._result(line.result or _Result()))
        return found

    async def cancel(self, id_: str) -> None:
        """See `BatchApi`."""
        await self._service.exchange("POST", f"{_BATCHES_PATH}/{safe_id(id_)}/cancel", b"{}")

    def _result(self, result: _Result) -> bytes | AnswerError:
        name = self._service.target.name
        if result.type == "succeeded":
            return bytes(result.message) or garbled(name)
        if result.type in ("expired", "canceled"):
            return expired(name)
        return failed(name, self._service.target.key.hide(_error_message(result.error)[:200]))


def _error_message(error: Any) -> str:
    """The message of an error, nested one or two levels deep."""
    while isinstance(error, dict) and isinstance(error.get("error"), dict):
        error = error["error"]
    return str(error.get("message", "")) if isinstance(error, dict) else ""


def _parse_time(text: str, otherwise: float) -> float:
    try:
        return datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError):
        return otherwise
