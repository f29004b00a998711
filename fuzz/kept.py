"""Inputs that once crashed: one file each, in a folder named like the target. Those that compress well end in '.gz'."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path

__all__ = ["CORPUS", "bytes_of", "cases"]

CORPUS = Path(__file__).with_name("corpus")


def cases() -> Iterator[tuple[str, Path]]:
    """Target and file of each, in order."""
    for path in sorted(CORPUS.glob("*/*")):
        yield path.parent.name, path


def bytes_of(path: Path) -> bytes:
    """The case that a file of the corpus holds."""
    held = path.read_bytes()
    return gzip.decompress(held) if path.suffix == ".gz" else held
