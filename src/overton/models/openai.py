"""OpenAI's chat completions, as spoken by most providers and local servers: the fast path of every run."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import msgspec

from overton.calls import Form, Reply, Request, Settings, Tokens, Usage
from overton.errors import Unreadable
from overton.models.arguments import settings_checked
from overton.models.http import Transport, decoded, encoded, malformed
from overton.models.providers import Provider
from overton.models.status import Target, error_for
from overton.models.weighing import Sampler, TokenChance, no_probabilities, reasoned, sampler_of, spots_of
from overton.untrusted import decode_json

__all__ = ["OpenAIModel", "dialect_of"]

# For OpenAI's own models; `reasons_of` guesses for every provider, with perhaps older names.
_REFUSES_MAX_TOKENS = re.compile(r"(ft:)?(o[1-9]|gpt-([5-9]|[1-9][0-9]))")
_PLAIN = Sampler()
_encode = msgspec.json.Encoder().encode


class _Part(msgspec.Struct, gc=False):
    text: str | None = None


class _Message(msgspec.Struct, gc=False):
    content: str | list[_Part] | None = None
    refusal: str | None = None


class _Top(msgspec.Struct, gc=False):
    token: str
    logprob: float


class _Token(msgspec.Struct, gc=False):
    token: str
    logprob: float
    bytes: list[int] | None = None
    top_logprobs: list[_Top] = []


class _Logprobs(msgspec.Struct, gc=False):
    content: list[_Token] | None = None


class _WeighedMessage(_Message, gc=False):
    reasoning_content: Any = None
    reasoning: Any = None


class _WeighedChoice(msgspec.Struct, gc=False):
    message: _WeighedMessage
    logprobs: _Logprobs | None = None


class _Weighed(msgspec.Struct, gc=False):
    choices: list[_WeighedChoice] = []


class _Error(msgspec.Struct, gc=False):
    code: Any = None


class _Choice(msgspec.Struct, gc=False):
    message: _Message
    finish_reason: str | None = None
    error: _Error | str | None = None


class _Details(msgspec.Struct, gc=False):
    cached_tokens: Any = None


class _Usage(msgspec.Struct, gc=False):
    prompt_tokens: Tokens | None = None
    completion_tokens: Tokens | None = None
    prompt_tokens_details: _Details | None = None


class _Answered(msgspec.Struct, gc=False):
    choices: list[_Choice] = []
    model: str | None = None
    system_fingerprint: Any = None
    provider: Any = None
    error: _Error | str | None = None


class _Completion(_Answered, gc=False):
    usage: _Usage | None = None


_decode = msgspec.json.Decoder(_Completion, strict=False).decode
_without_usage = msgspec.json.Decoder(_Answered, strict=False).decode
_decode_weighed = msgspec.json.Decoder(_Weighed, strict=False).decode
_decode_answer = msgspec.json.Decoder(dict[str, str]).decode


@dataclass(frozen=True)
class Dialect:
    """A provider's field names in the body of a request."""

    model: str
    max_tokens_field: str = "max_tokens"
    seed_field: str = "seed"
    names_choices: bool = False
    alternatives: int = 0
    sampler: Sampler = _PLAIN

    def weigh(self) -> bytes:
        """The fields that request token probabilities, with a comma before them."""
        return b',"logprobs":true,"top_logprobs":%d' % self.alternatives

    def head(self, settings: Settings) -> bytes:
        """The body up to its messages, which is the same for all requests with these settings."""
        body: dict[str, Any] = {
            "model": self.model,
            "temperature": settings.temperature,
            "top_p": settings.top_p,
            self.max_tokens_field: settings.max_tokens,
            "reasoning_effort": settings.reasoning_effort,
        }
        body = {key: value for key, value in body.items() if value is not None} | settings.extra
        return _encode(body)[:-1] + b',"messages":'

    def form(self, form: Form) -> bytes:
        """The fields that hold an answer to a form, with a comma before them."""
        if form.choices and self.names_choices:
            return b',"structured_outputs":' + _encode({"choice": form.choices})
        if form.openings and self.names_choices:
            return b',"structured_outputs":' + _encode({"regex": _opened_by(form.openings)})
        schema = _choices_schema(form.choices) if form.choices else form.schema
        if schema is None:
            return b""
        wanted = {"type": "json_schema", "json_schema": {"name": "answer", "strict": True, "schema": schema}}
        return b',"response_format":' + _encode(wanted)


def dialect_of(provider: Provider, model: str, *, processed: bool = False) -> Dialect:
    """The dialect of one model. OpenAI's reasoning models reject `max_tokens`; others do not know its successor.

    `processed` says that its token probabilities are those after temperature and truncation.
    """
    successor = provider.name == "openai" and _REFUSES_MAX_TOKENS.match(model)
    max_tokens_field = "max_completion_tokens" if successor else "max_tokens"
    return Dialect(
        model,
        max_tokens_field,
        provider.seed_field,
        provider.names_choices,
        provider.alternatives,
        Sampler(processed=processed),
    )


def _opened_by(openings: tuple[str, ...]) -> str:
    return f"({'|'.join(map(re.escape, openings))})[\\s\\S]*"


def _choices_schema(choices: tuple[str, ...]) -> dict[str, Any]:
    """Choices as a schema: its root must be an object, which `_chosen` removes again."""
    answer = {"type": "string", "enum": list(choices)}
    return {"type": "object", "properties": {"answer": answer}, "required": ["answer"], "additionalProperties": False}


