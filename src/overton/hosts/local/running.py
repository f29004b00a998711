"""Plan, start, resume and extend a run on this machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

import overton
from overton.calls import Price, Settings
from overton.engine import Limits, Patience, digest
from overton.errors import InputError, Problem, RunMismatch
from overton.hosts.local.folder import RunFolder
from overton.hosts.local.manifest import Manifest, ModelEntry
from overton.hosts.local.session import Watch, hold_session, needs_asking
from overton.models import Model, open_model
from overton.studies.study import Study

__all__ = ["ModelRequest", "extend", "open_models", "resume", "start"]

MAX_TOKENS = 1024
"""Output tokens allowed where the user does not say: an answer is one line, a refusal a paragraph."""
REASONING_MAX_TOKENS = 16_384
"""The same for models that reason before they answer, whose reasoning counts as output."""


@dataclass(frozen=True)
class ModelRequest:
    """A model as a user names it: its spec, its `--model-arg` pairs, and its price where the user gives one."""

    spec: str
    arguments: tuple[tuple[str, str], ...] = ()
    price: Price | None = None


Wanted = Mapping[str, Sequence[ModelRequest]]
"""Models by role."""


def start(
    study: Study,
    items: Sequence[Any],
    wanted: Wanted,
    out: Path,
    *,
    options: msgspec.Struct | None = None,
    seed: int = 0,
    limits: Limits | None = None,
    left_out: str = "",
    patience: Patience | None = None,
    watch: Watch | None = None,
) -> Manifest:
    """Make a new run in the folder `out` and bring it to its end, or to where it stops.

    Raises:
        InputError: anything wrong with items, models or options; nothing was asked and no folder was made.
        OvertonError: see `hold_session`.
    """
    chosen = study.options() if options is None else options
    limits = limits or Limits()
    models = open_models(study, items, wanted, seed)
    _check_prices(models, limits)
    manifest = Manifest(
        study=study.name,
        seed=seed,
        options=msgspec.to_builtins(chosen),
        models=_entries(wanted, models),
        items=digest(list(items)),
        prompts={name: digest(text) for name, text in study.prompts().items()},
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        overton=overton.__version__,
        limits=limits,
        left_out=left_out,
    )
    folder = RunFolder.create(out, manifest, items)
    return hold_session(folder, study, manifest, models, patience=patience, watch=watch)


def resume(
    study: Study,
    path: Path,
    *,
    retry_failed: bool = False,
    limits: Limits | None = None,
    patience: Patience | None = None,
    watch: Watch | None = None,
) -> Manifest:
    """Go on with a run: first everything journaled is replayed and compared, then the rest is asked.

    A finished run asks nothing: it needs neither keys nor network, and its records are written anew. `limits`
    replaces the run's own where given; both count over all sessions.

    Raises:
        RunMismatch: items, prompts or models are not those that the run began with; says which.
    """
    folder = RunFolder(path)
    manifest = folder.manifest()
    _check_same(study, folder, manifest)
    manifest.limits = _merged(manifest.limits, limits)
    if not needs_asking(folder, study, manifest, retry_failed=retry_failed):
        return hold_session(folder, study, manifest, None, watch=watch)
    models = open_models(study, folder.items(study.item), _wanted(manifest), manifest.seed)
    _check_identities(models, manifest, path)
    _check_prices(models, manifest.limits)
    return hold_session(folder, study, manifest, models, retry_failed=retry_failed, patience=patience, watch=watch)


def extend(
    study: Study,
    path: Path,
    *,
    options: msgspec.Struct | None = None,
    more: Wanted | None = None,
    limits: Limits | None = None,
    patience: Patience | None = None,
    watch: Watch | None = None,
) -> Manifest:
    """Add trials, conditions or models to a run, on purpose; what it has is kept and not asked again.

    `options` must yield every trial that the run has; `more` names models to add by role.

    Raises:
        InputError: the new options would take trials away, or a model is in the run already.
        RunMismatch: with the new options something else would be asked in the trials that the run has.
    """
    folder = RunFolder(path)
    manifest = folder.manifest()
    _check_same(study, folder, manifest)
    if options is not None:
        _check_grows(study, folder, manifest, options)
    wanted = _wanted(manifest)
    for role, added in (more or {}).items():
        wanted[role] = [*wanted[role], *added]
    models = open_models(study, folder.items(study.item), wanted, manifest.seed)
    _check_identities(models, manifest, path)
    manifest.limits = _merged(manifest.limits, limits)
    _check_prices(models, manifest.limits)
    if options is not None:
        manifest.options = msgspec.to_builtins(options)
    manifest.models = _entries(wanted, models)
    needs_asking(folder, study, manifest, retry_failed=False)
    return hold_session(folder, study, manifest, models, patience=patience, watch=watch)


def open_models(
    study: Study, items: Sequence[Any], wanted: Wanted, seed: int, *, need_keys: bool = True
) -> dict[str, list[Model]]:
    """Open every model asked for, by role; without `need_keys` a missing key is no error, as for a plan.

    Raises:
        InputError: all that is wrong with their names, arguments and keys.
    """
    problems: list[Problem] = []
    opened: dict[str, list[Model]] = {role: [] for role in study.roles}
    for role in study.roles:
        requests = wanted.get(role, ())
        if not requests and role not in study.optional:
            problems.append(Problem(f"--{_option(role)}", "", f"name at least one model as {role}"))
        once: dict[ModelRequest, Model] = {}
        for request in requests:
            try:
                if request not in once:
                    once[request] = _open(study, items, request, seed, need_keys)
                opened[role].append(once[request])
            except InputError as error:
                problems += error.problems
        if not study.together:
            problems += _same_twice(f"--{_option(role)}", opened[role])
    if problems:
        raise InputError(problems)
    return opened


def _option(role: str) -> str:
    return "model" if role in ("subject", "writer") else role


def _same_twice(place: str, models: Sequence[Model]) -> list[Problem]:
    """Models of one role that a run could not tell apart."""
    return [
        Problem(place, model.answerer.name, f"is the same model as {earlier.answerer.name}; name it once")
        for number, model in enumerate(models)
        for earlier in models[:number]
        if earlier.answerer.identity == model.answerer.identity
    ]


def _open(study: Study, items: Sequence[Any], request: ModelRequest, seed: int, need_keys: bool) -> Model:
    def simulated(name: str, arguments: dict[str, str]) -> Any:
        if study.simulated is None:
            raise InputError([Problem(request.spec, "", f"{study.name} has no simulated answerers")])
        return study.simulated(items, name, arguments)

    model = open_model(request.spec, request.arguments, simulated=simulated, need_key=need_keys)
    return replace(model, settings=_defaults(model, request.spec, seed), price=request.price or model.price)


def _defaults(model: Model, spec: str, seed: int) -> Settings:
    """Settings with what the user left open: output is bounded, and what runs here repeats itself."""
    settings = model.settings
    if settings.max_tokens is None:
        reasons = settings.reasoning_effort is not None or model.reasons
        settings = msgspec.structs.replace(settings, max_tokens=REASONING_MAX_TOKENS if reasons else MAX_TOKENS)
    if settings.seed is None and spec.startswith(("embedded/", "gguf:", "simulated/")):
        settings = msgspec.structs.replace(settings, seed=seed)
    return settings


def _entries(wanted: Wanted, models: Mapping[str, Sequence[Model]]) -> dict[str, list[ModelEntry]]:
    return {
        role: [
            ModelEntry(
                spec=request.spec,
                identity=model.answerer.identity,
                settings=model.settings,
                arguments=request.arguments,
                holds_form=model.answerer.holds_form,
                price=model.price,
                family=model.series or model.family,
            )
            for request, model in zip(wanted.get(role, ()), opened, strict=True)
        ]
        for role, opened in models.items()
    }


def _wanted(manifest: Manifest) -> dict[str, Sequence[ModelRequest]]:
    return {
        role: [ModelRequest(entry.spec, entry.arguments, entry.price) for entry in entries]
        for role, entries in manifest.models.items()
    }


def _merged(old: Limits, new: Limits | None) -> Limits:
    if new is None:
        return old
    return Limits(cost=old.cost if new.cost is None else new.cost, calls=old.calls if new.calls is None else new.calls)


def _check_prices(models: Mapping[str, Sequence[Model]], limits: Limits) -> None:
    unknown = [m.answerer.name for side in models.values() for m in side if m.price is None]
    if limits.cost is not None and unknown:
        raise InputError(
            [
                Problem("--max-cost", name, "its price is not known: give it with --price NAME IN OUT")
                for name in unknown
            ]
        )


def _check_same(study: Study, folder: RunFolder, manifest: Manifest) -> None:
    """Refuse a run whose items or prompts are not those that it began with."""
    now = {name: digest(text) for name, text in study.prompts().items()}
    changed = sorted(
        name for name in now.keys() | manifest.prompts.keys() if now.get(name) != manifest.prompts.get(name)
    )
    problems = [
        Problem(str(folder.path), f"prompt {name}", "differs from what this run was asked with") for name in changed
    ]
    if digest(list(folder.items(study.item))) != manifest.items:
        problems.append(Problem(str(folder.path / "items.jsonl"), "", "items were changed after this run began"))
    if problems:
        raise RunMismatch(
            [*problems, Problem(str(folder.path), "", f"go on with overton {manifest.overton}, or start a new run")]
        )


def _check_identities(models: Mapping[str, Sequence[Model]], manifest: Manifest, path: Path) -> None:
    problems = [
        Problem(str(path), entry.spec, f"{what} is now {is_!r}, but the run began with {was!r}")
        for role, entries in manifest.models.items()
        for entry, model in zip(entries, models[role], strict=False)
        for what, was, is_ in (
            ("its identity", entry.identity, model.answerer.identity),
            ("whether answers are held to the form", entry.holds_form, model.answerer.holds_form),
            ("its settings", entry.settings, model.settings),
        )
        if was != is_
    ]
    if problems:
        raise RunMismatch(problems)


def _check_grows(study: Study, folder: RunFolder, manifest: Manifest, options: msgspec.Struct) -> None:
    items = folder.items(study.item)
    old = study.trials(items, msgspec.convert(manifest.options, study.options), manifest.seed)
    kept = {trial.name for trial in study.trials(items, options, manifest.seed)}
    lost = [trial.name for trial in old if trial.name not in kept]
    if lost:
        raise InputError(
            [Problem(str(folder.path), lost[0], f"these options would leave out {len(lost)} trials that the run has")]
        )
