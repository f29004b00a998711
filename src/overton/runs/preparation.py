"""The models, services and manifest of a run, made and checked before the first call."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import NamedTuple

import msgspec

from overton.calls import Price
from overton.calls.model import Model
from overton.engine import Limits
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
from overton.runs.experiment import Experiment
from overton.runs.folder import FILE, CheckedReplies, Manifest, ModelEntry
from overton.runs.precision import check_one_judge, design_of
from overton.runs.run import Run
from overton.runs.temperature_probe import sent
from overton.runs.trust import Trust, check_trusted
from overton.studies.options import option_place
from overton.studies.paper import published_values
from overton.studies.precision import PrecisionTarget
from overton.studies.study import AnyStudy
from overton.version import __version__


class Prepared(NamedTuple):
    """A run that can start, with its experiment, its manifest, its models and services, and the requests for these with
    defaults filled in."""

    experiment: Experiment
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
    precision: PrecisionTarget | None = None,
    anyway: bool = False,
) -> Prepared:
    """Prepare everything that a run needs before its folder is made, without any calls. With `anyway` the run continues
    even if few of a model's first replies can be read.

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
    models = _open_models(experiment, wanted)
    _check_prices(models, limits)
    if batch:
        _check_batches(models)
    options = msgspec.to_builtins(experiment.options)
    manifest = Manifest(
        study=study.name,
        seed=experiment.seed,
        options=options,
        models=entries_of(wanted, models, batched=batch),
        items=experiment.items_digest,
        prompts=experiment.prompt_digests,
        created=datetime.now(UTC).isoformat(timespec="microseconds"),
        overton=__version__,
        limits=limits,
        left_out=left_out,
        precision=precision,
        as_published=published_values(study.published, options) or msgspec.UNSET,
        replaced=list(study.replaced) or msgspec.UNSET,
        first_replies=CheckedReplies(anyway),
    )
    return Prepared(experiment, manifest, models, wanted)


def _check_record(study: AnyStudy) -> None:
    """Refuse a study whose records could not be written, before any calls.

    Raises:
        InputError: a field of its record has a type that no column can hold.
    """
    try:
        record_type_columns(study.record)
    except (TypeError, NameError) as error:
        raise InputError([Problem(f"study {study.name}", study.record.__name__, str(error))]) from error


def open_again(run: Run, added: Requests, trust: Trust) -> dict[str, list[Model]]:
    """Open the models and services of an existing run and the `added` ones. No calls are made.

    Raises:
        InputError: the folder names an address, key or file that this machine has never used and that `trust` does not
            allow. It is also raised if a price is needed and unknown, or if something is wrong with the added models.
        RunMismatch: a model differs from the one that the run started with.
    """
    manifest, wanted = run.manifest, requests_of_run(run.manifest)
    given = {word for more in added.values() for request in more for word in (request.name, request.spec)}
    with _named_in_manifest(run, given):
        check_trusted(run.study, run.path, wanted, trust)
    if run.replaced_texts:
        warnings.warn(f"{run.path.name} {run.replaced_texts}", Notice, stacklevel=3)
    for role, more in added.items():
        wanted[role] = [*wanted.get(role, ()), *more]
    with _named_in_manifest(run, given):
        models = _open_models(run.experiment, wanted, resumed=True)
    _check_identities(run, models)
    _check_prices(models, manifest.limits)
    _warn_of_low_prices(manifest)
    if added:  # keep settings that earlier sessions found out
        batched = any(entry.batched for side in manifest.models.values() for entry in side)
        manifest.models = {
            role: [*(existing := manifest.models.get(role, [])), *entries[len(existing) :]]
            for role, entries in entries_of(wanted, models, batched=batched).items()
        }
    return models


@contextmanager
def _named_in_manifest(run: Run, given: Collection[str]) -> Iterator[None]:
    """Correct the place of problems with the manifest's models. A problem is reported at the model's key in the
    manifest, because the user has given no option for the model. Problems with models that the user has now `given` are
    still reported at the option.

    Raises:
        InputError: the problems.
    """
    try:
        yield
    except InputError as error:
        found = [_in_manifest(run, problem, given) for problem in error.problems]
        raise InputError(found) from error.__cause__


