"""What is compared: runs, single models of them, and tables made elsewhere, opened and labelled."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from itertools import chain, combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

from overton.analysis.analyze import chosen_how
from overton.analysis.results import measuring_of, results_of
from overton.api.comparing.baselines import is_baseline, of_baseline, study_of
from overton.api.comparing.labels import with_labels
from overton.api.comparing.provenance import provenance_of
from overton.api.comparing.source import Side, Source, lost_of
from overton.errors import InputError, Problem
from overton.files.tables import open_table
from overton.runs.record_rows import design_of_table
from overton.runs.run import Run, open_run
from overton.studies.comparing import Sides
from overton.studies.detecting import halves_of
from overton.studies.fewer_trials import with_fewer_trials
from overton.studies.installed_study import blaming
from overton.studies.measuring import Comparing, How
from overton.studies.registry import study_named, usable_studies
from overton.studies.results import Results
from overton.studies.study import AnyStudy

if TYPE_CHECKING:
    from overton.studies.table import RawTable

    Opened = Run | RawTable | Path

__all__ = ["comparing_of", "of_runs", "opened", "pairs_of", "parted"]

MARK = "#"
"""Separates a run, or a table, from the one of its models that is selected."""


def comparing_of(study: AnyStudy) -> Comparing:
    """How a study compares models.

    Raises:
        InputError: it does not declare that.
    """
    declared = measuring_of(study).comparing
    if declared is None:
        raise InputError([Problem("study", study.name, "declares nothing by which models could be compared")])
    return declared


def parted(text: str | Path) -> tuple[Path, str]:
    """A source's path and the selected model, '' for all: 'RUN#MODEL'. A path that exists as written is one."""
    whole = str(text)
    place = whole.find(MARK)
    while place >= 0 and not Path(whole).exists():
        if Path(whole[:place]).exists():
            return Path(whole[:place]), whole[place + 1 :]
        place = whole.find(MARK, place + 1)
    return Path(whole), ""


def opened(
    given: Sequence[str | Path], study: str | None, how: Mapping[str, Any]
) -> tuple[AnyStudy, How, list[Source]]:
    """The study that all sources are of, the choices of how it is computed, and the sources.

    Raises:
        InputError: there are none, they are of several studies, a model is unknown, or a file is not a table.
        RunError: a folder is not a run, or has no records.
    """
    if not given:
        raise InputError([Problem("compare", "", "name a run, a model of one (RUN#MODEL), or a table")])
    places = [parted(one) for one in given]
    content = [_open(path) for path, _ in places]
    if all(isinstance(one, Path) for one in content):
        raise InputError([Problem("compare", str(given[0]), "is a baseline: name a run or a table, too")])
    named = _study(study, content, [path for path, _ in places])
    chosen = chosen_how(named, how)
    labels = _labels([path for path, _ in places])
    with blaming(named, "comparing"):
        found = _sources(named, chosen, labels, [path for path, _ in places], content)
    return named, chosen, [_of_model(one, model) for one, (_, model) in zip(found, places, strict=True)]


def _open(path: Path) -> Opened:
    """A run if there is a manifest, a baseline by its path, otherwise a table."""
    if is_baseline(path):
        return path
    if (path / "manifest.json").is_file():
        return open_run(path)
    return open_table(path)


def _study(study: str | None, content: Sequence[Opened], paths: Sequence[Path]) -> AnyStudy:
    found = {_study_of(one, path, study) for one, path in zip(content, paths, strict=True)}
    if len(found) > 1:
        raise InputError([Problem("compare", "", f"they are of different studies: {', '.join(sorted(found))}")])
    return study_named(found.pop())


def _study_of(content: Opened, path: Path, study: str | None) -> str:
    if isinstance(content, Run):
        name = study_named(content.manifest.study).labels or content.manifest.study
        if study is not None and study_named(study).name != name:
            raise InputError([Problem(str(path), "", f"is a run of {content.manifest.study}, not of {study}")])
        return name
    if isinstance(content, Path):
        return study_of(content)
    if study is not None:
        return study_named(study).name
    fitting = [
        one.name
        for one in usable_studies()
        if one.measuring and one.measuring.comparing and any(kind.fits(content) for kind in one.measuring.read)
    ]
    if len(fitting) != 1:
        reason = f"is a table that {' and '.join(fitting) or 'no study'} can read: name its study (--study)"
        raise InputError([Problem(str(path), "", reason)])
    return fitting[0]


