"""Runs made, resumed and extended."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from inspect import Parameter, signature
from pathlib import Path
from typing import Any

import msgspec

from overton.engine import Limits, RetryPolicy
from overton.errors import InputError, Notice, Problem
from overton.runs.digests import is_as_finished
from overton.runs.folder import read_options
from overton.runs.machine import check_files, check_machine
from overton.runs.precision import precision_of
from overton.runs.preparation import Prepared, open_again, prepare, reached_elsewhere, set_batched
from overton.runs.progress import Watch
from overton.runs.progress_bar import in_notebook
from overton.runs.prompt_folder import GivenPrompts
from overton.runs.run import Run, check_unchanged, create_run, fresh_folder, open_run
from overton.runs.session import missing_trials, run_session
from overton.runs.setup import (
    Arguments,
    Others,
    Prices,
    SourceArguments,
    check,
    model_requests,
    names_of,
    set_up,
    several,
)
from overton.runs.tracebacks import traceback_kept
from overton.runs.trust import Confirm, Trust, note_used
from overton.studies.options import StudyOptions, changed
from overton.studies.registry import StudyEntry, study_named


def run(
    study: str,
    *,
    models: Sequence[str] = (),
    others: Others | None = None,
    items: str | Path | Sequence[Any] | None = None,
    only: Sequence[str] | None = None,
    out: str | Path | None = None,
    seed: int = 0,
    model_args: Arguments | None = None,
    source_args: SourceArguments | None = None,
    prices: Prices | None = None,
    price_list: str | Path | None = None,
    prompts: GivenPrompts | None = None,
    batch: bool = False,
    max_cost: float | None = None,
    max_calls: int | None = None,
    precision: Mapping[str, float] | None = None,
    at_most_calls: int | None = None,
    left_out: str = "",
    patience: RetryPolicy | None = None,
    watch: Watch | None = None,
    **options: Any,
) -> Run:
    """Run a study in a new folder; a study that makes items also writes its dataset there.

    Example: `overton.run("STUDY", models=["openai/gpt-4o"], judge="openai/gpt-4o-mini", trials=15)`.

    `models` are those that the study is about, as 'provider/name' or, with a name of your choice, 'NAME=provider/name';
    `model_args` and `prices` go by the name. `items` is a path that the study can read, or items, or None for the
    starter items; `only` selects some by id. `out` defaults to a folder below `runs/` named by study and time.
    `price_list` is a TOML file of prices (docs/price.md), which take precedence over Overton's own. `prompts` is a
    folder with texts that replace the study's own (docs/recipes.md), or a mapping of texts by name. With `batch`, all
    models that allow it are asked in batches, at their provider's discount. `max_cost` (US dollars) and `max_calls`
    (requests, retries included) stop the run before they are exceeded.

    With `precision`, half-widths by measure as in `{"share": 0.1}`, the run proceeds in rounds and asks further trials
    only where an interval is still wider; `trials` is then the maximum. `at_most_calls` is the number of calls it may
    allocate, an equal part for each model; without `precision` they go where they narrow the headline's interval most.
    docs/price.md explains the method and how reliable its intervals are.

    `watch` is called several times per second with a `Progress`; without it, a notebook shows the progress itself.

    `options` are, by name: the fields of the study's options and of its item-reading options; who answers in further
    roles (`judge="..."`; `others` takes them by role); and `items` under the study's own word for them. `source_args`
    are arguments of the roles that search and read pages.

    Raises:
        InputError: anything wrong with the arguments; nothing was asked.
        OvertonError: a reason why it could not continue. A run stopped by a limit or Ctrl-C is returned, not raised.
    """
    found = study_named(study)
    folder = Path(out) if out is not None else fresh_folder(found.name)
    ready = set_up(
        found,
        models=models,
        others=others,
        items=items,
        only=only,
        seed=seed,
        model_args=model_args,
        source_args=source_args,
        prices=prices,
        price_list=price_list,
        prompts=prompts,
        **options,
    )
    with traceback_kept(folder):
        prepared = prepare(
            ready.experiment,
            ready.wanted,
            limits=Limits(max_cost, max_calls),
            left_out=left_out or ready.left_out,
            batch=batch,
            precision=precision_of(precision, at_most_calls),
        )
        return start(prepared, folder, patience=patience, watch=watch or in_notebook(found.name))


def start(prepared: Prepared, out: Path, *, patience: RetryPolicy | None = None, watch: Watch | None = None) -> Run:
    """Make the folder `out` of a new run, and run it to its end, or until it stops.

    Raises:
        OvertonError: see `run_session`.
    """
    experiment, manifest = prepared.experiment, prepared.manifest
    study = experiment.study
    trials = 1 if manifest.precision else experiment.trials_by_item.total() * study.lanes(prepared.wanted)
    check_machine(out, manifest.models, prepared.models, trials)
    made = create_run(out, manifest, experiment)
    note_used(study, prepared.wanted)
    run_session(made, prepared.models, patience=patience, watch=watch)
    return made


def resume(
    path: str | Path | Run,
    *,
    retry_failed: bool = False,
    max_cost: float | None = None,
    max_calls: int | None = None,
    batch: bool | None = None,
    models: Sequence[str] = (),
    model_args: Arguments | None = None,
    trust: bool = False,
    confirm: Confirm | None = None,
    patience: RetryPolicy | None = None,
    watch: Watch | None = None,
) -> Run:
    """Resume a run. What was asked before is answered from its journal; limits count over all sessions.

    `models` are those of the run that are reached in a different way from now on, such as 'ray/gguf:/path/model.gguf'
    for one that started as 'gguf:/path/model.gguf', with any changes of `model_args`; they are still the same models.

    Results of batches are read; `batch` says whether the rest is asked in batches, None for the way the run started.

    A run folder may be somebody else's. If it names an address, a variable with a key or a file of weights that no run
    started on this machine has used, nothing is sent before that is confirmed, once per run: with `trust`, or by
    `confirm`, which is called with the folder and one sentence for each. A known provider's own settings need no
    confirmation.

    Raises:
        InputError: it would use something that is not confirmed; each with host and variable.
        RunMismatch: items, prompts, models or settings differ from those that the run started with.
        RunError: `path` is not a run folder, or another process is working on it.
    """
    folder = path.path if isinstance(path, Run) else Path(path)
    watch = watch or in_notebook("resume")
    with traceback_kept(folder):
        run = open_run(path)
        elsewhere = model_requests({"": models}, model_args)[""]
        manifest, again = run.manifest, retry_failed and run.failed
        if not (again or elsewhere) and is_as_finished(run):
            said = f"{folder} has finished, and nothing has changed since: nothing is left to do"
            warnings.warn(said, Notice, stacklevel=2)
            return run
        check_unchanged(run)
        manifest.limits = _merge_limits(manifest.limits, max_cost, max_calls)
        check_files()
        if not (missing := missing_trials(run, retry_failed=retry_failed)):
            run_session(run, None, watch=watch)
            return run
        if elsewhere:
            manifest.models = reached_elsewhere(manifest.models, elsewhere)
            note_used(run.study, {run.study.first: elsewhere})
        opened = open_again(run, {}, Trust(trust, confirm))
        if batch is not None:
            set_batched(manifest, opened, batch=batch)
        check_machine(folder, manifest.models, opened, missing)
        run_session(run, opened, retry_failed=retry_failed, patience=patience, watch=watch)
    return run


def extend(
    path: str | Path | Run,
    *,
    models: Sequence[str] = (),
    model_args: Arguments | None = None,
    prices: Prices | None = None,
    max_cost: float | None = None,
    max_calls: int | None = None,
    trust: bool = False,
    confirm: Confirm | None = None,
    patience: RetryPolicy | None = None,
    watch: Watch | None = None,
    **options: Any,
) -> Run:
    """Add models, trials or conditions to a run.

    `options` are those that the study allows to grow: if given, they replace the run's own; those that take several
    values (conditions, templates) add to them. If a study may have several judges, more are added by the role's word,
    as in `judge="openai/gpt-4o"`: what models answered is not asked again. `trust` and `confirm` are those of `resume`.

    Raises:
        InputError: nothing would be added, trials would be removed, or a model is already in the run; or see `resume`.
        RunError: see `resume`.
    """
    run = open_run(path)
    folder, manifest, study = run.path, run.manifest, run.study
    given = {name: value for name, value in options.items() if value is not None}
    added = {study.first: list(models)}
    for role in study.roles:
        if role.several and (judges := given.pop(role.word, None) or given.pop(role.name, None)):
            added[role.name] = list(several(judges))
    if not given and not any(added.values()):
        raise InputError([Problem("extend", "", "nothing to add: give more models, or options that can be extended")])
    asked = run.options
    if any(added.values()):  # options may follow from who answers
        names = manifest.names
        for role_, more in added.items():
            names[role_] = [*names.get(role_, []), *names_of(study, {role_: more})[role_]]
        asked = read_options(folder, study, study.options.complete(manifest.options, names))
    chosen = changed(asked, given)
    check(chosen)
    if chosen == asked and not any(added.values()) and run.finished:
        raise InputError(
            [Problem("extend", str(folder), f"nothing to add: the run already has {_format_options(given)}")]
        )
    with traceback_kept(folder):
        requests = model_requests(added, model_args, prices) if any(added.values()) else {}
        grown = _grow(run, chosen)
        manifest.limits = _merge_limits(manifest.limits, max_cost, max_calls)
        opened = open_again(grown, requests, Trust(trust, confirm))
        note_used(study, requests)
        check_machine(folder, manifest.models, opened, missing_trials(grown))
        run_session(grown, opened, patience=patience, watch=watch or in_notebook("extend"))
    return grown


def _grow(run: Run, options: StudyOptions) -> Run:
    """The run with other options, which must yield all of its trials.

    Raises:
        InputError: they do not, or the run is a shard, or stops once precise.
        RunMismatch: items or prompts are not those that the run started with.
    """
    place, manifest, experiment = str(run.path), run.manifest, run.experiment
    if manifest.shard is not None:
        raise InputError([Problem(place, "", "is a shard: merge it with the others, then extend the whole")])
    check_unchanged(run)
    if manifest.precision is not None:
        reason = "stops once precise, and its looks were planned for its current options: start another run"
        raise InputError([Problem(place, "", reason)])
    grown = replace(experiment, options=options)
    grown.check_trials()
    kept = {trial.name for trial in grown.trials()}
    if lost := [trial.name for trial in experiment.trials() if trial.name not in kept]:
        reason = f"these options would drop {len(lost)} of the run's trials"
        raise InputError([Problem(place, lost[0], reason)])
    manifest.options, manifest.prompts = msgspec.to_builtins(options), grown.prompt_digests
    return Run(run.path, manifest, experiment=grown)


def _merge_limits(old: Limits, cost: float | None, calls: int | None) -> Limits:
    """The limits of a run, replaced where new ones are given."""
    return Limits(cost=old.cost if cost is None else cost, calls=old.calls if calls is None else calls)


def _format_options(options: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value}" for name, value in options.items())


def call_of(listed: StudyEntry) -> Callable[..., Run]:
    """`overton.run` with this study, named by the study's word, as on the command line."""

    def call(items: Any = None, **given: Any) -> Run:
        return run(listed.name, items=items, **given)

    own = signature(run)
    others = [parameter for parameter in own.parameters.values() if parameter.name not in ("study", "items")]
    items = own.parameters["items"].replace(kind=Parameter.POSITIONAL_OR_KEYWORD)
    call.__name__ = call.__qualname__ = listed.word.replace("-", "_")
    call.__doc__ = f"{listed.question}\n\nArguments and errors are those of `overton.run`, items first."
    call.__signature__ = own.replace(parameters=[items, *others])  # type: ignore[attr-defined]
    return call
