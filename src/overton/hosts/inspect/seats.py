"""Who answers in which role of an eval, and how: from Inspect's models to seats and to a manifest's entries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from overton.calls import Settings, weighs
from overton.errors import InputError, Problem
from overton.hosts.inspect.privates import config_in_use
from overton.hosts.inspect.settings import pairs_of, settings_of
from overton.key_values import checked_base_url
from overton.models import parse_spec, price_of
from overton.models.catalog import reasons_of, series_of
from overton.retrieval import Source
from overton.runs.answerers import published, unweighable, with_defaults
from overton.runs.folder import ModelEntry
from overton.studies.study import AnyStudy, Role

__all__ = ["Known", "Seat", "entry_of", "named_models", "seats_of"]


_CANNED = "mockllm/"
"""Inspect's model with answers written in advance: it accepts any setting."""


@dataclass(frozen=True)
class Known:
    """An answerer, as far as its name is concerned."""

    name: str
    identity: str


@dataclass
class Seat:
    """Who answers in a role: one of Inspect's models, or a source of searches and pages.

    `unsure` says that it judges and that it is unknown whether it accepts the temperature that judges have. `weighs`
    says that it is a model of ours, which learns from the form itself what to weigh; `judges` that it serves as a
    judge.
    """

    role: str
    answerer: Any
    settings: Settings
    model: Any = None
    holds_form: bool = False
    extra_body: dict[str, Any] = field(default_factory=dict)
    answered: bool = False
    rejected: int = 0
    unsure: bool = False
    weighs: bool = False
    judges: bool = False


def named_models(study: AnyStudy, agents: int = 0) -> dict[str, list[Any]]:
    """Inspect's models by role of the study: the evaluated one in the first, those of `--model-role` in the others.

    If models meet there are `agents` of them: `--model-role agent_1=...`, each the evaluated one if not named, or as
    many as `--model-role agent=[...]` lists.

    Raises:
        InputError: no model is being evaluated, or a role that is needed has none.
    """
    from inspect_ai.model import get_model, model_roles

    given = model_roles()
    evaluated = _evaluated()
    found = {study.first: _together(study.roles[0].word, agents, evaluated) if study.together else [evaluated]}
    for role in study.roles[1:]:
        if role.retrieves:
            continue
        found[role.name] = [get_model(role=role.word)] if role.word in given else []
        if not found[role.name] and not role.optional:
            reason = f"name a model for this role: --model-role {role.word}=PROVIDER/NAME"
            raise InputError([Problem(f"role {role.name}", "", reason)])
    return found


def _evaluated() -> Any:
    from inspect_ai.model import get_model

    try:
        return get_model()
    except ValueError:
        reason = "no model is known yet: give the task's name, as in eval('overton/STUDY', model=..., task_args=...)"
        raise InputError([Problem("--model", "", reason)]) from None


def _together(role: str, count: int, evaluated: Any) -> list[Any]:
    from inspect_ai.model import get_model, model_roles

    listed = model_roles().get(role)
    if isinstance(listed, list):
        return list(listed)
    if listed is not None:
        return [listed] * count
    return [get_model(role=f"{role}_{number}", default=evaluated) for number in range(1, count + 1)]


def entry_of(model: Any, role: Role, seed: int) -> ModelEntry:
    """A model's entry in a run's manifest: the same as if Overton's own engine had called it.

    Judges have temperature 0 here too; if the user did not set it, it is `unsure` that the endpoint accepts one.

    Raises:
        InputError: its settings would change the study.
    """
    settings, spec = settings_of(config_in_use(model), role.name), _spec(model)
    parsed = parse_spec(spec)
    own = getattr(model.api, "overton", None)
    arguments = own.arguments if own else _address(model)
    reasons = reasons_of(parsed) or settings.reasoning_effort not in (None, "none")
    if role.weighed and (why := unweighable(reasons, own is None or weighs(own.answerer))):
        raise InputError([Problem(f"role {role.name}", published(spec), why)])
    asked = with_defaults(settings, spec, role, seed, reasons=reasons_of(parsed), most=0)
    here = parsed.runs_here or parsed.name.startswith(_CANNED)
    return ModelEntry(
        name=published(spec),
        spec=spec,
        identity=own.answerer.identity if own else parsed.identity,
        settings=asked,
        arguments=(*arguments, *pairs_of(settings)),
        holds_form=bool(own and own.answerer.holds_form),
        price=price_of(parsed),
        family=series_of(parsed),
        unsure=role.judges and asked.temperature != settings.temperature and not here,
    )


def _spec(model: Any) -> str:
    own = getattr(model.api, "overton", None)
    return str(own.spec) if own else f"inspect/{model}"


def _address(model: Any) -> tuple[tuple[str, str], ...]:
    """The model's address, if the user gave one; an address that contains credentials is left out."""
    try:
        url = checked_base_url(model.explicit_base_url or "")
    except ValueError:
        return ()
    return (("base_url", url),)


def seats_of(
    study: AnyStudy,
    models: Mapping[str, Sequence[Any]],
    entries: Mapping[str, Sequence[ModelEntry]],
    sources: Mapping[str, Source],
) -> dict[str, Seat]:
    """Who answers under each name that the study calls."""
    seats = {role: Seat(role, source.answerer, source.settings) for role, source in sources.items()}
    for role, found in models.items():
        together = study.together and role == study.first
        for number, (model, entry) in enumerate(zip(found, entries[role], strict=True), 1):
            seats[f"{role}/{number}" if together else role] = Seat(
                role=role,
                answerer=Known(entry.name, entry.identity),
                settings=entry.settings,
                model=model,
                holds_form=entry.holds_form,
                extra_body=dict(config_in_use(model).extra_body or {}),
                unsure=entry.unsure,
                weighs=(own := getattr(model.api, "overton", None)) is not None and weighs(own.answerer),
                judges=study.role(role).judges,
            )
    return seats
