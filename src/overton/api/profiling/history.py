"""A model over time: its runs of one study by date, and what changed from one to the next."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from overton.analysis.results import measuring_of, results_of
from overton.api.comparing.making import of_sources
from overton.api.comparing.sameness import instruments, subjects
from overton.api.comparing.shown import findings
from overton.api.comparing.source import Side, Source
from overton.api.comparing.sources import of_runs
from overton.api.profiling.results import History, Point
from overton.errors import InputError
from overton.statistics.resampling import Jackknife

if TYPE_CHECKING:
    from overton.api.profiling.results import ProfiledRun

__all__ = ["histories", "started"]


def started(one: ProfiledRun) -> datetime:
    """When its run started, to the microsecond (for runs that recorded only the second, the start of that second)."""
    when = datetime.fromisoformat(one.run.manifest.created)
    return when if when.tzinfo else when.replace(tzinfo=UTC)


def histories(profiled: Sequence[ProfiledRun]) -> Iterator[History]:
    """Every model that appears in several runs of one study, oldest run first."""
    together: dict[tuple[str, str], list[ProfiledRun]] = defaultdict(list)
    for one in sorted(profiled, key=started):
        for model in one.asked:
            known = together[one.kind, model]
            if all(one.run.path.resolve() != other.run.path.resolve() for other in known):
                known.append(one)
    for (kind, model), runs in together.items():
        if len(runs) > 1 and measuring_of(runs[0].study).profile is not None:
            yield History(kind, runs[0].title, model, list(_points(model, runs)))


def _points(model: str, runs: Sequence[ProfiledRun]) -> Iterator[Point]:
    sources = _sources(model, runs)
    for place, one in enumerate(runs):
        traits = [trait for trait in one.traits if trait.model == model]
        changed: list[str] = []
        verdicts: list[str] = []
        if place and sources:
            changed, verdicts = _between(sources[place - 1], sources[place], one)
        elif place:
            changed = ["its study declares nothing by which runs could be compared"]
        yield Point(sources[place].label if sources else one.run.path.name, _date(one), traits, changed, verdicts)


def _date(one: ProfiledRun) -> str:
    return one.run.manifest.created[:10]


def _sources(model: str, runs: Sequence[ProfiledRun]) -> list[Source]:
    """The runs as sources of a comparison; empty if the study does not declare how to compare."""
    study = runs[0].study
    if measuring_of(study).comparing is None:
        return []
    opened = [one.run for one in runs]
    found = of_runs(opened, results_of(opened[:1]), study, runs[0].outcome.how)
    return [replace(one, model=model) for one in found]


def _between(base: Source, candidate: Source, profiled: ProfiledRun) -> tuple[list[str], list[str]]:
    """What changed between two runs of a model, and how far it moved.

    Runs asked with different instruments, which may differ for that reason alone, are not compared.
    """
    asked = list(instruments(base, candidate, profiled.study))
    names = (
        Side(f"{base.model} [{base.label}]", base, base.model),
        Side(f"{candidate.model} [{candidate.label}]", candidate, candidate.model),
    )
    changed = [one.said for one in [*subjects(*names, profiled.study), *asked]]
    how = profiled.outcome.how
    if any(one.kind == "instrument" for one in asked):
        return changed, ["not compared, since they were asked in different ways"]
    try:
        return changed, findings(of_sources(profiled.study, [base, candidate], Jackknife(how.level, seed=how.seed)))
    except InputError as error:
        return changed, ["; ".join(f"not compared: {problem.reason}" for problem in error.problems)]
