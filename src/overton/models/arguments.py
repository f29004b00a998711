"""Model arguments: what `--model-arg NAME KEY=VALUE` accepts, checked before any call."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

import msgspec

from overton.calls import Settings
from overton.errors import InputError, Problem, RejectedError, Unreadable
from overton.key_values import Reader, checked_base_url, number, values_of, whole
from overton.models.providers import EMBEDDERS
from overton.models.spec import Spec
from overton.untrusted import decode_json

_DEFAULT_PATIENCE_S = 1800.0
"""Seconds that a cluster may take to find free resources. Cloud machines take minutes to start."""
_DEFAULT_TIMEOUT_S = 600.0
"""Seconds that one call may take. Reasoning models take minutes."""

Value = TypeVar("Value")

_RESERVED_FIELDS = {
    "messages": "the study writes the messages",
    "model": "the spec names the model",
    "n": "Overton reads one answer per call, and would lose further ones",
    "seed": "use seed=N: each call then sends its own seed",
    "random_seed": "use seed=N: each call then sends its own seed",
    "stream": "Overton does not stream replies",
    "system": "the study writes the messages",
}
"""Body fields that `extra` may not set, and why."""


@dataclass(frozen=True)
class Arguments:
    """The arguments of one model: settings for generation and for reaching the model. None means the backend's default.

    `timeout` is the maximum number of seconds for a call. `hold` turns on constrained decoding, which makes answers
    keep the reply format. `cache` marks conversations for the provider's cache. `threads` and `context` (tokens) are
    for embedded models, and `parameters` are for simulated models. `logprobs` says whether an endpoint's token
    probabilities are those at temperature 1 ('raw') or those after temperature and truncation ('processed').

    `base_urls` are servers that share the calls. `lists` are sources of further servers: a file, or a URL whose host
    has several addresses. `alike` names the properties that the servers must share. On a Ray cluster there are
    `replicas` replicas. Each replica has `cpus` cores, `gpus` GPUs, and the resources that `ray` requests in Ray's own
    options. A run waits `patience` seconds for a replica.
    """

    settings: Settings = field(default_factory=Settings)
    base_urls: tuple[str, ...] = ()
    lists: tuple[str, ...] = ()
    alike: str = "weights"
    connections: int | None = None
    timeout: float = _DEFAULT_TIMEOUT_S
    key_env: str | None = None
    hold: bool | None = None
    cache: bool = True
    threads: int | None = None
    context: int | None = None
    logprobs: str = "raw"
    parameters: dict[str, str] = field(default_factory=dict)
    replicas: int = 1
    cpus: float = 1.0
    gpus: float = 0.0
    patience: float = _DEFAULT_PATIENCE_S
    ray: dict[str, Any] = field(default_factory=dict)


def _read_switch(text: str) -> bool:
    if text.lower() not in {"true", "false"}:
        raise ValueError(f"'{text}' is neither true nor false")
    return text.lower() == "true"


def _read_word(text: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9_.-]+", text):
        raise ValueError(f"'{text}' is not one word")
    return text


def _read_variable(text: str) -> str:
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", text):
        # Do not repeat the value in the message, because it is most often the key itself.
        raise ValueError("not the name of an environment variable (give the variable's name, never the key itself)")
    return text


def _refuse_seed(text: str) -> int:
    raise ValueError("Anthropic's API accepts no seed")


def _reader_of_words(*words: str) -> Reader:
    def read(text: str) -> str:
        if text not in words:
            raise ValueError(f"'{text}' is not one of {', '.join(words)}")
        return text

    return read


def _read_object(text: str, of: type[Value]) -> dict[str, Value]:
    form = "numbers" if of is float else "words"
    try:
        return decode_json(text, msgspec.json.Decoder(dict[str, of]).decode)  # type: ignore[valid-type]
    except Unreadable:
        raise ValueError(f"'{text[:40]}' is not a JSON object of {form}") from None


def _ray_reader(name: str) -> Reader:
    if name not in _RAY_OPTIONS:
        raise ValueError(f"not a Ray option for placing a replica (those are {', '.join(_RAY_OPTIONS)})")
    return _RAY_OPTIONS[name]


def _read_base_url(text: str) -> str:
    """Read a base URL or, after an '@', a source of servers: a file, or a URL whose host has several addresses."""
    if not text.startswith(LIST):
        return checked_base_url(text)
    listed = text.removeprefix(LIST)
    if _URL_START.match(listed):
        return LIST + checked_base_url(listed)
    if not listed:
        raise ValueError("no list is given: write @FILE, or @http://NAME:PORT/v1")
    return text


def _read_extra(text: str) -> Any:
    try:
        return decode_json(text, _decode)
    except Unreadable:
        return text


_decode = msgspec.json.Decoder().decode
LIST = "@"
"""The prefix of a list of servers."""
_URL_START = re.compile(r"https?://", re.IGNORECASE)
_EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
_GENERATION: dict[str, Reader] = {
    "temperature": number(0, 2),
    "top_p": number(0, 1, above=True),
    "max_tokens": whole(1, 10_000_000),
    "reasoning_effort": _read_word,
    "seed": whole(0, 2**53 - 1),
}
_CONNECTION: dict[str, Reader] = {
    "base_url": _read_base_url,
    "alike": _reader_of_words("weights", "model"),
    "connections": whole(1, 10_000),
    "timeout": number(0, 86_400, above=True),
    "key_env": _read_variable,
}
_EMBEDDED: dict[str, Reader] = {"hold": _read_switch, "threads": whole(1, 1024), "context": whole(128, 10_000_000)}
_PLACEMENT: dict[str, Reader] = {
    "replicas": whole(1, 10_000),
    "cpus": number(0, 1024, of="cores"),
    "gpus": number(0, 1024),
    "connections": _CONNECTION["connections"],
    "patience": number(1, 10**7, of="seconds"),
}
_RAY_OPTIONS: dict[str, Reader] = {
    "memory": whole(1, 2**53),
    "resources": partial(_read_object, of=float),
    "accelerator_type": _read_word,
    "label_selector": partial(_read_object, of=str),
    "scheduling_strategy": _reader_of_words("DEFAULT", "SPREAD"),
}
"""Ray's options that choose where a replica runs. No option may choose what runs there, because the run's folder may be
somebody else's."""


