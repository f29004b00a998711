"""Two JSON values compared by path, the recorded one as `mapping` says that it looks today."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from functools import cache
from typing import Any

from .mapping import FITTED, NEARLY, Form

_JOINT = " > "
_MOST = 20
_SMALL = 1e-3
"""Floats below this are compared as if they were this large: a difference of others is never quite zero."""


def differences(recorded: Any, today: Any, form: Form, *, moves: float = 0.0, close: float = 0.0) -> list[str]:
    """Differences, a line each, in recorded paths; empty where there are none.

    `moves` is how far resampled bounds may move, in widths of their interval, `close` the relative difference that any
    two floats may have.
    """
    old, new = dict(leaves(form.reshape(recorded))), dict(leaves(today))
    kept = {path: _moved(path, form) for path in old if not _any(form.gone, path)}
    found = [*_twice(kept)]
    for path, place in kept.items():
        where = path if path == place else f"{path} (today {place})"
        if place not in new:
            found.append(f"{where}: is gone; it was {old[path]!r}")
            continue
        expected = _reworded(path, old[path], form)
        if (
            _equal(expected, new[place], 0.0, 0.0)
            or _over_items(path, old, form)
            or _nearer(path, old, new, form)
            or _narrow_enough(path, old, new, form)
            or _follows(path, new, form)
        ):
            continue
        width = _width(path, old) if moves and _resampled(path, old, form) else 0.0
        tolerance = FITTED if _any(form.fitted, path) else NEARLY if _any(form.nearly, path) else close
        if not _equal(expected, new[place], tolerance, moves * width):
            found.append(f"{where}: was {expected!r}, is {new[place]!r}" + (f" (width {width:.6g})" if width else ""))
    places = set(kept.values())
    found += [
        f"{place}: is new, {value!r}"
        for place, value in new.items()
        if place not in places and not _any(form.added, place)
    ]
    return found


def told(place: str, found: list[str]) -> str:
    """The first differences of a case, and how many there are."""
    more = [f"... and {len(found) - _MOST} more"] if len(found) > _MOST else []
    return "\n".join([f"{place}: {len(found)} differences", *(f"  {line}"[:400] for line in found[:_MOST]), *more])


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every value in JSON that holds no others, by its path; an empty list or object counts as a value."""
    inner: Any = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    empty = True
    for key, one in inner:
        empty = False
        where = f"{path}{_JOINT}{key}" if path else str(key)
        if isinstance(one, dict | list):
            yield from leaves(one, where)
        else:
            yield where, one
    if empty:
        yield path, value


def _twice(kept: dict[str, str]) -> Iterator[str]:
    first: dict[str, str] = {}
    for path, place in kept.items():
        if first.setdefault(place, path) != path:
            yield f"{path}: moves to {place}, as {first[place]} does"


def _equal(old: Any, new: Any, close: float, allowed: float) -> bool:
    if isinstance(old, bool) or isinstance(new, bool) or not isinstance(old, int | float):
        return type(old) is type(new) and old == new
    if not isinstance(new, int | float):
        return False
    if math.isnan(old) or math.isnan(new):
        return math.isnan(old) and math.isnan(new)
    if isinstance(old, int) and isinstance(new, int):
        return old == new
    return old == new or abs(old - new) <= max(allowed, close * max(abs(old), abs(new), _SMALL))


def _resampled(path: str, old: dict[str, Any], form: Form) -> bool:
    """Whether a bound may move: it is listed, and the record of its interval does not name another method."""
    method = old.get(_JOINT.join([*path.split(_JOINT)[:-2], "method"]))
    return _any(form.resampled, path) and (method is None or "bootstrap" in method)


_OVER = re.compile(r"\bover (issues|shifts|dilemmas|threads|topics|conversations)|same in every|^one |it is one of ")


def _over_items(path: str, old: dict[str, Any], form: Form) -> bool:
    """Whether this is a bound, or a text on an interval, that was over items and comes from another rule today."""
    *above, last = path.split(_JOINT)
    if last not in ("method", "why"):
        *above, held = above or [""]
        if held != "interval":
            return False
    said = (old.get(_JOINT.join([*above, name])) for name in ("method", "why"))
    return _any(form.over_items, path) and any(_OVER.search(one) for one in said if isinstance(one, str))


