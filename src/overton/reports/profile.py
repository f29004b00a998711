"""A model's profile over several studies."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from overton.analysis.results import measuring_of, results_of
from overton.comparison.comparison import of_sources
from overton.comparison.differences import instruments, subjects
from overton.comparison.sections import findings
from overton.comparison.sources import ComparedModel, ComparisonSource, of_runs, split_model
from overton.errors import InputError, Problem, command
from overton.files.tables import open_table
from overton.reports.opening import warnings_of
from overton.reports.profile_data import (
    History,
    Point,
    Profile,
    ProfiledRun,
    ProfileRow,
    StudyNotRun,
    Subject,
    SubjectRow,
)
from overton.reports.profile_sections import write_page
from overton.runs.answerers import public_spec
from overton.runs.folder import ModelEntry
from overton.runs.items import read_items
from overton.runs.run import Run, open_run
from overton.statistics.estimate import ratio
from overton.statistics.jackknife import Jackknife
from overton.studies.items import words_of
from overton.studies.numbers import number
from overton.studies.prompted_models import is_split, names_under
from overton.studies.registry import asking_names, study_named
from overton.studies.study import AnyStudy

if TYPE_CHECKING:
    from overton.studies.contributions import Contribution


def start_time(profiled_run: ProfiledRun) -> datetime:
    """The time at which the run started, to the microsecond. If a run recorded only the second, the result is the start
    of that second."""
    when = datetime.fromisoformat(profiled_run.run.manifest.created)
    return when if when.tzinfo else when.replace(tzinfo=UTC)


def histories(profiled: Sequence[ProfiledRun]) -> Iterator[History]:
    """The history of every model that appears in several runs of a study, oldest run first."""
    together: dict[tuple[str, str], list[ProfiledRun]] = defaultdict(list)
    for profiled_run in sorted(profiled, key=start_time):
        for model in profiled_run.asked:
            known = together[profiled_run.kind, model]
            if all(profiled_run.run.path.resolve() != other.run.path.resolve() for other in known):
                known.append(profiled_run)
    for (kind, model), runs in together.items():
        if len(runs) > 1 and measuring_of(runs[0].study).profile is not None:
            yield History(kind, runs[0].title, model, list(_history_points(model, runs)))


def _history_points(model: str, runs: Sequence[ProfiledRun]) -> Iterator[Point]:
    sources = _comparison_sources(model, runs)
    for place, run in enumerate(runs):
        traits = [trait for trait in run.traits if trait.model == model]
        changed: list[str] = []
        verdicts: list[str] = []
        if place and sources:
            changed, verdicts = _compare_with_previous(sources[place - 1], sources[place], run)
        elif place:
            changed = ["its study does not declare how to compare runs"]
        yield Point(
            run.run.path,
            sources[place].label if sources else run.run.path.name,
            run.run.manifest.created[:10],
            traits,
            changed,
            verdicts,
        )


def _comparison_sources(model: str, runs: Sequence[ProfiledRun]) -> list[ComparisonSource]:
    """The runs as sources of a comparison; empty if the study does not declare how to compare."""
    study = runs[0].study
    if measuring_of(study).comparing is None:
        return []
    opened = [run.run for run in runs]
    found = of_runs(opened, results_of(opened[:1]), study, runs[0].outcome.how)
    return [replace(source, model=model) for source in found]


def _compare_with_previous(
    base: ComparisonSource, candidate: ComparisonSource, profiled: ProfiledRun
) -> tuple[list[str], list[str]]:
    """The changes between two runs of a model, and how far it moved.

    Runs with different instruments are not compared, because the instruments alone could make them differ.
    """
    asked = list(instruments(base, candidate, profiled.study))
    names = (
        ComparedModel(f"{base.model} [{base.label}]", base, base.model),
        ComparedModel(f"{candidate.model} [{candidate.label}]", candidate, candidate.model),
    )
    changed = [difference.said for difference in [*subjects(*names, profiled.study), *asked]]
    how = profiled.outcome.how
    if any(difference.kind == "instrument" for difference in asked):
        return changed, ["not compared, since they were asked in different ways"]
    try:
        return changed, findings(of_sources(profiled.study, [base, candidate], Jackknife(how.level, seed=how.seed)))
    except InputError as error:
        return changed, ["; ".join(f"not compared: {problem.reason}" for problem in error.problems)]


Given = Mapping[tuple[str, str], str]
"""The subject by study ('' for any) and item."""


def read_subjects(path: str | Path | None) -> Given:
    """Read the user's table with columns item, subject and optionally study. The result is empty if `path` is None.

    Raises:
        InputError: the file is not a table, lacks a column, has an empty cell, or gives an item two subjects.
    """
    if path is None:
        return {}
    table = open_table(Path(path))
    if missing := [name for name in ("item", "subject") if name not in table.columns]:
        reason = f"has no column {' and '.join(missing)}; a table of subjects has item, subject and optionally study"
        raise InputError([Problem(str(path), "", reason)])
    frame = table.frame()
    studies = frame["study"].to_list() if "study" in frame.columns else [""] * frame.height
    found: dict[tuple[str, str], str] = {}
    for row, (study, item, subject) in enumerate(
        zip(studies, frame["item"].to_list(), frame["subject"].to_list(), strict=True)
    ):
        if not item or not subject:
            raise InputError([Problem(str(path), table.place(row), "has an empty cell")])
        key = (str(study or "").replace("_", "-"), str(item))
        if found.setdefault(key, str(subject)) != str(subject):
            raise InputError([Problem(str(path), table.place(row), f"{item} already has the subject {found[key]}")])
    return found


def find_shared_subjects(leading: Mapping[tuple[str, str], ProfiledRun], given: Given) -> list[Subject]:
    """Find the subjects with items from two or more studies. Each subject has the results for its items. Subjects are
    sorted by name."""
    rows: dict[str, dict[tuple[str, str, str], SubjectRow]] = defaultdict(dict)
    for subject, row in _rows_of_leading_runs(leading, given):
        key = (row.study, row.item, row.meaning)
        known = rows[subject].get(key)
        rows[subject][key] = row._replace(values={**known.values, **row.values}) if known else row
    return [
        Subject(name, list(found.values()))
        for name, found in sorted(rows.items())
        if len({row.study for row in found.values()}) > 1
    ]


def _rows_of_leading_runs(
    leading: Mapping[tuple[str, str], ProfiledRun], given: Given
) -> Iterator[tuple[str, SubjectRow]]:
    """The rows of items that have a subject. They come from each model's latest run of a study."""
    for profiled in {id(leading_run): leading_run for leading_run in leading.values()}.values():
        if (about := _subjects_of_items(profiled, given)) and measuring_of(profiled.study).comparing is not None:
            models = [model for model in profiled.asked if leading[profiled.kind, model] is profiled]
            yield from _rows_of_run(profiled, models, about)


