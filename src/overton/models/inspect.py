"""Models of all other providers, as `inspect/provider/name`. They are called through Inspect AI."""

from __future__ import annotations

import asyncio
import contextvars
import os
import re
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from overton.calls import Form, Message, Reply, Request, Settings, Spot, Usage
from overton.errors import AccessError, AnswerError, InputError, MissingExtra, Problem, RejectedError, UnavailableError
from overton.models.endpoint import without_key
from overton.models.logprobs import (
    MOST_ALTERNATIVES,
    Sampler,
    TokenLogprobs,
    no_probabilities,
    reasoned,
    sampler_of,
    spots_of,
)
from overton.untrusted import ApiKey, clamp_seconds, converted

SPOTS = "overton_spots"
"""The field of an output's metadata that holds token probabilities, if Inspect calls one of Overton's own models."""


class InspectModel:
    """A model of Inspect AI. Each request is sent once: Inspect's retries are turned off, because the engine retries.

    Raises:
        MissingExtra: Inspect AI is not installed.
        InputError: Inspect does not know the provider, or cannot use it because its package or key is missing.
    """

    holds_form = False
    weighs = True

    def __init__(
        self,
        model: str,
        *,
        name: str,
        base_url: str | None = None,
        key: ApiKey | None = None,
        connections: int = 64,
        timeout: float = 600.0,
    ) -> None:
        self.name = name
        self.identity = f"inspect/{model}"
        self._connections = connections
        self._timeout = timeout
        self._keys = [key] if key else []
        self._model = self._open(model, base_url, key)

    def __repr__(self) -> str:
        return f"InspectModel({self.name!r})"

    def _open(self, model: str, base_url: str | None, key: ApiKey | None) -> Any:
        try:
            from inspect_ai.model import get_model
        except ImportError:
            raise MissingExtra(f"the model {self.name}", "inspect") from None
        try:
            opened = get_model(model, base_url=base_url, api_key=key.reveal() if key else None, memoize=False)
            return _turn_off_retries(opened)
        except Exception as error:  # noqa: BLE001 - providers raise anything when they cannot be set up
            reason = self._error_text(error)
        raise InputError([Problem("--model", self.name, f"Inspect cannot open it: {reason}")])

    async def answer(self, request: Request) -> Reply:
        """Answer once; raises as `overton.calls.Answerer` says."""
        # Run in a separate task with an empty context, because Inspect keeps a transcript in the context. A transcript
        # that outlives the call (the run's, or that of an earlier eval in the same notebook) would store every call.
        task = asyncio.create_task(self._ask(request), context=contextvars.Context())
        outcome = await task
        if isinstance(outcome, AnswerError):
            raise outcome
        reply = with_spots(reply_of(outcome), outcome, request, self.name)
        for key in self._keys:
            reply = without_key(reply, key)
        return reply

    async def _ask(self, request: Request) -> Any:
        messages = chat_messages(request.messages)
        config = _generate_config(request.settings, request.seed, self._connections).merge(
            logprob_settings(request.form)
        )
        try:
            async with asyncio.timeout(self._timeout):
                return await self._model.generate(messages, config=config)
        except TimeoutError:
            message = f"{self.name}: no reply in {self._timeout:g} seconds (timeout=SECONDS allows more)"
            return UnavailableError("timeout", message, maybe_billed=True)
        except Exception as error:  # noqa: BLE001 - each provider raises its own client's types
            return self._error_for(cause_of(error))

    def _error_for(self, error: Exception) -> AnswerError:
        """The error for an exception that a provider raised. Inspect decides whether a retry makes sense."""
        api = self._model.api
        message = f"{self.name}: {self._error_text(error)}"
        decision = api.should_retry(error)
        if decision:
            limited = getattr(decision, "kind", "transient") == "rate_limit"
            kind = "rate limit" if limited else "server error"
            wait = clamp_seconds(getattr(decision, "retry_after", None))
            return UnavailableError(kind, message, retry_after=wait, maybe_billed=not limited)
        status = getattr(error, "status_code", None)
        if api.is_auth_failure(error) or status in {401, 403} or type(error).__name__ == "PrerequisiteError":
            return AccessError("no permission", message)
        if status == 404:
            return AccessError("unknown model", message)
        return RejectedError("rejected", message)

    def _error_text(self, error: Exception) -> str:
        return said(error, self._keys)

    async def close(self) -> None:
        """Close the provider's client."""
        await self._model.api.aclose()


def _turn_off_retries(model: Any) -> Any:
    """The model, with retries turned off in its provider's own client. Most of these clients would retry twice without
    reporting it."""
    client: Any = getattr(model.api, "client", None)
    if isinstance(getattr(client, "max_retries", None), int):
        client.max_retries = 0
    return model


def _generate_config(settings: Settings, seed: int | None, connections: int) -> Any:
    from inspect_ai.model import GenerateConfig

    return GenerateConfig(
        max_retries=0,
        max_connections=connections,
        temperature=settings.temperature,
        top_p=settings.top_p,
        max_tokens=settings.max_tokens,
        reasoning_effort=settings.reasoning_effort,
        seed=seed,
        extra_body=settings.extra or None,
    )


