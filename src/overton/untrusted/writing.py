"""Files written whole or not at all: under a name of their own beside the place that they are for, then put there."""

from __future__ import annotations

import os
import re
import secrets
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from overton.errors import RunError, Unreadable, reason_of
from overton.untrusted.files import opened

__all__ = ["cannot_be_written", "make_folder", "sync_folder", "unfinished", "write_whole"]

_MADE = re.compile(r"[0-9a-f]{12}\.new")


def write_whole(path: Path, pieces: Iterable[bytes], *, mode: int = 0o666) -> Path:
    """Write a file, in the place of an earlier one: it is there whole, on the disk, or nothing has changed.

    No link in its place is followed, and a folder that is not there is not made. Gives `path`.

    Raises:
        RunError: it cannot be written; says why.
    """
    with unfinished(path, mode=mode) as (_, file):
        file.writelines(pieces)
    return path


@contextmanager
def unfinished(path: Path, *, mode: int = 0o666) -> Iterator[tuple[Path, BinaryIO]]:
    """A new file beside `path`, by name and open to write; it takes the place of `path` when the block ends well.

    Where the block does not, it is removed; where the process is killed, the next file for the same place clears it.

    Raises:
        RunError: it cannot be made, written or put in its place.
    """
    fresh = None
    try:
        _check_place(path)
        _clear(path)
        fresh, file = _made(path, mode)
        with file:
            yield fresh, file
            file.flush()
            os.fsync(file.fileno())
            if os.name != "nt":  # put in its place while we hold it, so that nobody clears it
                fresh.replace(path)
        if os.name == "nt":
            fresh.replace(path)
        sync_folder(path.parent)
    except (OSError, Unreadable) as error:
        raise cannot_be_written(path, error) from error
    finally:
        if fresh is not None:
            with suppress(OSError):  # it is in its place
                fresh.unlink()


def make_folder(folder: Path) -> None:
    """Make a folder, and those around it, where it is not there.

    Raises:
        RunError: it cannot be made.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError) as error:
        there = next(one for one in (folder, *folder.parents) if os.path.lexists(one))
        raise RunError(f"{folder} cannot be made: {there} is not a folder") from error
    except OSError as error:
        raise RunError(f"{folder} cannot be made: {reason_of(error)}") from error


def cannot_be_written(path: Path, error: Exception) -> RunError:
    """What is told, in one line, of a file or folder that cannot be written."""
    return RunError(f"{path} cannot be written: {reason_of(error)}")


def sync_folder(folder: Path) -> None:
    """Have a folder's names on the disk, where the system knows how."""
    if os.name != "nt":
        with suppress(OSError):  # it may be written to and not read, or lie where nothing is synced
            descriptor = os.open(folder, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)


def _check_place(path: Path) -> None:
    """Refuse to put a file in the place of a device, a pipe or a folder."""
    try:
        mode = os.lstat(path).st_mode
    except FileNotFoundError:
        return
    if not (stat.S_ISREG(mode) or stat.S_ISLNK(mode)):
        raise Unreadable("is there already, and is not a file")


def _made(path: Path, mode: int) -> tuple[Path, BinaryIO]:
    """A new file beside `path` that we hold."""
    while True:
        fresh = path.with_name(f".{path.name}.{secrets.token_hex(6)}.new")
        file = opened(fresh, os.O_RDWR | os.O_CREAT | os.O_EXCL, mode)
        if _held(file.fileno()) and os.fstat(file.fileno()).st_nlink:
            return fresh, file
        file.close()  # another process took it for one left over, in the moment before we held it


def _clear(path: Path) -> None:
    """Remove what killed processes left of files for this place: whatever has such a name and is held by nobody."""
    start = f".{path.name}."
    with suppress(OSError):  # it may be written to and not read; what else is wrong is told when the file is made
        for name in os.listdir(path.parent):
            if name.startswith(start) and _MADE.fullmatch(name.removeprefix(start)):
                _clear_one(path.with_name(name))


def _clear_one(left: Path) -> None:
    with suppress(OSError, Unreadable):  # another process clears it just now, or it is none of ours
        with opened(left, os.O_RDWR) as file:
            if os.name != "nt" and _held(file.fileno(), surely=True):
                left.unlink()
        if os.name == "nt":
            left.unlink()  # refused while anybody has it open


def _held(descriptor: int, *, surely: bool = False) -> bool:
    """Hold an open file until it is closed, so that others see that it is being written; False where another does.

    Where the file system knows no locks it is not held, and with `surely` that is False, too.
    """
    if os.name == "nt":
        return True
    import fcntl

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return not surely
    return True