def _rows_of_run(
    profiled: ProfiledRun, models: Sequence[str], about: Mapping[str, str]
) -> Iterator[tuple[str, SubjectRow]]:
    measuring, results = measuring_of(profiled.study), profiled.outcome.results
    assert results is not None
    assert measuring.comparing is not None
    words = {name: text.text for name, text in words_of(profiled.study.items, results.items).items()}
    sides = measuring.comparing.records(results, profiled.outcome.how)
    measures = measuring.profile.by_item if measuring.profile else {}
    for model, measure in product(models, measures):
        own = next(
            (contribution for contribution in sides.get(model, ()) if contribution.measure.name == measure), None
        )
        for item, said in _item_values(own):
            if item in about:
                text = words.get(item, item.replace("-", " "))
                where = (profiled.kind, profiled.title, item, text)
                yield about[item], SubjectRow(*where, measure, measures[measure], {model: said})


def _item_values(contribution: Contribution | None) -> Iterator[tuple[str, str]]:
    """The value of a mean or ratio on each item, as displayed; other measures have no value for a single item."""
    if contribution is None or contribution.measure.of is not ratio:
        return
    for item, (above, below) in zip(contribution.items, contribution.parts, strict=True):
        if below > 0:
            yield item, number(float(above / below), contribution.measure.kind)


def _subjects_of_items(profiled: ProfiledRun, given: Given) -> dict[str, str]:
    """The subject of each item, by the study's unit of comparison. The user's subject takes precedence over that of a
    sample item."""
    study, results = profiled.study, profiled.outcome.results
    own = study.items.subjects() if study.items.subjects else {}
    starter = {item.id: item for item in read_items(study)} if own and study.items.starter else {}
    found = {}
    for item in results.items if results else ():
        name = study.items.about(item)
        said = _given_subject(profiled.kind, (name, item.id), given)
        if said is None and starter.get(item.id) == item:
            said = own.get(name)
        if said is not None:
            found[name] = said
    return found


def _given_subject(study: str, names: Sequence[str], given: Given) -> str | None:
    """The subject that the user gives an item, for this study or for all studies."""
    return next((given[key] for name in names for key in ((study, name), ("", name)) if key in given), None)


def profile(
    *runs: str | Path,
    level: float = 0.95,
    seed: int = 0,
    subjects: str | Path | None = None,
    out: str | Path | None = None,
) -> Profile:
    """Combine the findings about models from `runs` of any studies. Models are matched by their names in the runs.

    Give a run as 'RUN#MODEL' to select one of its models. If several runs of a study contain the same model, the
    profile shows the latest run's results, and the changes over all runs. `subjects` names a table with columns item
    and subject (and optionally study), to show which of your items are about the same subject. Overton knows the
    subjects of its sample items. With `out` the profile is also written as a page. `level` is the confidence level of
    the intervals.

    Example: `overton.profile("runs/first", "runs/second", out="profile.html").to_json()`.

    Raises:
        InputError: no runs, an unknown model, or a run that only makes items.
        RunError: a folder is not a run, or has no records; the page cannot be written.
    """
    if not runs:
        raise InputError([Problem("profile", "", "name at least one run")])
    profiled = [_open_profiled(run, {"level": level, "seed": seed}) for run in runs]
    given = read_subjects(subjects)
    leading = _latest_runs(profiled)
    specs = _specs_by_model(profiled)
    made = Profile(
        level=level,
        specs=specs,
        runs=list({profiled_run.run.path.resolve(): profiled_run.run for profiled_run in profiled}.values()),
        warnings=list(_profile_warnings(profiled, specs)),
        rows=list(_trait_rows(profiled, leading)),
        missing=list(_missing_studies(leading, _without_prompts(profiled, specs))),
        subjects=find_shared_subjects(leading, given),
        histories=list(histories(profiled)),
    )
    if out is not None:
        write_page(made, out)
    return made


