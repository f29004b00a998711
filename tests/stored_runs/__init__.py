"""Run folders as version 0.2.0 wrote them, without their reports, packed as one archive each."""

from __future__ import annotations

import tarfile
from pathlib import Path

from .cases import GATES, LABELS, RUNS

__all__ = ["ARCHIVES", "GATES", "LABELS", "RUNS", "unpack"]

ARCHIVES = Path(__file__).with_name("data")


def unpack(name: str, folder: Path) -> Path:
    """Unpack a stored run into a new folder below `folder`, with its human labels if it is a labelled case.

    Args:
        name: A key of `RUNS` or `LABELS`.
        folder: Where to make the folder.

    Returns:
        The run's folder.
    """
    run = folder / name
    for archive in (LABELS[name].run, name) if name in LABELS else (name,):
        with tarfile.open(ARCHIVES / f"{archive}.tar.xz") as packed:
            packed.extractall(run, filter="data")
    return run
