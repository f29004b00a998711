"""Which Inspect AI this was made for, said before anything of it is used."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

from overton.errors import InputError, MissingExtra, Problem

__all__ = ["LEAST", "TESTED", "check_inspect"]

LEAST = "0.3.285"
"""The oldest Inspect AI that this works with."""
TESTED = "0.3.285"
"""The newest that the tests ran with."""


def check_inspect() -> None:
    """Refuse to go on without Inspect AI, or with one that is too old.

    Raises:
        MissingExtra: it is not installed.
        InputError: it is too old.
    """
    try:
        installed = version("inspect-ai")
    except PackageNotFoundError:
        raise MissingExtra("Overton's tasks in Inspect AI", "inspect") from None
    if _numbers(installed) < _numbers(LEAST):
        reason = (
            f"is too old: Overton's tasks need {LEAST} or newer (tested up to {TESTED});"
            " pip install -U 'overton[inspect]'"
        )
        raise InputError([Problem("inspect-ai", installed, reason)])


def _numbers(text: str) -> tuple[int, ...]:
    """The numbers that a version begins with; what follows them (rc1, dev0, +local) is left out."""
    numbers = []
    for part in text.split("+", maxsplit=1)[0].split("."):
        if not part.isdigit():
            break
        numbers.append(int(part))
    return tuple(numbers)
