"""Export of runs as Inspect logs, and import of logs of Overton tasks as runs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from overton.analysis.results import is_weighted
from overton.errors import InputError, Problem
from overton.inspect import scores
from overton.runs.run import Run, fresh_folder, open_run
from overton.studies.null_conditions import chosen_nulls
from overton.studies.options import Field, fields_of, stored_options
from overton.studies.registry import study_named
from overton.untrusted import converted

if TYPE_CHECKING:
    import polars as pl

    from overton.inspect.export_logs import Exported, Scoring
    from overton.inspect.log_format import TaskData
    from overton.inspect.scores import Figure

T = TypeVar("T")


LOGS = "logs"
"""The folder in which Inspect looks for logs by default."""
_LOG_SUFFIXES = (".eval", ".json")


def export_run(run: str | Path, *, out: str | Path = LOGS) -> list[Exported]:
    """Write a run as Inspect AI logs, which `inspect view` opens: one log per model, or a single log if models
    interact.

    Example: `overton.export_run("runs/first", out="logs")`.

    Overton makes no calls and does not change the run. Incomplete items are left out.

    Raises:
        InputError: the run's study has no task, or a log of the run is already in `out`.
        RunMismatch: prompts or items have changed since the run started.
        MissingExtra: Inspect AI is not installed.
    """
    opened = open_run(run)
    study = opened.study
    if study.kind != "asks":
        raise InputError(
            [Problem(str(run), "", f"is a run of {study.name}, which makes items and has no task in Inspect")]
        )
    from overton.inspect import export_logs

    scoring = partial(_scoring_of, weighted=is_weighted(opened))
    return _run_outside_loop(lambda: export_logs.write_logs(opened, Path(out), scoring))


def import_logs(logs: Sequence[str | Path], *, out: str | Path | None = None) -> Run:
    """Turn the logs of an Overton task, one per model, into a run, which can be reported, resumed and extended as
    usual.

    Example: `overton.import_logs(["logs/2026-11-22_STUDY.eval"], out="runs/from-inspect")`.

    `logs` are files or folders of log files. Overton rebuilds the records from the calls in the logs. If samples are
    missing or failed, the run is 'stopped', and `resume` makes the missing calls. By default, `out` is a folder below
    `runs/`, named after the study and the time.

    Raises:
        InputError: a file is not a log of an Overton task or is damaged, or logs are of different runs (the message
            says in what they differ).
        RunMismatch: prompts have changed since the logs were made, or a log contains a call that the study does not
            make.
    """
    if not logs:
        raise InputError([Problem("import", "", "name at least one log")])
    return _run_outside_loop(lambda: _import_files(_find_logs(logs), out))


def _find_logs(named: Sequence[str | Path]) -> list[Path]:
    """The named logs and the logs in named folders, without repetitions.

    Raises:
        InputError: a named folder has no logs.
    """
    found: dict[Path, None] = {}
    for path in map(Path, named):
        inside = sorted(file for file in path.glob("*") if file.suffix in _LOG_SUFFIXES) if path.is_dir() else [path]
        if not inside:
            raise InputError([Problem(str(path), "", "is a folder without logs")])
        found |= dict.fromkeys(inside)
    return list(found)


def _import_files(paths: Sequence[Path], out: str | Path | None) -> Run:
    from overton.inspect import import_logs

    logs = [import_logs.open_log(path) for path in paths]
    study = study_named(logs[0].task.study)
    if study.kind != "asks":
        reason = f"is a log of {study.name}, which has no task in Inspect"
        raise InputError([Problem(str(logs[0].path), "", reason)])
    study = import_logs.study_of(logs[0], study)
    import_logs.check_same_run(logs, study)
    folder = Path(out) if out is not None else fresh_folder(study.name)
    return import_logs.make_run(logs, study, folder)


def _run_outside_loop(work: Callable[[], T]) -> T:
    """Do the work in a thread if an event loop is already running (in a notebook), because Inspect would patch that
    loop."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return work()
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(work).result()


def _scoring_of(task: TaskData, *, weighted: bool) -> Scoring:
    """The scoring of the study's task. It has no figures if trials have weights, because Inspect gives all samples the
    same weight."""
    from overton.inspect.export_logs import Scoring

    study = study_named(task.study)
    entries = task.models[study.first]
    options: dict[str, Any] = {
        "study": study.name,
        "models": [entry.name for entry in entries],
        "held": any(entry.holds_form for entry in entries),
    }
    return Scoring(
        scorer=scores.scorer_name(study.name),
        score=partial(scores.score_of, study.name),
        figures=_no_figures if weighted else partial(scores.figures_of_task, task),
        metric="overton/figures",
        options=options,
        arguments={"seed": task.seed} | _task_arguments(task),
        with_nulls=bool(chosen_nulls(study.nulls, converted(task.options, study.options))),
    )


def _no_figures(table: pl.DataFrame) -> list[Figure]:
    return []


def _task_arguments(task: TaskData) -> dict[str, Any]:
    """The parameters with which the study's task would make the same calls as this run. Items and default values are
    left out."""
    study = study_named(task.study)
    given, default = converted(stored_options(study.options, task.options), study.options), study.options()
    own: dict[str, Any] = {
        field.name: _spell_value(field, value)
        for field in fields_of(study.options)
        if not field.option.follows and (value := getattr(given, field.name)) != getattr(default, field.name)
    }
    # A file is given by its content, as kept in the run, because its location is unknown.
    reading = {field.name for field in fields_of(study.items.reading)}
    kept = {name: task.options[name] for name in reading & task.options.keys()}
    own |= {name: value for name, value in kept.items() if isinstance(value, list | dict)}
    agents = {"agents": len(task.models[study.first])} if study.together else {}
    sources = {role: task.models[role][0].spec for role in study.retrieval if task.models.get(role)}
    replaced = {"prompts": task.replaced} if task.replaced else {}
    return own | agents | sources | replaced


def _spell_value(field: Field, value: Any) -> Any:
    """A value as written after `-T`. For example, a setting left to the endpoint is 'own', and an order of agents is
    '2-1-3'."""
    if not field.several or value is None:
        return value
    return [member if isinstance(member, int | float | str) else field.word(member) for member in value]
