"""The user's confirmation of the addresses, keys and files that a run folder or a configuration file would reach.

Confirmations are stored in the user's own settings. If they were stored in the run folder or next to the configuration
file, whoever made that folder or file could forge them.
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
"""Seconds to wait while another process writes this short file."""


class _Confirmations(msgspec.Struct):
    """Addresses, keys and files that were used on this machine (`used`), or confirmed (`runs`, by the resolved path of
    the run or configuration file)."""

    format: int = FORMAT
    used: set[Reach] = msgspec.field(default_factory=set)
    runs: dict[str, set[Reach]] = msgspec.field(default_factory=dict)


_decode = msgspec.json.Decoder(_Confirmations).decode


def known(run: Path) -> set[Reach]:
    """All addresses, keys and files that this machine has used, or that were confirmed for this run or configuration
    file.

    Raises:
        RunError: the record of confirmations is damaged, or was written by an incompatible version.
    """
    found = _read_confirmations(_confirmations_file())
    return found.used | found.runs.get(str(run.resolve()), set())


def note(reached: Collection[Reach], run: Path | None = None) -> None:
    """Record addresses, keys and files as used. If `run` is given (a run's folder or a configuration file), record them
    as confirmed for that folder or file.

    Raises:
        RunError: the record of confirmations cannot be read or written.
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
"""A function that asks the user for confirmation. It gets sentences about what a run or configuration file may do, such
as 'NAME would send the content of ...'."""


@dataclass(frozen=True)
class Trust:
    """The way in which a user confirms what a folder or file would reach: in advance (`given`), or when asked
    (`confirm`)."""

    given: bool = False
    confirm: Confirm | None = None


def check_trusted(study: AnyStudy, run: Path, wanted: Requests, trust: Trust) -> None:
    """Ask the user to confirm all new addresses, keys and files that a run would reach. They are new if this machine
    has not used them, and they were not confirmed for the run.

    The user is asked before any key is read, any file is opened, or any connection is made.

    Raises:
        InputError: a model or its arguments are invalid, or something is not confirmed. The message says what the run
            would reach.
    """
    check_confirmed(run, reach_of_requests(study, wanted), trust)


def check_confirmed(place: Path, asked: Mapping[Reach, Sequence[str]], trust: Trust) -> None:
    """Ask the user to confirm what a run's folder or a configuration file would reach. Things that this machine has
    used, or that were confirmed before, need no confirmation. `asked` maps each thing to the names of the models or
    options that would reach it.

    Raises:
        InputError: something is not confirmed. The error lists each such thing with its effect.
    """
    if not asked:
        return
    known, trouble = _known_or_problem(place)
    strange = {reach: names for reach, names in asked.items() if reach not in known}
    if not strange:
        return
    said = [visible_line(f"{', '.join(names)} would {reach}") for reach, names in strange.items()]
    if not (trust.given or (trust.confirm and trust.confirm(place.resolve(), said))):
        raise InputError([*_refusal_problems(place, said, asked=trust.confirm is not None), *trouble])
    _try_to_note(strange, place, "you will be asked again")


def note_used(study: AnyStudy, wanted: Requests) -> None:
    """Record the addresses, keys and files of the models that the user named on this machine. Then the run can be
    resumed without a question."""
    if asked := reach_of_requests(study, wanted):
        _try_to_note(asked, None, "'overton resume' will ask whether it may reach them")


def _refusal_problems(place: Path, said: Sequence[str], *, asked: bool) -> list[Problem]:
    what, where = ("file", "it") if place.is_file() else ("run", "its manifest.json")
    unknown = f"this machine has not used it before, and it was not confirmed for this {what}"
    why = "was not confirmed" if asked else unknown
    look = f"check {where}, and if you trust it, use --trust (in Python trust=True)"
    return [Problem(str(place), "", f"{sentence}; {why}. No call was made: {look}") for sentence in said]


def _known_or_problem(run: Path) -> tuple[set[Reach], list[Problem]]:
    """Addresses, keys and files that need no confirmation, and a problem if earlier confirmations cannot be read."""
    try:
        return known(run), []
    except RunError as error:
        return set(), [Problem("earlier confirmations", "", str(error))]


def _try_to_note(reached: Mapping[Reach, Sequence[str]], run: Path | None, otherwise: str) -> None:
    try:
        note(list(reached), run)
    except RunError as error:
        warnings.warn(f"what this run reaches was not recorded, so {otherwise}: {error}", Notice, stacklevel=2)


def reach_of_requests(study: AnyStudy, wanted: Requests) -> dict[Reach, list[str]]:
    """The addresses, keys and files that the requested models and services would reach. Each comes with the names of
    the models and services that reach it.

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
