"""Run folders and baselines as released versions wrote them: one set for each version, without reports, packed."""

from __future__ import annotations

import tarfile
from pathlib import Path

from .cases import GATES, LABELS, RUNS

__all__ = ["ARCHIVES", "FIRST", "GATES", "LABELS", "RUNS", "SETS", "VERSIONS", "archived", "unpack"]

SETS = Path(__file__).with_name("data")
"""The folder with a folder for each version that recorded a set."""
FIRST = "0.2.0"
ARCHIVES = SETS / FIRST
"""The set of the first version that recorded one."""
VERSIONS = sorted((folder.name for folder in SETS.iterdir()), key=lambda version: [*map(int, version.split("."))])


def archived(version: str) -> list[str]:
    """The runs of a version's set, in the order of the cases: keys of `RUNS`."""
    return [name for name in RUNS if (SETS / version / f"{name}.tar.xz").is_file()]


def unpack(name: str, folder: Path, version: str = FIRST) -> Path:
    """Unpack a stored run into a new folder below `folder`, with its human labels if it is a labelled case.

    Args:
        name: A key of `RUNS` or `LABELS`.
        folder: Where to make the folder.
        version: The version that made it.

    Returns:
        The run's folder.
    """
    run = folder / name
    for archive in (LABELS[name].run, name) if name in LABELS else (name,):
        with tarfile.open(SETS / version / f"{archive}.tar.xz") as packed:
            packed.extractall(run, filter="data")
    return run
