"""A model's weights on a cluster node. If the node does not have them, they are sent once, checked and kept."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec

from overton.errors import OvertonError, RunError, Unreadable, reason_of
from overton.files.atomic import write_atomic
from overton.models.gguf import sha256_of
from overton.models.weights import cache_folder
from overton.untrusted import decode_json, read_bytes

_MAX_NOTE_BYTES = 2**16
_ABANDONED_AFTER_S = 86_400.0
"""Seconds after which Overton assumes that an unfinished file was abandoned."""


class Sought(msgspec.Struct, frozen=True):
    """Weights that are sought by their hash. `path` is their path on the run's own machine, and perhaps also on a node
    with a shared disk."""

    sha256: str
    size: int
    path: str


class _WeightsNote(msgspec.Struct, frozen=True):
    """The path of complete weights, and the file's state when they were found."""

    path: str
    size: int
    changed_ns: int


_decode = msgspec.json.Decoder(_WeightsNote).decode


class Shelf:
    """A node's folder for weights that are sent to it. It is in the user's cache on that node."""

    def __init__(self, sought: Sought, folder: Path | None = None) -> None:
        self._sought = sought
        self._folder = folder or cache_folder() / "weights" / "brought"
        self._own = self._folder / f"{sought.sha256}.gguf"
        self._note = self._folder / f"{sought.sha256}.json"
        self._unfinished = self._folder / f".{sought.sha256}-{os.getpid()}"

    def found(self) -> Path | None:
        """The path of the weights if this node has the complete file, otherwise None.

        The whole file is read only once. If its size and modification time are still the same later, Overton assumes
        that it is unchanged.
        """
        noted = self._read_note()
        for path in (self._own, Path(self._sought.path)):
            with contextlib.suppress(OSError):
                if not path.is_file() or path.stat().st_size != self._sought.size:
                    continue
                if noted == _describe(path) or sha256_of(path) == self._sought.sha256:
                    self._write_note(path)
                    return path
        return None

    def take(self, start: int, piece: bytes) -> None:
        """Append the next piece of the weights; `start` is its offset in bytes.

        Raises:
            OvertonError: the piece is not the next one, is too large, or does not fit on the disk.
        """
        with _name_folder_in_errors(self._folder):
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if start == 0:
                self._remove_abandoned()
            with self._unfinished.open("ab" if start else "wb") as file:
                if file.tell() != start or start + len(piece) > self._sought.size:
                    raise OvertonError("the weights arrived in pieces out of order")
                file.write(piece)

    def finish(self) -> Path:
        """Check and keep the weights, now that all pieces have arrived. Return their path.

        Raises:
            OvertonError: the pieces are not those of the weights sought. They are deleted.
        """
        with _name_folder_in_errors(self._folder):
            if sha256_of(self._unfinished) != self._sought.sha256:
                self._unfinished.unlink()
                raise OvertonError("the weights that arrived are not those sent: their hash differs")
            os.replace(self._unfinished, self._own)
            self._write_note(self._own)
        return self._own

    def _read_note(self) -> _WeightsNote | None:
        try:
            return decode_json(read_bytes(self._note, _MAX_NOTE_BYTES), _decode)
        except (OSError, Unreadable):
            return None

    def _write_note(self, path: Path) -> None:
        """Record where the weights are. If the cache is read-only, record nothing."""
        with contextlib.suppress(OSError, RunError):
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if self._read_note() != (note := _describe(path)):
                write_atomic(self._note, [msgspec.json.encode(note)])

    def _remove_abandoned(self) -> None:
        for path in self._folder.glob(f".{self._sought.sha256}-*"):
            with contextlib.suppress(OSError):
                if time.time() - path.stat().st_mtime > _ABANDONED_AFTER_S:
                    path.unlink()


def _describe(path: Path) -> _WeightsNote:
    status = path.stat()
    return _WeightsNote(str(path), status.st_size, status.st_mtime_ns)


@contextlib.contextmanager
def _name_folder_in_errors(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise OvertonError(f"weights cannot be stored in {folder}: {reason_of(error)}") from None
