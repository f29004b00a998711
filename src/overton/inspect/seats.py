"""Conversion of Inspect's models, with their settings, into seats and manifest entries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from overton.calls import Form, Request, Settings, weighs
from overton.calls.model import AbsentAnswerer, Model
from overton.engine import RateLimiter, Seat
from overton.errors import InputError, Problem, Unreadable
from overton.inspect.compat import config_in_use
from overton.key_values import checked_base_url
from overton.models import parse_spec, price_of
from overton.models.catalog import reasons_of, series_of
from overton.runs.answerers import public_spec, recorded_model, why_no_probabilities, with_defaults
from overton.runs.folder import ModelEntry
from overton.studies.study import AnyStudy, Role
from overton.untrusted import converted

FORM = "overton_form"
"""The field of a request's extra body that passes a reply format to one of Overton's models."""

_SHARED_SETTINGS = ("temperature", "top_p", "max_tokens", "reasoning_effort", "seed")
"""Settings that have the same name and meaning in Inspect and Overton."""

_EXTRA_SETTINGS = (
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
"""Inspect's settings that change answers and that Overton lacks. They are put into the extra fields."""

_REFUSED_SETTINGS = {
    "system_message": "the study writes every message",
    "num_choices": "Overton reads only one answer per call, so you would pay for answers that are never read",
    "best_of": "Overton reads one answer per call",
    "response_schema": "the study sets the format of answers",
    "modalities": "the studies read text",
    "fallback_models": "another model's answers would count as this one's",
    "logprobs": "nothing reads them",
    "prompt_logprobs": "nothing reads them",
}


def settings_of(config: Any, role: str) -> Settings:
    """A role's settings, from Inspect's configuration of its model.

    Raises:
        InputError: the configuration contains settings that would change the study.
    """
    problems = [
        Problem(role, f"--{name.replace('_', '-')}", f"cannot be set: {reason}")
        for name, reason in _REFUSED_SETTINGS.items()
        if getattr(config, name, None) not in (None, False)
    ]
    if problems:
        raise InputError(problems)
    carried = {name: value for name in _EXTRA_SETTINGS if (value := getattr(config, name, None)) is not None}
    extra = msgspec.to_builtins({**(config.extra_body or {}), **carried}, str_keys=True)
    return Settings(**{name: getattr(config, name) for name in _SHARED_SETTINGS}, extra=extra)


def pairs_of(settings: Settings) -> tuple[tuple[str, str], ...]:
    """Settings as KEY=VALUE pairs, with which a run can be resumed."""
    named = [(name, value) for name in _SHARED_SETTINGS if (value := getattr(settings, name)) is not None]
    extra = [(f"extra.{name}", value) for name, value in settings.extra.items()]
    return tuple((name, value if isinstance(value, str) else _encode(value).decode()) for name, value in named + extra)


def config_of(request: Request, base: Settings, extra_body: Mapping[str, Any] | None, *, hold: bool) -> Any:
    """The configuration for a request, which Inspect adds to its configuration of the role.

    `base` are the role's settings. `extra_body` has the role's extra fields in Inspect's notation. With `hold`, the
    request contains the reply format.
    """
    from inspect_ai.model import GenerateConfig

    own = {name: value for name, value in request.settings.extra.items() if base.extra.get(name) != value}
    form = {FORM: msgspec.to_builtins(request.form)} if hold and request.form is not None else {}
    body = {**(extra_body or {}), **own, **form}
    settings = {name: getattr(request.settings, name) for name in _SHARED_SETTINGS}
    return GenerateConfig(**settings | {"seed": request.seed, "extra_body": body or None})


def form_in(extra_body: dict[str, Any]) -> Form | None:
    """The reply format that came with a request.

    Raises:
        InputError: the field is not a reply format.
    """
    sent = extra_body.get(FORM)
    try:
        return None if sent is None else converted(sent, Form)
    except Unreadable as error:
        raise InputError([Problem("extra_body", FORM, f"is not a reply format: {error.reason}")]) from None


_encode = msgspec.json.Encoder().encode


_MOCK_PREFIX = "mockllm/"
"""The prefix of Inspect's models with answers written in advance, which accept any setting."""


@dataclass(frozen=True)
class EvalModel(AbsentAnswerer):
    """A model of Inspect AI in a role. Overton's `ask` calls Inspect's `model` directly, because `ask` needs more than
    the reply's text.

    `weighs` is True for an Overton model. Its requests can name the options whose token probabilities are needed.
    """

    role: str = ""
    model: Any = None
    extra_body: Mapping[str, Any] = field(default_factory=dict)
    weighs: bool = False


def eval_model(seat: Seat) -> EvalModel:
    """The Inspect model in a seat."""
    answerer = seat.model.answerer
    assert isinstance(answerer, EvalModel), f"{answerer.name} was not opened by Inspect"
    return answerer


