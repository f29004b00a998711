"""Overton's own models, by their usual names: `--model overton/embedded/smollm2-135m`."""

from __future__ import annotations

from inspect_ai.model import ModelAPI, modelapi

__all__ = ["overton"]


@modelapi(name="overton")
def overton() -> type[ModelAPI]:
    """Overton's models; see `overton models`."""
    from overton.hosts.inspect.provider import OvertonAPI

    return OvertonAPI
