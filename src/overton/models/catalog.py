"""Facts about models that follow from their names: maker, reasoning, and price."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from overton.calls import Price
from overton.models.embedders import WORDLLAMA
from overton.models.prices import built_in
from overton.models.providers import ANTHROPIC, CHAT_PROVIDERS, SERVER, Provider
from overton.models.spec import Spec, parse_spec
from overton.models.weights import known as weights_known


@dataclass(frozen=True)
class KnownModel:
    """A row of the list of models: a spec, or a pattern of specs with words in capitals.

    For a pattern, `family` is '' and `price` is None, because both depend on the model's name. `variable` is the
    environment variable with the API key, '' if the model needs no key. `extra` is the optional part of Overton that
    the model needs, '' if it needs none.
    """

    spec: str
    family: str = ""
    price: Price | None = None
    variable: str = ""
    extra: str = ""

    @property
    def needs(self) -> str:
        """The required variable and optional part, as text."""
        return ", ".join(filter(None, (self.variable, self.extra and f"overton[{self.extra}]")))


def known_models(simulated: Iterable[str] = ()) -> list[KnownModel]:
    """Models with a known price, local models, and patterns of specs for all other models.

    `simulated` are the names of the studies' simulated models, without 'simulated/'.
    """
    return [*_models_run_here(simulated), *_priced_models(), *_spec_forms()]


def _models_run_here(simulated: Iterable[str]) -> list[KnownModel]:
    return [
        *(_row(f"embedded/{weights.name}", extra="embedded") for weights in weights_known()),
        *(_row(f"simulated/{name}") for name in simulated),
        *(_row(f"wordllama/{name}", extra="clustering") for name in WORDLLAMA),
    ]


def _priced_models() -> list[KnownModel]:
    variables = {provider.name: _key_variable(provider) for provider in [*CHAT_PROVIDERS.values(), ANTHROPIC]}
    return [_row(name, variable=variables[name.partition("/")[0]]) for name in price_table()]


def _spec_forms() -> list[KnownModel]:
    providers = [*CHAT_PROVIDERS.values(), ANTHROPIC]
    forms = [KnownModel(f"{provider.name}/NAME", variable=_key_variable(provider)) for provider in providers]
    return [
        *forms,
        KnownModel("http://HOST:PORT/v1#NAME", variable=_key_variable(SERVER)),
        KnownModel("inspect/PROVIDER/NAME", extra="inspect"),
        KnownModel("gguf:/PATH/TO/FILE", price=_FREE, extra="embedded"),
        KnownModel("ray/gguf:/PATH/TO/FILE", price=_FREE, extra="ray"),
        KnownModel("sentence-transformers/NAME", price=_FREE, extra="sentence-transformers"),
    ]


def _row(name: str, *, variable: str = "", extra: str = "") -> KnownModel:
    spec = parse_spec(name)
    return KnownModel(name, family_of(spec), price_of(spec), variable, extra)


def _key_variable(provider: Provider) -> str:
    return " or ".join(provider.key_envs) + ("" if provider.needs_key else " (optional)")


_FREE = Price(0.0, 0.0)


def prices_as_of() -> str:
    """The date of the price table, in ISO 8601."""
    return built_in().as_of


def price_table() -> dict[str, Price]:
    """Every known price by `provider/name`, in US dollars per million tokens."""
    return dict(built_in().prices)


def price_of(spec: Spec) -> Price | None:
    """The list price of a model; None if unknown (see `PriceList.of`)."""
    return built_in().of(spec)


# The first pattern found in the name decides: 'deepseek-r1-distill-llama-70b' is DeepSeek's.
_FAMILIES = {
    "smollm": r"smollm",
    "anthropic": r"claude",
    "openai": r"gpt|^o[1-9]\b|davinci|babbage|codex",
    "gemma": r"gemma",
    "gemini": r"gemini",
    "grok": r"grok",
    "deepseek": r"deepseek",
    "mistral": r"mistral|mixtral|ministral|magistral|codestral|devstral|pixtral",
    "qwen": r"qwen|qwq",
    "llama": r"llama|vicuna|alpaca",
    "phi": r"\bphi-?[1-9]",
    "cohere": r"command|aya\b",
    "nova": r"\bnova\b",
    "glm": r"\bglm|chatglm",
    "kimi": r"kimi|moonshot",
    "olmo": r"olmo",
    "granite": r"granite",
    "falcon": r"falcon",
    "nemotron": r"nemotron",
    "jamba": r"jamba",
    "minimax": r"minimax|abab",
    "yi": r"\byi-",
}
_VERSION = re.compile(r"(?<![0-9.])(\bo)?[0-9]{1,2}([.-][0-9]{1,2})?o?(?![0-9a-z.])")
_SIZE = re.compile(r"(?<![0-9a-z])[0-9.]+(x[0-9.]+)?[bmk]\b", re.IGNORECASE)
_REASONING_NAMES = re.compile(
    r"^o[1-9]|gpt-([5-9]|oss)|claude-[a-z]+-[5-9]|deepseek-r|reason|think|qwq|qwen-?3|magistral|"
    r"grok-(3-mini|[4-9])|gemini-(2\.5|[3-9])|kimi-k[2-9]",
    re.IGNORECASE,
)


def _bare_name(spec: Spec) -> str:
    """The model's own name in lower case: 'llama-3.1-8b' of 'openrouter/meta-llama/Llama-3.1-8B'."""
    return spec.name.rsplit("/", 1)[-1].lower().removesuffix(".gguf")


def family_of(spec: Spec) -> str:
    """The model's maker, guessed from the model's name ('openai', 'llama', 'mistral', ...), for correlations within and
    between families. A name that shows no maker is a family of its own. Simulated models are one family."""
    if spec.provider == "simulated":
        return "simulated"
    name = _bare_name(spec)
    return next((family for family, pattern in _FAMILIES.items() if re.search(pattern, name)), name)


def series_of(spec: Spec) -> str:
    """A model's series: its family and version ('openai 4o', 'openai o3', 'llama 3.1', 'anthropic 3.5'). A family may
    have several series.

    The MillStone paper calls such a series a family. For example, it says that Claude 3.5 Haiku and Claude Opus 4 'are
    not the same family' (section 6.2). GPT 4o and 4o mini are one family there. So are Grok 3 and 3 mini, and Llama 3.1
    8B and 405B.
    """
    version = _VERSION.search(_SIZE.sub("", re.sub(r"[0-9]{4,}", "", _bare_name(spec))))
    family = family_of(spec)
    return f"{family} {version[0].replace('-', '.')}" if version else family


def series_named(name: str) -> str:
    """The series of a model, given its name in a table, with or without the provider: 'openai/gpt-4o', 'gpt-4o'."""
    provider, slash, own = name.partition("/")
    return series_of(Spec(name, provider if slash else "", own or provider))


def reasons_of(spec: Spec) -> bool:
    """Whether the model reasons before it answers, guessed from its name. A reasoning model needs more output
    tokens."""
    return bool(_REASONING_NAMES.search(_bare_name(spec)))
