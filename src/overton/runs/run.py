"""A run folder as an object with its questions, its models and their results."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from datetime import datetime
from functools import cached_property
from itertools import chain, count, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from overton.calls import Reply
from overton.engine import Journal, JournalMark, Spending, entries
from overton.errors import InputError, Notice, Problem, RunMismatch, command, list_names
from overton.runs.experiment import Experiment
from overton.runs.folder import (
    ITEMS,
    JOURNAL,
    PROMPTS,
    RECORDS,
    Manifest,
    ModelEntry,
    Spent,
    create_folder,
    file_digest,
    lane_names,
    options_that_fit,
    read_manifest,
    rows_of,
    stored_items,
    stored_records,
    study_with_texts,
)
from overton.runs.record_rows import check_no_repeats, missing_rows
from overton.runs.study_file import STUDY_FILE, study_file_text, write_study_file
from overton.studies.null_conditions import prompts_changed
from overton.studies.prompts import OwnText, own_texts
from overton.studies.registry import study_named
from overton.studies.study import AnyStudy
from overton.studies.text_replacement import with_texts

if TYPE_CHECKING:
    import polars as pl


_MOST_NAMED = 20


class Run:
    """A run folder: its manifest, study, items and records. No method makes calls.

    `Run(path)` reads the manifest at once, and everything else when it is first needed. If the run continues with this
    object, `manifest` is kept up to date. If another process continues the run, `manifest` does not change.

    `study` replaces the installed study of the same name. `held_session` is True if this object has run a session.

    Raises:
        RunError: `path` is not a run folder, was made by an incompatible version, or is damaged.
    """

    def __init__(
        self,
        path: str | Path,
        manifest: Manifest | None = None,
        *,
        study: AnyStudy | None = None,
        experiment: Experiment | None = None,
    ) -> None:
        self.path = Path(path)
        self.manifest = read_manifest(self.path) if manifest is None else manifest
        self.held_session = False
        self._study = study
        if experiment is not None:
            self._study, self.options, self.experiment = experiment.study, experiment.options, experiment

    @property
    def study(self) -> AnyStudy:
        """The study of the run, with the texts that the run replaced.

        Raises:
            InputError: the study is not installed here.
            RunError: the texts cannot be read.
        """
        if self._study is None:
            self._study = study_with_texts(self.path, study_named(self.manifest.study), self.manifest)
        return self._study

    @cached_property
    def options(self) -> Any:
        """The study's options in the run.

        Raises:
            RunError: the options cannot be read, or no run of the study can have these options or models.
        """
        return options_that_fit(self.path, self.study, self.manifest)

    @cached_property
    def experiment(self) -> Experiment:
        """The study with the items, options and seed of the run.

        Raises:
            RunError: items or options cannot be read, or no run of the study can have them.
        """
        items = stored_items(self.path, self.study.items.kind)
        return Experiment(self.study, items, self.options, self.manifest.seed)

    @property
    def journal_file(self) -> Path:
        """The journal's file."""
        return self.path / JOURNAL

    @property
    def records_file(self) -> Path:
        """The outcome table's file."""
        return self.path / RECORDS

    @property
    def finished(self) -> bool:
        """Whether every trial has finished. Some may have failed; see `failed`."""
        return self.manifest.status == "finished"

    @property
    def failed(self) -> int:
        """The number of calls that failed permanently."""
        return self.manifest.spent.failed

    @property
    def entries(self) -> list[ModelEntry]:
        """The models that the run measures, one per pipeline."""
        return self.manifest.models[self.study.first]

    @property
    def lane_names(self) -> list[str]:
        """Each pipeline's name, in their order."""
        return lane_names(self.study, self.manifest)

    @property
    def dataset(self) -> Path | None:
        """The file of items that the run made, None if it made none."""
        made = self.study.dataset
        path = self.path / made.name if made else None
        return path if path and path.is_file() else None

    @cached_property
    def changed_records(self) -> str:
        """A warning sentence if the records were changed after the run wrote them. It is '' if they are unchanged, or
        if this is unknown."""
        known, file = self.manifest.digests if self.finished else None, self.records_file
        if known is None or not file.is_file() or file_digest(file) == known.records:
            return ""
        return f"{file} was changed after this run wrote it, so every number may have changed."

    @property
    def replaced_texts(self) -> str:
        """The end of a sentence that begins with the run's name. It names the texts that the run uses in place of its
        study's own. It is '' if the run has replaced no text."""
        names = self.manifest.replaced or []
        if not names:
            return ""
        several = "texts of its own" if len(names) > 1 else "a text of its own"
        return f"uses {several} in place of the study's ({PROMPTS}): {list_names(names, _MOST_NAMED)}"

    def __repr__(self) -> str:
        left = "" if self.finished else f", {sum(map(len, self.manifest.missing.values()))} items missing"
        return f"Run({str(self.path)!r}: {self.manifest.study}, {self.manifest.status}{left})"

    def _repr_html_(self) -> str:
        """The run in a notebook: its study and models, its progress, and the next command."""
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
        """The outcome table of the complete items. Warn if trials that the run finished have no rows.

        Raises:
            InputError: the table has repeated rows.
            RunError: there is no table yet.
        """
        records = stored_records(self.path)
        again = f"to write the records again: {command('resume', self.path)}"
        check_no_repeats(self.study, records, str(self.records_file), again)
        if missing := missing_rows(self.study, self.manifest, records, lambda: self.experiment):
            warnings.warn(f"{self.records_file}: {missing}; {again}", Notice, stacklevel=2)
        return records

    def rows(self) -> list[Any]:
        """The outcome table as the study's own records. Such records have neither the model's name nor the column that
        says whether the model's replies were constrained.

        Raises:
            InputError: the table has repeated rows.
            RunError: there is no table yet.
        """
        return rows_of(self.path, self.study.record, self.records())

    def items(self) -> Sequence[Any]:
        """The items that the run asks about."""
        return self.experiment.items


