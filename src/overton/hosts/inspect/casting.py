"""Who answers in an eval: named when its task is made, and looked up again when its samples ask."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from overton.errors import InputError, Problem
from overton.hosts.inspect.asking import Table
from overton.hosts.inspect.seats import entry_of, named_models, seats_of
from overton.hosts.inspect.sources import Sources, check_backend
from overton.hosts.local import ModelEntry, ModelRequest
from overton.hosts.local.opening import PAGES
from overton.hosts.local.opening import entry_of as local_entry
from overton.retrieval import Source, open_pages, open_search
from overton.studies.study import AnyStudy

__all__ = ["Cast", "cast_of", "model_entries"]


@dataclass(frozen=True)
class Cast:
    """Who answers in each role of a study, as a run's manifest has it; `agents` is how many meet where models do."""

    study: AnyStudy
    seed: int
    agents: int
    entries: dict[str, list[ModelEntry]]
    sources: Mapping[str, Source]

    def table(self, *, cache: bool) -> Table:
        """What the samples of an eval ask through.

        Raises:
            InputError: the eval asks other models, or the same in another way, than its task was made for.
        """
        models = named_models(self.study, self.agents)
        entries = _entries(models, self.seed)
        for role, found in entries.items():
            for then, now in zip(self.entries[role], found, strict=True):
                if (then.identity, then.settings) != (now.identity, now.settings):
                    reason = f"the task was made for {then.name} with {then.settings}; name the task to eval, as in"
                    raise InputError([Problem(role, now.name, f"{reason} eval('overton/...', model=...)")])
        own = "" if self.study.together else entries[self.study.first][0].identity
        return Table(seats_of(self.study, models, entries, self.sources), own, Sources(self.sources), cache)


def model_entries(study: AnyStudy, seed: int, agents: int = 0) -> dict[str, list[ModelEntry]]:
    """The models that Inspect has for each role of a study, `agents` of them where models meet.

    Raises:
        InputError: a role that is needed has nobody, or somebody who cannot be asked.
    """
    return _entries(named_models(study, agents), seed)


def cast_of(
    study: AnyStudy,
    seed: int,
    agents: int,
    models: Mapping[str, list[ModelEntry]],
    wanted: Mapping[str, Sequence[ModelRequest]],
) -> Cast:
    """Everybody who answers: the `models`, and the searches and pages that are `wanted`, by role.

    Raises:
        InputError: a source cannot be opened, or not under this backend.
    """
    sources = {role: _opened(role, requests[0]) for role, requests in wanted.items() if requests}
    if sources:
        check_backend("searching and reading pages")
    known = {role: [local_entry(wanted[role][0], source)] for role, source in sources.items()}
    empty: dict[str, list[ModelEntry]] = {role: [] for role in study.role_names}
    return Cast(study, seed, agents, empty | dict(models) | known, sources)


def _entries(models: Mapping[str, Sequence[Any]], seed: int) -> dict[str, list[ModelEntry]]:
    return {role: [entry_of(model, role, seed) for model in found] for role, found in models.items()}


def _opened(role: str, request: ModelRequest) -> Source:
    opening = open_pages if role == PAGES else open_search
    return opening(request.spec, request.arguments)
