"""From the names and numbers that a user gives to the model requests that a host takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from overton.calls import Price
from overton.errors import InputError, Problem
from overton.hosts import local
from overton.hosts.local import ModelRequest
from overton.key_values import Given, pairs_of
from overton.models.prices import PriceList
from overton.models.spec import name_and_spec, parse_spec
from overton.studies.study import AnyStudy

__all__ = ["Arguments", "Others", "Prices", "SourceArguments", "model_requests", "names_of", "requests_of"]

Arguments = Mapping[str, Given]
"""Model arguments by model name and key; a list of values repeats the key."""
SourceArguments = Mapping[str, Given]
"""The same for the roles that search and read pages: 'search' and 'pages'."""
Others = Mapping[str, Sequence[str]]
"""Specs, or NAME=SPEC, by role, for the roles besides a study's first."""
Prices = Mapping[str, tuple[float, float]]
"""US dollars per million tokens, in and out, by model name."""


def requests_of(  # noqa: PLR0917
    study: AnyStudy,
    named: Mapping[str, Sequence[str]],
    arguments: Arguments | None = None,
    prices: Prices | None = None,
    source_args: SourceArguments | None = None,
    price_list: PriceList | None = None,
) -> local.Wanted:
    """Everything that answers in a run of `study`, by role; the source of pages is by default that of the search.

    Models are given as SPEC or NAME=SPEC; arguments and prices go by the name, or by the spec if there is no name. A
    price that is not given is taken from the `price_list`, if it is there, otherwise from Overton's own list.

    Raises:
        InputError: arguments or a price for something that is not in the run.
    """
    source_args = source_args or {}
    models = {role: specs for role, specs in named.items() if role not in study.retrieval}
    sources = {role: [ModelRequest(spec) for spec in named.get(role, ())] for role in study.retrieval}
    wanted = local.completed(study, model_requests(models, arguments, prices, price_list) | sources)
    unknown = [role for role in source_args if role not in study.retrieval]
    if unknown:
        known = ", ".join(study.retrieval) or "none in this study"
        raise InputError([Problem("source_args", role, f"no such role; there is {known}") for role in unknown])
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
        InputError: arguments or a price for a model that is not in the run.
    """
    arguments, prices = arguments or {}, prices or {}
    wanted = {
        role: [_request(text, arguments, prices, price_list) for text in models] for role, models in named.items()
    }
    known = {one.name for requests in wanted.values() for one in requests}
    written = {text for models in named.values() for text in models}
    if unknown := sorted((set(arguments) | set(prices)) - known - written):
        reason = f"no such model in this run; its models are {', '.join(sorted(known))}"
        raise InputError([Problem("--model-arg or --price", name, reason) for name in unknown])
    return wanted


def names_of(study: AnyStudy, named: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """The names of everything that answers, by role: keys in records, from which a study's options may be derived."""
    return {
        role: [text if role in study.retrieval else name_and_spec(text)[0] for text in texts]
        for role, texts in named.items()
    }


def _request(text: str, arguments: Arguments, prices: Prices, price_list: PriceList | None) -> ModelRequest:
    """A model given as SPEC or NAME=SPEC; a spec published under another name also goes by what was written."""
    name, spec = name_and_spec(text)
    given, price = {**arguments.get(text, {}), **arguments.get(name, {})}, prices.get(name, prices.get(text))
    listed = None if price_list is None else price_list.of(parse_spec(spec))
    return ModelRequest(spec, tuple(pairs_of(given)), listed if price is None else Price(*price), name)
