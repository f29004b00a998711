"""Where a model is asked, and with which key."""

from __future__ import annotations

import os
from dataclasses import dataclass

from overton.errors import InputError, Problem
from overton.models.arguments import Arguments
from overton.models.providers import Provider
from overton.models.secret import Secret
from overton.models.spec import Spec
from overton.pairs import checked_base_url

__all__ = ["Endpoint", "locate"]


@dataclass(frozen=True)
class Endpoint:
    """The base URLs that share a model's load, and the key with the variable it comes from.

    `name` is the spec as written, `model` what the provider calls the model.
    """

    name: str
    model: str
    base_urls: tuple[str, ...]
    key_env: str
    secret: Secret


def locate(spec: Spec, provider: Provider, arguments: Arguments, *, need_key: bool = True) -> Endpoint:
    """Find a model's base URLs and its key: arguments first, then the environment, then the provider's own address.

    Raises:
        InputError: the key is missing or cannot be one, or the environment's base URL cannot be one.
    """
    key_env, secret = _key(spec, provider, arguments, need_key)
    base_urls = arguments.base_urls or (_base_url(spec, provider),)
    return Endpoint(spec.text, spec.name, tuple(map(provider.versioned, base_urls)), key_env, secret)


def _base_url(spec: Spec, provider: Provider) -> str:
    if spec.base_url:
        return spec.base_url
    url = os.environ.get(provider.base_url_env)
    if not url:
        return provider.base_url
    try:
        return checked_base_url(url)
    except ValueError as error:
        raise InputError([Problem("environment", provider.base_url_env, str(error))]) from None


def _key(spec: Spec, provider: Provider, arguments: Arguments, need_key: bool) -> tuple[str, Secret]:
    names = (arguments.key_env,) if arguments.key_env else provider.key_envs
    name = next((name for name in names if os.environ.get(name, "").strip()), names[0])
    key = os.environ.get(name, "").strip()
    if not key and need_key and (provider.needs_key or arguments.key_env):
        wanted = " or ".join(names)
        raise InputError([Problem("--model", spec.text, f"no API key: set {wanted} in the environment")])
    if not (key.isascii() and key.isprintable()) or " " in key:
        raise InputError([Problem("environment", name, "not a key: it holds spaces or characters no key has")])
    return name, Secret(key)
