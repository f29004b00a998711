"""Functions for files in folders that may come from somebody else. Links are not followed, and sizes are limited."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, TypeVar

from overton.errors import Unreadable, reason_of

T = TypeVar("T")

_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)
_BINARY = getattr(os, "O_BINARY", 0)
_CLOEXEC = getattr(os, "O_CLOEXEC", 0)


def no_links(folder: Path) -> None:
    """Refuse a folder that contains, at any depth, a symbolic link, a device, a pipe or a socket.

    Call this before the folder is used. Anyone who can write to the folder can still add links later. `opened` does not
    follow them, except on Windows, where users by default have no right to make links.

    Raises:
        Unreadable: the folder contains a link or special file. `Unreadable.place` is its path.
    """
    for where, folders, files in os.walk(folder):
        for name in (*folders, *files):
            path = os.path.join(where, name)
            try:
                mode = os.lstat(path).st_mode
            except FileNotFoundError:
                continue  # for example a temporary file that has just been renamed
            except OSError as error:
                raise Unreadable(f"cannot be checked: {reason_of(error)}", place=path) from None
            if stat.S_ISLNK(mode):
                raise Unreadable("is a symbolic link, which is not followed", place=path)
            if not (stat.S_ISDIR(mode) or stat.S_ISREG(mode)):
                raise Unreadable("is neither a file nor a folder", place=path)


def opened(path: Path, flags: int = os.O_RDONLY, mode: int = 0o666) -> BinaryIO:
    """Open a file in binary mode. Links and special files are refused. `flags` are the flags of `os.open`.

    Raises:
        Unreadable: the path is a link, or not a file.
        OSError: the file does not exist, or may not be opened.
    """
    try:
        descriptor = os.open(path, flags | _NOFOLLOW | _BINARY | _CLOEXEC | getattr(os, "O_NONBLOCK", 0), mode)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise Unreadable("is a symbolic link, which is not followed", place=str(path)) from None
        raise
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise Unreadable("is not a file", place=str(path))
    writes = flags & (os.O_WRONLY | os.O_RDWR)
    return os.fdopen(descriptor, ("ab" if flags & os.O_APPEND else "wb") if writes else "rb")


def read_bytes(path: Path, most: int) -> bytes:
    """The content of a file of at most `most` bytes. Links are not followed.

    Raises:
        Unreadable: the file has more than `most` bytes, or the path is a link or not a file.
        OSError: the file does not exist, or may not be opened.
    """
    with opened(path) as file:
        # A read allocates as much memory as requested, even if the file is small.
        content = file.read(min(os.fstat(file.fileno()).st_size, most) + 1)
    if len(content) > most:
        raise Unreadable(f"is larger than {most:,} bytes", place=str(path))
    return content


def read_file(
    path: Path, most: int, decode: Callable[[bytes], T], error: Callable[[str], Exception], *, missing: T | None = None
) -> T:
    """Read a file of at most `most` bytes and decode it. If there is no file and `missing` is not None, return
    `missing`.

    Raises:
        Exception: the file cannot be read or decoded. `error` makes the exception from the reason.
    """
    try:
        return decode(read_bytes(path, most))
    except (OSError, Unreadable) as failed:
        if isinstance(failed, FileNotFoundError) and missing is not None:
            return missing
        raise error(reason_of(failed)) from failed
