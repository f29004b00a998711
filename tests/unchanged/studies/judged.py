"""Results about judges, by their subjects and never by their place in a document; these documents have their form from
here.

A key joins its parts by ' | '. A number is its estimate, limits, n, method, and why there is none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

__all__ = ["again", "controls"]

Json = Any
_Found = Iterator[tuple[tuple[str, ...], Json]]


def controls(document: Json) -> Json:
    """How a judge did on controls, by judge and label; what it missed, by control and row besides."""
    return _rows(_controls(document))


def _controls(document: Json) -> _Found:
    for one in document["tried"]:
        key = (one["judge"], one["what"])
        numbers = {name: _number(one[name]) for name in ("right", "in_another_order")}
        yield key, numbers | {name: one[name] for name in ("controls", "fails")}
        for missed in one["missed"]:
            yield (*key, missed["control"], missed["row"]), [missed["right"], missed["said"]]


def again(document: Json) -> Json:
    """The agreement of labels given again with the first ones, by run, label and judge, and by comparison."""
    return _rows(_again(document))


def _again(document: Json) -> _Found:
    for one in document["steady"]:
        key = (one["run"], one["what"], one["of"], one["by"])
        yield key, {name: one[name] for name in ("units", "rows", "by_people", "without", "first_unlabelled")}
        for two in one["compared"]:
            numbers = {name: _number(two[name]) for name in ("same", "kappa", "same_at_least")}
            yield (*key, two["a"], two["b"]), numbers | {name: two[name] for name in ("rows", "without")}
        for label, shares in one["shares"].items():
            for giver, number in shares.items():
                yield (*key, "share", label, giver), _number(number)
    for one in document["drift"]:
        for label, found in one["labels"].items():
            numbers = {name: _number(found[name]) for name in ("by_own", "by_one", "drift")}
            yield ("drift", one["a"], one["b"], one["by"], label), numbers


def _number(one: Json) -> Json:
    number = one["plain"]
    return [number["estimate"], *number["interval"], number["n"], number["method"], number["why"]]


def _rows(found: Iterable[tuple[tuple[str, ...], Json]]) -> Json:
    rows: dict[str, Json] = {}
    for parts, value in found:
        key = " | ".join(parts)
        assert key not in rows, f"{key} stands for two things"
        rows[key] = value
    return rows
