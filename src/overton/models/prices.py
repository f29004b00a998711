"""Price lists: Overton's own list, and users' files in the same form."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from overton.calls import Price
from overton.errors import InputError, Problem, quoted
from overton.models.providers import CHAT_PROVIDERS, EMBEDDERS, RUN_HERE
from overton.models.spec import Spec
from overton.untrusted import decode_text, decode_toml, read_file

_MOST_BYTES = 2**20
_MOST_DOLLARS = 1e6
_TABLE, _BATCHES, _CACHES = "table", "batches", "caches"
_PROVIDERS = {*CHAT_PROVIDERS, "anthropic", "http", "inspect"}
_FREE = Price(0.0, 0.0)
_UNPAID_PROVIDERS = {*RUN_HERE, *EMBEDDERS}
_INSPECT_NAMES = {"grok": "xai"}
# 'gpt-4o-2024-08-06', 'claude-opus-4-20250514', 'grok-4-0709', 'gemini-2.0-flash-001', 'claude-3-5-haiku-latest'
_DATE_SUFFIX = re.compile(r"[-@](20\d{2}-\d{2}-\d{2}|20\d{6}|\d{4}|\d{3}|latest)$")


@dataclass(frozen=True)
class PriceList:
    """Prices by `provider/name`, as of the date `as_of` (ISO). `batches` is the fraction of the price that each
    provider charges for calls in batches."""

    as_of: str
    prices: Mapping[str, Price]
    batches: Mapping[str, float] = field(default_factory=dict)

    def of(self, spec: Spec) -> Price | None:
        """The price of a model, None if the list does not have it.

        If a dated name is not in the list, the undated name is used. No other part of a name is ever dropped, because
        the prices of similar names can differ tenfold. Models that run in this process are free. The price of a user's
        own server can only come from the user's own list, with 'http' as the provider.
        """
        if spec.provider in _UNPAID_PROVIDERS:
            return _FREE
        name = spec.identity
        if spec.provider == "inspect" and name not in self.prices:
            provider, _, rest = spec.name.partition("/")
            name = f"{_INSPECT_NAMES.get(provider, provider)}/{rest}"
        return self.prices.get(name) or self.prices.get(_DATE_SUFFIX.sub("", name))


@cache
def built_in() -> PriceList:
    """Overton's own price list."""
    data = decode_toml(files("overton.models").joinpath("prices.toml").read_text(encoding="utf-8"))
    return _read_prices(data, "prices.toml")


def read_price_list(path: Path) -> PriceList:
    """Read a user's own price list, a TOML file in the form of the built-in list.

    Raises:
        InputError: the file cannot be read, or has invalid prices. The error lists all problems, each with its key.
    """

    def error(reason: str) -> InputError:
        return InputError([Problem(str(path), "", f"cannot be read: {reason}")])

    return _read_prices(read_file(path, _MOST_BYTES, lambda data: decode_toml(decode_text(data)), error), str(path))


def _read_prices(data: dict[str, Any], place: str) -> PriceList:
    problems: list[Problem] = []

    def note_problem(key: str, reason: str) -> None:
        problems.append(Problem(place, key, reason))

    as_of = _read_date(data.get(_TABLE), note_problem)
    batches = dict(_read_batch_shares(data.get(_BATCHES, {}), note_problem))
    caches = dict(_read_cache_shares(data.get(_CACHES, {}), note_problem))
    prices: dict[str, Price] = {}
    for provider, models in data.items():
        if provider in (_TABLE, _BATCHES, _CACHES):
            continue
        if provider not in _PROVIDERS or not isinstance(models, dict):
            note_problem(provider, f"is not a provider; known are {', '.join(sorted(_PROVIDERS))}")
            continue
        for model, amounts in models.items():
            if (numbers := _read_amounts(amounts, 2, 4, _MOST_DOLLARS)) is None:
                note_problem(
                    f"{provider}.{model}",
                    f"{quoted(amounts)} is not a price: [IN, OUT], [IN, OUT, CACHED] or with WRITTEN",
                )
                continue
            own = numbers[2:] or [share * numbers[0] for share in caches.get(provider, ())]
            cached, written = (*own, None, None)[:2]
            prices[f"{provider}/{model}"] = Price(
                numbers[0], numbers[1], cached, written, batch=batches.get(provider), as_of=as_of
            )
    if problems:
        raise InputError(problems)
    return PriceList(as_of, prices, batches)


_NoteProblem = Callable[[str, str], None]


def _read_date(table: Any, note_problem: _NoteProblem) -> str:
    """The date of the list, written as a string or as a TOML date."""
    said = table.get("as_of") if isinstance(table, dict) else None
    try:
        return date.fromisoformat(str(said)).isoformat()
    except ValueError:
        note_problem("table.as_of", 'the date of the prices is missing: write as_of = "YYYY-MM-DD" under [table]')
        return ""


def _read_batch_shares(table: Any, note_problem: _NoteProblem) -> Iterator[tuple[str, float]]:
    for provider, share in table.items() if isinstance(table, dict) else ():
        if (numbers := _read_amounts([share], 1, 1, 1.0)) is None:
            note_problem(f"{_BATCHES}.{provider}", f"{quoted(share)} is not a fraction of the price, from 0 to 1")
        else:
            yield provider, numbers[0]


def _read_cache_shares(table: Any, note_problem: _NoteProblem) -> Iterator[tuple[str, list[float]]]:
    for provider, shares in table.items() if isinstance(table, dict) else ():
        if (numbers := _read_amounts(shares, 2, 2, 10.0)) is None:
            note_problem(f"{_CACHES}.{provider}", f"{quoted(shares)} are not two shares of a price: [READ, WRITTEN]")
        else:
            yield provider, numbers


def _read_amounts(values: Any, least: int, most: int, largest: float) -> list[float] | None:
    """A list of `least` to `most` numbers, each from 0 to `largest`; None if `values` is not such a list."""
    if not isinstance(values, list) or not least <= len(values) <= most:
        return None
    if not all(type(value) in (int, float) and math.isfinite(value) and 0 <= value <= largest for value in values):
        return None
    return [float(value) for value in values]
