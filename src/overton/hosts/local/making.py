"""A new folder, completed under another name and then renamed: a partial folder never has the final name."""

from __future__ import annotations

import os
import re
import secrets
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from overton.errors import RunExists
from overton.untrusted.writing import cannot_be_written, make_folder, sync_folder

__all__ = ["new_folder"]

_MADE = re.compile(r"[0-9a-f]{12}\.lock")


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """A folder to fill next to `path`, renamed to it if the block succeeds; otherwise nothing is left of it.

    Missing parent folders are made. Leftovers of killed processes that were making the same `path` are removed: those
    that are ours by name and locked by no living process.

    Raises:
        RunExists: something already exists at `path`, or has appeared meanwhile.
        RunError: it cannot be made.
    """
    _check_free(path)
    lock: FileLock | None = None
    try:
        make_folder(path.parent)
        _clear(path)
        lock, fresh = _locked_folder(path)
        fresh.mkdir()
        yield fresh
        sync_folder(fresh)
        _check_free(path)
        fresh.rename(path)
        sync_folder(path.parent)
    except OSError as error:
        _check_free(path)  # it appeared at this very moment
        raise cannot_be_written(path, error) from error
    finally:
        if lock is not None:
            _removed(lock)


def _check_free(path: Path) -> None:
    if os.path.lexists(path):
        raise RunExists(str(path), is_run=(path / "manifest.json").is_file())


def _locked_folder(path: Path) -> tuple[FileLock, Path]:
    """A lock that we have taken, and the name of its folder.

    The lock is made before the folder and removed after it, so that no folder exists without one.
    """
    while True:
        lock = FileLock(path.with_name(f".{path.name}.{secrets.token_hex(6)}.lock"))
        with suppress(Timeout):  # another process took it for a leftover just before we locked it
            lock.acquire(timeout=0)
            return lock, _folder_of(lock)


def _folder_of(lock: FileLock) -> Path:
    return Path(lock.lock_file).with_suffix(".new")


def _clear(path: Path) -> None:
    start = f".{path.name}."
    for name in os.listdir(path.parent):
        left = path.with_name(name)
        if name.startswith(start) and _MADE.fullmatch(name.removeprefix(start)) and _is_ours(left):
            lock = FileLock(left)
            with suppress(Timeout):  # a living process is making a folder for the same path
                lock.acquire(timeout=0)
                _removed(lock)


def _is_ours(left: Path) -> bool:
    """Whether it is a file, not a link, of the current user."""
    with suppress(OSError):  # its process has just ended
        status = os.lstat(left)
        return stat.S_ISREG(status.st_mode) and (os.name == "nt" or status.st_uid == os.geteuid())
    return False


def _removed(lock: FileLock) -> None:
    """Remove what is left of a folder whose lock we have, and the lock; no link in it is followed."""
    shutil.rmtree(_folder_of(lock), ignore_errors=True)  # usually it has been renamed
    lock.release()
    with suppress(OSError):  # the next process clears it
        Path(lock.lock_file).unlink()