def open_run(path: str | Path | Run) -> Run:
    """Open an existing run. If `path` is a `Run`, read its folder again.

    Raises:
        InputError: the run's study is not installed here.
        RunError: `path` is not a run folder, was made by an incompatible version, or is damaged.
    """
    found = Run(path.path, study=path.study) if isinstance(path, Run) else Run(path)
    _ = found.options
    return found


def with_texts_of(study: AnyStudy, runs: Sequence[Run]) -> AnyStudy:
    """The study with the texts that these runs used. A text that is not the same in all runs is replaced by a note that
    says so."""
    if study.replaced:
        return study
    names = sorted({name for run in runs for name in run.study.replaced})
    own = own_texts(study.prompts) if names else {}
    texts = {}
    for name in (name for name in names if name in own and isinstance(own[name].value, str)):
        found = {run.study.replaced.get(name, own[name].value) for run in runs}
        texts[name] = found.pop() if len(found) == 1 else _differing_text(name, own[name])
    return with_texts(study, texts) if texts else study


def _differing_text(name: str, own: OwnText) -> str:
    """A stand-in for a text that differs between runs, with the placeholders that the text must have."""
    parts = [f"[{name} differs between these runs] "]
    for place in dict.fromkeys(own.prompts.cut(own.key, own.value)[1::2]):
        parts += [place, " "]
    return own.prompts.spelled(own.key, parts)


def items_of(runs: Sequence[Run]) -> list[Any]:
    """The items of all runs, each once.

    Raises:
        InputError: two runs have different items with the same id.
    """
    found: dict[str, tuple[Any, Run]] = {}
    for run in runs:
        for item in run.items():
            known, where = found.setdefault(item.id, (item, run))
            if known != item:
                raise InputError(
                    [Problem(str(run.path), item.id, (f"differs from the item of {where.path} with this id"))]
                )
    return [item for item, _ in found.values()]


def fresh_folder(study: str) -> Path:
    """A folder below `runs/` that does not exist yet."""
    stem = f"{study}-{datetime.now():%Y%m%d-%H%M%S}"
    names = chain([stem], (f"{stem}-{number}" for number in count(2)))
    return next(path for name in names if not (path := Path("runs") / name).exists())


def create_run(path: Path, manifest: Manifest, experiment: Experiment) -> Run:
    """Make the folder of a new run.

    Raises:
        RunExists: something already exists there.
        RunError: the folder cannot be made.
    """
    text = study_file_text(path, experiment.study, experiment.options, manifest)
    create_folder(path, manifest, experiment.items, experiment.study.replaced, {STUDY_FILE: text})
    return Run(path, manifest, experiment=experiment)


def repeat_in_file(run: Run) -> None:
    """Write the configuration file that repeats a run as it is now.

    Raises:
        RunError: it cannot be written.
    """
    write_study_file(run.path, run.study, run.options, run.manifest)


def check_unchanged(run: Run) -> None:
    """Refuse a run whose items or prompts are not those that it started with.

    Raises:
        RunMismatch: items or prompts differ; the message says which.
    """
    manifest, place = run.manifest, str(run.path)
    changed = prompts_changed(manifest.prompts, run.experiment.prompt_digests)
    problems = [Problem(place, f"prompt {name}", "differs from the one this run used") for name in changed]
    if run.experiment.items_digest != manifest.items:
        problems.append(Problem(str(run.path / ITEMS), "", "items were changed after this run started"))
    if problems:
        advice = f"resume it with overton {manifest.overton}, or start a new run"
        raise RunMismatch([*problems, Problem(place, "", advice)])


def open_journal(run: Run, *, retry_failed: bool = False) -> Journal:
    """Open and lock the run's journal. It must be the journal that the manifest records. Before the first session, the
    journal is new.

    Raises:
        RunLocked: another process is using the run.
        JournalError: the journal is damaged or missing, or is not the one that the manifest records; see `Journal`.
    """
    spent = run.manifest.spent
    since = JournalMark(spent.outcomes, spent.last) if run.manifest.sessions else None
    return Journal(run.journal_file, retry_failed=retry_failed, since=since)


def spent_so_far(run: Run, journal: Journal) -> Spent:
    """The spending of earlier sessions. If the last session was killed, the amounts are upper bounds."""
    known, mark = run.manifest.spent, journal.mark
    if journal.left is not None:
        requests, cost = max(known.requests, journal.left.requests), max(known.cost, journal.left.cost)
    else:
        requests, cost = _sum_journal_rows(run)
    return Spent(requests, cost, journal.failed, mark.outcomes, mark.last)


def _sum_journal_rows(run: Run) -> Spending:
    """The spending if no session kept a bound, as after an import or in a run of an earlier version. It is the
    manifest's amount plus that of the journal's later rows."""
    known = run.manifest.spent
    prices = {entry.identity: entry.price for side in run.manifest.models.values() for entry in side}
    requests, cost = known.requests, known.cost
    for entry in islice(entries(run.journal_file), known.outcomes, None):
        if isinstance(entry.outcome, Reply):
            requests += 1
            price = prices.get(entry.place.answerer)
            cost += (price.cost(entry.outcome.usage) or 0.0) if price else 0.0
        else:
            requests += entry.outcome.attempts
    return Spending(requests, cost)
