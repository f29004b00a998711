"""A study as a task of Inspect AI, from what a user sets."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from overton.api.setting_up import set_up, sorted_out
from overton.hosts.inspect.task import Hosted, cast_of, make_task, model_entries
from overton.hosts.local import ModelEntry
from overton.studies.registry import study_named

__all__ = ["make"]

Measuring = Callable[[str, Sequence[ModelEntry]], tuple[Any, Any]]
"""The scorer and the metric for a study and the models that it measures."""


def make(
    study: str,
    measuring: Measuring,
    *,
    items: str | Path | Sequence[Any] | None = None,
    only: Sequence[str] | None = None,
    seed: int = 0,
    agents: int = 0,
    sources: Mapping[str, Sequence[str]] | None = None,
    source_args: Mapping[str, Mapping[str, str | Sequence[str]]] | None = None,
    trials_at_once: int = 10,
    cache: bool = True,
    **options: Any,
) -> Any:
    """The task of a study; parameters are those of `overton.run`, models those that Inspect has.

    `agents` is how many models meet where they do, `sources` what searches and reads pages, by role.

    Raises:
        InputError: anything wrong with what was given; nothing was asked.
    """
    found = study_named(study)
    models = model_entries(found, seed, agents)
    named = {role: [entry.name for entry in entries] for role, entries in models.items()} | dict(sources or {})
    asked = sorted_out(found, named.pop(found.first), items, options, named)
    ready = set_up(found, asked, only=only, source_args=source_args)
    searched = {role: requests for role, requests in ready.wanted.items() if role in found.retrieval}
    cast = cast_of(found, seed, agents, models, searched)
    hosted = Hosted(cast, ready.items, ready.options, trials_at_once, cache, ready.left_out)
    return make_task(hosted, *measuring(found.name, models[found.first]))
