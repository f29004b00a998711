"""Anthropic's Messages API."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import msgspec

from overton.calls import Message, Reply, Request, Settings, Tokens, Usage
from overton.models.arguments import settings_checked
from overton.models.http import Transport, decoded, encoded
from overton.models.status import Target

__all__ = ["HEADERS", "AnthropicModel"]

HEADERS = {"anthropic-version": "2023-06-01"}

_ANSWER_TOKENS = 1024
_THINKING_TOKENS = {"none": 0, "minimal": 4096, "low": 4096, "medium": 10_000, "high": 16_000}
_LEAST_THINKING_TOKENS = 1024
_MOST_THINKING_TOKENS = 32_000
_BUDGETED = re.compile(r"claude-(3-7-sonnet|(opus|sonnet|haiku)-4(-[015])?)(-20\d{6}|-latest)?$")
_encode = msgspec.json.Encoder().encode


class _Block(msgspec.Struct, gc=False):
    type: str
    text: str | None = None


class _Usage(msgspec.Struct, gc=False):
    input_tokens: Tokens | None = None
    output_tokens: Tokens | None = None
    cache_creation_input_tokens: Tokens | None = None
    cache_read_input_tokens: Tokens | None = None


class _Answered(msgspec.Struct, gc=False):
    content: list[_Block]
    stop_reason: str | None = None
    model: str | None = None


class _Answer(_Answered, gc=False):
    usage: _Usage | None = None


_decode = msgspec.json.Decoder(_Answer, strict=False).decode
_without_usage = msgspec.json.Decoder(_Answered, strict=False).decode


_LEAST_CACHED = 4096
"""Least bytes of a conversation that is marked: below 1,024 tokens, the minimum of any model, nothing is cached."""
_MARK = {"type": "ephemeral"}


def _goes_on(messages: Sequence[Message]) -> bool:
    """Whether a request is a later turn of a conversation long enough to cache: another turn may follow."""
    if messages[-1].role != "user" or not any(message.role == "assistant" for message in messages):
        return False
    return sum(len(message.content) for message in messages) >= _LEAST_CACHED


def _marked(message: Message) -> dict[str, Any]:
    """The message with a mark at its end. It changes no answer, so it is not part of a call's identity."""
    return {"role": message.role, "content": [{"type": "text", "text": message.content, "cache_control": _MARK}]}


def _default_max_tokens(effort: str | None) -> int:
    """Output tokens allowed if the settings have no limit, which this API requires: 1,024, plus room to reason."""
    return _ANSWER_TOKENS + (0 if effort is None else _THINKING_TOKENS.get(effort, _MOST_THINKING_TOKENS))


def _thinking(model: str, effort: str, max_tokens: int) -> dict[str, Any]:
    """How a reasoning effort is expressed: a token budget up to Claude 4.5, a word since."""
    if effort == "none":
        return {"thinking": {"type": "disabled"}}
    if _BUDGETED.match(model):
        room = max(max_tokens - _ANSWER_TOKENS, _LEAST_THINKING_TOKENS)  # reasoning counts as output
        budget = min(_THINKING_TOKENS.get(effort, _MOST_THINKING_TOKENS), room)
        return {"thinking": {"type": "enabled", "budget_tokens": budget}}
    return {"thinking": {"type": "adaptive"}, "output_config": {"effort": effort}}


class AnthropicModel:
    """A model behind the Messages API. It accepts no seed and does not hold answers to a form.

    System messages, wherever they occur, become the request's one system prompt. With `cache`, the end of a
    conversation in progress is marked: the next turn reads what precedes the mark from the provider's cache. Prompts
    that are never repeated are not marked, since writing to the cache costs a quarter more.
    """

    holds_form = False

    def __init__(self, transport: Transport, *, name: str, identity: str, model: str, cache: bool = True) -> None:
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

    def read(self, _: Request, body: bytes, target: Target) -> Reply:
        """The reply in a response body; raises as `answer` does."""
        return _reply(body, target)

    async def close(self) -> None:
        """Close all connections."""
        await self._transport.close()

    def body(self, request: Request, *, marked: bool = True) -> bytes:
        """The body of a request; `marked` if the head of a conversation may be marked for the cache."""
        if request.settings is not self._settings:  # nearly always those of the previous request
            self._head = self._static(settings_checked(request.settings))
            self._settings = request.settings
        system = "\n\n".join(m.content for m in request.messages if m.role == "system")
        turns: tuple[Any, ...] = tuple(m for m in request.messages if m.role != "system")
        if marked and self._cache and _goes_on(request.messages):
            turns = (*turns[:-1], _marked(turns[-1]))
        parts = [self._head, encoded(turns), b',"system":' + encoded(system) if system else b"", b"}"]
        return b"".join(parts)

    def _static(self, settings: Settings) -> bytes:
        """The body up to its messages, which is the same for all requests with these settings."""
        max_tokens = settings.max_tokens or _default_max_tokens(settings.reasoning_effort)
        body: dict[str, Any] = {"model": self._model, "max_tokens": max_tokens}
        if settings.temperature is not None:
            body["temperature"] = settings.temperature
        if settings.top_p is not None:
            body["top_p"] = settings.top_p
        if settings.reasoning_effort is not None:
            body |= _thinking(self._model, settings.reasoning_effort, max_tokens)
        return _encode(body | settings.extra)[:-1] + b',"messages":'


def _reply(body: bytes, target: Target) -> Reply:
    answer: _Answered = decoded(body, target, _decode, _without_usage)
    finish = answer.stop_reason or "stop"
    usage = answer.usage if isinstance(answer, _Answer) else None
    read = Reply(
        text="".join(block.text or "" for block in answer.content if block.type == "text"),
        finish=finish,
        refused=finish == "refusal",
        usage=Usage() if usage is None else _usage(usage),
        model=answer.model,
    )
    return target.secret.hide_in_reply(read)


def _usage(usage: _Usage) -> Usage:
    """Tokens read from or written to a cache are input too."""
    parts = (usage.input_tokens, usage.cache_creation_input_tokens, usage.cache_read_input_tokens)
    given = sum(part or 0 for part in parts) if usage.input_tokens is not None else None
    return Usage.said(given, usage.output_tokens, usage.cache_read_input_tokens, usage.cache_creation_input_tokens)
