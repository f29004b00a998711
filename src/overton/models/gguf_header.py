"""Is a file a whole GGUF file? Asked before a run starts, because llama.cpp says only that it cannot load it."""

from __future__ import annotations

import mmap
import struct
from collections.abc import Callable
from pathlib import Path

from overton.errors import InputError, Problem

__all__ = ["check_gguf"]

_VERSIONS = (2, 3)
_SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
"""Bytes of a metadata value of each kind that has a fixed size, as the GGUF specification numbers them."""
_STRING, _ARRAY = 8, 9


def check_gguf(path: Path) -> None:
    """Walk through the file's header: metadata, then where each tensor's data begins, which must be within the file.

    A damage to the weights themselves, or an end within the very last tensor, is not seen.

    Raises:
        InputError: there is no such file, or it cannot be read, is no GGUF file, or ends too early.
    """
    try:
        with path.open("rb") as file:
            if not path.stat().st_size:
                raise ValueError("the file is empty")
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
                _Walk(data).whole_file()
    except FileNotFoundError:
        raise InputError([Problem(str(path), "", "there is no such file")]) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError([Problem(str(path), "", f"not a GGUF model that can be run: {reason}")]) from None


class _Walk:
    """Steps through a header; every step that would leave the file is an error."""

    def __init__(self, data: mmap.mmap) -> None:
        self._data = data
        self._size = len(data)
        self._at = 0

    def whole_file(self) -> None:
        if self._data[:4] != b"GGUF":
            raise ValueError("it does not begin with 'GGUF'")
        self._skip(4)
        version = self._number("<I")
        if version not in _VERSIONS:
            raise ValueError(f"its GGUF version is {version}; versions {_VERSIONS[0]} and {_VERSIONS[1]} are known")
        tensors, entries = self._number("<Q"), self._number("<Q")
        self._repeat(entries, self._entry)
        self._tensors(tensors)

    def _tensors(self, count: int) -> None:
        furthest = 0
        for _ in range(count):
            self._string()
            self._skip(8 * self._number("<I") + 4)  # its dimensions, its kind
            furthest = max(furthest, self._number("<Q"))
        self._skip(furthest + 1)

    def _entry(self) -> None:
        self._string()
        self._value(self._number("<I"))

    def _value(self, kind: int) -> None:
        if kind == _STRING:
            self._string()
        elif kind == _ARRAY:
            self._array()
        elif kind in _SIZES:
            self._skip(_SIZES[kind])
        else:
            raise ValueError(f"its metadata holds a value of the unknown kind {kind}")

    def _array(self) -> None:
        kind, count = self._number("<I"), self._number("<Q")
        if kind in _SIZES:
            self._skip(count * _SIZES[kind])
        elif kind == _STRING:
            self._repeat(count, self._string)
        else:
            raise ValueError(f"its metadata holds an array of the kind {kind}")

    def _repeat(self, count: int, step: Callable[[], None]) -> None:
        for _ in range(count):  # a count without end ends where the file does: each step takes bytes
            step()

    def _string(self) -> None:
        self._skip(self._number("<Q"))

    def _number(self, form: str) -> int:
        at = self._at
        self._skip(struct.calcsize(form))
        number: int = struct.unpack_from(form, self._data, at)[0]
        return number

    def _skip(self, count: int) -> None:
        self._at += count
        if self._at > self._size:
            raise ValueError("the file ends too early; fetch it again")