def _known_readers(spec: Spec) -> dict[str, Reader]:
    if spec.provider in {"embedded", "gguf"}:
        plain = {key: read for key, read in _GENERATION.items() if key != "reasoning_effort"} | _EMBEDDED
        return plain | _PLACEMENT if spec.on_ray else plain
    if spec.provider == "anthropic":
        return _GENERATION | {"temperature": number(0, 1), "seed": _refuse_seed} | _CONNECTION | {"cache": _read_switch}
    if spec.provider == "inspect":
        return _GENERATION | {"reasoning_effort": _reader_of_words(*_EFFORTS)} | _CONNECTION
    return _GENERATION | _CONNECTION | {"hold": _read_switch, "logprobs": _reader_of_words("raw", "processed")}


def takes(spec: Spec, key: str) -> bool:
    """Whether a model that is reached in this way accepts the argument `key`."""
    prefix, dot, _ = key.partition(".")
    return prefix in _prefixed_readers(spec) if dot else key in _known_readers(spec)


def _prefixed_readers(spec: Spec) -> Mapping[str, Callable[[str], Reader]]:
    return {"extra": _field_reader} | ({"ray": _ray_reader} if spec.on_ray else {})


def read_arguments(spec: Spec, args: Sequence[tuple[str, str]]) -> Arguments:
    """Turn one model's `(key, value)` pairs into its arguments.

    Keys are `temperature`, `top_p`, `max_tokens`, `reasoning_effort`, `seed`, `extra.FIELD` (JSON, otherwise a string),
    `base_url`, `alike`, `connections` (to each server), `timeout` (seconds), `key_env`, `hold` and `logprobs`. If
    several `base_url` are given, the servers share the calls. A `base_url` of '@FILE' or '@URL' names a list of
    servers. Anthropic's models also take `cache`. Embedded models take `hold`, `threads` and `context`. Models with the
    prefix `ray/` also take `replicas`, `cpus`, `gpus`, `connections` (to each replica), `patience` (seconds) and
    `ray.OPTION` (an option of Ray that places replicas). A simulated model takes `connections` and its own parameters.
    An embedder takes no arguments.

    Raises:
        InputError: keys are unknown or given twice, or values have wrong types or are out of range. The error lists all
            problems.
    """
    place = f"--model-arg {spec.text}"
    if spec.provider == "simulated":
        return _simulated_arguments(args, place)
    if args and spec.provider in EMBEDDERS:
        raise InputError([Problem(place, key, "embedders have no settings") for key, _ in args])
    whose, several = f"{spec.provider} models", ("base_url",)
    known, fields = _known_readers(spec), _prefixed_readers(spec)
    values, problems = values_of(args, known, place, fields=fields, repeatable=several, whose=whose)
    given = [*([spec.base_url] if spec.base_url else []), *values.pop("base_url", ())]
    lists = tuple(dict.fromkeys(url.removeprefix(LIST) for url in given if url.startswith(LIST)))
    base_urls = [url for url in given if not url.startswith(LIST)]
    if (len(base_urls) > 1 or lists) and spec.provider == "inspect":
        problems.append(Problem(place, "base_url", "models through Inspect take only one base URL"))
    if problems:
        raise InputError(problems)
    extra = _take_fields("extra.", values)
    generation = {key: values.pop(key) for key in _GENERATION if key in values}
    ray = _take_fields("ray.", values)
    return Arguments(Settings(**generation, extra=extra), tuple(dict.fromkeys(base_urls)), lists, ray=ray, **values)


def _take_fields(prefix: str, values: dict[str, Any]) -> dict[str, Any]:
    return {key.removeprefix(prefix): values.pop(key) for key in list(values) if key.startswith(prefix)}


def _simulated_arguments(args: Sequence[tuple[str, str]], place: str) -> Arguments:
    known = {key: str for key, _ in args} | {"connections": _CONNECTION["connections"]}
    values, problems = values_of(args, known, place)
    if problems:
        raise InputError(problems)
    return Arguments(connections=values.pop("connections", None), parameters=values)


def _field_reader(name: str) -> Reader:
    if not name:
        raise ValueError("no field is given: write extra.FIELD=VALUE")
    if name in _RESERVED_FIELDS:
        raise ValueError(f"cannot be set: {_RESERVED_FIELDS[name]}")
    return _read_extra


def settings_checked(settings: Settings) -> Settings:
    """The settings, after a check that `extra` overwrites no field that Overton sets.

    Raises:
        RejectedError: `extra` overwrites such a field.
    """
    for key in settings.extra:
        if key in _RESERVED_FIELDS:
            raise RejectedError("rejected", f"extra.{key} cannot be set: {_RESERVED_FIELDS[key]}")
    return settings
