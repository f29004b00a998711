"""Functions that write a file or folder completely or not at all."""

from __future__ import annotations

import os
import re
import secrets
import shutil
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from filelock import FileLock, Timeout

from overton.errors import RunError, RunExists, Unreadable, reason_of
from overton.untrusted.files import opened

_FILE_SUFFIX = re.compile(r"[0-9a-f]{12}\.new")


def write_atomic(path: Path, pieces: Iterable[bytes], *, mode: int = 0o666) -> Path:
    """Write a file, replacing an earlier one. Afterwards the file is completely on disk, or nothing has changed.

    A link at this path is not followed, and a missing folder is not made. Returns `path`.

    Raises:
        RunError: the file cannot be written; the message gives the reason.
    """
    with replacing(path, mode=mode) as (_, file):
        file.writelines(pieces)
    return path


@contextmanager
def replacing(path: Path, *, mode: int = 0o666) -> Iterator[tuple[Path, BinaryIO]]:
    """Make a new file next to `path`, open it for writing, and yield its name and the open file.

    If the block succeeds, the new file replaces `path`. If the block fails, the new file is removed. If the process is
    killed, the next write to the same path removes the new file.

    Raises:
        RunError: the file cannot be made, written or renamed.
    """
    fresh = None
    try:
        _check_place(path)
        _clear_files(path)
        fresh, file = _open_new_file(path, mode)
        with file:
            yield fresh, file
            file.flush()
            os.fsync(file.fileno())
            if os.name != "nt":  # rename while this process has the lock, so that no other process removes the file
                fresh.replace(path)
        if os.name == "nt":
            fresh.replace(path)
        sync_folder(path.parent)
    except (OSError, Unreadable) as error:
        raise cannot_be_written(path, error) from error
    finally:
        if fresh is not None:
            with suppress(OSError):  # the file was renamed
                fresh.unlink()


def make_folder(folder: Path) -> None:
    """Make a folder and its parents, if missing.

    Raises:
        RunError: the folder cannot be made.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError) as error:
        there = next(parent for parent in (folder, *folder.parents) if os.path.lexists(parent))
        raise RunError(f"{folder} cannot be created: {there} is not a folder") from error
    except OSError as error:
        raise RunError(f"{folder} cannot be created: {reason_of(error)}") from error


def cannot_be_written(path: Path, error: Exception) -> RunError:
    """The error for a file or folder that cannot be written, in one line."""
    return RunError(f"{path} cannot be written: {reason_of(error)}")


def sync_folder(folder: Path) -> None:
    """Sync a folder's names to disk, if the system supports it."""
    if os.name != "nt":
        with suppress(OSError):  # the folder may be writable but not readable, or on a file system without sync
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


def _open_new_file(path: Path, mode: int) -> tuple[Path, BinaryIO]:
    """A new, locked file next to `path`."""
    while True:
        fresh = path.with_name(f".{path.name}.{secrets.token_hex(6)}.new")
        file = opened(fresh, os.O_RDWR | os.O_CREAT | os.O_EXCL, mode)
        if _try_lock(file.fileno()) and os.fstat(file.fileno()).st_nlink:
            return fresh, file
        file.close()  # another process has locked or removed the new file as a leftover


def _clear_files(path: Path) -> None:
    """Remove new files that killed processes left next to this path. Such files are recognised by their names, and no
    process has locked them."""
    start = f".{path.name}."
    with suppress(OSError):  # the folder may be writable but not readable; other errors appear when the file is made
        for name in os.listdir(path.parent):
            if name.startswith(start) and _FILE_SUFFIX.fullmatch(name.removeprefix(start)):
                _clear_file(path.with_name(name))


def _clear_file(left: Path) -> None:
    with suppress(OSError, Unreadable):  # another process is removing the file, or it belongs to another user
        with opened(left, os.O_RDWR) as file:
            if os.name != "nt" and _try_lock(file.fileno(), surely=True):
                left.unlink()
        if os.name == "nt":
            left.unlink()  # refused while any process has the file open


def _try_lock(descriptor: int, *, surely: bool = False) -> bool:
    """Lock an open file until it is closed, so that other processes know that it is in use.

    Return False if another process has the lock. On a file system without locks, return True, or False if `surely` is
    set.
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


_LOCK_SUFFIX = re.compile(r"[0-9a-f]{12}\.lock")


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """Yield a new folder next to `path`. If the block succeeds, the new folder is renamed to `path`; otherwise it is
    removed.

    Missing parent folders are made. If a process was killed while it made the same `path`, the folder that it left is
    removed. Such a folder is recognised by its name, and by a lock that no process holds.

    Raises:
        RunExists: something exists at `path`, or appeared there while the folder was being made.
        RunError: the folder cannot be made.
    """
    _check_free(path)
    lock: FileLock | None = None
    try:
        make_folder(path.parent)
        _clear_folders(path)
        lock, fresh = _lock_new_folder(path)
        fresh.mkdir()
        yield fresh
        sync_folder(fresh)
        _check_free(path)
        fresh.rename(path)
        sync_folder(path.parent)
    except OSError as error:
        _check_free(path)  # the folder appeared just now
        raise cannot_be_written(path, error) from error
    finally:
        if lock is not None:
            _remove_folder(lock)


def _check_free(path: Path) -> None:
    if os.path.lexists(path):
        raise RunExists(str(path), is_run=(path / "manifest.json").is_file())


def _lock_new_folder(path: Path) -> tuple[FileLock, Path]:
    """Take a lock, and return it with the name of its folder.

    The lock is made before the folder and removed after it, so every folder has a lock.
    """
    while True:
        lock = FileLock(path.with_name(f".{path.name}.{secrets.token_hex(6)}.lock"))
        with suppress(Timeout):  # another process has locked the new file, to remove it as a leftover
            lock.acquire(timeout=0)
            return lock, _folder_of(lock)


def _folder_of(lock: FileLock) -> Path:
    return Path(lock.lock_file).with_suffix(".new")


def _clear_folders(path: Path) -> None:
    start = f".{path.name}."
    for name in os.listdir(path.parent):
        left = path.with_name(name)
        if name.startswith(start) and _LOCK_SUFFIX.fullmatch(name.removeprefix(start)) and _is_ours(left):
            lock = FileLock(left)
            with suppress(Timeout):  # a living process is making a folder for the same path
                lock.acquire(timeout=0)
                _remove_folder(lock)


def _is_ours(left: Path) -> bool:
    """Whether the path is a file (not a link) of the current user."""
    with suppress(OSError):  # the process that owned it has just ended
        status = os.lstat(left)
        return stat.S_ISREG(status.st_mode) and (os.name == "nt" or status.st_uid == os.geteuid())
    return False


def _remove_folder(lock: FileLock) -> None:
    """Remove a folder and its lock, which this process holds. Links in the folder are not followed."""
    shutil.rmtree(_folder_of(lock), ignore_errors=True)  # usually the folder was renamed
    lock.release()
    with suppress(OSError):  # the next process removes it
        Path(lock.lock_file).unlink()
