"""A run started, resumed or extended in its folder."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import msgspec

from overton.calls import Price
from overton.calls.model import Model
from overton.engine import Limits, RetryPolicy
from overton.engine.records import record_type_columns
from overton.errors import InputError, Notice, Problem, RunMismatch
from overton.models import parse_spec, price_of
from overton.models.arguments import takes
from overton.runs.answerers import (
    ModelRequest,
    Requests,
    entries_of,
    open_models,
    requests_of_run,
    specs_of,
    with_page_source,
)
from overton.runs.digests import is_as_finished
from overton.runs.experiment import Experiment
from overton.runs.folder import Manifest, ModelEntry, RunFolder
from overton.runs.machine import check_files, check_machine
from overton.runs.precision import check_one_judge, design_of
from overton.runs.progress import Watch
from overton.runs.session import missing_trials, run_session
from overton.runs.temperature_probe import sent
from overton.runs.trust import Trust, check_trusted, note_used
from overton.studies.null_conditions import prompts_changed
from overton.studies.options import StudyOptions
from overton.studies.precision import PrecisionTarget as Precision
from overton.studies.study import AnyStudy
from overton.version import __version__


def reached_elsewhere(
    entries: Mapping[str, Sequence[ModelEntry]], elsewhere: Sequence[ModelRequest]
) -> dict[str, list[ModelEntry]]:
    """A run's models, some of them reached as these requests say, by name.

    Arguments that a request does not give stay as they were, if a model reached that way takes them. Whether it is the
    same model is checked when it is opened.

    Raises:
        InputError: the run has no such model.
    """
    requests = {model_request.name: model_request for model_request in elsewhere}
    known = dict.fromkeys(entry.name for side in entries.values() for entry in side)
    if strangers := [name for name in requests if name not in known]:
        reason = f"is not a model of this run, which has {', '.join(known)}"
        raise InputError([Problem("--model", name, reason) for name in strangers])
    return {
        role: [_redirect_entry(entry, requests[entry.name]) if entry.name in requests else entry for entry in side]
        for role, side in entries.items()
    }


def _redirect_entry(entry: ModelEntry, request: ModelRequest) -> ModelEntry:
    spec, given = parse_spec(request.spec), {key for key, _ in request.arguments}
    kept = [(key, value) for key, value in entry.arguments if key not in given and takes(spec, key)]
    return msgspec.structs.replace(entry, spec=request.spec, arguments=(*kept, *request.arguments))


def start_folder(
    experiment: Experiment,
    wanted: Requests,
    out: Path,
    *,
    limits: Limits | None = None,
    left_out: str = "",
    batch: bool = False,
    precision: Precision | None = None,
    patience: RetryPolicy | None = None,
    watch: Watch | None = None,
) -> Manifest:
    """Make a new run in the folder `out` and run it to its end, or until it stops; with `batch` all models that allow
    it are called in batches. With `precision` it runs in rounds, and stops once that is reached.

    Raises:
        InputError: anything wrong with items, models or options; no call was made and no folder created.
        OvertonError: see `run_session`.
    """
    prepared = prepare(experiment, wanted, limits=limits, left_out=left_out, batch=batch, precision=precision)
    study = experiment.study
    trials = 1 if precision else experiment.trials_by_item.total() * study.lanes(prepared.wanted)
    check_machine(out, prepared.manifest.models, prepared.models, trials)
    folder = RunFolder.create(out, prepared.manifest, experiment.items)
    note_used(study, prepared.wanted)
    return run_session(folder, experiment, prepared.manifest, prepared.models, patience=patience, watch=watch)


class Prepared(NamedTuple):
    """A run that can start: its manifest, its answerers, and the completed request for them."""

    manifest: Manifest
    models: dict[str, list[Model]]
    wanted: Requests


def prepare(
    experiment: Experiment,
    wanted: Requests,
    *,
    limits: Limits | None = None,
    left_out: str = "",
    batch: bool = False,
    precision: Precision | None = None,
) -> Prepared:
    """All that a run needs before its folder is made; no calls are made.

    Raises:
        InputError: anything wrong with items, models or options.
    """
    study, limits = experiment.study, limits or Limits()
    wanted = with_page_source(study, wanted)
    _check_record(study)
    experiment.check_trials()
    if precision is not None:
        check_one_judge(study, wanted)
        design_of(experiment, precision, study.lanes(wanted))
    asked = study.with_demands(experiment.options, specs_of(wanted))
    models = open_models(asked, experiment.items, wanted, experiment.seed)
    _check_prices(models, limits)
    if batch:
        _check_batches(models)
    manifest = Manifest(
        study=study.name,
        seed=experiment.seed,
        options=msgspec.to_builtins(experiment.options),
        models=entries_of(wanted, models, batched=batch),
        items=experiment.items_digest,
        prompts=experiment.prompt_digests,
        created=datetime.now(UTC).isoformat(timespec="microseconds"),
        overton=__version__,
        limits=limits,
        left_out=left_out,
        precision=precision,
    )
    return Prepared(manifest, models, wanted)


def _check_record(study: AnyStudy) -> None:
    """Refuse a study whose records could not be written, before anything is asked.

    Raises:
        InputError: a field of its record has a type that no column can hold.
    """
    try:
        record_type_columns(study.record)
    except (TypeError, NameError) as error:
        raise InputError([Problem(f"study {study.name}", study.record.__name__, str(error))]) from error


def resume_folder(
    study: AnyStudy,
    path: Path,
    *,
    retry_failed: bool = False,
    limits: Limits | None = None,
    batch: bool | None = None,
    elsewhere: Sequence[ModelRequest] = (),
    trust: Trust | None = None,
    patience: RetryPolicy | None = None,
    watch: Watch | None = None,
) -> Manifest:
    """Resume a run: first everything journaled is replayed and compared, then the remaining calls are made.

    A finished run makes no calls: it needs neither keys nor network. If nothing has changed since it finished, that is
    all; otherwise it is replayed, and its records are written again. `limits` replaces the run's own where given; both
    count over all sessions. `batch` says whether remaining calls are sent in batches, None as before; batches already
    sent are read either way. `elsewhere` names models of the run that are reached in another way from now on: see
    `reached_elsewhere`.

    Raises:
        RunMismatch: items, prompts or models are not those that the run started with; says which.
        InputError: the folder names something that this machine has not used, and `trust` does not allow it; see
            `check_trusted`.
    """
    folder = RunFolder(path)
    manifest = folder.manifest()
    again = retry_failed and manifest.spent.failed
    if not (again or elsewhere) and is_as_finished(folder, study, manifest):
        warnings.warn(
            f"{path} has finished, and nothing has changed since: nothing is left to do", Notice, stacklevel=3
        )
        return manifest
    experiment = folder.experiment(study, manifest)
    check_unchanged(folder, experiment, manifest)
    manifest.limits = _merge_limits(manifest.limits, limits)
    check_files()
    if not (missing := missing_trials(folder, experiment, manifest, retry_failed=retry_failed)):
        return run_session(folder, experiment, manifest, None, watch=watch)
    if elsewhere:
        manifest.models = reached_elsewhere(manifest.models, elsewhere)
        note_used(study, {study.first: elsewhere})
    wanted = requests_of_run(manifest)
    check_trusted(study, path, wanted, trust or Trust())
    asked = study.with_demands(experiment.options, specs_of(wanted))
    models = open_models(asked, experiment.items, wanted, manifest.seed, resumed=True)
    _check_identities(models, manifest, path)
    _check_prices(models, manifest.limits)
    _warn_of_low_prices(manifest)
    if batch is not None:
        _set_batched(manifest, models, batch=batch)
    check_machine(path, manifest.models, models, missing)
    return run_session(folder, experiment, manifest, models, retry_failed=retry_failed, patience=patience, watch=watch)


def extend_folder(
    study: AnyStudy,
    path: Path,
    *,
    options: StudyOptions | None = None,
    more: Requests | None = None,
    limits: Limits | None = None,
    trust: Trust | None = None,
    patience: RetryPolicy | None = None,
    watch: Watch | None = None,
) -> Manifest:
    """Add trials, conditions or models to a run; existing outcomes are kept and their calls not repeated.

    `options` must yield every trial of the run; `more` names models to add, by role.

    Raises:
        InputError: the new options would remove trials, or a model is already in the run; the folder names something
            that this machine has not used, see `resume_folder`.
        RunMismatch: the new options would change calls in existing trials.
    """
    folder = RunFolder(path)
    manifest = folder.manifest()
    if manifest.shard is not None:
        raise InputError([Problem(str(path), "", "is a shard: merge it with the others, then extend the whole")])
    experiment = folder.experiment(study, manifest)
    check_unchanged(folder, experiment, manifest)
    if options is not None:
        experiment = _grow(experiment, folder, manifest, options)
    wanted = requests_of_run(manifest)
    check_trusted(study, path, wanted, trust or Trust())
    for role, added in (more or {}).items():
        wanted[role] = [*wanted[role], *added]
    if manifest.precision is not None:
        check_one_judge(study, wanted)
    asked = study.with_demands(experiment.options, specs_of(wanted))
    models = open_models(asked, experiment.items, wanted, manifest.seed, resumed=True)
    _check_identities(models, manifest, path)
    manifest.limits = _merge_limits(manifest.limits, limits)
    _check_prices(models, manifest.limits)
    _warn_of_low_prices(manifest)
    if options is not None:
        manifest.options = msgspec.to_builtins(options)
        manifest.prompts = experiment.prompt_digests
    existing = manifest.models  # what was found out about existing models is kept
    manifest.models = {
        role: [*existing.get(role, []), *entries[len(existing.get(role, [])) :]]
        for role, entries in entries_of(wanted, models, batched=_uses_batches(manifest)).items()
    }
    note_used(study, more or {})
    missing = missing_trials(folder, experiment, manifest, retry_failed=False)
    check_machine(path, manifest.models, models, missing)
    return run_session(folder, experiment, manifest, models, patience=patience, watch=watch)


def _merge_limits(old: Limits, new: Limits | None) -> Limits:
    if new is None:
        return old
    return Limits(cost=old.cost if new.cost is None else new.cost, calls=old.calls if new.calls is None else new.calls)


def _check_prices(models: Mapping[str, Sequence[Model]], limits: Limits) -> None:
    unknown = [
        model.answerer.name for side in models.values() for model in side if not model.retrieves and model.price is None
    ]
    if limits.cost is not None and unknown:
        raise InputError(
            [Problem("--max-cost", name, "its price is unknown: give it with --price NAME IN OUT") for name in unknown]
        )


def _warn_of_low_prices(manifest: Manifest) -> None:
    """Warn if a limit counts at prices below the listed ones: the folder may be somebody else's."""
    for entry in {entry.identity: entry for side in manifest.models.values() for entry in side}.values():
        known = price_of(parse_spec(entry.spec)) if entry.price is not None and _is_model(entry.spec) else None
        if manifest.limits.cost is None or entry.price is None or known is None:
            continue
        if (
            entry.price.input < known.input
            or entry.price.output < known.output
            or _batch_price_share(entry.price) < _batch_price_share(known)
        ):
            batched = f"{_batch_price_share(entry.price):g} of that in batches"
            own = f"${entry.price.input:g} in and ${entry.price.output:g} out, {batched}"
            listed = f"${known.input:g} and ${known.output:g}, {_batch_price_share(known):g} in batches"
            warnings.warn(
                f"{entry.name}: --max-cost counts at the price in the run's folder, {own}; list prices are {listed}",
                Notice,
                stacklevel=2,
            )


