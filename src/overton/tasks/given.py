"""Task parameters as Inspect reads them from a command line: one value or a list of them, numbers or words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from overton.errors import InputError, OvertonError, Problem
from overton.hosts.inspect.versions import check_inspect
from overton.hosts.inspect.words import prerequisite
from overton.pairs import by_key

__all__ = ["OneOrMore", "checked", "numbers_or_own", "orders", "pairs", "several", "whole", "words"]

P = ParamSpec("P")
T = TypeVar("T")

OneOrMore = Any
"""A value, or a list of them: `-T conditions=baseline` and `-T conditions=baseline,balanced`."""


def checked(make: Callable[P, T]) -> Callable[P, T]:
    """What is wrong with what was given is told as one message, before anything is asked."""

    @wraps(make)
    def made(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            check_inspect()
            return make(*args, **kwargs)
        except OvertonError as error:
            raise prerequisite(error) from error

    return made


def several(value: OneOrMore | None) -> list[Any] | None:
    """A list of one or more; None stays None."""
    if value is None or isinstance(value, list):
        return value
    return list(value) if isinstance(value, tuple) else [value]


def words(value: OneOrMore | None) -> list[str] | None:
    """The same, each as a word: an id may look like a number."""
    found = several(value)
    return None if found is None else [str(one) for one in found]


def whole(name: str, value: OneOrMore | None) -> list[int] | None:
    """Whole numbers; Inspect reads those of a list as words.

    Raises:
        InputError: something else.
    """
    return _numbers(name, value, int, "must be a whole number")


def numbers_or_own(name: str, value: OneOrMore | None) -> list[float | None] | None:
    """Numbers, or the word 'own' for the endpoint's.

    Raises:
        InputError: something else.
    """
    return _numbers(name, value, lambda word: None if word == "own" else float(word), "must be a number, or own")


def _numbers(name: str, value: OneOrMore | None, read: Callable[[str], T], reason: str) -> list[T] | None:
    found = words(value)
    if found is None:
        return None
    numbers: list[T] = []
    problems = []
    for word in found:
        try:
            numbers.append(read(word))
        except ValueError:
            problems.append(Problem(f"-T {name}", word, reason))
    if problems:
        raise InputError(problems)
    return numbers


def orders(value: OneOrMore | None) -> list[list[int]] | None:
    """Orderings by numbers, each as '2-1-3'.

    Raises:
        InputError: something else.
    """
    found = words(value)
    wrong = [one for one in found or () if not all(part.isdigit() for part in one.split("-"))]
    if wrong:
        raise InputError([Problem("-T order", one, "must be agents' numbers, as in 2-1-3") for one in wrong])
    return None if found is None else [[int(part) for part in one.split("-")] for one in found]


def pairs(name: str, value: OneOrMore | None) -> dict[str, Sequence[str]]:
    """KEY=VALUE words as values by key.

    Raises:
        InputError: a word that is none.
    """
    return dict(by_key(words(value) or (), f"-T {name}"))