def _sources(
    study: AnyStudy, how: How, labels: Sequence[str], paths: Sequence[Path], content: Sequence[Opened]
) -> list[Source]:
    """The sources; a baseline's measures are identified by those of the others."""
    made = {
        label: _source(study, how, label, path, one)
        for label, path, one in zip(labels, paths, content, strict=True)
        if not isinstance(one, Path)
    }
    known = {one.measure.name: one for source in made.values() for side in source.sides.values() for one in side}
    kept = {
        label: of_baseline(one, label, known)
        for label, one in zip(labels, content, strict=True)
        if isinstance(one, Path)
    }
    return [(made | kept)[label] for label in labels]


def _source(study: AnyStudy, how: How, label: str, path: Path, content: Run | RawTable) -> Source:
    comparing = comparing_of(study)
    if isinstance(content, Run):
        results = results_of([content])
        return _of_run(label, content, results, comparing, how)
    return Source(label, path, None, comparing.table(design_of_table(study, content), how))


def _of_run(label: str, run: Run, results: Results, comparing: Comparing, how: How) -> Source:
    sides = _as_named(with_labels(comparing.records(results, how), run, results, how), run)
    lost = {name: lost_of(results.records, name, run.manifest.missing) for name in sides}
    halved = partial(halves_of, comparing, results, how)
    fewer = cache(partial(with_fewer_trials, comparing, results, how))
    return Source(label, run.path, run, sides, lost=lost, provenance=provenance_of(run), halved=halved, fewer=fewer)


def _as_named(sides: Sides, run: Run) -> Sides:
    """The models in the order in which they were named: the first is the base of the others."""
    place = {entry.name: at for at, entry in enumerate(chain(*run.manifest.models.values()))}
    return {name: sides[name] for name in sorted(sides, key=lambda name: place.get(name, -1))}


def of_runs(runs: Sequence[Run], results: Results, study: AnyStudy, how: How) -> list[Source]:
    """The sources of open runs, with the `results` of all of them together."""
    comparing = comparing_of(study)
    labels = _labels([run.path for run in runs])
    each = [results] if len(runs) == 1 else [results_of([run]) for run in runs]
    return [_of_run(label, run, one, comparing, how) for label, run, one in zip(labels, runs, each, strict=True)]


def _of_model(source: Source, model: str) -> Source:
    if model and model not in source.sides:
        known = ", ".join(source.models)
        raise InputError([Problem(f"{source.path}{MARK}{model}", "", f"has no such model; its models are {known}")])
    return replace(source, model=model)


def _labels(paths: Sequence[Path]) -> list[str]:
    """Folders and files by their names; those that share a name by their paths, and repeated ones by number."""
    short = [path.resolve().name if path.is_dir() else path.stem for path in paths]
    several = Counter(short)
    shown = [str(path) if several[name] > 1 else name for path, name in zip(paths, short, strict=True)]
    return [
        name if shown.count(name) == 1 else f"{name} ({1 + shown[:place].count(name)})"
        for place, name in enumerate(shown)
    ]


def pairs_of(sources: Sequence[Source]) -> list[tuple[Side, Side]]:
    """Base and candidate of every comparison, in the order of the arguments.

    Within a single source, all of its models; between two with several models, those of the same name if there are any,
    otherwise each with each; and for what is of all models together, each source with each.
    """
    if len(sources) == 1:
        return [*combinations(_sides(sources[0], sources), 2)]
    made = []
    for base, candidate in combinations(sources, 2):
        first, second = _sides(base, sources), _sides(candidate, sources)
        same = [(one, other) for one in first for other in second if one.model == other.model]
        several = len(first) > 1 or len(second) > 1
        made += same if several and same else [(one, other) for one in first for other in second]
        if "" in base.sides and "" in candidate.sides and not (base.model or candidate.model):
            made.append((Side(base.label, base, ""), Side(candidate.label, candidate, "")))
    return made


def _sides(source: Source, sources: Sequence[Source]) -> list[Side]:
    known = Counter(model for one in sources for model in one.models)
    return [Side(f"{model} [{source.label}]" if known[model] > 1 else model, source, model) for model in source.models]
