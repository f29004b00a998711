"""Which conditions are compared with which, and how they differ on the same threads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from overton.studies.pluralism.conditions import Named, split_condition
from overton.studies.pluralism.measures.analysis import Against
from overton.studies.pluralism.measures.units import Units, Where

__all__ = ["SHIFTS", "Comparison", "Differences", "compared", "comparisons", "in_order", "named"]

Array = NDArray[np.float64]
Ints = NDArray[np.int64]

_DIGITS = 12
_ARMS = ("neutral", "toward", "opposing", "biased", "matched-neutral")
_ALIASES = {
    "n": "neutral",
    "b.t": "toward",
    "b.o": "opposing",
    "biased-toward": "toward",
    "biased-opposing": "opposing",
    "biased-against": "opposing",
}
"""The paper's words for arms, and ours."""

SHIFTS: Mapping[str, tuple[str, str]] = {"toward": ("against", "supporting"), "opposing": ("supporting", "against")}
"""For each biased arm: the stance of the views against the belief, and of those with it."""


class Comparison(NamedTuple):
    """A condition with what it is compared with, both by number."""

    condition: int
    other: int
    against: Against


class Differences(NamedTuple):
    """N differences of a condition from another one, each of one model on one thread; the kind is the comparison."""

    where: Where
    values: dict[str, Array]


def named(condition: str) -> Named:
    """What a condition's name says; `arm` is '' where it is none of ours or the paper's."""
    found = split_condition(condition)
    arm = "-".join(found.arm.lower().replace("_", " ").split())
    arm = _ALIASES.get(arm, arm)
    return found._replace(arm=arm if arm in _ARMS else "")


def in_order(conditions: Sequence[str]) -> list[str]:
    """The plain setting first; in each the neutral arm, then the biased ones, then what is not known."""

    def place(condition: str) -> tuple[bool, str, int, str]:
        found = named(condition)
        return bool(found.setting), found.setting, _ARMS.index(found.arm) if found.arm else len(_ARMS), condition

    return sorted(conditions, key=place)


def comparisons(conditions: Sequence[str]) -> list[Comparison]:
    """Each condition with the neutral one of its setting, the matched neutral one, and its own arm in a plainer one."""
    return list(_comparisons(conditions))


def _comparisons(conditions: Sequence[str]) -> Iterator[Comparison]:
    known = {name: named(name) for name in in_order(conditions)}
    for name, own in known.items():
        others: dict[Against, str | None] = {
            "neutral": _other(known, own, "neutral"),
            "matched-neutral": _other(known, own, "matched-neutral") if own.arm != "neutral" else None,
            "twin": _twin(known, own) if own.arm else None,
        }
        yield from (
            Comparison(conditions.index(name), conditions.index(other), against)
            for against, other in others.items()
            if other not in (None, name)
        )


def _other(known: Mapping[str, Named], own: Named, arm: str) -> str | None:
    same = ((one.effort, one.mitigated) == (own.effort, own.mitigated) and one.arm == arm for one in known.values())
    return next((name for name, fits in zip(known, same, strict=True) if fits), None)


def _twin(known: Mapping[str, Named], own: Named) -> str | None:
    """The same arm unmitigated; else without a reasoning effort; else with the first effort there is."""
    arm = {name: one for name, one in known.items() if one.arm == own.arm}
    if own.mitigated:
        return next((name for name, one in arm.items() if one.effort == own.effort and not one.mitigated), None)
    plain = [name for name, one in arm.items() if not one.mitigated]
    return min(plain, key=lambda name: arm[name].effort is not None, default=None) if own.effort else None


def compared(units: Units, pairs: Sequence[Comparison]) -> Differences:
    """The differences of all pairs, for every measure and every gap; NaN where one of the two says nothing."""
    where = units.where
    key = where.model * (int(where.thread.max(initial=0)) + 1) + where.thread
    rows = [np.flatnonzero(where.kind == number) for number in range(len(units.conditions))]
    both = [_shared(key, rows[pair.condition], rows[pair.other]) for pair in pairs]
    own, other = (np.concatenate([np.zeros(0, np.int64), *(one[side] for one in both)]) for side in (0, 1))
    kind = np.repeat(np.arange(len(pairs)), [len(one[0]) for one in both])
    values = {name: np.round(value[own] - value[other], _DIGITS) for name, value in units.values.items()}
    return Differences(where.take(own)._replace(kind=kind), values | _shifts(units, pairs, kind, values))


def _shared(key: Ints, own: Ints, other: Ints) -> tuple[Ints, Ints]:
    """The rows of two conditions that are of the same model and thread."""
    _, first, second = np.intersect1d(key[own], key[other], assume_unique=True, return_indices=True)
    return own[first], other[second]


def _shifts(units: Units, pairs: Sequence[Comparison], kind: Ints, values: Mapping[str, Array]) -> dict[str, Array]:
    """Suppression, amplification and asymmetry of biased arms (section 6.1.2); NaN elsewhere."""
    if "against/recall" not in values:
        return {}
    arms = np.array([named(units.conditions[pair.condition]).arm for pair in pairs], dtype=object)[kind]
    fall, rise = np.full(len(kind), np.nan), np.full(len(kind), np.nan)
    for arm, (contrary, kindred) in SHIFTS.items():
        here = arms == arm
        fall[here] = -values[f"{contrary}/recall"][here]
        rise[here] = values[f"{kindred}/recall"][here]
    return {"suppression": fall, "amplification": rise, "asymmetry": fall - rise}
