"""Generation settings, in Inspect's terms and ours: what a call's identity covers must be what is sent."""

from __future__ import annotations

from typing import Any

import msgspec

from overton.calls import Form, Request, Settings
from overton.errors import InputError, Problem, Unreadable
from overton.untrusted import converted

__all__ = ["FORM", "config_of", "form_in", "pairs_of", "settings_of"]

FORM = "overton_form"
"""The field of a request's extra body in which a form goes to a model of ours."""

_SHARED = ("temperature", "top_p", "max_tokens", "reasoning_effort", "seed")
"""Settings that have the same name and meaning in both."""

_CARRIED = (
    "top_k",
    "stop_seqs",
    "frequency_penalty",
    "presence_penalty",
    "logit_bias",
    "verbosity",
    "effort",
    "reasoning_mode",
    "reasoning_tokens",
    "reasoning_summary",
)
"""Settings of Inspect's that change answers and have no name in ours: they go into the extra fields."""

_REFUSED = {
    "system_message": "the study writes every message",
    "num_choices": "one answer is read per call; more would be paid for and lost",
    "best_of": "one answer is read per call",
    "response_schema": "the study sets the form of answers",
    "modalities": "the studies read text",
    "fallback_models": "another model's answers would count as this one's",
    "logprobs": "nothing reads them",
    "prompt_logprobs": "nothing reads them",
}


def settings_of(config: Any, role: str) -> Settings:
    """A role's settings, from Inspect's configuration of its model.

    Raises:
        InputError: it contains what would change the study.
    """
    problems = [
        Problem(role, f"--{name.replace('_', '-')}", f"cannot be set: {reason}")
        for name, reason in _REFUSED.items()
        if getattr(config, name, None) not in (None, False)
    ]
    if problems:
        raise InputError(problems)
    carried = {name: value for name in _CARRIED if (value := getattr(config, name, None)) is not None}
    extra = msgspec.to_builtins({**(config.extra_body or {}), **carried}, str_keys=True)
    return Settings(**{name: getattr(config, name) for name in _SHARED}, extra=extra)


def pairs_of(settings: Settings) -> tuple[tuple[str, str], ...]:
    """The same as KEY=VALUE pairs, by which a run can be resumed."""
    named = [(name, value) for name in _SHARED if (value := getattr(settings, name)) is not None]
    extra = [(f"extra.{name}", value) for name, value in settings.extra.items()]
    return tuple((name, value if isinstance(value, str) else _encode(value).decode()) for name, value in named + extra)


def config_of(request: Request, base: Settings, extra_body: dict[str, Any] | None, *, hold: bool) -> Any:
    """The configuration for a request, on top of what Inspect has configured for the role.

    `base` are the role's own settings, `extra_body` its extra fields in Inspect's form. With `hold` the form
    goes with the request.
    """
    from inspect_ai.model import GenerateConfig

    own = {name: value for name, value in request.settings.extra.items() if base.extra.get(name) != value}
    form = {FORM: msgspec.to_builtins(request.form)} if hold and request.form is not None else {}
    body = {**(extra_body or {}), **own, **form}
    settings = {name: getattr(request.settings, name) for name in _SHARED}
    return GenerateConfig(**settings | {"seed": request.seed, "extra_body": body or None})


def form_in(extra_body: dict[str, Any]) -> Form | None:
    """The form that came with a request.

    Raises:
        InputError: what came is not a form.
    """
    sent = extra_body.get(FORM)
    try:
        return None if sent is None else converted(sent, Form)
    except Unreadable as error:
        raise InputError([Problem("extra_body", FORM, f"is not a form: {error.reason}")]) from None


_encode = msgspec.json.Encoder().encode
