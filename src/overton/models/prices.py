"""What a model's tokens cost, where that is known."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from importlib.resources import files

from overton.calls import Price
from overton.models.providers import EMBEDDERS, RUN_HERE
from overton.models.spec import Spec

__all__ = ["price_of", "price_table", "prices_as_of"]

_FREE = Price(0.0, 0.0)
_UNPAID = {*RUN_HERE, *EMBEDDERS}
_INSPECT_NAMES = {"grok": "xai"}
# 'gpt-4o-2024-08-06', 'claude-opus-4-20250514', 'grok-4-0709', 'gemini-2.0-flash-001', 'claude-3-5-haiku-latest'
_DATED = re.compile(r"[-@](20\d{2}-\d{2}-\d{2}|20\d{6}|\d{4}|\d{3}|latest)$")


@cache
def _data() -> dict[str, dict[str, list[float]]]:
    return tomllib.loads(files("overton.models").joinpath("prices.toml").read_text(encoding="utf-8"))


def prices_as_of() -> str:
    """The date (ISO) to which the table of prices was kept."""
    return str(_data()["table"]["as_of"])


def price_table() -> dict[str, Price]:
    """Every known price by `provider/name`, in US dollars for a million tokens."""
    return {
        f"{provider}/{model}": Price(*price)
        for provider, models in _data().items()
        if provider != "table"
        for model, price in models.items()
    }


def price_of(spec: Spec) -> Price | None:
    """The list price of a model; None where it is not known.

    A dated name falls back on the undated one; no other part of a name is ever left out, since neighbours differ
    tenfold. Models that run in this process are free. What a server of the user's own costs is not known.
    """
    if spec.provider in _UNPAID:
        return _FREE
    name = spec.identity
    if spec.provider == "inspect":
        provider, _, rest = spec.name.partition("/")
        name = f"{_INSPECT_NAMES.get(provider, provider)}/{rest}"
    table = price_table()
    return table.get(name) or table.get(_DATED.sub("", name))
