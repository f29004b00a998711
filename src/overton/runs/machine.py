"""Checks, before any call, that a run can open enough files and has enough disk space."""

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
"""The number of files that a run opens besides connections (journal, tables, event loop). On a machine with two cores,
24 were counted."""
_FILES_PER_SOURCE = 4
"""The number of files per page source. Reading a page takes a connection and the pipes of a process."""
_LOCAL_SOURCES = ("starter", "index", "archive")
_FIXED_BYTES = 1 << 20
"""Bytes for manifest, items and report. A report with two issues took 0.34 MB."""
_BYTES_PER_CALL = 400
"""Bytes per call for journal and records. For one-word answers, the journal took 248 bytes and the records 32."""
_LOG_BYTES_PER_CALL, _MOST_LOG_BYTES = 12_288, 4 << 20
"""The size of SQLite's log before it is merged: up to three pages per commit, and a thousand pages in all."""
_RESERVE_BYTES_PER_CONNECTION, _LEAST_RESERVE_BYTES = 1 << 14, 1 << 20

Models = Mapping[str, Sequence[Model]]


def reserve_bytes(models: Models) -> int:
    """The disk space to reserve for replies in flight: 16 kB for each reply, but at least 1 MB in all."""
    connections = sum(model.connections for model in distinct_answerers(models) if not model.retrieves)
    return max(_LEAST_RESERVE_BYTES, _RESERVE_BYTES_PER_CONNECTION * connections)


def check_machine(out: Path, entries: Mapping[str, Sequence[ModelEntry]], models: Models, trials: int) -> None:
    """Refuse a run that could open too few files or has too little disk space; `trials` is the number of trials still
    to conduct.

    Raises:
        RunError: the machine allows too few files or has too little space. No request was sent.
    """
    check_files(_count_connections(entries, models))
    _check_space(out, models, trials)


def check_files(connections: int = 0) -> None:
    """Make sure that the process may open enough files. If needed, raise the process's own limit as far as the system
    allows.

    Raises:
        RunError: the system does not allow enough files.
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
        f" allows {hard}: raise the limit (ulimit -n {needed}){fewer}. No request was sent."
    )


def _count_connections(entries: Mapping[str, Sequence[ModelEntry]], models: Models) -> int:
    """The maximum number of connections to all models and sources outside this process."""
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
            " free. Free some space, or choose another folder. No request was sent."
        )
