"""Digests of finished runs. If a run's digests have not changed, its results still hold, so no replay is needed."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from functools import cache
from hashlib import blake2b
from inspect import unwrap
from pathlib import Path

from overton.calls import Conduct
from overton.engine import digest
from overton.engine.journal_file import digest_outcomes
from overton.errors import JournalError
from overton.runs.folder import ITEMS, RunDigests, file_digest
from overton.runs.run import Run

_OVERTON = Path(__file__).parents[1]
_CONDUCTING = ("calls", "engine", "judging", "studies")
"""The folders of Overton whose code makes calls and records."""
_SOURCE = (".py", ".toml")
_PLAN = ("study", "seed", "options", "models", "items", "prompts", "precision", "shard")
"""The keys of a manifest that determine the calls of a run."""


def digests_of(run: Run) -> RunDigests:
    """The digests of a run as it is now.

    Raises:
        OSError: a file is missing or cannot be read.
        JournalError: the journal cannot be read.
    """
    study, manifest = run.study, run.manifest
    made = None if study.dataset is None else run.path / study.dataset.name
    return RunDigests(
        plan=digest([getattr(manifest, name) for name in _PLAN]),
        prompts=digest(study.prompts()),
        source=_source_digest(_name_of(study.conduct), study.record.__module__),
        items=file_digest(run.path / ITEMS),
        journal=digest_outcomes(run.journal_file),
        records=file_digest(run.records_file),
        dataset=file_digest(made) if made is not None and manifest.dataset else "",
    )


def is_as_finished(run: Run) -> bool:
    """Whether a run has finished, and its folder, code, prompts and plan are unchanged since then."""
    known = run.manifest.digests
    if not run.finished or known is None or not known.source:
        return False
    try:
        return digests_of(run) == known
    except (OSError, JournalError):  # a replay reports what is wrong
        return False


def _name_of(conduct: Conduct) -> str:
    own = unwrap(conduct)
    return f"{own.__module__}.{getattr(own, '__qualname__', type(own).__qualname__)}"


@cache
def _source_digest(conduct: str, module: str) -> str:
    """A digest of Overton's files that make calls and records, and of the name of the function that conducts trials.

    If the study's `module` is part of another package, the digest includes that package's files. It is '' if the module
    has no file, as in a notebook.
    """
    folders, package = [_OVERTON / room for room in _CONDUCTING], module.partition(".")[0]
    if package != _OVERTON.name:
        file = getattr(sys.modules[package], "__file__", None)
        if file is None:
            return ""
        folders.append(Path(file).parent if Path(file).name == "__init__.py" else Path(file))
    made = blake2b(conduct.encode(), digest_size=16)
    for path in _files_in(folders):
        made.update(f"{path.name} {path.stat().st_size} ".encode() + path.read_bytes())
    return made.hexdigest()


def _files_in(folders: Sequence[Path]) -> Iterator[Path]:
    for folder in folders:
        files = [folder] if folder.is_file() else sorted(folder.rglob("*"))
        yield from (path for path in files if path.suffix in _SOURCE and path.is_file())