def _batch_price_share(price: Price) -> float:
    return 1.0 if price.batch is None else price.batch


def _is_model(spec: str) -> bool:
    """Whether it is a model's spec, not that of a search engine or source of pages."""
    try:
        parse_spec(spec)
    except InputError:
        return False
    return True


def _uses_batches(manifest: Manifest) -> bool:
    return any(entry.batched for side in manifest.models.values() for entry in side)


def _check_batches(models: Mapping[str, Sequence[Model]]) -> None:
    """Refuse batches if no model takes any; say which are called as usual.

    Raises:
        InputError: no model takes any.
    """
    asked = [model for side in models.values() for model in side if not model.retrieves]
    if not any(model.batching for model in asked):
        takers = "openai, groq, anthropic, and servers with OpenAI's batches (http://HOST:PORT/v1#NAME)"
        raise InputError([Problem("--batch", "", f"none of these models takes batches; available for {takers}")])
    paid = [
        model
        for model in asked
        if not model.batching and (model.price is None or model.price.input or model.price.output)
    ]
    for name in dict.fromkeys(model.answerer.name for model in paid):
        warnings.warn(f"{name} takes no batches: it is called as usual, at full price", Notice, stacklevel=3)


def _set_batched(manifest: Manifest, models: Mapping[str, Sequence[Model]], *, batch: bool) -> None:
    if batch:
        _check_batches(models)
    manifest.models = {
        role: [
            msgspec.structs.replace(entry, batched=batch and model.batching is not None)
            for entry, model in zip(entries, models[role], strict=True)
        ]
        for role, entries in manifest.models.items()
    }


