"""What this machine has reached in runs started here, and what was confirmed for somebody else's run.

It is kept in the user's own configuration, never in a run folder: otherwise the folder's maker could write it.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import msgspec
from filelock import FileLock, Timeout
from platformdirs import user_config_path

from overton.calls import Reach
from overton.errors import RunError, Unreadable, reason_of
from overton.files.atomic import cannot_be_written, write_atomic
from overton.untrusted import decode_json, read_bytes

__all__ = ["known", "note"]

FORMAT = 1
_LARGEST = 2**24
_PATIENCE = 10.0
"""Seconds that another process may take to write this short file."""


class _Confirmed(msgspec.Struct):
    """`used` on this machine, in whichever run; `runs` has what was confirmed, by each run's resolved path."""

    format: int = FORMAT
    used: set[Reach] = msgspec.field(default_factory=set)
    runs: dict[str, set[Reach]] = msgspec.field(default_factory=dict)


_decode = msgspec.json.Decoder(_Confirmed).decode


def known(run: Path) -> set[Reach]:
    """What this machine has used, or what was confirmed for this run.

    Raises:
        RunError: the record cannot be read: it is damaged, or of another version.
    """
    found = _read(_file())
    return found.used | found.runs.get(str(run.resolve()), set())


def note(reached: Collection[Reach], run: Path | None = None) -> None:
    """Record what was used, or with `run` what was confirmed for it.

    Raises:
        RunError: it cannot be read or written.
    """
    file = _file()
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with FileLock(file.with_suffix(".lock"), timeout=_PATIENCE):
            confirmed = _read(file)
            side = confirmed.used if run is None else confirmed.runs.setdefault(str(run.resolve()), set())
            if not side.issuperset(reached):
                side.update(reached)
                encoded = msgspec.json.encode(confirmed, order="sorted")
                write_atomic(file, [msgspec.json.format(encoded, indent=1)], mode=0o600)
    except (OSError, Timeout) as error:
        raise cannot_be_written(file, error) from error


def _file() -> Path:
    return user_config_path("overton", appauthor=False) / "confirmed.json"


def _read(file: Path) -> _Confirmed:
    try:
        found = decode_json(read_bytes(file, _LARGEST), _decode)
    except FileNotFoundError:
        return _Confirmed()
    except (OSError, Unreadable) as error:
        reason = reason_of(error)
        raise RunError(f"{file} cannot be read: {reason}; repair or delete it") from error
    if found.format != FORMAT:
        raise RunError(f"{file} has format {found.format}; this version of Overton reads {FORMAT}")
    return found
