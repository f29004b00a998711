"""From the names and numbers that a user gives to requests that a host takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from overton.calls import Price
from overton.errors import InputError, Problem
from overton.hosts import local
from overton.hosts.local import ModelRequest
from overton.models.price_list import PriceList
from overton.models.spec import name_and_spec, parse_spec
from overton.pairs import Given, pairs_of
from overton.studies.study import AnyStudy

__all__ = ["Arguments", "Others", "Prices", "SourceArguments", "model_requests", "names_of", "requests_of"]

Arguments = Mapping[str, Given]
"""Model arguments by model name and key; a list of values repeats the key."""
SourceArguments = Mapping[str, Given]
"""The same for what searches and reads pages, by role: 'search' and 'pages'."""
Others = Mapping[str, Sequence[str]]
"""Specs, or NAME=SPEC, by role, for the roles besides a study's first."""
Prices = Mapping[str, tuple[float, float]]
"""US dollars for a million tokens, in and out, by model name."""


def requests_of(  # noqa: PLR0917
    study: AnyStudy,
    named: Mapping[str, Sequence[str]],
    arguments: Arguments | None = None,
    prices: Prices | None = None,
    source_args: SourceArguments | None = None,
    price_list: PriceList | None = None,
) -> local.Wanted:
    """Everything that answers in a run of `study`, by role; where no source of pages is named, that of the search.

    Models are named as SPEC or NAME=SPEC; arguments and prices go by the name, without one by the spec. A price that is
    not given is that of the `price_list`, if it has one, else the one that Overton knows.

    Raises:
        InputError: arguments or a price for what is not named.
    """
    source_args = source_args or {}
    models = {role: specs for role, specs in named.items() if role not in study.retrieval}
    sources = {role: [ModelRequest(spec) for spec in named.get(role, ())] for role in study.retrieval}
    wanted = local.completed(study, model_requests(models, arguments, prices, price_list) | sources)
    strangers = [role for role in source_args if role not in study.retrieval]
    if strangers:
        known = ", ".join(study.retrieval) or "none in this study"
        raise InputError([Problem("source_args", role, f"no such role; there is {known}") for role in strangers])
    return {role: _with(requests, source_args.get(role, {})) for role, requests in wanted.items()}


def _with(requests: Sequence[ModelRequest], arguments: Given) -> Sequence[ModelRequest]:
    return [replace(one, arguments=tuple(pairs_of(arguments))) for one in requests] if arguments else requests


def model_requests(
    named: Mapping[str, Sequence[str]],
    arguments: Arguments | None = None,
    prices: Prices | None = None,
    price_list: PriceList | None = None,
) -> dict[str, list[ModelRequest]]:
    """Models by role as a host takes them, each with its arguments and price.

    Raises:
        InputError: arguments or a price for a model that is not named.
    """
    arguments, prices = arguments or {}, prices or {}
    wanted = {
        role: [_request(text, arguments, prices, price_list) for text in models] for role, models in named.items()
    }
    known = {one.name for requests in wanted.values() for one in requests}
    written = {text for models in named.values() for text in models}
    if strangers := sorted((set(arguments) | set(prices)) - known - written):
        reason = f"no such model in this run; named are {', '.join(sorted(known))}"
        raise InputError([Problem("--model-arg or --price", name, reason) for name in strangers])
    return wanted


def names_of(study: AnyStudy, named: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """The names of all that answer, by role: keys in records, and what a study's options may follow from."""
    return {
        role: [text if role in study.retrieval else name_and_spec(text)[0] for text in texts]
        for role, texts in named.items()
    }


def _request(text: str, arguments: Arguments, prices: Prices, price_list: PriceList | None) -> ModelRequest:
    """A model named as SPEC or NAME=SPEC; a spec that is published under another name goes by what was written, too."""
    name, spec = name_and_spec(text)
    given, price = {**arguments.get(text, {}), **arguments.get(name, {})}, prices.get(name, prices.get(text))
    listed = None if price_list is None else price_list.of(parse_spec(spec))
    return ModelRequest(spec, tuple(pairs_of(given)), listed if price is None else Price(*price), name)
