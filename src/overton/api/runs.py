"""Plan, run, resume and extend a study."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from overton.api.requests import Arguments, Others, Prices, SourceArguments, model_requests, names_of
from overton.api.setting_up import chosen_options, set_up
from overton.api.studies import binding_of, study_named
from overton.errors import InputError, Problem
from overton.hosts import local
from overton.hosts.local import Limits, Manifest, ModelEntry, Patience, Plan, RunFolder, Watch

if TYPE_CHECKING:
    import polars as pl

__all__ = [
    "Arguments",
    "Prices",
    "Run",
    "extend",
    "fresh_folder",
    "items_of",
    "model_requests",
    "open_run",
    "plan",
    "resume",
    "run",
]


@dataclass(frozen=True)
class Run:
    """A run folder, as it is after a session."""

    path: Path
    manifest: Manifest

    @property
    def finished(self) -> bool:
        """Whether every trial has ended (some perhaps as failures, see `failed`)."""
        return self.manifest.status == "finished"

    @property
    def failed(self) -> int:
        """How many calls failed for good."""
        return self.manifest.spent.failed

    @property
    def entries(self) -> list[ModelEntry]:
        """The models that the run measures, one a lane."""
        return self.manifest.models[study_named(self.manifest.study).first]

    def records(self) -> pl.DataFrame:
        """The outcome table: a row a trial, whole items only.

        Raises:
            RunError: there is none yet.
        """
        return RunFolder(self.path).records()

    def items(self) -> Sequence[Any]:
        """What the run asks about."""
        return RunFolder(self.path).items(study_named(self.manifest.study).items.kind)


def items_of(runs: Sequence[Run]) -> list[Any]:
    """The items of all runs, each once.

    Raises:
        InputError: two runs ask different things under one id.
    """
    found: dict[str, tuple[Any, Run]] = {}
    for run in runs:
        for item in run.items():
            known, where = found.setdefault(item.id, (item, run))
            if known != item:
                raise InputError([Problem(str(run.path), item.id, f"is not what {where.path} asks under this name")])
    return [item for item, _ in found.values()]


def open_run(path: str | Path) -> Run:
    """A run that exists.

    Raises:
        RunError: `path` is not a run folder, or of another version.
    """
    return Run(Path(path), RunFolder(Path(path)).manifest())


def run(
    study: str,
    *,
    models: Sequence[str],
    others: Others | None = None,
    items: str | Path | Sequence[Any] | None = None,
    only: Sequence[str] | None = None,
    out: str | Path | None = None,
    seed: int = 0,
    model_args: Arguments | None = None,
    source_args: SourceArguments | None = None,
    prices: Prices | None = None,
    max_cost: float | None = None,
    max_calls: int | None = None,
    left_out: str = "",
    patience: Patience | None = None,
    watch: Watch | None = None,
    **options: Any,
) -> Run:
    """Run a study in a new folder.

    Example: `overton.run("open-mindedness", models=["openai/gpt-4o"], items="issues/", trials=15)`.

    `models` are those that the study is about, as 'provider/name' or, under a name of their own, 'NAME=provider/name';
    `model_args` and `prices` go by the name. `others` names what answers in further roles (deliberation: 'values';
    pluralism: 'judge'; stance stability: 'judge', 'search', 'pages' and 'queries'), `source_args` the arguments of its
    search and pages. `items` is a path that the study's reader takes, or items, or None for the starter items; with
    `only` those with these ids. `out` defaults to a folder below `runs/` named by study and time. `options` are the
    fields of the study's `Options`. `max_cost` (US dollars) and `max_calls` (requests, retries included) stop the run
    before they are passed. `watch` is called several times a second with a `Progress`.

    Raises:
        InputError: anything wrong with what was given; nothing was asked.
        OvertonError: what made going on impossible. A run stopped by a limit or Ctrl-C is returned, not raised.
    """
    binding = binding_of(study)
    folder = Path(out) if out is not None else fresh_folder(binding.study.name)
    ready = set_up(
        binding,
        {binding.study.first: models, **(others or {})},
        items=items,
        only=only,
        options=options,
        model_args=model_args,
        source_args=source_args,
        prices=prices,
    )
    manifest = local.start(
        binding.study,
        ready.items,
        ready.wanted,
        folder,
        options=ready.options,
        seed=seed,
        limits=Limits(max_cost, max_calls),
        left_out=left_out or ready.left_out,
        patience=patience,
        watch=watch,
    )
    return Run(folder, manifest)


def plan(
    study: str,
    *,
    models: Sequence[str],
    others: Others | None = None,
    items: str | Path | Sequence[Any] | None = None,
    only: Sequence[str] | None = None,
    seed: int = 0,
    model_args: Arguments | None = None,
    source_args: SourceArguments | None = None,
    prices: Prices | None = None,
    **options: Any,
) -> Plan:
    """What `run` with the same arguments would ask, and what that would cost. Nothing is asked.

    Raises:
        InputError: anything wrong with what was given.
    """
    binding = binding_of(study)
    ready = set_up(
        binding,
        {binding.study.first: models, **(others or {})},
        items=items,
        only=only,
        options=options,
        model_args=model_args,
        source_args=source_args,
        prices=prices,
    )
    opened = local.open_models(binding.study, ready.items, ready.wanted, seed, need_keys=False)
    return local.plan(binding.study, ready.items, opened, ready.options, seed)


def resume(
    path: str | Path,
    *,
    retry_failed: bool = False,
    max_cost: float | None = None,
    max_calls: int | None = None,
    patience: Patience | None = None,
    watch: Watch | None = None,
) -> Run:
    """Go on with a run. What was asked before is answered from its journal; limits count over all sessions.

    Raises:
        RunMismatch: items, prompts, models or settings differ from those that the run began with.
        RunError: `path` is not a run folder, or another process works on it.
    """
    folder = Path(path)
    manifest = local.resume(
        study_named(RunFolder(folder).manifest().study),
        folder,
        retry_failed=retry_failed,
        limits=Limits(max_cost, max_calls),
        patience=patience,
        watch=watch,
    )
    return _completed(Run(folder, manifest))


def extend(
    path: str | Path,
    *,
    models: Sequence[str] = (),
    model_args: Arguments | None = None,
    prices: Prices | None = None,
    max_cost: float | None = None,
    max_calls: int | None = None,
    patience: Patience | None = None,
    watch: Watch | None = None,
    **options: Any,
) -> Run:
    """Add models, trials or conditions to a run, on purpose.

    `options` replace the run's own where given; those that name several things (conditions, templates) add to them.

    Raises:
        InputError: nothing would be added, trials would be taken away, or a model is in the run already.
        RunError: see `resume`.
    """
    folder = Path(path)
    manifest = RunFolder(folder).manifest()
    binding = binding_of(manifest.study)
    first = binding.study.first
    changed = {key: _grown(manifest.options.get(key), value) for key, value in options.items() if value is not None}
    if not changed and not models:
        raise InputError([Problem("extend", "", "nothing to add: give more trials, conditions or models")])
    names = {role: [entry.name for entry in entries] for role, entries in manifest.models.items()}
    names[first] += names_of(binding.study, {first: models})[first]
    chosen = chosen_options(binding, {**manifest.options, **changed}, names)
    extended = local.extend(
        binding.study,
        folder,
        options=chosen,
        more=model_requests({first: models}, model_args, prices) if models else None,
        limits=Limits(max_cost, max_calls),
        patience=patience,
        watch=watch,
    )
    return _completed(Run(folder, extended))


def _completed(run: Run) -> Run:
    """A run that makes items has its dataset written anew."""
    from overton.api import issues, references, topics

    written = {maker.MAKER: maker.write_dataset for maker in (issues, topics, references)}.get(run.manifest.study)
    return written(run) if written else run


def _grown(old: Any, new: Any) -> Any:
    if isinstance(new, tuple | list) and isinstance(old, tuple | list):
        return [*old, *(value for value in new if value not in old)]
    return new


def fresh_folder(study: str) -> Path:
    """A folder below `runs/` that does not exist yet."""
    stem = f"{study}-{datetime.now():%Y%m%d-%H%M%S}"
    names = chain([stem], (f"{stem}-{number}" for number in count(2)))
    return next(path for name in names if not (path := Path("runs") / name).exists())
