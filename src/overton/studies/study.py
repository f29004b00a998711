"""The shape that every study has, and that the hosts run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from overton.calls import Answerer, Conduct, Form, Trial

__all__ = ["Canned", "Study"]

Canned = Callable[[str, str, Form | None], str]
"""A reply to plan with: `canned(role, speaker, form)`."""


@dataclass(frozen=True)
class Study:
    """A protocol, ready to be hosted.

    `roles` names the answerers that `conduct` asks, the one that lanes differ in first. `item`, `options` and
    `record` are the struct types of what it asks about, of the choices that shape its trials, and of the rows it
    yields. `trials(items, options, seed)` gives the trials in plan order, each item's together. `prompts` gives every
    text that a model reads by name, so that a run can tell which of them changed.
    `simulated(items, name, arguments)` makes an answerer whose truth is known. Each model of the first role has a lane
    of its own, or with `together` all of them meet in one, asked as 'ROLE/1', 'ROLE/2', ... as they were given.
    `optional` names roles that a run can do without, `retrieval` those whose answerers search ('search') and read pages
    ('pages'): their names say which. `canned` holds replies to plan with, given role, speaker and form:
    those that make every trial as short as it can be, then as long. `condition(trial)` names the condition that a trial
    is in, without its item and whatever else repeats it; None where a study has no conditions.
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
    together: bool = False
    optional: tuple[str, ...] = ()
    retrieval: tuple[str, ...] = ()
    canned: tuple[Canned, ...] = ()
    condition: Callable[[Any], str] | None = None