_MESSAGE_LIMIT = 500
_KEY_VARIABLE = re.compile(r"(KEY|TOKEN|SECRET|PASSWORD)$")
_MARKUP = re.compile(r"\[/?[a-z ]+\]")


def chat_messages(messages: Sequence[Message]) -> list[Any]:
    """Messages in the form that Inspect's models take."""
    from inspect_ai.model import ChatMessageAssistant, ChatMessageSystem, ChatMessageUser

    kinds = {"system": ChatMessageSystem, "user": ChatMessageUser, "assistant": ChatMessageAssistant}
    return [kinds[message.role](content=message.content) for message in messages]


def reply_of(output: Any) -> Reply:
    """The reply contained in a model's output.

    Raises:
        UnavailableError: the output contains no answer.
    """
    if not output.choices:
        raise UnavailableError("malformed", f"the reply contains no choices: {output.error or 'no reason given'}")
    return Reply(
        text=output.completion.encode("utf-8", "replace").decode(),
        finish=output.stop_reason,
        refused=output.stop_reason == "content_filter",
        usage=Usage() if output.usage is None else _read_usage(output.usage),
        model=output.model,
        fingerprint=_extra_field(output, "fingerprint"),
        served_by=_extra_field(output, "served_by"),
    )


def logprob_settings(form: Form | None) -> Any:
    """The settings that request token probabilities from Inspect. They are empty if the reply format requests none."""
    from inspect_ai.model import GenerateConfig

    if form is None or not form.weigh:
        return GenerateConfig()
    return GenerateConfig(logprobs=True, top_logprobs=MOST_ALTERNATIVES)


def with_spots(reply: Reply, output: Any, request: Request, name: str) -> Reply:
    """The reply with the spots where options occur and their token probabilities.

    Raises:
        AccessError: the provider returned no probabilities, or the model reasoned first.
    """
    form = request.form
    if form is None or not form.weigh:
        return reply
    if (own := (output.metadata or {}).get(SPOTS)) is not None:
        return msgspec.structs.replace(reply, spots=converted(own, tuple[Spot, ...]))
    choice = output.choices[0]
    if not isinstance(choice.message.content, str) and any(part.type == "reasoning" for part in choice.message.content):
        raise reasoned(name)
    if choice.logprobs is None and reply.text and not reply.refused:
        raise no_probabilities(name)
    tokens = [
        TokenLogprobs.of(
            token.token, token.bytes, token.logprob, [(top.token, top.logprob) for top in token.top_logprobs or ()]
        )
        for token in (choice.logprobs.content if choice.logprobs else ())
    ]
    spots = spots_of(tokens, reply.text, form, sampler_of(request.settings, Sampler()))
    return msgspec.structs.replace(reply, spots=spots)


def _extra_field(output: Any, name: str) -> str | None:
    extra = (output.metadata or {}).get(name)
    return extra if isinstance(extra, str) else None


_EXTRA_FIELDS = ("fingerprint", "served_by")
"""Fields of Overton's replies for which Inspect has no field."""


def extra_fields(reply: Reply) -> dict[str, Any] | None:
    """A reply's extra fields and option probabilities, as metadata of Inspect's output. None if there are neither."""
    extra: dict[str, Any] = {name: said for name in _EXTRA_FIELDS if (said := getattr(reply, name))}
    if reply.spots:
        extra[SPOTS] = msgspec.to_builtins(reply.spots)
    return extra or None


def _read_usage(usage: Any) -> Usage:
    """The token counts of a reply. Inspect counts tokens read from or written to a cache separately, but they are
    input, too."""
    cached = (usage.input_tokens_cache_read or 0) + (usage.input_tokens_cache_write or 0)
    return Usage.said(usage.input_tokens + cached, usage.output_tokens)


def cause_of(error: Exception) -> Exception:
    """The provider's own error. If Inspect has wrapped the errors of several attempts, it is the last of these
    errors."""
    from tenacity import RetryError

    cause = error.last_attempt.exception() if isinstance(error, RetryError) else None
    return cause if isinstance(cause, Exception) else error


def said(error: Exception, keys: Iterable[ApiKey] = ()) -> str:
    """An error's text without keys, markup and control characters, at most 500 characters.

    The provider's message is preferred, because Inspect's text of a rejection contains the whole request.
    """
    text = str(getattr(error, "provider_message", None) or getattr(error, "message", None) or error)
    for key in (*_environment_keys(), *keys):
        text = key.hide(text)
    text = _MARKUP.sub("", "".join(c if c.isprintable() else " " for c in text or type(error).__name__))
    return " ".join(text.split())[:_MESSAGE_LIMIT]


def _environment_keys() -> list[ApiKey]:
    """All keys in the environment, because a provider's error might contain the key and it is unknown which variable
    was read."""
    return [ApiKey(value) for name, value in os.environ.items() if _KEY_VARIABLE.search(name) and len(value) >= 8]
