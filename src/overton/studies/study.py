"""The shape that every study has, and that the hosts run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from overton.calls import Answerer, Conduct, Trial

__all__ = ["Study"]


@dataclass(frozen=True)
class Study:
    """A protocol, ready to be hosted.

    `roles` names the answerers that `conduct` asks, the one that lanes differ in first. `item`, `options` and
    `record` are the struct types of what it asks about, of the choices that shape its trials, and of the rows it
    yields. `trials(items, options, seed)` gives the trials in plan order, each item's together. `prompts` gives every
    text that a model reads by name, so that a run can tell which of them changed.
    `simulated(items, name, arguments)` makes an answerer whose truth is known.
    """

    name: str
    roles: tuple[str, ...]
    item: type[msgspec.Struct]
    options: type[msgspec.Struct]
    record: type[msgspec.Struct]
    trials: Callable[[Sequence[Any], Any, int], Iterator[Trial]]
    conduct: Conduct
    prompts: Callable[[], dict[str, str]]
    simulated: Callable[[Sequence[Any], str, Mapping[str, str]], Answerer] | None = None
