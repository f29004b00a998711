"""Answerers that are models, by name: over HTTP, through Inspect AI, or run in this process.

Opening a model imports what it needs; importing this room does not.
"""

from overton.calls import Price
from overton.models.known import KnownModel, known_models
from overton.models.prices import price_of, prices_as_of
from overton.models.registry import Model, check_model, open_model
from overton.models.spec import Spec, parse_spec
from overton.models.trying import check, list, pull

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
