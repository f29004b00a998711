"""From the names and numbers that a user gives to requests that a host takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from overton.calls import Price
from overton.errors import InputError, Problem
from overton.hosts import local
from overton.hosts.local import ModelRequest
from overton.studies.study import AnyStudy

__all__ = ["Arguments", "Others", "Prices", "SourceArguments", "model_requests", "requests_of"]

Arguments = Mapping[str, Mapping[str, str | Sequence[str]]]
"""Model arguments by model spec and key; a list of values repeats the key."""
SourceArguments = Mapping[str, Mapping[str, str | Sequence[str]]]
"""The same for what searches and reads pages, by role: 'search' and 'pages'."""
Others = Mapping[str, Sequence[str]]
"""Specs by role, for the roles besides a study's first."""
Prices = Mapping[str, tuple[float, float]]
"""US dollars for a million tokens, in and out, by model spec."""


def requests_of(
    study: AnyStudy,
    named: Mapping[str, Sequence[str]],
    arguments: Arguments | None = None,
    prices: Prices | None = None,
    source_args: SourceArguments | None = None,
) -> local.Wanted:
    """Everything that answers in a run of `study`, by role; where no source of pages is named, that of the search.

    Raises:
        InputError: arguments or a price for what is not named.
    """
    source_args = source_args or {}
    models = {role: specs for role, specs in named.items() if role not in study.retrieval}
    sources = {role: [ModelRequest(spec) for spec in named.get(role, ())] for role in study.retrieval}
    wanted = local.completed(study, model_requests(models, arguments, prices) | sources)
    strangers = [role for role in source_args if role not in study.retrieval]
    if strangers:
        known = ", ".join(study.retrieval) or "none in this study"
        raise InputError([Problem("source_args", role, f"no such role; there is {known}") for role in strangers])
    return {role: _with(requests, source_args.get(role, {})) for role, requests in wanted.items()}


def _with(requests: Sequence[ModelRequest], arguments: Mapping[str, str | Sequence[str]]) -> Sequence[ModelRequest]:
    return [replace(one, arguments=tuple(_pairs(arguments))) for one in requests] if arguments else requests


def model_requests(
    named: Mapping[str, Sequence[str]], arguments: Arguments | None = None, prices: Prices | None = None
) -> dict[str, list[ModelRequest]]:
    """Models by role as a host takes them, each with its arguments and price.

    Raises:
        InputError: arguments or a price for a model that is not named.
    """
    arguments, prices = arguments or {}, prices or {}
    known = {model for models in named.values() for model in models}
    strangers = sorted((set(arguments) | set(prices)) - known)
    if strangers:
        places = ", ".join(sorted(known))
        raise InputError(
            [
                Problem("--model-arg or --price", name, f"no such model in this run; named are {places}")
                for name in strangers
            ]
        )
    return {
        role: [
            ModelRequest(
                model, tuple(_pairs(arguments.get(model, {}))), Price(*prices[model]) if model in prices else None
            )
            for model in models
        ]
        for role, models in named.items()
    }


def _pairs(arguments: Mapping[str, str | Sequence[str]]) -> list[tuple[str, str]]:
    return [
        (key, str(value))
        for key, values in arguments.items()
        for value in ([values] if isinstance(values, str | int | float) else values)
    ]