def check_unchanged(folder: RunFolder, experiment: Experiment, manifest: Manifest) -> None:
    """Refuse a run whose items or prompts are not those that it started with."""
    changed = prompts_changed(manifest.prompts, experiment.prompt_digests)
    problems = [Problem(str(folder.path), f"prompt {name}", "differs from the one this run used") for name in changed]
    if experiment.items_digest != manifest.items:
        problems.append(Problem(str(folder.path / "items.jsonl"), "", "items were changed after this run started"))
    if problems:
        raise RunMismatch(
            [*problems, Problem(str(folder.path), "", f"resume it with overton {manifest.overton}, or start a new run")]
        )


def _check_identities(models: Mapping[str, Sequence[Model]], manifest: Manifest, path: Path) -> None:
    problems = [
        Problem(str(path), entry.name, f"{what} is now {is_!r}, but was {was!r} when the run started")
        for role, entries in manifest.models.items()
        for entry, model in zip(entries, models[role], strict=False)
        for what, was, is_ in (
            ("its identity", entry.identity, model.answerer.identity),
            ("whether answers are held to the form", entry.holds_form, model.answerer.holds_form),
            ("its settings", entry.settings, sent(model.settings, entry.not_sent)),
        )
        if was != is_
    ]
    if problems:
        raise RunMismatch(problems)


def _grow(experiment: Experiment, folder: RunFolder, manifest: Manifest, options: StudyOptions) -> Experiment:
    """The experiment with other options, which must yield all of its trials.

    Raises:
        InputError: they do not, or the run stops once precise.
    """
    if manifest.precision is not None:
        reason = "stops once precise, and its looks were planned for its current options: start another run"
        raise InputError([Problem(str(folder.path), "", reason)])
    grown = replace(experiment, options=options)
    grown.check_trials()
    kept = {trial.name for trial in grown.trials()}
    if lost := [trial.name for trial in experiment.trials() if trial.name not in kept]:
        reason = f"these options would drop {len(lost)} of the run's trials"
        raise InputError([Problem(str(folder.path), lost[0], reason)])
    return grown
