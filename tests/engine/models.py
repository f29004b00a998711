"""Models of which only the answerer matters."""

from __future__ import annotations

from typing import Any

from overton.calls import Settings
from overton.calls.model import Model


def model_of(answerer: Any, **more: Any) -> Model:
    known: dict[str, Any] = {"settings": Settings(), "connections": 1, "price": None}
    return Model(answerer, **{**known, "family": "", "series": "", "reasons": False, **more})
