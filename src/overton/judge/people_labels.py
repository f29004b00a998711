"""How far people agree, and judges with them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from overton.analysis.labels import label_shares
from overton.analysis.results import measuring_of, results_of
from overton.errors import InputError, Problem
from overton.judging.annotators import AnnotatorAgreement
from overton.runs.labels import labels_file, labels_locked, read_file, read_labels, task_for, write_labels
from overton.runs.run import open_run
from overton.studies.label_shares import LabelledShares
from overton.studies.registry import study_named

if TYPE_CHECKING:
    from overton.judging.agreement import SheetAgreement
    from overton.judging.label_tasks import SavedLabels


class PeopleAgreement(msgspec.Struct, frozen=True):
    """The agreement of people with each other and of the judge with them, and, if the run is known, the resulting
    shares."""

    people: AnnotatorAgreement
    shares: LabelledShares | None = None


def agreement(
    files: str | Path | Sequence[str | Path],
    *,
    key: str | Path | None = None,
    run: str | Path | None = None,
    level: float = 0.95,
) -> SheetAgreement | PeopleAgreement:
    """How well a judge agrees with the person who filled in a sheet (CSV), or with the people whose labels are in
    `files` (JSON, as saved by their pages or exported from Label Studio).

    `key` defaults to the file that was written beside them. With `run`, the labels (or the sheet's agreement) are added
    to those in that run's folder, and its numbers are corrected by them from then on.

    Raises:
        InputError: a file cannot be used: which, where in it, and what to do; or it belongs to another run.
    """
    from overton.judge.sheets import read_agreement

    named = [Path(files)] if isinstance(files, str | Path) else [Path(file) for file in files]
    sheets = [file for file in named if file.suffix.casefold() != ".json"]
    if not sheets:
        return people_agreement(named, key=key, run=run, level=level)
    if len(named) > 1:
        reason = "is a sheet (CSV): read sheets one at a time, and separately from labels (JSON)"
        raise InputError([Problem(str(sheets[0]), "", reason)])
    return read_agreement(sheets[0], key=key, run=run, level=level)


def people_agreement(
    files: Sequence[Path], *, key: str | Path | None = None, run: str | Path | None = None, level: float = 0.95
) -> PeopleAgreement:
    """The agreement of the people whose labels are in `files`, and of all whose labels the run has already.

    Raises:
        InputError: see `agreement`.
    """
    from overton.judging.annotators import annotator_agreement

    named = None if key is None else Path(key)
    if run is None:
        return PeopleAgreement(annotator_agreement(_read_labels(files, named, []), level=level))
    opened = open_run(run)
    with labels_locked(opened.path):
        labels = _read_labels(files, named, read_labels(opened.path))
        place = str(labels_file(opened.path, labels.task.name))
        how = measuring_of(study_named(opened.manifest.study)).how(level=level)
        shares, _ = label_shares(opened, results_of([opened]), labels, place, how)
        write_labels(opened.path, labels)
    return PeopleAgreement(annotator_agreement(labels, level=level), shares)


def _read_labels(files: Sequence[Path], key: Path | None, kept: Sequence[SavedLabels]) -> SavedLabels:
    """The labels in some files, joined to those of the same task that a run has."""
    from overton.judging.label_studio import said_by
    from overton.judging.label_tasks import AnnotatorLabels, LabelTask, check_page, gather_labels

    if not files:
        raise InputError([Problem("labels", "", "name the files that people's pages saved")])
    read = [(file, read_file(file)) for file in files]
    said = [(file, content) for file, content in read if isinstance(content, AnnotatorLabels)]
    exports = [(file, content) for file, content in read if isinstance(content, list)]
    tasks = [file for file, content in read if isinstance(content, LabelTask)]
    if len(tasks) > 1 and key is None:
        raise InputError(
            [Problem(str(tasks[1]), "", f"is a second task besides {tasks[0]}: name the files of one task")]
        )
    wanted = [labels.task for _, labels in said] + [row.data.overton_task for _, rows in exports for row in rows]
    task = task_for(key or next(iter(tasks), None), files, wanted, kept)
    before = next((saved_labels for saved_labels in kept if saved_labels.task.name == task.name), None)
    given = [(str(file), labels) for file, labels in said]
    given += [(str(file), labels) for file, rows in exports for labels in said_by(task, rows, str(file))]
    if not given and before is None:
        raise InputError([Problem(str(files[0]), "", "contains no labels: name the files that people saved")])
    return gather_labels(task, [(place, check_page(task, labels, place)) for place, labels in given], before)