class OpenAIModel:
    """A model behind chat completions. With `hold`, answers are held to the form asked for; otherwise it is not sent.

    A schema is enforced by `response_format`; choices and openings by vLLM's `structured_outputs`. Without that,
    choices are enforced by a schema with the one field `answer`, whose value becomes the reply's text, openings not.
    """

    def __init__(self, transport: Transport, dialect: Dialect, *, name: str, identity: str, hold: bool = False) -> None:
        self.name = name
        self.identity = identity
        self.holds_form = hold
        self._transport = transport
        self._dialect = dialect
        self._settings: Settings | None = None
        self._head = b""
        self._seed = b',"%b":%%d' % dialect.seed_field.encode()

    def __repr__(self) -> str:
        return f"OpenAIModel({self.name!r})"

    async def answer(self, request: Request) -> Reply:
        """Answer once; raises as `overton.calls.Answerer` says."""
        return self.read(request, *await self._transport.post(self.body(request)))

    def read(self, request: Request, body: bytes, target: Target) -> Reply:
        """The reply to a request, from a response body; raises as `answer` does."""
        reply = _reply(body, target)
        if request.form is not None and request.form.weigh:
            reply = self._weighed(reply, request, request.form, body, target)
        if self.holds_form and request.form is not None and request.form.choices and not self._dialect.names_choices:
            return _chosen(reply)
        return reply

    @property
    def weighs(self) -> bool:
        """Whether its provider returns token probabilities."""
        return self._dialect.alternatives > 0

    def _weighed(self, reply: Reply, request: Request, form: Form, body: bytes, target: Target) -> Reply:
        """The reply with the spots where options occur."""
        choice = decoded(body, target, _decode_weighed, _decode_weighed).choices[0]
        if choice.message.reasoning_content or choice.message.reasoning:
            raise reasoned(self.name)
        content = choice.logprobs.content if choice.logprobs is not None else None
        if content is None and reply.text and not reply.refused:
            raise no_probabilities(self.name)
        tokens = [
            TokenChance.of(one.token, one.bytes, one.logprob, [(top.token, top.logprob) for top in one.top_logprobs])
            for one in content or ()
        ]
        sampler = sampler_of(request.settings, self._dialect.sampler)
        # If choices are enforced by a schema, the choice is inside it: the text is then JSON.
        within = form if self._dialect.names_choices else msgspec.structs.replace(form, choices=())
        held = self.holds_form and bool(form.choices or form.schema)
        return msgspec.structs.replace(reply, spots=spots_of(tokens, reply.text, within, sampler, held=held))

    async def close(self) -> None:
        """Close all connections."""
        await self._transport.close()

    def body(self, request: Request) -> bytes:
        """The body of a request."""
        if request.settings is not self._settings:  # nearly always those of the previous request
            self._head = self._dialect.head(settings_checked(request.settings))
            self._settings = request.settings
        parts = [self._head, encoded(request.messages)]
        if request.seed is not None:
            parts.append(self._seed % request.seed)
        if self.holds_form and request.form is not None:
            parts.append(self._dialect.form(request.form))
        if request.form is not None and request.form.weigh:
            parts.append(self._dialect.weigh())
        parts.append(b"}")
        return b"".join(parts)


def _reply(body: bytes, target: Target) -> Reply:
    completion: _Answered = decoded(body, target, _decode, _without_usage)
    choice = completion.choices[0] if completion.choices else None
    failure = completion.error if choice is None else choice.error
    if failure is not None:  # routers report a provider's failure under status 200
        raise error_for(_status(failure), {}, body, target)
    if choice is None:
        raise malformed(target, "it contains no choices")
    usage = completion.usage if isinstance(completion, _Completion) else None
    return target.secret.hide_in_reply(_read(choice, usage, completion))


def _read(choice: _Choice, usage: _Usage | None, completion: _Answered) -> Reply:
    content, refusal, finish = choice.message.content, choice.message.refusal, choice.finish_reason or "stop"
    if isinstance(content, list):
        content = "".join(part.text or "" for part in content)
    return Reply(
        text=content or refusal or "",
        finish=finish,
        refused=bool(refusal) or finish == "content_filter",
        usage=Usage() if usage is None else _used(usage),
        model=completion.model,
        fingerprint=_word(completion.system_fingerprint),
        served_by=_word(completion.provider),
    )


def _used(usage: _Usage) -> Usage:
    if usage.prompt_tokens_details is None:
        return Usage(usage.prompt_tokens, usage.completion_tokens)
    return Usage.said(usage.prompt_tokens, usage.completion_tokens, usage.prompt_tokens_details.cached_tokens)


_LONGEST = 200


def _word(said: object) -> str | None:
    """A further field of a reply, if it is a word: no reply is lost because of anything else."""
    return said[:_LONGEST] if isinstance(said, str) and said else None


def _chosen(reply: Reply) -> Reply:
    """The reply with the bare choice as its text; unchanged if the endpoint did not enforce the schema."""
    try:
        answer = decode_json(reply.text, _decode_answer).get("answer")
    except Unreadable:
        return reply
    if answer is None:
        return reply
    start = reply.text.find(answer)
    spots = tuple(
        msgspec.structs.replace(spot, at=spot.at - start)
        for spot in reply.spots
        if start >= 0 and 0 <= spot.at - start < len(answer)
    )
    return msgspec.structs.replace(reply, text=answer, spots=spots)


def _status(error: _Error | str) -> int:
    code = error.code if isinstance(error, _Error) else None
    return code if isinstance(code, int) and 400 <= code < 600 else 502