def _nearer(path: str, old: dict[str, Any], new: dict[str, Any], form: Form) -> bool:
    """Whether this is a limit that lies between where it was and its number, which is the one recorded.

    The number is next to the interval, or one step above: an interval of equivalence is that of a difference.
    """
    if not _any(form.nearer, path):
        return False
    *above, _, last = path.split(_JOINT)
    places = (_JOINT.join([*one, "estimate"]) for one in (above, above[:-1]))
    number = next((one for one in places if one in old), "")
    known = (old.get(path), new.get(path), old.get(number), new.get(number))
    if not all(isinstance(one, int | float) for one in known):
        return False
    before, now, recorded, value = known
    inside = before <= now <= value if last == "0" else value <= now <= before
    return inside and _equal(recorded, value, 1e-9, 0.0)


_TOO_WIDE = "no interval: the judge errs too often for so few labels and units"


def _narrow_enough(path: str, old: dict[str, Any], new: dict[str, Any], form: Form) -> bool:
    """Whether this tells of a corrected number whose interval was too wide to be given, and is given now."""
    if not _any(form.narrow_enough, path):
        return False
    measure = re.sub(f"{_JOINT}(leads|corrected{_JOINT}.*)$", "", path)
    why = _JOINT.join([measure, "corrected", "why"])
    return old.get(why) == _TOO_WIDE and new.get(why, _TOO_WIDE) is None


def _follows(path: str, new: dict[str, Any], form: Form) -> bool:
    """Whether this is a verdict that today's limits support. It is 'clear' if both intervals exclude 0, 'not clear'
    only for a difference within the margin, and always if the wider interval lies within it."""
    if not _any(form.follows, path) or path not in new:
        return False
    *above, _ = path.split(_JOINT)

    def told(*names: str) -> float:
        return float(new[_JOINT.join([*above, *names])])

    ends = [
        (told(one, "plain", "interval", "0"), told(one, "plain", "interval", "1")) for one in ("difference", "together")
    ]
    margin, value = told("margin"), told("difference", "plain", "estimate")
    clear = all(low > 0 for low, _ in ends) or all(high < 0 for _, high in ends)
    within = -margin <= ends[1][0] and ends[1][1] <= margin
    verdict = new[path]
    if verdict == "not clear":
        return abs(value) <= margin
    return not within and clear == (verdict == "clear")


def _width(path: str, old: dict[str, Any]) -> float:
    """The width of the interval whose bound is at `path`."""
    *above, last = path.split(_JOINT)
    pair = {"0": ("0", "1"), "1": ("0", "1"), "low": ("low", "high"), "high": ("low", "high")}.get(last)
    assert pair, f"{path} is listed as resampled, and is no bound"
    low, high = (old[_JOINT.join([*above, bound])] for bound in pair)
    return 0.0 if low is None or high is None else high - low


def _moved(path: str, form: Form) -> str:
    for pattern, target in form.moved:
        if found := _compiled(pattern).fullmatch(path):
            captured = iter(found.groups())
            path = "".join(
                next(captured) if part in ("*", "**") else part for part in re.split(r"(\*\*|\*)", _close(target))
            )
    return path


def _reworded(path: str, value: Any, form: Form) -> Any:
    for pattern, before, after in form.reworded:
        if value == before and _compiled(pattern).fullmatch(path):
            return after
    return value


def _any(patterns: tuple[str, ...], path: str) -> bool:
    return any(_compiled(pattern).fullmatch(path) for pattern in patterns)


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """`**` takes the joint behind its keys with it, so that it may stand for none."""
    parts = re.split(r"(\*\* > |\*\*|\*)", pattern)
    groups = {"** > ": f"((?:.*{_JOINT})?)", "**": "(.*)", "*": f"((?:(?!{_JOINT}).)*)"}
    return re.compile("".join(groups.get(part, re.escape(part)) for part in parts), re.DOTALL)


def _close(target: str) -> str:
    return target.replace(f"**{_JOINT}", "**")
