"""Models by name: over HTTP, through Inspect AI, or run in this process.

Importing this package is cheap, because each model's dependencies are imported when it is opened.
"""

from __future__ import annotations

import asyncio
import builtins
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from overton.calls import Price, Reply
from overton.calls.model import Model
from overton.key_values import pairs_of
from overton.models.catalog import KnownModel, known_models, price_of, prices_as_of
from overton.models.factory import check_model, open_model
from overton.models.spec import Spec, name_and_spec, parse_spec
from overton.models.weights import pull as fetch_weights

__all__ = [
    "KnownModel",
    "Model",
    "Price",
    "Spec",
    "check",
    "check_model",
    "known_models",
    "list",
    "open_model",
    "parse_spec",
    "price_of",
    "prices_as_of",
    "pull",
]


def list() -> builtins.list[KnownModel]:
    """List every model and provider known by name, with prices, including the simulated models of all studies."""
    from overton.studies.registry import simulated_names

    return [*known_models(simulated_names())]


def check(spec: str, arguments: Mapping[str, str | Sequence[str]] | None = None) -> Reply:
    """Send a model one small question, without retries.

    Raises:
        InputError: the spec or an argument is wrong, or a key is missing.
        AnswerError: the model's endpoint answered with an error.
    """
    name, plain = name_and_spec(spec)

    async def ask() -> Reply:
        model = open_model(plain, pairs_of(arguments or {}), name=name)
        try:
            return await check_model(model)
        finally:
            await model.answerer.close()

    with ThreadPoolExecutor(1) as beside:  # a loop may already be running, as in a notebook
        return beside.submit(asyncio.run, ask()).result()


def pull(name: str, *, progress: Callable[[str], None] | None = None) -> Path:
    """Fetch an embedded model's weights into the user's cache; returns the file. `name` may start with 'embedded/'.

    Raises:
        InputError: no weights of this name are known.
        OvertonError: the weights could not be fetched, or are not the expected ones.
    """
    return fetch_weights(name.removeprefix("embedded/"), progress=progress)
