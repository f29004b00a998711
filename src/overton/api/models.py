"""Models: does one answer, and its weights."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from overton.hosts.local import run_to_end

if TYPE_CHECKING:
    from overton.calls import Reply
    from overton.models import KnownModel

__all__ = ["check", "known", "pull"]


def known() -> list[KnownModel]:
    """Every model and provider known by name, with prices; see `overton.models.KnownModel`."""
    from overton.models import known_models
    from overton.studies.registry import simulated_names

    return list(known_models(simulated_names()))


def check(spec: str, arguments: Mapping[str, str | Sequence[str]] | None = None) -> Reply:
    """Ask a model one small question, once.

    Raises:
        InputError: the spec or an argument is wrong, or a key is missing.
        AnswerError: what it answered with instead.
    """
    from overton.api.requests import model_requests
    from overton.models import check_model, open_model

    async def ask() -> Reply:
        (wanted,) = model_requests({"model": [spec]}, {spec: arguments or {}})["model"]
        model = open_model(wanted.spec, wanted.arguments, name=wanted.name)
        try:
            return await check_model(model)
        finally:
            await model.answerer.close()

    return run_to_end(ask())


def pull(name: str, *, progress: Callable[[str], None] | None = None) -> Path:
    """Fetch an embedded model's weights into the user's cache; gives the file. `name` may begin with 'embedded/'.

    Raises:
        InputError: no such weights are known.
        OvertonError: they could not be fetched, or are not what they should be.
    """
    from overton.models.weights import pull as fetch

    return fetch(name.removeprefix("embedded/"), progress=progress)