def _in_manifest(run: Run, problem: Problem, given: Collection[str]) -> Problem:
    option, _, spec = problem.place.partition(" ")
    named = spec or problem.key
    if not option.startswith("--") or named in given:
        return problem
    for role, side in run.manifest.models.items():
        for number, entry in enumerate(side):
            if named in (entry.spec, entry.name):
                key = f"models.{role}[{number}]{'.arguments' if spec else ''}"
                return Problem(str(run.path / FILE), key, f"{problem.key}: {problem.reason}")
    return problem


def _open_models(experiment: Experiment, wanted: Requests, *, resumed: bool = False) -> dict[str, list[Model]]:
    study = experiment.study.with_demands(experiment.options, specs_of(wanted))
    return open_models(study, experiment.items, wanted, experiment.seed, resumed=resumed)


def reached_elsewhere(
    entries: Mapping[str, Sequence[ModelEntry]], elsewhere: Sequence[ModelRequest]
) -> dict[str, list[ModelEntry]]:
    """A run's models by role. If a request names a model, the model has the request's spec and arguments from now on.

    Earlier arguments that the request leaves out are kept if the new spec accepts them. When the model is opened,
    Overton checks that it is still the same model.

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


def _check_prices(models: Mapping[str, Sequence[Model]], limits: Limits) -> None:
    if limits.cost is not None and not limits.cost >= 0:  # nothing is above NaN
        raise InputError([Problem(option_place("max_cost"), str(limits.cost), "must be 0 or more")])
    unknown = [
        model.answerer.name for side in models.values() for model in side if not model.retrieves and model.price is None
    ]
    if limits.cost is not None and unknown:
        raise InputError(
            [
                Problem(option_place("max_cost"), name, "its price is unknown: give it with --price NAME IN OUT")
                for name in unknown
            ]
        )


def _warn_of_low_prices(manifest: Manifest) -> None:
    """Warn if a limit is computed with prices below the list prices, because the folder may be somebody else's."""
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
                f"{entry.name}: --max-cost is computed with the prices in the run's folder, {own}; list prices are"
                f" {listed}",
                Notice,
                stacklevel=2,
            )


def _batch_price_share(price: Price) -> float:
    return 1.0 if price.batch is None else price.batch


def _is_model(spec: str) -> bool:
    """Whether the spec is a model's, not that of a search engine or source of pages."""
    try:
        parse_spec(spec)
    except InputError:
        return False
    return True


def _check_batches(models: Mapping[str, Sequence[Model]]) -> None:
    """Refuse batches if no model takes them. Tell the user which models are called as usual.

    Raises:
        InputError: no model takes batches.
    """
    asked = [model for side in models.values() for model in side if not model.retrieves]
    if not any(model.batching for model in asked):
        takers = "openai, groq, anthropic, and servers with OpenAI's batches (http://HOST:PORT/v1#NAME)"
        raise InputError(
            [Problem(option_place("batch"), "", f"none of these models takes batches; available for {takers}")]
        )
    paid = [
        model
        for model in asked
        if not model.batching and (model.price is None or model.price.input or model.price.output)
    ]
    for name in dict.fromkeys(model.answerer.name for model in paid):
        warnings.warn(f"{name} takes no batches: it is called as usual, at full price", Notice, stacklevel=3)


def set_batched(manifest: Manifest, models: Mapping[str, Sequence[Model]], *, batch: bool) -> None:
    """Choose whether a run's remaining calls are sent in batches, and note the choice in the manifest.

    Raises:
        InputError: no model takes batches.
    """
    if batch:
        _check_batches(models)
    manifest.models = {
        role: [
            msgspec.structs.replace(entry, batched=batch and model.batching is not None)
            for entry, model in zip(entries, models[role], strict=True)
        ]
        for role, entries in manifest.models.items()
    }


def _check_identities(run: Run, models: Mapping[str, Sequence[Model]]) -> None:
    problems = [
        Problem(str(run.path), entry.name, f"{what} is now {is_!r}, but was {was!r} when the run started")
        for role, entries in run.manifest.models.items()
        for entry, model in zip(entries, models[role], strict=False)
        for what, was, is_ in (
            ("its identity", entry.identity, model.answerer.identity),
            ("whether answers are constrained to the form", entry.holds_form, model.answerer.holds_form),
            ("its settings", entry.settings, sent(model.settings, entry.not_sent)),
        )
        if was != is_
    ]
    if problems:
        raise RunMismatch(problems)
