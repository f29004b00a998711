"""The models and providers that are known by name, for `overton models list`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from overton.calls import Price
from overton.models.embedding import WORDLLAMA
from overton.models.naming import family_of
from overton.models.prices import price_of, price_table
from overton.models.providers import ANTHROPIC, CHAT_PROVIDERS, SERVER, Provider
from overton.models.spec import parse_spec
from overton.models.weights import known as weights_known

__all__ = ["KnownModel", "known_models"]


@dataclass(frozen=True)
class KnownModel:
    """One row: a spec, or the form of one (with words in capitals).

    `family` is '' and `price` None where they depend on the name; `variable` is the environment variable that holds
    its key ('' if it takes none); `extra` the optional part of Overton that it needs ('' if none).
    """

    spec: str
    family: str = ""
    price: Price | None = None
    variable: str = ""
    extra: str = ""

    @property
    def needs(self) -> str:
        """The variable and the extra, in words."""
        return ", ".join(filter(None, (self.variable, self.extra and f"overton[{self.extra}]")))


def known_models(simulated: Iterable[str] = ()) -> list[KnownModel]:
    """Models with a known price, those that run here, and the forms in which any other is named.

    `simulated` are the names of simulated ones, without 'simulated/': studies have them.
    """
    return [*_run_here(simulated), *_priced(), *_forms()]


def _run_here(simulated: Iterable[str]) -> list[KnownModel]:
    return [
        *(_row(f"embedded/{weights.name}", extra="embedded") for weights in weights_known()),
        *(_row(f"simulated/{name}") for name in simulated),
        *(_row(f"wordllama/{name}", extra="clustering") for name in WORDLLAMA),
    ]


def _priced() -> list[KnownModel]:
    variables = {provider.name: _variable(provider) for provider in [*CHAT_PROVIDERS.values(), ANTHROPIC]}
    return [_row(name, variable=variables[name.partition("/")[0]]) for name in price_table()]


def _forms() -> list[KnownModel]:
    providers = [*CHAT_PROVIDERS.values(), ANTHROPIC]
    forms = [KnownModel(f"{provider.name}/NAME", variable=_variable(provider)) for provider in providers]
    return [
        *forms,
        KnownModel("http://HOST:PORT/v1#NAME", variable=_variable(SERVER)),
        KnownModel("inspect/PROVIDER/NAME", extra="inspect"),
        KnownModel("gguf:/PATH/TO/FILE", price=Price(0.0, 0.0), extra="embedded"),
        KnownModel("sentence-transformers/NAME", price=Price(0.0, 0.0), extra="sentence-transformers"),
    ]


def _row(name: str, *, variable: str = "", extra: str = "") -> KnownModel:
    spec = parse_spec(name)
    return KnownModel(name, family_of(spec), price_of(spec), variable, extra)


def _variable(provider: Provider) -> str:
    return " or ".join(provider.key_envs) + ("" if provider.needs_key else " (optional)")
