"""Disk space that a run sets aside, so that replies in flight can still be written when the disk becomes full."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from overton.errors import DiskError

__all__ = ["Reserve"]

_BLOCK = bytes(1 << 16)
_FULL = (errno.ENOSPC, errno.EDQUOT)


class Reserve:
    """A file that takes up space until it is freed. A killed process leaves it; the next one takes it over."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def take(self, size: int) -> None:
        """Take up this many bytes on the disk; none if that is impossible for another reason than a full disk.

        Raises:
            DiskError: there is too little space.
        """
        try:
            with self.path.open("wb") as file:
                for _ in range(-(-size // len(_BLOCK))):
                    file.write(_BLOCK)
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            self.free()
            if error.errno in _FULL:
                reason = f"{size / 1e6:.1f} MB cannot be set aside in it. Nothing was asked"
                raise DiskError(f"{self.path.parent}: the disk is full: {reason}") from error

    def free(self) -> bool:
        """Give the space back; False if none was taken."""
        try:
            self.path.unlink()
        except OSError:
            return False
        return True
