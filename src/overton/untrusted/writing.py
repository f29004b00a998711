"""Files written entirely or not at all: under a temporary name in the same folder, then renamed."""

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
    """Write a file, replacing an earlier one: it is completely on disk, or nothing has changed.

    A link at its path is not followed, and a missing folder is not made. Returns `path`.

    Raises:
        RunError: it cannot be written; says why.
    """
    with unfinished(path, mode=mode) as (_, file):
        file.writelines(pieces)
    return path


@contextmanager
def unfinished(path: Path, *, mode: int = 0o666) -> Iterator[tuple[Path, BinaryIO]]:
    """A new file next to `path`, by name and open for writing; it replaces `path` if the block succeeds.

    If the block fails, it is removed; if the process is killed, the next write to the same path removes it.

    Raises:
        RunError: it cannot be made, written or renamed.
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
            if os.name != "nt":  # renamed while we have the lock, so that nobody removes it
                fresh.replace(path)
        if os.name == "nt":
            fresh.replace(path)
        sync_folder(path.parent)
    except (OSError, Unreadable) as error:
        raise cannot_be_written(path, error) from error
    finally:
        if fresh is not None:
            with suppress(OSError):  # it has been renamed
                fresh.unlink()


def make_folder(folder: Path) -> None:
    """Make a folder and its parents, if missing.

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
    """The error, in one line, for a file or folder that cannot be written."""
    return RunError(f"{path} cannot be written: {reason_of(error)}")


def sync_folder(folder: Path) -> None:
    """Sync a folder's names to disk, if the system can."""
    if os.name != "nt":
        with suppress(OSError):  # it may be writable but not readable, or on a file system without sync
            descriptor = os.open(folder, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)


def _check_place(path: Path) -> None:
    """Refuse to replace a device, a pipe or a folder by a file."""
    try:
        mode = os.lstat(path).st_mode
    except FileNotFoundError:
        return
    if not (stat.S_ISREG(mode) or stat.S_ISLNK(mode)):
        raise Unreadable("exists already and is not a file")


def _made(path: Path, mode: int) -> tuple[Path, BinaryIO]:
    """A new, locked file next to `path`."""
    while True:
        fresh = path.with_name(f".{path.name}.{secrets.token_hex(6)}.new")
        file = opened(fresh, os.O_RDWR | os.O_CREAT | os.O_EXCL, mode)
        if _locked(file.fileno()) and os.fstat(file.fileno()).st_nlink:
            return fresh, file
        file.close()  # another process took it for a leftover just before we locked it


def _clear(path: Path) -> None:
    """Remove killed processes' leftovers for this path: files with such a name that nobody has locked."""
    start = f".{path.name}."
    with suppress(OSError):  # it may be writable but not readable; other errors appear when the file is made
        for name in os.listdir(path.parent):
            if name.startswith(start) and _MADE.fullmatch(name.removeprefix(start)):
                _clear_one(path.with_name(name))


def _clear_one(left: Path) -> None:
    with suppress(OSError, Unreadable):  # another process is removing it just now, or it is not ours
        with opened(left, os.O_RDWR) as file:
            if os.name != "nt" and _locked(file.fileno(), surely=True):
                left.unlink()
        if os.name == "nt":
            left.unlink()  # refused while anybody has it open


def _locked(descriptor: int, *, surely: bool = False) -> bool:
    """Lock an open file until it is closed, so that others see that it is being written; False if it is locked.

    On a file system without locks it is not locked; with `surely` that is False too.
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
