"""Plan, start, resume and extend a run on this machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from overton import __version__
from overton.engine import Limits, Patience, digest
from overton.errors import InputError, Problem, RunMismatch
from overton.hosts.local.folder import Manifest, RunFolder
from overton.hosts.local.lanes import trials_by_item
from overton.hosts.local.opening import Opened, Wanted, completed, entries_of, open_models, wanted_of
from overton.hosts.local.probing import sent
from overton.hosts.local.session import Watch, hold_session, needs_asking
from overton.hosts.local.trusting import Trust, check_trusted, note_used
from overton.models import Model
from overton.studies.nulls import prompts_changed
from overton.studies.study import AnyStudy

__all__ = ["check_same", "extend", "resume", "start"]


def start(
    study: AnyStudy,
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
    wanted = completed(study, wanted)
    trials_by_item(study, items, chosen, seed)
    models = open_models(study.with_tokens(chosen), items, wanted, seed)
    _check_prices(models, limits)
    manifest = Manifest(
        study=study.name,
        seed=seed,
        options=msgspec.to_builtins(chosen),
        models=entries_of(wanted, models),
        items=digest(list(items)),
        prompts={name: digest(text) for name, text in study.prompts().items()},
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        overton=__version__,
        limits=limits,
        left_out=left_out,
    )
    folder = RunFolder.create(out, manifest, items)
    note_used(study, wanted)
    return hold_session(folder, study, manifest, models, patience=patience, watch=watch)


def resume(
    study: AnyStudy,
    path: Path,
    *,
    retry_failed: bool = False,
    limits: Limits | None = None,
    trust: Trust | None = None,
    patience: Patience | None = None,
    watch: Watch | None = None,
) -> Manifest:
    """Go on with a run: first everything journaled is replayed and compared, then the rest is asked.

    A finished run asks nothing: it needs neither keys nor network, and its records are written anew. `limits`
    replaces the run's own where given; both count over all sessions.

    Raises:
        RunMismatch: items, prompts or models are not those that the run began with; says which.
        InputError: the folder names what this machine has not used, and `trust` does not say that it may; see
            `check_trusted`.
    """
    folder = RunFolder(path)
    manifest = folder.manifest()
    check_same(study, folder, manifest)
    manifest.limits = _merged(manifest.limits, limits)
    if not needs_asking(folder, study, manifest, retry_failed=retry_failed):
        return hold_session(folder, study, manifest, None, watch=watch)
    wanted = wanted_of(manifest)
    check_trusted(study, path, wanted, trust or Trust())
    asked = study.with_tokens(folder.options(study, manifest.options))
    models = open_models(asked, folder.items(study.items.kind), wanted, manifest.seed)
    _check_identities(models, manifest, path)
    _check_prices(models, manifest.limits)
    return hold_session(folder, study, manifest, models, retry_failed=retry_failed, patience=patience, watch=watch)


def extend(
    study: AnyStudy,
    path: Path,
    *,
    options: msgspec.Struct | None = None,
    more: Wanted | None = None,
    limits: Limits | None = None,
    trust: Trust | None = None,
    patience: Patience | None = None,
    watch: Watch | None = None,
) -> Manifest:
    """Add trials, conditions or models to a run, on purpose; what it has is kept and not asked again.

    `options` must yield every trial that the run has; `more` names models to add by role.

    Raises:
        InputError: the new options would take trials away, or a model is in the run already; the folder names what
            this machine has not used, see `resume`.
        RunMismatch: with the new options something else would be asked in the trials that the run has.
    """
    folder = RunFolder(path)
    manifest = folder.manifest()
    check_same(study, folder, manifest)
    if options is not None:
        _check_grows(study, folder, manifest, options)
    wanted = wanted_of(manifest)
    check_trusted(study, path, wanted, trust or Trust())
    for role, added in (more or {}).items():
        wanted[role] = [*wanted[role], *added]
    chosen = folder.options(study, manifest.options) if options is None else options
    models = open_models(study.with_tokens(chosen), folder.items(study.items.kind), wanted, manifest.seed)
    _check_identities(models, manifest, path)
    manifest.limits = _merged(manifest.limits, limits)
    _check_prices(models, manifest.limits)
    if options is not None:
        manifest.options = msgspec.to_builtins(options)
        manifest.prompts = {name: digest(text) for name, text in study.prompts().items()}
    held = manifest.models  # what was found out about those that the run has is kept
    manifest.models = {
        role: [*held.get(role, []), *entries[len(held.get(role, [])) :]]
        for role, entries in entries_of(wanted, models).items()
    }
    note_used(study, more or {})
    needs_asking(folder, study, manifest, retry_failed=False)
    return hold_session(folder, study, manifest, models, patience=patience, watch=watch)


def _merged(old: Limits, new: Limits | None) -> Limits:
    if new is None:
        return old
    return Limits(cost=old.cost if new.cost is None else new.cost, calls=old.calls if new.calls is None else new.calls)


def _check_prices(models: Mapping[str, Sequence[Opened]], limits: Limits) -> None:
    unknown = [
        one.answerer.name for side in models.values() for one in side if isinstance(one, Model) and one.price is None
    ]
    if limits.cost is not None and unknown:
        raise InputError(
            [
                Problem("--max-cost", name, "its price is not known: give it with --price NAME IN OUT")
                for name in unknown
            ]
        )


def check_same(study: AnyStudy, folder: RunFolder, manifest: Manifest) -> None:
    """Refuse a run whose items or prompts are not those that it began with."""
    now = {name: digest(text) for name, text in study.prompts().items()}
    changed = prompts_changed(manifest.prompts, now)
    problems = [
        Problem(str(folder.path), f"prompt {name}", "differs from what this run was asked with") for name in changed
    ]
    if digest(list(folder.items(study.items.kind))) != manifest.items:
        problems.append(Problem(str(folder.path / "items.jsonl"), "", "items were changed after this run began"))
    if problems:
        raise RunMismatch(
            [*problems, Problem(str(folder.path), "", f"go on with overton {manifest.overton}, or start a new run")]
        )


def _check_identities(models: Mapping[str, Sequence[Opened]], manifest: Manifest, path: Path) -> None:
    problems = [
        Problem(str(path), entry.name, f"{what} is now {is_!r}, but the run began with {was!r}")
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


def _check_grows(study: AnyStudy, folder: RunFolder, manifest: Manifest, options: msgspec.Struct) -> None:
    items = folder.items(study.items.kind)
    trials_by_item(study, items, options, manifest.seed)
    old = study.trials(items, folder.options(study, manifest.options), manifest.seed)
    kept = {trial.name for trial in study.trials(items, options, manifest.seed)}
    lost = [trial.name for trial in old if trial.name not in kept]
    if lost:
        raise InputError(
            [Problem(str(folder.path), lost[0], f"these options would leave out {len(lost)} trials that the run has")]
        )