def _open_profiled(named: str | Path, how: Mapping[str, Any]) -> ProfiledRun:
    """A run, its study, and the selected models.

    Raises:
        InputError: the run's study has no measures, or the run has no such model.
    """
    path, model = split_model(named)
    run = open_run(path)
    measuring_of(run.study)
    names = tuple(name for entry in run.entries for name in _names_of(run, entry))
    if model and model not in names:
        raise InputError([Problem(str(named), "", f"has no such model; its models are {', '.join(names)}")])
    return ProfiledRun(run, run.study, (model,) if model else names, how)


def _latest_runs(profiled: Sequence[ProfiledRun]) -> dict[tuple[str, str], ProfiledRun]:
    ordered = sorted(profiled, key=start_time)
    return {(profiled_run.kind, model): profiled_run for profiled_run in ordered for model in profiled_run.asked}


def _specs_by_model(profiled: Sequence[ProfiledRun]) -> dict[str, list[str]]:
    """The specs that each model name stands for, in the order of the runs."""
    found: dict[str, list[str]] = defaultdict(list)
    for profiled_run in profiled:
        for entry in profiled_run.run.entries:
            for name in _names_of(profiled_run.run, entry):
                if name in profiled_run.asked and public_spec(entry.spec) not in found[name]:
                    found[name].append(public_spec(entry.spec))
    return dict(found)


def _without_prompts(profiled: Sequence[ProfiledRun], specs: Mapping[str, Sequence[str]]) -> dict[str, Sequence[str]]:
    """The models, without separate entries for system prompts. A study that was not run is suggested once per model,
    not per prompt."""
    plain = {entry.name for profiled_run in profiled for entry in profiled_run.run.entries}
    return {name: asked for name, asked in specs.items() if name in plain}


def _names_of(run: Run, entry: ModelEntry) -> list[str]:
    """A model's names in a run's results, one under each system prompt."""
    options = run.manifest.options
    return names_under(entry.name, options) if is_split(run.study, options) else [entry.name]


def _trait_rows(
    profiled: Sequence[ProfiledRun], leading: Mapping[tuple[str, str], ProfiledRun]
) -> Iterator[ProfileRow]:
    """The traits of all runs. Studies are in the order in which they are listed, and models are side by side."""
    given: set[tuple[Path, str]] = set()
    for run in _sort_by_study({id(run): run for run in (*leading.values(), *profiled)}.values()):
        path = run.run.path.resolve()
        models = [model for model in run.asked if (path, model) not in given]
        if not models:
            continue
        given |= {(path, model) for model in models}
        titles = list(dict.fromkeys(trait.title for trait in run.traits))
        for trait in sorted(run.traits, key=lambda trait: titles.index(trait.title)):
            if trait.model in models:
                yield ProfileRow(run.kind, run.title, run.run, trait, leading[run.kind, trait.model] is run)


def _sort_by_study(profiled: Iterable[ProfiledRun]) -> list[ProfiledRun]:
    names = asking_names()
    return sorted(profiled, key=lambda run: names.index(run.kind) if run.kind in names else len(names))


def _missing_studies(
    leading: Mapping[tuple[str, str], ProfiledRun], specs: Mapping[str, Sequence[str]]
) -> Iterator[StudyNotRun]:
    """Studies that would show something about a model but were not run on it. Unusable studies are left out."""
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
                yield StudyNotRun(
                    name, study.title or name, model, declared.aspects, _run_command(study, model, asked[-1])
                )


def _run_command(study: AnyStudy, model: str, spec: str) -> str:
    """The command that would run a study on a model under its name. The user has to fill in other roles."""
    first, *others = study.roles
    named = spec if spec == model else f"{model}={spec}"
    words = ["run", study.name, f"--{first.word}", named]
    words += [f"--{first.word}", "OTHER-MODEL"] if study.together else []
    for role in others:
        if not (role.optional or role.usual or role.retrieves):
            words += [f"--{role.word}", role.word.upper()]
    return command(*words)


def _profile_warnings(profiled: Sequence[ProfiledRun], specs: Mapping[str, Sequence[str]]) -> Iterator[str]:
    for model, asked in specs.items():
        if len(asked) > 1:
            yield f"{model} names several models in these runs: {', '.join(asked)}."
    for profiled_run in profiled:
        if measuring_of(profiled_run.study).profile is None:
            run, study = profiled_run.run.path.name, profiled_run.study.name
            yield f"{run} is a run of {study}, which declares nothing for a profile."
    yield from dict.fromkeys(warnings_of([profiled_run.run for profiled_run in profiled]))
