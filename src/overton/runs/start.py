"""Functions that make, resume and extend runs."""

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
from overton.runs.experiment import Experiment
from overton.runs.folder import Manifest, read_options
from overton.runs.items import with_texts_of_files
from overton.runs.machine import check_files, check_machine
from overton.runs.precision import precision_of
from overton.runs.preparation import Prepared, open_again, prepare, reached_elsewhere, set_batched
from overton.runs.progress import Watch
from overton.runs.progress_bar import in_notebook
from overton.runs.prompt_folder import GivenPrompts
from overton.runs.run import Run, check_unchanged, create_run, fresh_folder, open_run, repeat_in_file
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
from overton.runs.study_file import STUDY_FILE
from overton.runs.tracebacks import traceback_kept
from overton.runs.trust import Confirm, Trust, note_used
from overton.studies.options import StudyOptions, changed, fields_of
from overton.studies.planned_headlines import describe_unmeasurable, planned_headlines
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
    anyway: bool = False,
    left_out: str = "",
    patience: RetryPolicy | None = None,
    watch: Watch | None = None,
    **options: Any,
) -> Run:
    """Run a study in a new folder. A study that makes items also writes its dataset there.

    Example: `overton.run("STUDY", models=["openai/gpt-4o"], judge="openai/gpt-4o-mini", trials=15)`.

    `models` are the measured models, as 'provider/name' or, with a name of your choice, 'NAME=provider/name'. The keys
    of `model_args` and `prices` are these names. `items` is a path that the study can read, a list of items, or None
    for the bundled sample items. `only` selects items by id. `out` defaults to a folder below `runs/` named by study
    and time. `price_list` is a TOML file of prices (docs/price.md), which take precedence over Overton's own prices.
    `prompts` is a folder with texts that replace the study's own texts (docs/recipes.md), or a mapping from names to
    texts. With `batch`, requests to all models that take batches are sent in batches, at the provider's discount. The
    run stops before it exceeds `max_cost` (US dollars) or `max_calls` (requests, retries included).

    `precision` has target half-widths by measure, as in `{"share": 0.1}`. The run then proceeds in rounds, and adds
    trials only where an interval is still too wide. `trials` is the maximum. `at_most_calls` is the number of calls to
    allocate in rounds, with an equal part for each model. Without `precision`, each round adds the trials that narrow
    the headline's interval most. docs/price.md explains the method and how reliable its intervals are.

    The run stops if fewer than half of a model's or judge's first ten replies can be read. It also stops if a judge's
    reply about a text with a known label cannot be read. With `anyway`, it continues in both cases (docs/commands.md).

    `watch` is called several times per second with a `Progress`. Without `watch`, the progress is shown in notebooks.

    `options` are keywords: the study's options, its options for reading items, and its own word in place of `items`
    (such as `issues`). Models for further roles are also given as keywords (`judge="..."`), or by role in `others`.
    `source_args` are arguments of the roles that search and read pages.

    Raises:
        InputError: something is wrong with the arguments. No request was sent.
        OvertonError: the run cannot continue. If a limit or Ctrl-C stops the run, no error is raised.
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
    _warn_unmeasurable(ready.experiment)
    with traceback_kept(folder):
        prepared = prepare(
            ready.experiment,
            ready.wanted,
            limits=Limits(max_cost, max_calls),
            left_out=left_out or ready.left_out,
            batch=batch,
            precision=precision_of(precision, at_most_calls),
            anyway=anyway,
        )
        return start(prepared, folder, patience=patience, watch=watch or in_notebook(found.name))


def _warn_unmeasurable(experiment: Experiment) -> None:
    """Warn of headlines that the design cannot measure, before any calls."""
    experiment.check_trials()
    headlines = planned_headlines(experiment.study, experiment.options, experiment.items, experiment.trials())
    for sentence in describe_unmeasurable(headlines):
        warnings.warn(sentence, Notice, stacklevel=3)


def start(prepared: Prepared, out: Path, *, patience: RetryPolicy | None = None, watch: Watch | None = None) -> Run:
    """Make the folder `out` of a new run, and conduct the run to its end or until it stops.

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
    anyway: bool = False,
    models: Sequence[str] = (),
    model_args: Arguments | None = None,
    trust: bool = False,
    confirm: Confirm | None = None,
    patience: RetryPolicy | None = None,
    watch: Watch | None = None,
) -> Run:
    """Resume a run. Earlier calls are answered from its journal, and limits count over all sessions.

    `models` has new specs for models of the run, which must stay the same models. For example, a model that started as
    'gguf:/path/model.gguf' can continue as 'ray/gguf:/path/model.gguf'. `model_args` has changes to the arguments of
    these models.

    Results of finished batches are read. `batch` says whether the remaining calls are sent in batches. With None, calls
    are sent as in the last session.

    If the run stopped because too few of a model's first replies could be read, the model's next replies are checked.
    With `anyway` the run continues without this check.

    A run folder may come from somebody else. It may name an address, a variable with a key or a file of weights that no
    run started on this machine has used. Nothing is then sent until you confirm that the run may use them, once per
    run. To confirm, pass `trust=True`, or a function `confirm`. The function gets the folder, and a sentence for each
    address, key or file. A known provider's own settings need no confirmation.

    Raises:
        InputError: the run would use an address, key or file that is not confirmed. The message names hosts and
            variables.
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
            said = f"{folder} has finished and nothing has changed since, so there is nothing to do"
            warnings.warn(said, Notice, stacklevel=2)
            return run
        check_unchanged(run)
        manifest.limits = _merge_limits(manifest.limits, max_cost, max_calls)
        _go_on_anyway(manifest, anyway=anyway)
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
        if (folder / STUDY_FILE).is_file():  # runs of earlier versions have no such file
            repeat_in_file(run)
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
    anyway: bool = False,
    trust: bool = False,
    confirm: Confirm | None = None,
    patience: RetryPolicy | None = None,
    watch: Watch | None = None,
    **options: Any,
) -> Run:
    """Add models, trials or conditions to a run.

    `options` are options of the study that can be extended. A new value replaces the run's value. If an option takes
    several values (conditions, templates), the new values are added to the run's values. If a study may have several
    judges, add judges as in `judge="openai/gpt-4o"`. Existing answers are kept. `anyway`, `trust` and `confirm` are
    those of `resume`.

    Raises:
        InputError: nothing would be added, trials would be removed, or a model is already in the run. See also
            `resume`.
        RunError: see `resume`.
    """
    run = open_run(path)
    folder, manifest, study = run.path, run.manifest, run.study
    given = with_texts_of_files(
        fields_of(study.options), {name: value for name, value in options.items() if value is not None}
    )
    added = {study.first: list(models)}
    for role in study.roles:
        if role.several and (judges := given.pop(role.word, None) or given.pop(role.name, None)):
            added[role.name] = list(several(judges))
    if not given and not any(added.values()):
        raise InputError([Problem("extend", "", "nothing to add: give more models, or options that can be extended")])
    asked = run.options
    if any(added.values()):  # options may follow from the models
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
        _go_on_anyway(manifest, anyway=anyway)
        opened = open_again(grown, requests, Trust(trust, confirm))
        note_used(study, requests)
        check_machine(folder, manifest.models, opened, missing_trials(grown))
        repeat_in_file(grown)
        run_session(grown, opened, patience=patience, watch=watch or in_notebook("extend"))
    return grown


def _grow(run: Run, options: StudyOptions) -> Run:
    """The run with other options, which must still yield all trials of the run.

    Raises:
        InputError: the options drop trials, or the run is a shard or stops at a target precision.
        RunMismatch: items or prompts are not those that the run started with.
    """
    place, manifest, experiment = str(run.path), run.manifest, run.experiment
    if manifest.shard is not None:
        raise InputError([Problem(place, "", "is a shard; merge it with the other shards, then extend the merged run")])
    check_unchanged(run)
    if manifest.precision is not None:
        reason = "stops at a target precision, and its rounds were planned for its options; start another run"
        raise InputError([Problem(place, "", reason)])
    grown = replace(experiment, options=options)
    grown.check_trials()
    kept = {trial.name for trial in grown.trials()}
    if lost := [trial.name for trial in experiment.trials() if trial.name not in kept]:
        reason = f"these options would drop {len(lost)} of the run's trials"
        raise InputError([Problem(place, lost[0], reason)])
    manifest.options, manifest.prompts = msgspec.to_builtins(options), grown.prompt_digests
    return Run(run.path, manifest, experiment=grown)


def _go_on_anyway(manifest: Manifest, *, anyway: bool) -> None:
    """Let a run continue even if few of a model's first replies can be read."""
    if anyway and manifest.first_replies is not msgspec.UNSET:
        manifest.first_replies = msgspec.structs.replace(manifest.first_replies, anyway=True)


def _merge_limits(old: Limits, cost: float | None, calls: int | None) -> Limits:
    """The limits of a run, with each new limit in place of the old one."""
    return Limits(cost=old.cost if cost is None else cost, calls=old.calls if calls is None else calls)


def _format_options(options: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value}" for name, value in options.items())


def call_of(listed: StudyEntry) -> Callable[..., Run]:
    """`overton.run` for one study, as a function. Its name is the study's name on the command line."""

    def call(items: Any = None, **given: Any) -> Run:
        return run(listed.name, items=items, **given)

    own = signature(run)
    others = [parameter for parameter in own.parameters.values() if parameter.name not in ("study", "items")]
    items = own.parameters["items"].replace(kind=Parameter.POSITIONAL_OR_KEYWORD)
    call.__name__ = call.__qualname__ = listed.word.replace("-", "_")
    call.__doc__ = f"{listed.question}\n\nArguments and errors are those of `overton.run`, items first."
    call.__signature__ = own.replace(parameters=[items, *others])  # type: ignore[attr-defined]
    return call
