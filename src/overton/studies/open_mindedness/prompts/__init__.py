"""Every word that a model reads in this study, as data with its source."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any

__all__ = ["load", "texts"]


@cache
def load(name: str) -> dict[str, Any]:
    """The prompt file `name` (without '.toml') as a dictionary."""
    return tomllib.loads(files(__name__).joinpath(f"{name}.toml").read_text(encoding="utf-8"))


def texts(name: str) -> dict[str, str]:
    """Every text of the prompt file `name` by its dotted key, so that a run can tell which of them changed."""
    return dict(_flatten(name, load(name)))


def _flatten(prefix: str, value: Any) -> list[tuple[str, str]]:
    if isinstance(value, dict):
        return [pair for key, inner in value.items() for pair in _flatten(f"{prefix}.{key}", inner)]
    return [(prefix, str(value))]
