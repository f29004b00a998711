"""Our words in Inspect AI's, and Inspect's in ours: messages, outputs, and what went wrong."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from typing import Any

from overton.calls import Message, Reply, Usage
from overton.errors import UnavailableError
from overton.models.secret import Secret

__all__ = ["cause_of", "chat_messages", "environment_secrets", "reply_of", "said"]

_MESSAGE_LIMIT = 500
_KEY_VARIABLE = re.compile(r"(KEY|TOKEN|SECRET|PASSWORD)$")
_MARKUP = re.compile(r"\[/?[a-z ]+\]")


def chat_messages(messages: Sequence[Message]) -> list[Any]:
    """Messages as Inspect's models take them."""
    from inspect_ai.model import ChatMessageAssistant, ChatMessageSystem, ChatMessageUser

    kinds = {"system": ChatMessageSystem, "user": ChatMessageUser, "assistant": ChatMessageAssistant}
    return [kinds[message.role](content=message.content) for message in messages]


def reply_of(output: Any) -> Reply:
    """What a model's output says.

    Raises:
        UnavailableError: it holds no answer.
    """
    if not output.choices:
        raise UnavailableError("malformed", f"the reply holds no choices: {output.error or 'no reason given'}")
    return Reply(
        text=output.completion.encode("utf-8", "replace").decode(),
        finish=output.stop_reason,
        refused=output.stop_reason == "content_filter",
        usage=Usage() if output.usage is None else _usage(output.usage),
        model=output.model,
    )


def _usage(usage: Any) -> Usage:
    """Tokens read from or written to a cache are input too: Inspect counts them apart."""
    cached = (usage.input_tokens_cache_read or 0) + (usage.input_tokens_cache_write or 0)
    return Usage(usage.input_tokens + cached, usage.output_tokens)


def cause_of(error: Exception) -> Exception:
    """What the provider raised: the last attempt's error where Inspect wraps it."""
    from tenacity import RetryError

    cause = error.last_attempt.exception() if isinstance(error, RetryError) else None
    return cause if isinstance(cause, Exception) else error


def said(error: Exception, secrets: Iterable[Secret] = ()) -> str:
    """An error's own words, without keys, markup and control characters, 500 characters at most.

    Inspect adds the whole request to a rejection's words; the provider's own stand apart.
    """
    text = str(getattr(error, "provider_message", None) or getattr(error, "message", None) or error)
    for secret in (*environment_secrets(), *secrets):
        text = secret.hide(text)
    text = _MARKUP.sub("", "".join(c if c.isprintable() else " " for c in text or type(error).__name__))
    return " ".join(text.split())[:_MESSAGE_LIMIT]


def environment_secrets() -> list[Secret]:
    """The keys that a provider's error might hold: which variable it read is not known, so all of them."""
    return [Secret(value) for name, value in os.environ.items() if _KEY_VARIABLE.search(name) and len(value) >= 8]
