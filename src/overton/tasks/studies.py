"""A task for each study: its parameters are the study's own options, as its commands have them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from inspect_ai import Task, task

from overton.api.inspect_tasks import make
from overton.errors import InputError, OvertonError, Problem
from overton.hosts.inspect.versions import check_inspect
from overton.hosts.inspect.words import prerequisite
from overton.pairs import by_key
from overton.studies.options import Field, fields_of, option_place
from overton.studies.study import AnyStudy
from overton.tasks.scoring import measuring

__all__ = ["task_of"]

_HERE = "overton.tasks"
_AGENTS = 3
"""How many models meet where nobody says."""


def task_of(study: AnyStudy) -> Callable[..., Task]:
    """The study as a task of Inspect AI, called like it with underscores."""
    known = {param.name: param for param in _params(study)}

    def made(**given: Any) -> Task:
        try:
            check_inspect()
            if strangers := [name for name in given if name not in known]:
                reason = f"no such parameter; known are {', '.join(known)}"
                raise InputError([Problem(f"-T {name}", "", reason) for name in strangers])
            return _made(study, {name: given.get(name, param.default) for name, param in known.items()})
        except InputError as error:
            raise prerequisite(error.placed(lambda place: _word(study, place))) from error
        except OvertonError as error:
            raise prerequisite(error) from error

    # Inspect only warns of a parameter that a task lacks; taking any lets it be refused.
    anything = inspect.Parameter("unknown", inspect.Parameter.VAR_KEYWORD, annotation=Any)
    made.__signature__ = inspect.Signature([*known.values(), anything])  # type: ignore[attr-defined]
    made.__name__ = made.__qualname__ = study.name.replace("-", "_")
    made.__module__, made.__doc__ = _HERE, "\n".join(_documented(study))
    found: Callable[..., Task] = task(made)
    return found


def _made(study: AnyStudy, given: Mapping[str, Any]) -> Task:
    rest = {name: value for name, value in given.items() if value is not None}
    sources = {role: [str(rest.pop(role))] for role in study.retrieval if role in rest}
    arguments = {role: _pairs(f"{role}_args", rest.pop(f"{role}_args", ())) for role in study.retrieval}
    only = rest.pop("only", None)
    return make(
        study.name,
        measuring,
        only=None if only is None else [str(one) for one in _several(only)],
        sources=sources,
        source_args={role: values for role, values in arguments.items() if values},
        **rest,
    )


def _params(study: AnyStudy) -> Iterator[inspect.Parameter]:
    for name, default, _ in _described(study):
        yield inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Any)


def _documented(study: AnyStudy) -> Iterator[str]:
    """The task's docstring, as its users find it."""
    yield study.question
    yield ""
    for role in study.roles[1:]:
        if not role.retrieves:
            yield f"Model role `{role.word}`{'' if role.optional else ' (needed)'}: {role.help}."
    yield ""
    yield "Args:"
    for name, _, help_ in _described(study):
        yield f"    {name}: {help_}"


def _described(study: AnyStudy) -> Iterator[tuple[str, Any, str]]:
    """Name, default and help of every parameter."""
    if study.together:
        yield "agents", _AGENTS, "How many models meet."
    for role in study.roles:
        if role.retrieves:
            yield role.name, role.usual or None, f"{role.help}."
            yield f"{role.name}_args", None, f"Settings of the {role.name}, each as KEY=VALUE."
    items = study.items
    yield "items", None, f"{items.layouts[:1].upper()}{items.layouts[1:]}; the starter {items.plural} by default."
    yield items.plural, None, "The same."
    for field in (*fields_of(items.reading), *_given_fields(study)):
        yield field.name, None, field.told()
    yield "only", None, f"Ask about these {items.plural} only, by id."
    yield "seed", 0, "Seed of all random draws."
    yield "trials_at_once", 10, "How many trials of one sample are under way side by side."
    yield "cache", True, "Whether answers are kept, so that an eval that was killed does not pay again."


def _given_fields(study: AnyStudy) -> list[Field]:
    return [field for field in fields_of(study.options) if not field.option.follows]


def _word(study: AnyStudy, place: str) -> str:
    """How a person who calls `inspect eval` gave what a problem is with."""
    kind, _, name = place.partition(" ")
    if place == option_place(name):
        return f"-T {name}"
    if kind != "role" or name not in study.role_names:
        return place
    if name == study.first:
        return "--model"
    return f"-T {name}" if name in study.retrieval else f"--model-role {study.role(name).word}"


def _pairs(name: str, given: Any) -> dict[str, list[str]]:
    """KEY=VALUE words as values by key."""
    return by_key([str(one) for one in _several(given)], option_place(name))


def _several(given: Any) -> list[Any]:
    return list(given) if isinstance(given, list | tuple) else [given]