def named_models(study: AnyStudy, agents: int = 0) -> dict[str, list[Any]]:
    """Inspect's models by role of the study: the evaluated model in the first role, and the models of `--model-role` in
    the other roles.

    If models interact, there are `agents` models. Name them by `--model-role agent_1=...` (the evaluated model takes
    each unnamed role), or list all of them in `--model-role agent=[...]`.

    Raises:
        InputError: no model is being evaluated, or a needed role has no model.
    """
    from inspect_ai.model import get_model, model_roles

    given = model_roles()
    evaluated = _evaluated_model()
    found = {
        study.first: _interacting_models(study.roles[0].word, agents, evaluated) if study.together else [evaluated]
    }
    for role in study.roles[1:]:
        if role.retrieves:
            continue
        found[role.name] = [get_model(role=role.word)] if role.word in given else []
        if not found[role.name] and not role.optional:
            reason = f"name a model for this role: --model-role {role.word}=PROVIDER/NAME"
            raise InputError([Problem(f"role {role.name}", "", reason)])
    return found


def _evaluated_model() -> Any:
    from inspect_ai.model import get_model

    try:
        return get_model()
    except ValueError:
        reason = "no model is known yet; give the task's name, as in eval('overton/STUDY', model=..., task_args=...)"
        raise InputError([Problem("--model", "", reason)]) from None


def _interacting_models(role: str, count: int, evaluated: Any) -> list[Any]:
    from inspect_ai.model import get_model, model_roles

    listed = model_roles().get(role)
    if isinstance(listed, list):
        return list(listed)
    if listed is not None:
        return [listed] * count
    return [get_model(role=f"{role}_{number}", default=evaluated) for number in range(1, count + 1)]


def entry_of(model: Any, role: Role, seed: int) -> ModelEntry:
    """A model's entry for a run's manifest, the same as in a run by Overton's own engine.

    As in Overton's engine, judges have temperature 0. If the user did not set a temperature, the entry is `unsure`,
    because the endpoint may not accept a temperature.

    Raises:
        InputError: the model's settings would change the study.
    """
    settings, spec = settings_of(config_in_use(model), role.name), _spec_of(model)
    parsed = parse_spec(spec)
    own = getattr(model.api, "overton", None)
    arguments = own.arguments if own else _address_arguments(model)
    reasons = reasons_of(parsed) or settings.reasoning_effort not in (None, "none")
    if role.weighed and (why := why_no_probabilities(reasons, own is None or weighs(own.answerer))):
        raise InputError([Problem(f"role {role.name}", public_spec(spec), why)])
    asked = with_defaults(settings, spec, role, seed, reasons=reasons_of(parsed), most=0)
    here = parsed.runs_here or parsed.name.startswith(_MOCK_PREFIX)
    return ModelEntry(
        name=public_spec(spec),
        spec=spec,
        identity=own.answerer.identity if own else parsed.identity,
        settings=asked,
        arguments=(*arguments, *pairs_of(settings)),
        holds_form=bool(own and own.answerer.holds_form),
        price=price_of(parsed),
        family=series_of(parsed),
        unsure=role.judges and asked.temperature != settings.temperature and not here,
    )


def _spec_of(model: Any) -> str:
    own = getattr(model.api, "overton", None)
    return str(own.spec) if own else f"inspect/{model}"


def _address_arguments(model: Any) -> tuple[tuple[str, str], ...]:
    """The model's address, if the user gave one. An address that contains credentials is left out."""
    try:
        url = checked_base_url(model.explicit_base_url or "")
    except ValueError:
        return ()
    return (("base_url", url),)


def seats_of(
    study: AnyStudy,
    models: Mapping[str, Sequence[Any]],
    entries: Mapping[str, Sequence[ModelEntry]],
    sources: Mapping[str, Model],
) -> dict[str, Seat]:
    """The seat for each role name that the study calls."""
    seats = {role: _make_seat(source) for role, source in sources.items()}
    for role, found in models.items():
        together = study.together and role == study.first
        for number, (model, entry) in enumerate(zip(found, entries[role], strict=True), 1):
            own = getattr(model.api, "overton", None)
            answerer = EvalModel(
                entry.name,
                entry.identity,
                entry.holds_form,
                role=role,
                model=model,
                extra_body=dict(config_in_use(model).extra_body or {}),
                weighs=own is not None and weighs(own.answerer),
            )
            seat = _make_seat(recorded_model(entry, answerer), judges=study.role(role).judges)
            seats[f"{role}/{number}" if together else role] = seat
    return seats


def _make_seat(model: Model, *, judges: bool = False) -> Seat:
    """A seat. Inspect or `RetrievalSources` limits the rate of its calls."""
    return Seat(model, model.settings, RateLimiter(model.connections), judges)
