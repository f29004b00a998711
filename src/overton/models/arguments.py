"""Model arguments: what `--model-arg NAME KEY=VALUE` may say, checked before any call."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

import msgspec

from overton.calls import Settings
from overton.errors import InputError, Problem
from overton.models.providers import EMBEDDERS
from overton.models.spec import Spec, checked_base_url

__all__ = ["RESERVED_FIELDS", "Arguments", "read_arguments"]

DEFAULT_TIMEOUT = 600.0
"""Seconds one call may take: reasoning models take minutes."""

RESERVED_FIELDS = {
    "messages": "the study writes the messages",
    "model": "the spec names the model",
    "n": "one answer is read a call, any more would be paid for and lost",
    "seed": "use seed=N: each call then sends a seed of its own",
    "random_seed": "use seed=N: each call then sends a seed of its own",
    "stream": "replies are read whole",
    "system": "the study writes the messages",
}
"""Body fields that `extra` may not hold, and why."""


@dataclass(frozen=True)
class Arguments:
    """The arguments of one model: how it generates, and how it is reached. None: the backend's own default.

    `timeout` is in seconds a call; `hold` asks that answers be held to the form asked for; `threads` and `context`
    (tokens) are for embedded models; `parameters` for simulated ones.
    """

    settings: Settings = field(default_factory=Settings)
    base_urls: tuple[str, ...] = ()
    connections: int | None = None
    timeout: float = DEFAULT_TIMEOUT
    key_env: str | None = None
    hold: bool | None = None
    threads: int | None = None
    context: int | None = None
    parameters: dict[str, str] = field(default_factory=dict)


def _number(low: float, high: float, *, above: bool = False) -> Callable[[str], float]:
    def read(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not (low < value if above else low <= value) or not value <= high:
            raise ValueError(f"'{text}' is not a number {'above' if above else 'from'} {low:g} to {high:g}")
        return value

    return read


def _whole(low: int, high: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        value = int(text) if re.fullmatch(r"[0-9]{1,20}", text) else -1
        if not low <= value <= high:
            raise ValueError(f"'{text}' is not a whole number from {low} to {high}")
        return value

    return read


def _switch(text: str) -> bool:
    if text.lower() not in {"true", "false"}:
        raise ValueError(f"'{text}' is neither true nor false")
    return text.lower() == "true"


def _word(text: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9_.-]+", text):
        raise ValueError(f"'{text}' is not one word")
    return text


def _variable(text: str) -> str:
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", text):
        # Not echoed: what stands here by mistake is most often the key itself.
        raise ValueError("not the name of an environment variable (give the variable's name, never the key itself)")
    return text


def _no_seed(text: str) -> int:
    raise ValueError("Anthropic's API takes no seed")


def _effort(text: str) -> str:
    if text not in _EFFORTS:
        raise ValueError(f"'{text}' is none of {', '.join(_EFFORTS)}")
    return text


def _extra(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        return text


_EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
Reader = Callable[[str], Any]
_GENERATION: dict[str, Reader] = {
    "temperature": _number(0, 2),
    "top_p": _number(0, 1, above=True),
    "max_tokens": _whole(1, 10_000_000),
    "reasoning_effort": _word,
    "seed": _whole(0, 2**53 - 1),
}
_CONNECTION: dict[str, Reader] = {
    "base_url": checked_base_url,
    "connections": _whole(1, 10_000),
    "timeout": _number(0, 86_400, above=True),
    "key_env": _variable,
}
_EMBEDDED: dict[str, Reader] = {"hold": _switch, "threads": _whole(1, 1024), "context": _whole(128, 10_000_000)}


def _known(spec: Spec) -> dict[str, Reader]:
    if spec.provider in {"embedded", "gguf"}:
        return {key: read for key, read in _GENERATION.items() if key != "reasoning_effort"} | _EMBEDDED
    if spec.provider == "anthropic":
        return _GENERATION | {"temperature": _number(0, 1), "seed": _no_seed} | _CONNECTION
    if spec.provider == "inspect":
        return _GENERATION | {"reasoning_effort": _effort} | _CONNECTION
    return _GENERATION | _CONNECTION | {"hold": _switch}


def read_arguments(spec: Spec, args: Sequence[tuple[str, str]]) -> Arguments:
    """Turn one model's `(key, value)` pairs into its arguments.

    Keys are `temperature`, `top_p`, `max_tokens`, `reasoning_effort`, `seed`, `extra.FIELD` (JSON, or else a string),
    `base_url` (may be repeated: the load is shared), `connections`, `timeout` (seconds), `key_env`, `hold`; for
    embedded models `hold`, `threads`, `context`; a simulated model takes `connections` and parameters of its own,
    an embedder nothing.

    Raises:
        InputError: unknown keys, wrong types, values out of range, keys given twice; all of them at once.
    """
    if spec.provider == "simulated":
        return _simulated(spec, args)
    reading = _Reading(spec, _known(spec))
    if args and spec.provider in EMBEDDERS:
        raise InputError([Problem(f"--model-arg {spec.text}", key, "embedders take no settings") for key, _ in args])
    for key, text in args:
        reading.take(key, text)
    return reading.finish()


def _simulated(spec: Spec, args: Sequence[tuple[str, str]]) -> Arguments:
    reading = _Reading(spec, {key: str for key, _ in args} | {"connections": _CONNECTION["connections"]})
    for key, text in args:
        reading.take(key, text)
    reading.refuse_problems()
    connections = reading.values.pop("connections", None)
    return Arguments(connections=connections, parameters=reading.values)


class _Reading:
    """The state of reading one model's arguments: values so far, and problems so far."""

    def __init__(self, spec: Spec, known: dict[str, Reader]) -> None:
        self.spec = spec
        self.known = known
        self.values: dict[str, Any] = {}
        self.base_urls: list[str] = []
        self.extra: dict[str, Any] = {}
        self.problems: list[Problem] = []

    def take(self, key: str, text: str) -> None:
        try:
            self._take(key, text)
        except ValueError as error:
            self.problems.append(Problem(f"--model-arg {self.spec.text}", key, str(error)))

    def _take(self, key: str, text: str) -> None:
        if key.startswith("extra.") and self.spec.provider != "simulated":
            return self._take_extra(key, text)
        if key not in self.known:
            raise ValueError(self._unknown(key))
        value = self.known[key](text)
        if key == "base_url":
            self.base_urls.append(value)
        elif key in self.values:
            raise ValueError("given twice")
        else:
            self.values[key] = value
        return None

    def _take_extra(self, key: str, text: str) -> None:
        body_field = key.removeprefix("extra.")
        if body_field in RESERVED_FIELDS:
            raise ValueError(f"cannot be set: {RESERVED_FIELDS[body_field]}")
        if not body_field or body_field in self.extra:
            raise ValueError("given twice" if body_field else "no field is named: write extra.FIELD=VALUE")
        self.extra[body_field] = _extra(text)

    def _unknown(self, key: str) -> str:
        near = get_close_matches(key, self.known, n=1)
        hint = f"; did you mean '{near[0]}'?" if near else ""
        return f"unknown for {self.spec.provider} models{hint} (known: {', '.join(self.known)}, extra.FIELD)"

    def refuse_problems(self) -> None:
        if self.problems:
            raise InputError(self.problems)

    def finish(self) -> Arguments:
        if self.base_urls and self.spec.base_url:
            self.base_urls.insert(0, self.spec.base_url)
        if len(self.base_urls) > 1 and self.spec.provider == "inspect":
            place = f"--model-arg {self.spec.text}"
            self.problems.append(Problem(place, "base_url", "models through Inspect take one base URL"))
        self.refuse_problems()
        generation = {key: self.values.pop(key) for key in _GENERATION if key in self.values}
        settings = Settings(**generation, extra=self.extra)
        return Arguments(settings, tuple(dict.fromkeys(self.base_urls)), **self.values)
