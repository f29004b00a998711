"""A model's address and its key."""

from __future__ import annotations

import os
from dataclasses import dataclass

import msgspec

from overton.calls import Reply
from overton.errors import InputError, Problem
from overton.key_values import checked_base_url
from overton.models.arguments import Arguments
from overton.models.providers import Provider
from overton.models.spec import Spec
from overton.untrusted import ApiKey


@dataclass(frozen=True)
class Endpoint:
    """A model's base URL and key.

    `name` is the spec as written, and `model` the provider's name of the model. `peer` is the IP address to connect to
    if the URL's host has several, '' for any of them.
    """

    name: str
    model: str
    base_url: str
    key: ApiKey
    peer: str = ""


def locate(spec: Spec, provider: Provider, arguments: Arguments, *, need_key: bool = True) -> Endpoint:
    """Find a model's base URL (the first if several are given) and its key. The arguments come first, then the
    environment, then the table of providers. If servers come only from a list, the URL is ''.

    Raises:
        InputError: the key is missing or invalid, or the environment's base URL is invalid.
    """
    key = _find_key(spec, provider, arguments, need_key)
    if arguments.base_urls or not arguments.lists:
        base_url = provider.versioned(arguments.base_urls[0] if arguments.base_urls else _find_base_url(spec, provider))
    else:
        base_url = ""
    return Endpoint(spec.text, spec.name, base_url, key)


def _find_base_url(spec: Spec, provider: Provider) -> str:
    if spec.base_url:
        return spec.base_url
    url = os.environ.get(provider.base_url_env)
    if not url:
        return provider.base_url
    try:
        return checked_base_url(url)
    except ValueError as error:
        raise InputError([Problem("environment", provider.base_url_env, str(error))]) from None


def _find_key(spec: Spec, provider: Provider, arguments: Arguments, need_key: bool) -> ApiKey:
    names = (arguments.key_env,) if arguments.key_env else provider.key_envs
    name = next((name for name in names if os.environ.get(name, "").strip()), names[0])
    key = os.environ.get(name, "").strip()
    if not key and need_key and (provider.needs_key or arguments.key_env):
        wanted = " or ".join(names)
        raise InputError([Problem("--model", spec.text, f"no API key: set {wanted} in the environment")])
    if not (key.isascii() and key.isprintable()) or " " in key:
        raise InputError([Problem("environment", name, "not a key: it contains spaces or characters that no key has")])
    return ApiKey(key, name)


def without_key(reply: Reply, key: ApiKey) -> Reply:
    """The reply without the key, so that a server that echoes the key cannot put it into the journal."""
    names = (reply.model, reply.fingerprint, reply.served_by)
    if not key or not key.may_be_in("\n".join(map(str, (reply.text, reply.finish, *names)))):
        return reply
    model, fingerprint, served_by = (name and key.hide_in_reply(name) for name in names)
    return msgspec.structs.replace(
        reply,
        text=key.hide_in_reply(reply.text),
        finish=key.hide_in_reply(reply.finish),
        model=model,
        fingerprint=fingerprint,
        served_by=served_by,
        spots=(),
    )
