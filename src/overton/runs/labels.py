"""Files of human labels: the task, the file that each annotator saved, and the files that a run stores. Any of these
files may come from somebody else."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import msgspec
from filelock import FileLock, Timeout

from overton.errors import InputError, Problem, RunError, Unreadable, quoted, reason_of
from overton.files.atomic import cannot_be_written, make_folder, write_atomic
from overton.untrusted import decode_json, read_bytes

if TYPE_CHECKING:
    from overton.judging.label_studio import LabelStudioExport
    from overton.judging.label_tasks import AnnotatorLabels, LabelTask, SavedLabels


FOLDER = "labels"
"""The folder in a run with human labels, one file per task."""

TASK = "task.json"
"""The task, next to the labelling pages. Annotators must not see this file, because it contains the judge's labels."""

_MAX_BYTES = 200_000_000
_LOCK_TIMEOUT_S = 60.0
"""Seconds to wait for the lock. It is held while the numbers of a run are corrected, which takes long in a large
run."""
_Value = TypeVar("_Value")


class _LabelFileHead(msgspec.Struct):
    """The keys that distinguish a task from an annotator's labels."""

    rows: msgspec.Raw = msgspec.Raw()
    person: msgspec.Raw = msgspec.Raw()


def read_label_file(file: Path) -> LabelTask | AnnotatorLabels | list[LabelStudioExport]:
    """Read a file: a task, the labels that an annotator saved, or an export of Label Studio.

    Raises:
        InputError: the file cannot be read, or is none of these.
    """
    from overton.judging.label_studio import LabelStudioExport
    from overton.judging.label_tasks import AnnotatorLabels, LabelTask, check_task

    content = _read_content(file)
    if content.lstrip()[:1] == b"[":
        return _decode_content(file, content, msgspec.json.Decoder(list[LabelStudioExport]).decode)
    head = _decode_content(file, content, msgspec.json.Decoder(_LabelFileHead).decode)
    if bytes(head.rows):
        task = _decode_content(file, content, msgspec.json.Decoder(LabelTask).decode)
        check_task(task, str(file))
        return task
    if not bytes(head.person):
        reason = "contains neither a task nor human labels; name the files that the pages saved"
        raise InputError([Problem(str(file), "", reason)])
    return _decode_content(file, content, msgspec.json.Decoder(AnnotatorLabels).decode)


def task_for(key: Path | None, files: Sequence[Path], wanted: Sequence[str], kept: Sequence[SavedLabels]) -> LabelTask:
    """Find the task to which human labels belong: in `key`, otherwise in the run, otherwise next to the label files.

    `wanted` are the names of the tasks that the label files state.

    Raises:
        InputError: there is no task, or the file is not a task.
    """
    from overton.judging.label_tasks import LabelTask

    known = next((saved_labels.task for saved_labels in kept if saved_labels.task.name in wanted), None)
    if key is None and known is not None:
        return known
    beside = key if key is not None else files[0].with_name(TASK)
    if key is None and not beside.exists():
        reason = f"there is no {TASK} in the same folder; name the task that was written with the pages (--key)"
        raise InputError([Problem(str(files[0]), "", reason)])
    found = read_label_file(beside)
    if not isinstance(found, LabelTask):
        raise InputError([Problem(str(beside), "", "contains human labels and is not a task; name the task (--key)")])
    return found


def labels_file(run: Path, task: str) -> Path:
    """The file in which a run stores the labels of a task."""
    return run / FOLDER / f"{task}.json"


def labels_place(run: Path, task: str) -> str:
    """The location of a task's labels, as messages name it: the task's file, or the folder if several tasks were
    joined."""
    from overton.judging.joined_tasks import JOINED

    return str(run / FOLDER if JOINED in task else labels_file(run, task))


@contextmanager
def labels_locked(run: Path) -> Iterator[None]:
    """Lock a run's labels while they are read and rewritten. Otherwise labels could be lost if two processes do this at
    the same time.

    Raises:
        RunError: another process holds the lock for too long, or the lock cannot be made.
    """
    lock = FileLock(run / f"{FOLDER}.lock")
    try:
        lock.acquire(timeout=_LOCK_TIMEOUT_S)
    except Timeout as error:
        raise RunError(f"another process is working on the labels of {run}: try again when it has finished") from error
    except OSError as error:
        raise cannot_be_written(Path(lock.lock_file), error) from error
    try:
        yield
    finally:
        lock.release()


def write_labels(run: Path, labels: SavedLabels) -> None:
    """Write the labels of a task into a run's folder, replacing the labels there. `labels_locked` must have locked the
    folder.

    Raises:
        RunError: it cannot be written.
    """
    make_folder(run / FOLDER)
    content = msgspec.json.format(msgspec.json.encode(labels), indent=1)
    write_atomic(labels_file(run, labels.task.name), [content])


def read_labels(run: Path) -> list[SavedLabels]:
    """Read the human labels of a run's units, by task; empty if there are none.

    Raises:
        InputError: a file is damaged, or does not contain labels.
    """
    folder = run / FOLDER
    try:
        files = sorted(path for path in folder.iterdir() if not path.name.startswith("."))
    except FileNotFoundError:
        return []
    except OSError as error:
        raise InputError([Problem(str(folder), "", f"cannot be read: {reason_of(error)}")]) from error
    return [_read_saved_labels(file) for file in files]


def _read_saved_labels(file: Path) -> SavedLabels:
    from overton.judging.label_tasks import SavedLabels, check_labels

    found = _decode_content(file, _read_content(file), msgspec.json.Decoder(SavedLabels).decode)
    check_labels(found, str(file))
    if file.name != f"{found.task.name}.json":
        reason = f"contains labels of {quoted(found.task.name)}: rename it after its task, or remove it"
        raise InputError([Problem(str(file), "task.name", reason)])
    return found


def _read_content(file: Path) -> bytes:
    try:
        return read_bytes(file, _MAX_BYTES)
    except Unreadable as error:
        raise InputError([Problem(str(file), "", error.reason)]) from error
    except OSError as error:
        raise InputError([Problem(str(file), "", f"cannot be read: {reason_of(error)}")]) from error


def _decode_content(file: Path, content: bytes, decode: Callable[[bytes | str], _Value]) -> _Value:
    try:
        return decode_json(content, decode)
    except Unreadable as error:
        reason, _, key = error.reason.partition(" - at `$")
        advice = f"cannot be read: {reason}; save it again where it was made"
        raise InputError([Problem(str(file), key.removesuffix("`").removeprefix("."), advice)]) from error
