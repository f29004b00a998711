"""Conversion of a command's parameters to the arguments of the corresponding Python function."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from overton.cli.build import model_arguments, prices, sizes
from overton.key_values import by_key

if TYPE_CHECKING:
    from overton.studies.study import AnyStudy


def only_given(values: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters that the user gave, with repeated values as lists."""
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in values.items()
        if value is not None and value != ()
    }


def call_arguments(study: AnyStudy, values: Mapping[str, Any]) -> dict[str, Any]:
    """A command's parameters as the arguments of `overton.run` and `overton.plan`.

    Raises:
        InputError: a value of an option that takes pairs is malformed.
    """
    given = only_given(values)
    roles = {role.name: given.pop(role.word, None) for role in study.roles}
    sources = {role: given.pop(f"{role}_arg", ()) for role in study.retrieval}
    return {
        "models": roles.pop(study.first) or (),
        "others": {role: spec for role, spec in roles.items() if spec},
        "model_args": model_arguments(given.pop("model_arg", ())),
        "prices": prices(given.pop("price", ())),
        "precision": sizes("--precision", given.pop("precision", ())),
        "source_args": {
            role: by_key(words, f"--{role}-arg", "KEY=VALUE, as in timeout=20")
            for role, words in sources.items()
            if words
        },
        **given,
    }
