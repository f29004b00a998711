"""Calls as Inspect shows them: messages, outputs, usage, and a transcript with one span per trial."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from overton.calls import Failure, Message, Price, Reply, Settings
from overton.hosts.inspect.layout import CallData, span_name
from overton.models.inspect import chat_messages, extra_fields
from overton.runs.replay import ReplayedCall, ReplayedTrial

__all__ = ["Transcriber", "call_data", "each_once", "generate_config", "inspect_name"]

_STOPS = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "length": "max_tokens",
    "refusal": "content_filter",
    **{word: word for word in ("stop", "max_tokens", "model_length", "content_filter")},
}
"""Inspect's stop reasons, by the providers' words."""

_EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
"""Reasoning efforts that Inspect knows; a provider may have others."""


def inspect_name(name: str, identity: str) -> str:
    """A model's name for Inspect; for a server given by its address, its identity, which does not contain it."""
    return identity if "://" in name else name.removeprefix("inspect/")


def call_data(call: ReplayedCall) -> CallData:
    """A call as in a sample's store."""
    identity, place, outcome = call.identity, call.place, call.outcome
    reply, failure = (None, outcome) if isinstance(outcome, Failure) else (outcome, None)
    return CallData(identity.slot.hex(), identity.content.hex(), *place, reply=reply, failure=failure)


def each_once(calls: Iterable[ReplayedCall]) -> list[ReplayedCall]:
    """The calls; those that trials share occur once."""
    return list({call.identity.slot: call for call in calls}.values())


@dataclass
class Transcriber:
    """Makes Inspect's objects of calls. `began` stands in for each one's time: a journal records none.

    `prices` are known by identity; `retrieval` names the speakers that search and read pages.
    """

    began: datetime
    prices: Mapping[str, Price | None] = field(default_factory=dict)
    retrieval: Sequence[str] = ()
    _known: dict[Message, Any] = field(default_factory=dict)

    def conversation(self, call: ReplayedCall) -> list[Any]:
        """The messages before a call and its reply."""
        said = self._messages(call.request.messages)
        return [*said, self.output(call).message] if isinstance(call.outcome, Reply) else said

    def prompt(self, call: ReplayedCall) -> Any:
        """A call's prompt, as a sample's input."""
        return self._messages(call.request.messages)

    def events(self, found: ReplayedTrial) -> Iterator[Any]:
        """A trial's span, its calls inside."""
        from inspect_ai.event import SpanBeginEvent, SpanEndEvent

        name, began = found.trial.name, self.began
        yield SpanBeginEvent(
            id=name, name=span_name(found.trial), type="trial", timestamp=began, span_id=name, working_start=0
        )
        for call in found.calls:
            yield self._found(call, name) if call.place.speaker in self.retrieval else self._event(call, name)
        yield SpanEndEvent(id=name, timestamp=began, span_id=name, working_start=0)

    def usage(self, calls: Iterable[ReplayedCall]) -> dict[str, Any]:
        """Tokens, and dollars if prices are known, by model."""
        total: dict[str, Any] = {}
        for call in calls:
            usage = self._usage(call)
            if usage is not None:
                name = _name(call)
                total[name] = total[name] + usage if name in total else usage
        return total

    def _event(self, call: ReplayedCall, span: str) -> Any:
        from inspect_ai.event import ModelEvent

        failure = call.outcome if isinstance(call.outcome, Failure) else None
        return ModelEvent(
            model=_name(call),
            role=call.place.speaker,
            input=self._messages(call.request.messages),
            tools=[],
            tool_choice="none",
            config=generate_config(call.request.settings, call.request.seed),
            output=self.output(call),
            error=_said(failure) if failure else None,
            retries=failure.attempts - 1 if failure else None,
            timestamp=self.began,
            completed=self.began,
            working_start=0,
            span_id=span,
        )

    def _found(self, call: ReplayedCall, span: str) -> Any:
        """A search, or the reading of a page."""
        from inspect_ai.event import InfoEvent

        found = {"failed": _said(call.outcome)} if isinstance(call.outcome, Failure) else {"found": call.outcome.text}
        return InfoEvent(
            source=call.place.speaker,
            data={"asked": call.request.messages[0].content, **found},
            timestamp=self.began,
            working_start=0,
            span_id=span,
        )

    def _messages(self, messages: Sequence[Message]) -> list[Any]:
        return [self._message(message) for message in messages]

    def _message(self, message: Message) -> Any:
        """A message, the same object for the same text: Inspect stores it once."""
        if message not in self._known:
            (self._known[message],) = chat_messages([message])
        return self._known[message]

    def output(self, call: ReplayedCall) -> Any:
        """A call's reply, or why there is none."""
        from inspect_ai.model import ChatCompletionChoice, ChatMessageAssistant, ModelOutput

        name = _name(call).partition("/")[2] or _name(call)  # without the provider, as Inspect's own models say it
        if isinstance(call.outcome, Failure):
            return ModelOutput(model=name, error=_said(call.outcome))
        reply = call.outcome
        message = ChatMessageAssistant(content=reply.text, model=name, source="generate")
        stop = "content_filter" if reply.refused else _STOPS.get(reply.finish, "unknown")
        choice = ChatCompletionChoice(message=message, stop_reason=stop)
        return ModelOutput(
            model=reply.model or name, choices=[choice], usage=self._usage(call), metadata=extra_fields(reply)
        )

    def _usage(self, call: ReplayedCall) -> Any:
        from inspect_ai.model import ModelUsage

        if not isinstance(call.outcome, Reply) or call.outcome.usage.input_tokens is None:
            return None
        price, usage = self.prices.get(call.place.answerer), call.outcome.usage
        sent, got = usage.input_tokens or 0, usage.output_tokens or 0
        return ModelUsage(
            input_tokens=sent,
            output_tokens=got,
            total_tokens=sent + got,
            total_cost=price.cost(usage) if price else None,
        )


def _name(call: ReplayedCall) -> str:
    return inspect_name(call.answerer, call.place.answerer)


def _said(failure: Failure) -> str:
    return f"{failure.kind}: {failure.message}"


def generate_config(settings: Settings, seed: int | None) -> Any:
    """Settings as Inspect's configuration, with a call's own seed."""
    from inspect_ai.model import GenerateConfig

    effort = settings.reasoning_effort
    return GenerateConfig(
        temperature=settings.temperature,
        top_p=settings.top_p,
        max_tokens=settings.max_tokens,
        reasoning_effort=effort if effort in _EFFORTS else None,
        seed=seed,
        extra_body=settings.extra or None,
    )
