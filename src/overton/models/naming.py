"""What a model's name tells: who made it, which series it belongs to, and whether it reasons before it answers."""

from __future__ import annotations

import re

from overton.models.spec import Spec

__all__ = ["family_of", "reasons_of", "series_of"]

# The first pattern that is found in the name decides: 'deepseek-r1-distill-llama-70b' is DeepSeek's.
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
_REASONS = re.compile(
    r"^o[1-9]|gpt-([5-9]|oss)|claude-[a-z]+-[5-9]|deepseek-r|reason|think|qwq|qwen-?3|magistral|"
    r"grok-(3-mini|[4-9])|gemini-(2\.5|[3-9])|kimi-k[2-9]",
    re.IGNORECASE,
)


def _bare(spec: Spec) -> str:
    """The model's own name in lower case: 'llama-3.1-8b' of 'openrouter/meta-llama/Llama-3.1-8B'."""
    return spec.name.rsplit("/", 1)[-1].lower().removesuffix(".gguf")


def family_of(spec: Spec) -> str:
    """Who made the model, guessed from its name ('openai', 'llama', 'mistral', ...), for correlations within and
    between families. A name that tells nothing is a family of its own; simulated models are one."""
    if spec.provider == "simulated":
        return "simulated"
    name = _bare(spec)
    return next((family for family, pattern in _FAMILIES.items() if re.search(pattern, name)), name)


def series_of(spec: Spec) -> str:
    """Family and version ('openai 4o', 'openai o3', 'llama 3.1', 'anthropic 3.5'): a narrower kinship than the family.

    MillStone's families are of this kind: Claude 3.5 Haiku and Claude Opus 4 'are not the same family' (section 6.2),
    while GPT 4o and 4o mini are, and Grok 3 and 3 mini, and Llama 3.1 8B and 405B.
    """
    version = _VERSION.search(_SIZE.sub("", re.sub(r"[0-9]{4,}", "", _bare(spec))))
    family = family_of(spec)
    return f"{family} {version[0].replace('-', '.')}" if version else family


def reasons_of(spec: Spec) -> bool:
    """Whether the model reasons before it answers, guessed from its name: its output then needs more room."""
    return bool(_REASONS.search(_bare(spec)))
