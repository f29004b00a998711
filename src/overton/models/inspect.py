"""Every other provider: models through Inspect AI's model API, as `inspect/provider/name`."""

from __future__ import annotations

import asyncio
import contextvars
from typing import Any

from overton.calls import Reply, Request, Settings
from overton.errors import AccessError, AnswerError, InputError, MissingExtra, Problem, RejectedError, UnavailableError
from overton.models.inspect_words import cause_of, chat_messages, reply_of, said
from overton.models.secret import Secret

__all__ = ["InspectModel"]


class InspectModel:
    """A model of Inspect AI's. It asks once: retrying is the engine's work, so Inspect's own is turned off.

    Raises:
        MissingExtra: Inspect AI is not installed.
        InputError: Inspect knows no such provider, or cannot use it (its package or its key is missing).
    """

    holds_form = False

    def __init__(
        self,
        model: str,
        *,
        name: str,
        base_url: str | None = None,
        key: Secret | None = None,
        connections: int = 64,
        timeout: float = 600.0,
    ) -> None:
        self.name = name
        self.identity = f"inspect/{model}"
        self._connections = connections
        self._timeout = timeout
        self._secrets = [key] if key else []
        self._model = self._open(model, base_url, key)

    def __repr__(self) -> str:
        return f"InspectModel({self.name!r})"

    def _open(self, model: str, base_url: str | None, key: Secret | None) -> Any:
        try:
            from inspect_ai.model import get_model
        except ImportError:
            raise MissingExtra(f"the model {self.name}", "inspect") from None
        try:
            opened = get_model(model, base_url=base_url, api_key=key.reveal() if key else None, memoize=False)
            return _without_retries(opened)
        except Exception as error:  # noqa: BLE001 - providers raise what they like when they cannot be set up
            reason = self._said(error)
        raise InputError([Problem("--model", self.name, f"Inspect cannot open it: {reason}")])

    async def answer(self, request: Request) -> Reply:
        """Answer once; raises as `overton.calls.Answerer` says."""
        # In a task of its own, with a context of its own: Inspect keeps a transcript in the context, and one that lived
        # as long as the run would hold every call of it.
        task = asyncio.create_task(self._ask(request), context=contextvars.copy_context())
        outcome = await task
        if isinstance(outcome, AnswerError):
            raise outcome
        return reply_of(outcome)

    async def _ask(self, request: Request) -> Any:
        messages = chat_messages(request.messages)
        config = _config(request.settings, request.seed, self._connections)
        try:
            async with asyncio.timeout(self._timeout):
                return await self._model.generate(messages, config=config)
        except TimeoutError:
            message = f"{self.name}: no reply in {self._timeout:g} seconds (timeout=SECONDS allows more)"
            return UnavailableError("timeout", message, maybe_billed=True)
        except Exception as error:  # noqa: BLE001 - each provider raises its own client's types
            return self._fault(cause_of(error))

    def _fault(self, error: Exception) -> AnswerError:
        """The error for whatever a provider raised, by Inspect's own judgement of what is worth asking again."""
        api = self._model.api
        message = f"{self.name}: {self._said(error)}"
        decision = api.should_retry(error)
        if decision:
            limited = getattr(decision, "kind", "transient") == "rate_limit"
            kind = "rate limit" if limited else "server error"
            wait = getattr(decision, "retry_after", None)
            return UnavailableError(kind, message, retry_after=wait, maybe_billed=not limited)
        status = getattr(error, "status_code", None)
        if api.is_auth_failure(error) or status in {401, 403} or _is_prerequisite(error):
            return AccessError("no permission", message)
        if status == 404:
            return AccessError("unknown model", message)
        return RejectedError("rejected", message)

    def _said(self, error: Exception) -> str:
        return said(error, self._secrets)

    async def close(self) -> None:
        """Close the provider's client."""
        await self._model.api.aclose()


def _without_retries(model: Any) -> Any:
    """The model, with its provider's own client told not to retry either: most would, twice, unseen."""
    client: Any = getattr(model.api, "client", None)
    if isinstance(getattr(client, "max_retries", None), int):
        client.max_retries = 0
    return model


def _is_prerequisite(error: Exception) -> bool:
    return type(error).__name__ == "PrerequisiteError"


def _config(settings: Settings, seed: int | None, connections: int) -> Any:
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
