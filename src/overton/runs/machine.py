"""The open files and disk space that a run needs, checked before anything is asked."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from overton.calls.model import Model
from overton.errors import RunError
from overton.models import parse_spec
from overton.runs.answerers import distinct_answerers
from overton.runs.folder import ModelEntry

_OWN_FILES = 48
"""Files that a run opens besides connections; 24 were counted on two cores (journal, tables, event loop)."""
_FILES_PER_SOURCE = 4
"""A page that is read takes a connection and the pipes of a process."""
_LOCAL_SOURCES = ("starter", "index", "archive")
_FIXED_BYTES = 1 << 20
"""Manifest, items and report. Reports took 0.34 MB with two issues."""
_BYTES_PER_CALL = 400
"""Journal and records. 248 bytes of journal and 32 of records were measured for one-word answers."""
_LOG_BYTES_PER_CALL, _MOST_LOG_BYTES = 12_288, 4 << 20
"""SQLite's log before it is merged: up to three pages for a commit, and a thousand in all."""
_RESERVE_BYTES_PER_CONNECTION, _LEAST_RESERVE_BYTES = 1 << 14, 1 << 20

Models = Mapping[str, Sequence[Model]]


def reserve_bytes(models: Models) -> int:
    """How much space to set aside for replies in flight: 16 kB for each, and at least 1 MB."""
    connections = sum(model.connections for model in distinct_answerers(models) if not model.retrieves)
    return max(_LEAST_RESERVE_BYTES, _RESERVE_BYTES_PER_CONNECTION * connections)


def check_machine(out: Path, entries: Mapping[str, Sequence[ModelEntry]], models: Models, trials: int) -> None:
    """Refuse a run for which the machine has too few files or too little space; `trials` are those still to conduct.

    Raises:
        RunError: it has; nothing was asked.
    """
    check_files(_count_connections(entries, models))
    _check_space(out, models, trials)


def check_files(connections: int = 0) -> None:
    """Make sure that a process may open enough files, raising its own limit as far as the system allows.

    Raises:
        RunError: the system does not allow it.
    """
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return
    needed = _OWN_FILES + connections
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return
    if hard == resource.RLIM_INFINITY or hard >= needed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))
        return
    fewer = " or use fewer connections (--model-arg NAME connections=N)" if connections else ""
    raise RunError(
        f"this run may open {needed} files ({connections} connections and {_OWN_FILES} of its own), but the system"
        f" allows {hard}: raise the limit (ulimit -n {needed}){fewer}. Nothing was asked."
    )


def _count_connections(entries: Mapping[str, Sequence[ModelEntry]], models: Models) -> int:
    """The most connections of all models and sources that are not in this process."""
    found: dict[int, int] = {}
    for role, opened in models.items():
        for entry, model in zip(entries.get(role, ()), opened, strict=False):
            if model.retrieves:
                here = entry.spec.partition("/")[0] in _LOCAL_SOURCES
                found[id(model)] = 0 if here else _FILES_PER_SOURCE * model.connections
            elif not parse_spec(entry.spec).runs_here:
                servers = [value for key, value in entry.arguments if key == "base_url"]
                found[id(model)] = model.connections * max(1, len(servers))
    return sum(found.values())


def _check_space(out: Path, models: Models, trials: int) -> None:
    """Refuse a run that the disk cannot hold even if each trial makes a single call with a short answer."""
    log = min(_MOST_LOG_BYTES, _LOG_BYTES_PER_CALL * trials)
    needed = _FIXED_BYTES + reserve_bytes(models) + log + _BYTES_PER_CALL * trials
    there = next(folder for folder in (out, *out.absolute().parents) if folder.exists())
    free = shutil.disk_usage(there).free
    if free < needed:
        raise RunError(
            f"{out}: the disk is full: this run needs at least {needed / 1e6:.1f} MB, and {free / 1e6:.1f} MB are"
            " free. Free some space, or choose another folder. Nothing was asked."
        )
