"""The providers whose chat completions have OpenAI's form: their addresses and field names."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Provider:
    """One HTTP provider.

    The variable `base_url_env`, if set, replaces `base_url`. `key_envs` are the variables that may contain the key. The
    first variable that is set is used. `seed_field` is the field of a request's body that has the seed. `names_choices`
    is True if a request can list the allowed answers (vLLM's `structured_outputs`). `version` is the last part of every
    base URL. `batches` is True if the provider accepts batches. `alternatives` is the number of alternatives to a token
    that the provider returns with probabilities in OpenAI's format, 0 if it returns none.
    """

    name: str
    base_url: str
    base_url_env: str
    key_envs: tuple[str, ...]
    needs_key: bool = True
    seed_field: str = "seed"
    names_choices: bool = False
    version: str = ""
    alternatives: int = 20
    batches: bool = False

    def versioned(self, base_url: str) -> str:
        """The base URL with the API's version at its end. For some providers, users may write the URL without the
        version."""
        return base_url.removesuffix(self.version) + self.version


def _make_provider(name: str, base_url: str, *key_envs: str, batches: bool = False, alternatives: int = 20) -> Provider:
    envs = key_envs or (f"{name.upper()}_API_KEY",)
    variable = f"{name.upper()}_BASE_URL"
    return Provider(name, base_url, variable, envs, batches=batches, alternatives=alternatives)


_TABLE = (
    _make_provider("openai", "https://api.openai.com/v1", batches=True),
    _make_provider("openrouter", "https://openrouter.ai/api/v1"),
    _make_provider(
        "google", "https://generativelanguage.googleapis.com/v1beta/openai", "GEMINI_API_KEY", "GOOGLE_API_KEY"
    ),
    _make_provider("xai", "https://api.x.ai/v1", alternatives=8),
    Provider(
        "mistral",
        "https://api.mistral.ai/v1",
        "MISTRAL_BASE_URL",
        ("MISTRAL_API_KEY",),
        seed_field="random_seed",
        alternatives=0,
    ),
    _make_provider("deepseek", "https://api.deepseek.com/v1"),
    _make_provider("groq", "https://api.groq.com/openai/v1", batches=True, alternatives=0),
    _make_provider("together", "https://api.together.xyz/v1", alternatives=0),
    Provider("ollama", "http://localhost:11434/v1", "OLLAMA_BASE_URL", ("OLLAMA_API_KEY",), needs_key=False),
    Provider(
        "vllm",
        "http://localhost:8000/v1",
        "VLLM_BASE_URL",
        ("VLLM_API_KEY",),
        needs_key=False,
        names_choices=True,
    ),
)

CHAT_PROVIDERS = {provider.name: provider for provider in _TABLE}

SERVER = Provider("http", "", "", ("OVERTON_API_KEY",), needs_key=False, batches=True)
"""The entry for any other server with OpenAI's chat completions, given by its address."""

ANTHROPIC = Provider(
    "anthropic",
    "https://api.anthropic.com",
    "ANTHROPIC_BASE_URL",
    ("ANTHROPIC_API_KEY",),
    version="/v1",
    batches=True,
)

GGUF = "gguf:"
"""The prefix of a path to a file of weights."""

RAY = "ray/"
"""The prefix of the spec of a model whose replicas run on a Ray cluster."""

RUN_HERE = ("embedded", "gguf", "simulated")
"""Providers whose models answer in this process."""

EMBEDDERS = ("wordllama", "sentence-transformers")
"""Providers that turn texts into vectors in this process."""

_OTHER_PROVIDERS = ("anthropic", "inspect", "embedded", "simulated", *EMBEDDERS)
"""Other words before the slash of a spec."""


def provider_names() -> list[str]:
    """All words that may precede the slash of a spec."""
    return [*CHAT_PROVIDERS, *_OTHER_PROVIDERS]
