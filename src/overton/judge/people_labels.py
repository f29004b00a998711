"""Agreement of people with each other, and of judges with people."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from overton.analysis.labels import label_shares
from overton.analysis.results import measuring_of, results_of
from overton.errors import InputError, Problem
from overton.judging.annotators import AnnotatorAgreement
from overton.judging.joined_tasks import joined_with
from overton.runs.labels import labels_locked, labels_place, read_label_file, read_labels, task_for, write_labels
from overton.runs.run import open_run
from overton.studies.label_shares import LabelledShares
from overton.studies.registry import study_named

if TYPE_CHECKING:
    from overton.judging.label_tasks import AnnotatorLabels, LabelTask, SavedLabels


class PeopleAgreement(msgspec.Struct, frozen=True):
    """The agreement of people with each other, the agreement of the judge with people, and, if the run is known, the
    corrected proportions of labels."""

    people: AnnotatorAgreement
    shares: LabelledShares | None = None


def agreement(
    files: str | Path | Sequence[str | Path],
    *,
    key: str | Path | None = None,
    run: str | Path | None = None,
    level: float = 0.95,
) -> PeopleAgreement:
    """Measure how well the people whose labels are in `files` agree with each other and with the judge. With `run`,
    labels that the run already has are included.

    Each file is JSON that a page saved or Label Studio exported, or a CSV sheet that one person filled in (the file's
    name is taken as the person's name). `key` is the task's file, by default the file that was written with the pages
    or sheets. With `run`, the labels are added to those in the run's folder, and all these labels correct the run's
    numbers from then on. If there are no labels, nothing is stored.

    Raises:
        InputError: a file belongs to another run or cannot be used. The message names the file, the location and the
            remedy.
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
        how = measuring_of(study_named(opened.manifest.study)).how(level=level)
        joined = joined_with(labels, kept)
        place = labels_place(opened.path, joined.task.name)
        shares, _ = label_shares(opened, results_of([opened]), joined, place, how)
        if labels.shares() or any(saved.task.name == labels.task.name for saved in kept):
            write_labels(opened.path, labels)
    return PeopleAgreement(annotator_agreement(labels, level=level), shares)


def _read_labels(files: Sequence[Path], key: Path | None, kept: Sequence[SavedLabels]) -> SavedLabels:
    """Read the labels in files, and join them with the run's labels for the same task."""
    from overton.judging.label_tasks import check_page, gather_labels

    if not files:
        raise InputError([Problem("labels", "", "name the files that the label pages saved, or sheets")])
    sheets = [file for file in files if file.suffix.casefold() != ".json"]
    pages = [file for file in files if file not in sheets]
    read = [(str(file), *_read_sheet(file, key, sheets[0])) for file in sheets]
    given = [(place, said) for place, _, said in read]
    task = read[0][1] if read else None
    if pages:
        task, more = _read_pages(pages, key, kept)
        given += more
    assert task is not None  # at least one file was read
    before = next((saved_labels for saved_labels in kept if saved_labels.task.name == task.name), None)
    if not given and before is None:
        raise InputError([Problem(str(files[0]), "", "contains no labels; name the files that people saved")])
    return gather_labels(task, [(place, check_page(task, labels, place)) for place, labels in given], before)


def _read_sheet(sheet: Path, key: Path | None, first: Path) -> tuple[LabelTask, AnnotatorLabels]:
    """The task of a filled sheet, and its labels. A copy of a sheet has no key, and uses the key of the `first`
    sheet."""
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
    """The task of the files from pages and exports, and each person's labels with the file's name."""
    from overton.judging.label_studio import said_by
    from overton.judging.label_tasks import AnnotatorLabels, LabelTask

    read = [(file, read_label_file(file)) for file in files]
    said = [(file, content) for file, content in read if isinstance(content, AnnotatorLabels)]
    exports = [(file, content) for file, content in read if isinstance(content, list)]
    tasks = [file for file, content in read if isinstance(content, LabelTask)]
    if len(tasks) > 1 and key is None:
        raise InputError(
            [Problem(str(tasks[1]), "", f"belongs to another task than {tasks[0]}; name the files of one task")]
        )
    wanted = [labels.task for _, labels in said] + [row.data.overton_task for _, rows in exports for row in rows]
    task = task_for(key or next(iter(tasks), None), files, wanted, kept)
    given = [(str(file), labels) for file, labels in said]
    given += [(str(file), labels) for file, rows in exports for labels in said_by(task, rows, str(file))]
    return task, given
