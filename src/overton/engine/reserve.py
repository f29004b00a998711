"""Disk space that a run sets aside, so that replies in flight can still be written when the disk becomes full."""

from __future__ import annotations

import os
from pathlib import Path

from overton.errors import DiskError

__all__ = ["Reserve"]

_BLOCK = bytes(1 << 16)


class Reserve:
    """A file that takes up space until it is freed. A killed process leaves it; the next one takes it over."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def take(self, size: int) -> None:
        """Take up this many bytes, on the disk itself.

        Raises:
            DiskError: there is too little space.
        """
        try:
            with self.path.open("wb") as file:
                if hasattr(os, "posix_fallocate"):
                    os.posix_fallocate(file.fileno(), 0, size)
                else:
                    for _ in range(-(-size // len(_BLOCK))):
                        file.write(_BLOCK)
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            self.free()
            reason = f"{size / 1e6:.1f} MB cannot be set aside in it ({error.strerror}). Nothing was asked"
            raise DiskError(f"{self.path.parent}: the disk is full: {reason}") from error

    def free(self) -> bool:
        """Give the space back; False if none was taken."""
        try:
            self.path.unlink()
        except OSError:
            return False
        return True
