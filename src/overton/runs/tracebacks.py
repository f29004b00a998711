"""The traceback of an error in another package's study, kept in the run folder for the study's author."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from overton.errors import RunError, StudyError
from overton.files.atomic import write_atomic
from overton.untrusted import visible

TRACEBACK = "traceback.txt"
"""The file in a run folder with the last such traceback. It shows code, but no values of variables."""


@contextmanager
def traceback_kept(run: Path) -> Iterator[None]:
    """If a study's error occurs in the block, write its traceback into the run folder, provided that the folder exists.

    Raises:
        StudyError: the block raised this error. The message names the file.
    """
    try:
        yield
    except StudyError as error:
        if error.kept is not None or not (run / "manifest.json").is_file():
            raise
        try:
            kept = write_atomic(run / TRACEBACK, [visible("".join(traceback.format_exception(error))).encode()])
        except RunError:  # for example, the disk is full; the study's error matters more
            raise error from error.__cause__
        raise error.kept_in(kept) from error.__cause__
