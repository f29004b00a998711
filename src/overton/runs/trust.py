"""The addresses, keys and files that a run folder would reach, shown and confirmed.

Confirmations are kept in the user's own configuration, never in a run folder: otherwise the folder's maker could write
them.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import msgspec
from filelock import FileLock, Timeout
from platformdirs import user_config_path

from overton.calls import Reach
from overton.errors import InputError, Notice, Problem, RunError
from overton.files.atomic import cannot_be_written, write_atomic
from overton.models.reach import reach_of as reach_of_model
from overton.retrieval.sources import reach_of as reach_of_source
from overton.runs.answerers import PAGES, ModelRequest, Requests
from overton.studies.study import AnyStudy
from overton.untrusted import decode_json, read_file, visible_line

FORMAT = 1
_MAX_BYTES = 2**24
_LOCK_TIMEOUT_S = 10.0
"""Seconds that another process may take to write this short file."""


class _Confirmations(msgspec.Struct):
    """`used` on this machine, in whichever run; `runs` has what was confirmed, by each run's resolved path."""

    format: int = FORMAT
    used: set[Reach] = msgspec.field(default_factory=set)
    runs: dict[str, set[Reach]] = msgspec.field(default_factory=dict)


_decode = msgspec.json.Decoder(_Confirmations).decode


def known(run: Path) -> set[Reach]:
    """Everything that this machine has used, or that was confirmed for this run.

    Raises:
        RunError: the record cannot be read: it is damaged, or of another version.
    """
    found = _read_confirmations(_confirmations_file())
    return found.used | found.runs.get(str(run.resolve()), set())


def note(reached: Collection[Reach], run: Path | None = None) -> None:
    """Record what was used, or with `run` what was confirmed for it.

    Raises:
        RunError: it cannot be read or written.
    """
    file = _confirmations_file()
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with FileLock(file.with_suffix(".lock"), timeout=_LOCK_TIMEOUT_S):
            confirmed = _read_confirmations(file)
            side = confirmed.used if run is None else confirmed.runs.setdefault(str(run.resolve()), set())
            if not side.issuperset(reached):
                side.update(reached)
                encoded = msgspec.json.encode(confirmed, order="sorted")
                write_atomic(file, [msgspec.json.format(encoded, indent=1)], mode=0o600)
    except (OSError, Timeout) as error:
        raise cannot_be_written(file, error) from error


def _confirmations_file() -> Path:
    return user_config_path("overton", appauthor=False) / "confirmed.json"


def _read_confirmations(file: Path) -> _Confirmations:
    def error(reason: str) -> RunError:
        return RunError(f"{file} cannot be read: {reason}; repair or delete it")

    found = read_file(file, _MAX_BYTES, partial(decode_json, decode=_decode), error, missing=_Confirmations())
    if found.format != FORMAT:
        raise RunError(f"{file} has format {found.format}; this version of Overton reads {FORMAT}")
    return found


Confirm = Callable[[Path, Sequence[str]], bool]
"""Asks the user whether a run may do what the sentences say, as 'NAME would send the content of ...'."""


@dataclass(frozen=True)
class Trust:
    """How trust in a folder's maker is established: given in advance (`given`), or by asking the user."""

    given: bool = False
    confirm: Confirm | None = None


def check_trusted(study: AnyStudy, run: Path, wanted: Requests, trust: Trust) -> None:
    """Ask for confirmation of what a run would reach that this machine has neither used nor confirmed for it.

    This happens before any key is read, file opened or connection made.

    Raises:
        InputError: a model or its arguments are invalid; or something is not confirmed: each with what it would do.
    """
    asked = _reach_of_run(study, wanted)
    if not asked:
        return
    known, trouble = _known_or_problem(run)
    strange = {reach: names for reach, names in asked.items() if reach not in known}
    if not strange:
        return
    said = [visible_line(f"{', '.join(names)} would {reach}") for reach, names in strange.items()]
    if not (trust.given or (trust.confirm and trust.confirm(run.resolve(), said))):
        raise InputError([*_refusal_problems(run, said, asked=trust.confirm is not None), *trouble])
    _try_to_note(strange, run, "you will be asked again")


def note_used(study: AnyStudy, wanted: Requests) -> None:
    """Record what a user named on this machine, so that the run resumes without a question."""
    if asked := _reach_of_run(study, wanted):
        _try_to_note(asked, None, "'overton resume' will ask whether it may reach them")


def _refusal_problems(run: Path, said: Sequence[str], *, asked: bool) -> list[Problem]:
    why = "was not confirmed" if asked else "this machine has not used it before, and it was not confirmed for this run"
    look = "check its manifest.json, and if you trust it, use --trust (in Python trust=True)"
    return [Problem(str(run), "", f"{sentence}; {why}. No call was made: {look}") for sentence in said]


def _known_or_problem(run: Path) -> tuple[set[Reach], list[Problem]]:
    """Everything that needs no question, and the problem if earlier confirmations cannot be read."""
    try:
        return known(run), []
    except RunError as error:
        return set(), [Problem("earlier confirmations", "", str(error))]


def _try_to_note(reached: Mapping[Reach, Sequence[str]], run: Path | None, otherwise: str) -> None:
    try:
        note(list(reached), run)
    except RunError as error:
        warnings.warn(f"what this run reaches was not recorded, so {otherwise}: {error}", Notice, stacklevel=2)


def _reach_of_run(study: AnyStudy, wanted: Requests) -> dict[Reach, list[str]]:
    """Everything that a run would reach, each with the names of the answerers that reach it.

    Raises:
        InputError: all problems with the names and arguments.
    """
    found: dict[Reach, list[str]] = {}
    problems: list[Problem] = []
    for role in study.role_names:
        for request in wanted.get(role, ()):
            try:
                for reach in _reach_of_request(study, role, request):
                    names = found.setdefault(reach, [])
                    names += [] if request.name in names else [request.name]
            except InputError as error:
                problems += error.problems
    if problems:
        raise InputError(problems)
    return found


def _reach_of_request(study: AnyStudy, role: str, request: ModelRequest) -> list[Reach]:
    if role in study.retrieval:
        return reach_of_source(request.spec, request.arguments, searches=role != PAGES)
    return reach_of_model(request.spec, request.arguments)
