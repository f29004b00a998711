"""Overton's own models, by the names that they have everywhere: `--model overton/embedded/smollm2-135m`."""

from __future__ import annotations

from inspect_ai.model import ModelAPI, modelapi

__all__ = ["overton"]


@modelapi(name="overton")
def overton() -> type[ModelAPI]:
    """Models of ours; see `overton models`."""
    from overton.hosts.inspect.provider import OvertonAPI

    return OvertonAPI
