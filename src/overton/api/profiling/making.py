"""From runs of any studies to a profile of the models in them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from overton.analysis.results import measuring_of
from overton.api.comparing.sources import parted
from overton.api.profiling.history import histories, started
from overton.api.profiling.page import write_page
from overton.api.profiling.results import Found, Missing, Profile, ProfiledRun
from overton.api.profiling.subjects import read_subjects, shared
from overton.api.reports import warnings_of
from overton.errors import InputError, Problem, command
from overton.runs.answerers import published
from overton.runs.run import open_run
from overton.studies.registry import asking_names, study_named
from overton.studies.study import AnyStudy

__all__ = ["profile"]


def profile(
    *runs: str | Path,
    level: float = 0.95,
    seed: int = 0,
    subjects: str | Path | None = None,
    out: str | Path | None = None,
) -> Profile:
    """What `runs` of any studies found about their models, combined; models go by their names in the runs.

    A run may be given as 'RUN#MODEL', for one of its models. If several runs of a study have a model, the latest shows
    what it is like, and all of them how it changed. `subjects` names a table of item and subject (and study) that says
    which of your items share a subject; starter items have theirs. With `out` the page is written as well. `level` is
    the confidence level of the intervals.

    Example: `overton.profile("runs/first", "runs/second", out="profile.html").to_json()`.

    Raises:
        InputError: no runs, an unknown model, or a run that only makes items.
        RunError: a folder is not a run, or has no records; the page cannot be written.
    """
    if not runs:
        raise InputError([Problem("profile", "", "name at least one run")])
    profiled = [_opened(one, {"level": level, "seed": seed}) for one in runs]
    given = read_subjects(subjects)
    leading = _leading(profiled)
    specs = _specs(profiled)
    made = Profile(
        models=tuple(specs),
        specs=specs,
        runs=list({one.run.path.resolve(): one.run for one in profiled}.values()),
        found=list(_found(leading)),
        missing=list(_missing(leading, specs)),
        subjects=shared(leading, given),
        histories=list(histories(profiled)),
        warnings=list(_warnings(profiled, specs)),
        level=level,
    )
    if out is not None:
        write_page(made, out)
    return made


def _opened(named: str | Path, how: Mapping[str, Any]) -> ProfiledRun:
    """A run, its study, and the selected models.

    Raises:
        InputError: its study measures nothing, or it has no such model.
    """
    path, model = parted(named)
    run = open_run(path)
    measuring_of(run.study)
    names = tuple(entry.name for entry in run.entries)
    if model and model not in names:
        raise InputError([Problem(str(named), "", f"has no such model; its models are {', '.join(names)}")])
    return ProfiledRun(run, run.study, (model,) if model else names, how)


def _leading(profiled: Sequence[ProfiledRun]) -> dict[tuple[str, str], ProfiledRun]:
    """The run that leads, by study and model: the latest."""
    ordered = sorted(profiled, key=started)
    return {(one.kind, model): one for one in ordered for model in one.asked}


def _specs(profiled: Sequence[ProfiledRun]) -> dict[str, list[str]]:
    """By model, the specs asked under its name, in the order of the runs."""
    found: dict[str, list[str]] = defaultdict(list)
    for one in profiled:
        for entry in one.run.entries:
            if entry.name in one.asked and published(entry.spec) not in found[entry.name]:
                found[entry.name].append(published(entry.spec))
    return dict(found)


def _found(leading: Mapping[tuple[str, str], ProfiledRun]) -> Iterator[Found]:
    """What the leading runs found, study by study in the order in which studies are listed, models side by side."""
    for one in _in_order(leading):
        titles = list(dict.fromkeys(trait.title for trait in one.traits))
        for trait in sorted(one.traits, key=lambda trait: titles.index(trait.title)):
            if leading[one.kind, trait.model] is one:
                yield Found(one.kind, one.title, one.run, trait)


def _in_order(leading: Mapping[tuple[str, str], ProfiledRun]) -> list[ProfiledRun]:
    names = asking_names()
    each = {id(one): one for one in leading.values()}.values()
    return sorted(each, key=lambda one: names.index(one.kind) if one.kind in names else len(names))


def _missing(leading: Mapping[tuple[str, str], ProfiledRun], specs: Mapping[str, Sequence[str]]) -> Iterator[Missing]:
    """Studies that would show something about a model but were not run on it; unusable ones are left out."""
    for name in asking_names():
        try:
            study = study_named(name)
        except InputError:
            continue
        declared = study.measuring.profile if study.measuring else None
        if declared is None:
            continue
        for model, asked in specs.items():
            if (name, model) not in leading:
                yield Missing(name, study.title or name, model, declared.aspects, _command(study, model, asked[-1]))


def _command(study: AnyStudy, model: str, spec: str) -> str:
    """The command that would run a study on a model under its name; other roles are left to be filled in."""
    first, *others = study.roles
    named = spec if spec == model else f"{model}={spec}"
    words = ["run", study.name, f"--{first.word}", named]
    words += [f"--{first.word}", "OTHER-MODEL"] if study.together else []
    for role in others:
        if not (role.optional or role.usual or role.retrieves):
            words += [f"--{role.word}", role.word.upper()]
    return command(*words)


def _warnings(profiled: Sequence[ProfiledRun], specs: Mapping[str, Sequence[str]]) -> Iterator[str]:
    for model, asked in specs.items():
        if len(asked) > 1:
            yield f"{model} names several models in these runs: {', '.join(asked)}."
    for one in profiled:
        if measuring_of(one.study).profile is None:
            yield f"{one.run.path.name} is a run of {one.study.name}, which declares nothing for a profile."
    yield from dict.fromkeys(warnings_of([one.run for one in profiled]))
