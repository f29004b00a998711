"""Overton's own models inside Inspect AI, as in `--model overton/embedded/smollm2-135m`. Inspect's `-M KEY=VALUE`
corresponds to Overton's `--model-arg`."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from inspect_ai.model import (
    ChatCompletionChoice,
    ChatMessageAssistant,
    ModelAPI,
    ModelOutput,
    ModelUsage,
    RetryDecision,
)

from overton.calls import Answerer, Message, Reply, Request, Settings
from overton.errors import InputError, OvertonError, Problem, UnavailableError
from overton.inspect.ask import check_backend
from overton.inspect.compat import prerequisite
from overton.inspect.seats import FORM, form_in
from overton.models import Model, open_model
from overton.models.inspect import extra_fields

_STOP_REASONS = {"stop": "stop", "length": "max_tokens", "end_turn": "stop", "content_filter": "content_filter"}


@dataclass(frozen=True)
class OwnModel:
    """One of Overton's models, as described in a run's manifest."""

    spec: str
    arguments: tuple[tuple[str, str], ...]
    answerer: Answerer


class OvertonAPI(ModelAPI):  # type: ignore[misc]
    """An Overton model as a model of Inspect AI.

    An Overton model's replies can be constrained to a reply format, which arrives in the request's extra body. Inspect
    handles retries, pacing and settings, so model arguments for them are refused.
    """

    def __init__(
        self,
        model_name: str,
        base_url: str | None = None,
        api_key: str | None = None,
        config: Any = None,
        **model_args: Any,
    ) -> None:
        super().__init__(model_name, base_url, api_key, [], *([config] if config else []))
        address = {"base_url": base_url} if base_url else {}
        arguments = tuple((key, _argument_text(value)) for key, value in (address | model_args).items())
        try:
            check_backend(f"overton/{model_name}")
            self._model: Model = open_model(model_name, arguments)
            _check_unset(self._model.settings)
        except OvertonError as error:
            raise prerequisite(error) from error
        self._arguments = arguments
        self._loop: asyncio.AbstractEventLoop | None = None
        self.overton = OwnModel(model_name, arguments, self._model.answerer)

    async def generate(self, input: Sequence[Any], tools: Any, tool_choice: Any, config: Any) -> Any:
        """Answer once; Inspect retries if `should_retry` says so."""
        answerer = await self._answerer_in_loop()
        extra = dict(config.extra_body or {})
        form = form_in(extra)
        settings = Settings(
            temperature=config.temperature,
            top_p=config.top_p,
            max_tokens=config.max_tokens,
            reasoning_effort=config.reasoning_effort,
            extra={name: value for name, value in extra.items() if name != FORM},
        )
        messages = tuple(Message(message.role, message.text) for message in input)
        reply = await answerer.answer(Request(messages, settings, form, config.seed))
        return _model_output(self.model_name, reply)

    async def _answerer_in_loop(self) -> Answerer:
        """The answerer, reopened if the event loop has changed, because connections belong to one loop."""
        loop = asyncio.get_running_loop()
        if self._loop not in (None, loop):
            self._model = open_model(self.model_name, self._arguments)
        self._loop = loop
        return self._model.answerer

    def should_retry(self, ex: Exception) -> Any:
        """Whether a failed request is worth retrying, and when."""
        if not isinstance(ex, UnavailableError):
            return RetryDecision.no()
        decide = RetryDecision.rate_limit if ex.kind == "rate limit" else RetryDecision.transient
        return decide(ex.retry_after)

    def max_connections(self) -> int:
        """The number of calls that the model takes at a time."""
        return self._model.connections

    def connection_key(self) -> str:
        """A key per model, because Inspect paces models with different keys separately."""
        return self._model.answerer.identity

    async def aclose(self) -> None:
        """Release connections and memory."""
        await self._model.answerer.close()


def _check_unset(settings: Settings) -> None:
    """Refuse settings among the model's arguments. Inspect has its own flags for settings, and would not know settings
    given as model arguments."""
    if given := [name for name, value in msgspec.to_builtins(settings).items() if value]:
        raise InputError([Problem(f"-M {name}", "", f"use --{name.replace('_', '-')} instead") for name in given])


def _argument_text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _model_output(model: str, reply: Reply) -> Any:
    usage = reply.usage
    counted = usage.input_tokens is not None and usage.output_tokens is not None
    stop = "content_filter" if reply.refused else _STOP_REASONS.get(reply.finish, "unknown")
    return ModelOutput(
        model=reply.model or model,
        choices=[ChatCompletionChoice(message=ChatMessageAssistant(content=reply.text), stop_reason=stop)],
        usage=_model_usage(usage.input_tokens or 0, usage.output_tokens or 0) if counted else None,
        metadata=extra_fields(reply),
    )


def _model_usage(given: int, made: int) -> Any:
    return ModelUsage(input_tokens=given, output_tokens=made, total_tokens=given + made)
