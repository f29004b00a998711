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
from overton.runs.labels import labels_file, labels_locked, read_label_file, read_labels, task_for, write_labels
from overton.runs.run import open_run
from overton.studies.label_shares import LabelledShares
from overton.studies.registry import study_named

if TYPE_CHECKING:
    from overton.judging.label_tasks import AnnotatorLabels, LabelTask, SavedLabels


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
) -> PeopleAgreement:
    """How well people agree whose labels are in `files`, and a judge with them; with `run`, all whose labels it has.

    Each file is what a page saved or Label Studio exported (JSON), or a sheet that one person filled in (CSV, whose
    name is taken for the person's). `key` is their task, by default the file that was written with them. With `run`,
    the labels are added to those in that run's folder, and its numbers are corrected by them from then on. Without a
    label nothing is stored.

    Raises:
        InputError: a file cannot be used: which, where in it, and what to do; or it belongs to another run.
    """
    from overton.judging.annotators import annotator_agreement

    named = [Path(files)] if isinstance(files, str | Path) else [Path(file) for file in files]
    beside = None if key is None else Path(key)
    if run is None:
        return PeopleAgreement(annotator_agreement(_read_labels(named, beside, []), level=level))
    opened = open_run(run)
    with labels_locked(opened.path):
        kept = read_labels(opened.path)
        labels = _read_labels(named, beside, kept)
        place = str(labels_file(opened.path, labels.task.name))
        how = measuring_of(study_named(opened.manifest.study)).how(level=level)
        shares, _ = label_shares(opened, results_of([opened]), labels, place, how)
        if labels.shares() or any(saved.task.name == labels.task.name for saved in kept):
            write_labels(opened.path, labels)
    return PeopleAgreement(annotator_agreement(labels, level=level), shares)


def _read_labels(files: Sequence[Path], key: Path | None, kept: Sequence[SavedLabels]) -> SavedLabels:
    """The labels in some files, joined to those of the same task that a run has."""
    from overton.judging.label_tasks import check_page, gather_labels

    if not files:
        raise InputError([Problem("labels", "", "name the files that people's pages saved, or sheets")])
    sheets = [file for file in files if file.suffix.casefold() != ".json"]
    pages = [file for file in files if file not in sheets]
    read = [(str(file), *_read_sheet(file, key, sheets[0])) for file in sheets]
    given = [(place, said) for place, _, said in read]
    task = read[0][1] if read else None
    if pages:
        task, more = _read_pages(pages, key, kept)
        given += more
    assert task is not None  # there is a file
    before = next((saved_labels for saved_labels in kept if saved_labels.task.name == task.name), None)
    if not given and before is None:
        raise InputError([Problem(str(files[0]), "", "contains no labels: name the files that people saved")])
    return gather_labels(task, [(place, check_page(task, labels, place)) for place, labels in given], before)


def _read_sheet(sheet: Path, key: Path | None, first: Path) -> tuple[LabelTask, AnnotatorLabels]:
    """The task of a filled sheet, and its labels; a copy has no key of its own, but the `first` sheet's."""
    from overton.judge.sheets import opened_sheet
    from overton.judging.label_tasks import CANNOT_TELL, AnnotatorLabels, check_task

    own = sheet.with_suffix(".key.json")
    place = key or (own if own.exists() else first.with_suffix(".key.json"))
    task, said = opened_sheet(sheet, place, more=[CANNOT_TELL])
    check_task(task, str(place))
    empty = tuple(row for row in range(len(task.rows)) if row not in said)
    return task, AnnotatorLabels(task.name, 1, sheet.stem, said, taken_back=empty)


def _read_pages(
    files: Sequence[Path], key: Path | None, kept: Sequence[SavedLabels]
) -> tuple[LabelTask, list[tuple[str, AnnotatorLabels]]]:
    """The task of pages' files and of exports, and each person's labels with its place."""
    from overton.judging.label_studio import said_by
    from overton.judging.label_tasks import AnnotatorLabels, LabelTask

    read = [(file, read_label_file(file)) for file in files]
    said = [(file, content) for file, content in read if isinstance(content, AnnotatorLabels)]
    exports = [(file, content) for file, content in read if isinstance(content, list)]
    tasks = [file for file, content in read if isinstance(content, LabelTask)]
    if len(tasks) > 1 and key is None:
        raise InputError(
            [Problem(str(tasks[1]), "", f"is a second task besides {tasks[0]}: name the files of one task")]
        )
    wanted = [labels.task for _, labels in said] + [row.data.overton_task for _, rows in exports for row in rows]
    task = task_for(key or next(iter(tasks), None), files, wanted, kept)
    given = [(str(file), labels) for file, labels in said]
    given += [(str(file), labels) for file, rows in exports for labels in said_by(task, rows, str(file))]
    return task, given
