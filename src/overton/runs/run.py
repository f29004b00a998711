"""Runs: made, resumed, extended, opened."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from inspect import Parameter, signature
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from overton.engine import Limits, RetryPolicy
from overton.errors import InputError, Problem
from overton.runs import start
from overton.runs.digests import changed_records
from overton.runs.folder import Manifest, ModelEntry, RunFolder
from overton.runs.precision import precision_of
from overton.runs.progress import Watch
from overton.runs.progress_bar import in_notebook
from overton.runs.record_rows import records_of
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
from overton.runs.trust import Confirm, Trust
from overton.studies.options import changed
from overton.studies.registry import StudyEntry, study_named
from overton.studies.study import AnyStudy

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, repr=False)
class Run:
    """A run folder, as it is after a session."""

    path: Path
    manifest: Manifest

    @property
    def finished(self) -> bool:
        """Whether every trial has finished (some perhaps as failures, see `failed`)."""
        return self.manifest.status == "finished"

    @property
    def failed(self) -> int:
        """How many calls failed for good."""
        return self.manifest.spent.failed

    @property
    def entries(self) -> list[ModelEntry]:
        """The models that the run measures, one per lane."""
        return self.manifest.models[self.study.first]

    @property
    def study(self) -> AnyStudy:
        """The study of the run.

        Raises:
            InputError: it is not installed here.
        """
        return study_named(self.manifest.study)

    @property
    def dataset(self) -> Path | None:
        """The file of items that it made, None if it made none."""
        made = self.study.dataset
        path = self.path / made.name if made else None
        return path if path and path.is_file() else None

    @cached_property
    def changed_records(self) -> str:
        """A sentence that the records are not those that the run wrote; '' if they are, or that is not known."""
        return changed_records(RunFolder(self.path), self.manifest)

    def __repr__(self) -> str:
        left = "" if self.finished else f", {sum(map(len, self.manifest.missing.values()))} items missing"
        return f"Run({str(self.path)!r}: {self.manifest.study}, {self.manifest.status}{left})"

    def _repr_html_(self) -> str:
        """The run in a notebook: what it is, how far it went, and what to do with it."""
        from overton.reporting.notebook import facts

        manifest = self.manifest
        names = [entry.name for entries in manifest.models.values() for entry in entries]
        rows = [
            ("folder", str(self.path)),
            ("models", ", ".join(dict.fromkeys(names))),
            ("state", manifest.status if self.finished else f"{manifest.status}: {manifest.stopped}"),
            ("trials", f"{manifest.trials:,}"),
            ("requests", f"{manifest.spent.requests:,}"),
            ("failed calls", f"{manifest.spent.failed:,}"),
            ("cost", f"${manifest.spent.cost:,.4f}"),
        ]
        go_on = f"overton.analyze({manifest.study!r}, {str(self.path)!r})"
        return facts(
            f"Run of {manifest.study}", rows, [go_on if self.finished else f"overton.resume({str(self.path)!r})"]
        )

    def records(self) -> pl.DataFrame:
        """The outcome table, whole items only; warns if trials that the run finished have no rows.

        Raises:
            InputError: rows of it repeat others.
            RunError: there is none yet.
        """
        return records_of(self.study, RunFolder(self.path), self.manifest)

    def rows(self) -> list[Any]:
        """The outcome as the study's own records, without the model's name and whether it was held to a form.

        Raises:
            InputError: rows of the table repeat others.
            RunError: there is none yet.
        """
        return RunFolder(self.path).rows(self.study.record, self.records())

    def items(self) -> Sequence[Any]:
        """The items that the run asks about."""
        return RunFolder(self.path).items(self.study.items.kind)


def items_of(runs: Sequence[Run]) -> list[Any]:
    """The items of all runs, each once.

    Raises:
        InputError: two runs ask different things under the same id.
    """
    found: dict[str, tuple[Any, Run]] = {}
    for run in runs:
        for item in run.items():
            known, where = found.setdefault(item.id, (item, run))
            if known != item:
                raise InputError([Problem(str(run.path), item.id, f"is not what {where.path} asks under this id")])
    return [item for item, _ in found.values()]


def open_run(path: str | Path) -> Run:
    """An existing run.

    Raises:
        InputError: its study is not installed here.
        RunError: `path` is not a run folder, is of another version, or is damaged.
    """
    folder = RunFolder(Path(path))
    found = Run(folder.path, folder.manifest())
    folder.check_fits(found.study, found.manifest)
    return found


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
    `price_list` is a TOML file of prices (docs/price.md), which take precedence over Overton's own. With `batch`, all
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
        options,
        models=models,
        others=others,
        items=items,
        only=only,
        seed=seed,
        model_args=model_args,
        source_args=source_args,
        prices=prices,
        price_list=price_list,
    )
    with traceback_kept(folder):
        manifest = start.start_folder(
            ready.experiment,
            ready.wanted,
            folder,
            limits=Limits(max_cost, max_calls),
            left_out=left_out or ready.left_out,
            batch=batch,
            precision=precision_of(precision, at_most_calls),
            patience=patience,
            watch=watch or in_notebook(found.name),
        )
    return Run(folder, manifest)


def resume(
    path: str | Path,
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
    folder = Path(path)
    with traceback_kept(folder):
        manifest = start.resume_folder(
            open_run(folder).study,
            folder,
            retry_failed=retry_failed,
            limits=Limits(max_cost, max_calls),
            batch=batch,
            elsewhere=model_requests({"": models}, model_args)[""],
            trust=Trust(trust, confirm),
            patience=patience,
            watch=watch or in_notebook("resume"),
        )
    return Run(folder, manifest)


def extend(
    path: str | Path,
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
    folder = Path(path)
    opened = open_run(folder)
    manifest, study = opened.manifest, opened.study
    given = {name: value for name, value in options.items() if value is not None}
    added = {study.first: list(models)}
    for role in study.roles:
        if role.several and (judges := given.pop(role.word, None) or given.pop(role.name, None)):
            added[role.name] = list(several(judges))
    if not given and not any(added.values()):
        raise InputError([Problem("extend", "", "nothing to add: give more models, or options that can be extended")])
    names = {role: [entry.name for entry in entries] for role, entries in manifest.models.items()}
    for role_, more in added.items():
        names[role_] = [*names.get(role_, []), *names_of(study, {role_: more})[role_]]
    asked = RunFolder(folder).options(study, study.options.complete(manifest.options, names))
    chosen = changed(asked, given)
    check(chosen)
    if chosen == asked and not any(added.values()) and manifest.status == "finished":
        raise InputError(
            [Problem("extend", str(folder), f"nothing to add: the run already has {_format_options(given)}")]
        )
    with traceback_kept(folder):
        extended = start.extend_folder(
            study,
            folder,
            options=chosen,
            more=model_requests(added, model_args, prices) if any(added.values()) else None,
            limits=Limits(max_cost, max_calls),
            trust=Trust(trust, confirm),
            patience=patience,
            watch=watch or in_notebook("extend"),
        )
    return Run(folder, extended)


def _format_options(options: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value}" for name, value in options.items())


def fresh_folder(study: str) -> Path:
    """A folder below `runs/` that does not exist yet."""
    stem = f"{study}-{datetime.now():%Y%m%d-%H%M%S}"
    names = chain([stem], (f"{stem}-{number}" for number in count(2)))
    return next(path for name in names if not (path := Path("runs") / name).exists())


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
