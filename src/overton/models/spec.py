"""A model's spec: `provider/name`, `http://host:port/v1#NAME`, or `gguf:/path/to/file`. With the prefix `ray/` the
model runs on a cluster. If the spec starts with `NAME=`, the model has this name in the run."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from overton.errors import InputError, Problem, suggestion
from overton.key_values import checked_base_url, without_credentials
from overton.models.providers import GGUF, RAY, RUN_HERE, provider_names

_OTHER_FORMS = "http://host:port/v1#NAME, gguf:/path/to/file and ray/gguf:/path/to/file"
_URL_START = re.compile(r"https?://", re.IGNORECASE)
# An embedder of sentence-transformers is given by its name on a hub or its folder.
_LOCAL_PREFIX = re.compile(rf"({GGUF}|sentence-transformers/(?=[/~.\\]|[A-Za-z]:))")
ON_RAY = ("embedded", "gguf")
"""Providers whose models can run on a cluster."""
_NAME_PATTERN = re.compile(r"[A-Za-z0-9._-]+")


@dataclass(frozen=True)
class Spec:
    """A model's name, taken apart.

    `text` is the user's input, or the name that the user gave the model. `provider` is a provider's word in the
    provider table, an embedder's word, or one of 'anthropic', 'inspect', 'embedded', 'simulated', 'gguf' and 'http'.
    `name` is the provider's name of the model (for 'gguf' a path), and `base_url` is the address of an 'http' model.
    `on_ray` says whether the model's replicas run on a cluster. `on_ray` does not affect the model's identity.
    """

    text: str
    provider: str
    name: str
    base_url: str | None = None
    on_ray: bool = False

    @property
    def identity(self) -> str:
        """`provider/name` without any address: `http/NAME` for a server given by its address."""
        return f"{self.provider}/{self.name}"

    @property
    def runs_here(self) -> bool:
        """True if the model answers in this process, so that the same seed always gives the same answer."""
        return self.provider in RUN_HERE


def name_and_spec(text: str) -> tuple[str, str]:
    """Split 'careful=openai/gpt-4o' into the model's name in a run and its spec.

    Only an '=' before the first '/' ends a name, because the spec itself may contain '='. Without an explicit name, the
    name is the `public_model_spec`.

    Raises:
        InputError: what precedes the '=' cannot be a name.
    """
    name, equals, spec = text.partition("=")
    if not equals or "/" in name or name.startswith(GGUF):
        return public_model_spec(text), text
    if not _NAME_PATTERN.fullmatch(name):
        reason = "a name has only letters, digits, '-', '_' and '.': write NAME=PROVIDER/NAME"
        raise InputError([Problem("--model", without_credentials(text), reason)])
    return name, spec


def public_model_spec(spec: str) -> str:
    """The spec in public form. A local file or folder is given by its name alone, as in 'gguf:model.gguf'."""
    return with_path(spec.removeprefix(RAY), lambda path: re.split(r"[/\\]", path.rstrip("/\\"))[-1])


def with_path(spec: str, changed: Callable[[str], str]) -> str:
    """The spec with another path for its local file or folder. A spec without a local file or folder is unchanged."""
    local = _LOCAL_PREFIX.match(spec, len(RAY) if spec.startswith(RAY) else 0)
    return spec[: local.end(1)] + changed(spec[local.end(1) :]) if local else spec


def parse_spec(text: str) -> Spec:
    """Take a model's spec apart.

    Raises:
        InputError: the text has none of the known forms. The message lists these forms, and the provider with the most
            similar name.
    """
    try:
        return _parse(text)
    except ValueError as error:
        raise InputError([Problem("--model", without_credentials(text), str(error))]) from None


def _parse(text: str) -> Spec:
    if text.startswith(RAY):
        return _parse_on_ray(text)
    if not text.isprintable() or (any(c.isspace() for c in text) and not text.startswith(GGUF)):
        raise ValueError("a model's name has no spaces or control characters")
    if _URL_START.match(text):
        return _parse_server(text)
    if text.startswith(GGUF):
        return _parse_gguf(text)
    provider, slash, name = text.partition("/")
    if provider not in provider_names():
        raise ValueError(_unknown_provider_message(provider, bool(slash)))
    if not name.strip("/"):
        raise ValueError(f"no model is given: write {provider}/NAME")
    if provider == "inspect" and not all(name.partition("/")):
        raise ValueError("write inspect/PROVIDER/NAME")
    return Spec(text, provider, name)


def _parse_server(text: str) -> Spec:
    base, _, name = text.partition("#")
    base_url = checked_base_url(base)
    if not name:
        raise ValueError("the model's name is missing: write it after a '#', as in http://host:port/v1#NAME")
    return Spec(text, "http", name, base_url)


def _parse_gguf(text: str) -> Spec:
    path = text.removeprefix(GGUF)
    if not path:
        raise ValueError("no file is given: write gguf:/path/to/file")
    return Spec(text, "gguf", path)


def _parse_on_ray(text: str) -> Spec:
    spec = _parse(text.removeprefix(RAY)) if text != RAY else None
    if spec is None or spec.on_ray or spec.provider not in ON_RAY:
        raise ValueError(f"Ray can run {RAY}{GGUF}/path/to/file or {RAY}embedded/NAME")
    return replace(spec, text=text, on_ray=True)


def _unknown_provider_message(provider: str, has_slash: bool) -> str:
    known = f"known are {', '.join(provider_names())}, {_OTHER_FORMS}"
    hint = suggestion(provider.lower(), provider_names())
    if not has_slash and not hint:
        return f"write a model as provider/name, such as openai/gpt-4o; {known}"
    return f"unknown provider '{provider}'{hint} ({known})"
