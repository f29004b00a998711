"""The addresses, keys and files that a model would use, for the user to confirm beforehand."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

from overton.calls import Reach
from overton.key_values import address_of, path_of
from overton.models.arguments import Arguments, read_arguments
from overton.models.providers import ANTHROPIC, CHAT_PROVIDERS, SERVER, Provider
from overton.models.ray_cluster import place
from overton.models.spec import Spec, parse_spec

_SENDS_NOTHING = ("embedded", "simulated", "wordllama")
_FAMILIAR_INSPECT_PROVIDERS = {*CHAT_PROVIDERS, "anthropic", "grok", "mockllm", "none"} - {"vllm", "ollama"}
"""Inspect's providers that Overton knows, too, or that send nothing."""


def reach_of(spec: str, args: Sequence[tuple[str, str]] = ()) -> list[Reach]:
    """The addresses, keys and files that the model of a spec would use and that may need the user's confirmation.

    A provider's own server with the provider's usual key variable is left out. So is an address set in the environment.
    Nothing is opened, and no key is read.

    Raises:
        InputError: the spec or an argument is wrong.
    """
    parsed = parse_spec(spec)
    replicas = [Reach(place(), runs=True)] if parsed.on_ray else []
    if parsed.provider in _SENDS_NOTHING:
        return replicas
    if parsed.provider == "gguf":
        return [_reach_of_file(parsed.name), *replicas]
    if parsed.provider == "sentence-transformers":
        return [_reach_of_file(parsed.name) if _is_path(parsed.name) else Reach(parsed.identity, opens=True)]
    arguments = read_arguments(parsed, args)
    if parsed.provider == "inspect":
        return _reach_by_inspect(parsed, arguments)
    if parsed.provider == "anthropic":
        return _reach_by_provider(ANTHROPIC, arguments)
    return _reach_by_provider(CHAT_PROVIDERS.get(parsed.provider, SERVER), arguments)


def _reach_by_provider(provider: Provider, arguments: Arguments) -> list[Reach]:
    own_key = arguments.key_env is None or arguments.key_env in provider.key_envs
    variable = arguments.key_env or " or ".join(provider.key_envs)
    files = [place for place in arguments.lists if not urlsplit(place).scheme]
    names = [place for place in arguments.lists if urlsplit(place).scheme]
    urls = (*arguments.base_urls, *names) or (() if files else (provider.base_url,))
    listed = [Reach(str(path_of(file, "--model-arg").resolve()), variable, lists=True) for file in files]
    return listed + [
        Reach(address_of(url), variable) for url in urls if not (own_key and _is_on_own_server(provider, url))
    ]


def _is_on_own_server(provider: Provider, url: str) -> bool:
    """Whether a URL is on a provider's own server, with the same scheme, host and port."""
    return bool(provider.base_url) and urlsplit(address_of(url))[:2] == urlsplit(address_of(provider.base_url))[:2]


def _reach_by_inspect(spec: Spec, arguments: Arguments) -> list[Reach]:
    provider = spec.name.partition("/")[0]
    if provider in _FAMILIAR_INSPECT_PROVIDERS and not (arguments.base_urls or arguments.key_env):
        return []
    place = address_of(arguments.base_urls[0]) if arguments.base_urls else f"what inspect/{provider} is set to"
    return [Reach(place, arguments.key_env or f"the key of inspect/{provider}")]


def _reach_of_file(path: str) -> Reach:
    return Reach(str(path_of(path, "--model").resolve()), opens=True)


def _is_path(name: str) -> bool:
    """Whether an embedder's name is a path: it begins like a path, or something exists there. The library, too, checks
    whether something exists."""
    return name.startswith(("/", "~", ".", "\\")) or name[1:2] == ":" or Path(name).exists()
