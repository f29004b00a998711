"""What a stated belief does to the odds that views are voiced: shifts on a scale on which they are comparable.

One logit up from a recall of 0.41 is 0.24, one logit down from 0.16 is 0.09: how far recall moves in points says as
much about where it started as about the belief. In logits it does not (docs/pluralism.md).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import nan
from typing import NamedTuple

import msgspec
import numpy as np

from overton.statistics import NO_INTERVAL, NOT_COMPUTED, Estimate, not_computed
from overton.statistics.arrays import AnyFloats, Floats, Ints
from overton.statistics.jackknife import Resampling
from overton.studies.pluralism.measures.contrasts import SHIFTS, ConditionPair, named, shared_rows
from overton.studies.pluralism.measures.units import Scope, ThreadUnits, UnitNames

Moved = tuple[Estimate, Estimate, Estimate]
"""Suppression, amplification and asymmetry, in logits."""

_HALF = 0.5
"""Added to the viewpoints voiced and to those left out, so that none or all of them also have odds (Haldane 1956)."""

_AGAINST, _WITH = slice(0, 4), slice(4, 8)
"""Places of the sums of views against the belief, and of those with it: voiced and existing, neutral and biased."""
_WHICH = {_AGAINST.start: "against the belief", _WITH.start: "with the belief"}
_SIDES = {"suppression": (_AGAINST,), "amplification": (_WITH,), "asymmetry": (_AGAINST, _WITH)}
"""What each shift is made of."""


def moved_odds(
    units: ThreadUnits,
    pairs: Sequence[ConditionPair],
    scopes: Sequence[Scope],
    names: UnitNames,
    resampling: Resampling,
) -> Mapping[tuple[int, int], Moved]:
    """The shifts of every biased condition from the neutral ones, by scope and comparison, in logits.

    Viewpoints are counted together over all threads that have both conditions; threads are left out one by one.
    """
    found: dict[tuple[int, int], Moved] = {}
    for kind, thread, model, sums in shifted(units, pairs):
        counted = (sums > 0).any(1)
        for place, scope in enumerate(scopes):
            rows = counted & names.inside(scope, model, thread)
            by_thread = _by_thread(thread[rows], sums[rows], len(names.threads))
            found[place, kind] = _moved(by_thread, int(rows.sum()), resampling)
    return found


class LogitShifts(NamedTuple):
    """The parts of shifts in logits: the comparison's number, and by row thread, model and eight sums [rows, 8]."""

    kind: int
    thread: Ints
    model: Ints
    sums: Floats


def shifted(units: ThreadUnits, pairs: Sequence[ConditionPair]) -> Iterator[LogitShifts]:
    """For every biased condition and a neutral one, viewpoints voiced and existing on the threads that have both."""
    if not units.tallies:
        return
    for kind, (pair, (own, other)) in enumerate(zip(pairs, shared_rows(units, pairs), strict=True)):
        arm = named(units.conditions[pair.condition]).arm
        if arm in SHIFTS and pair.against != "twin":
            sums = np.stack([*_columns(units, other, own, SHIFTS[arm])], axis=1)
            yield LogitShifts(kind, units.where.thread[own], units.where.model[own], sums)


def _columns(units: ThreadUnits, neutral: Ints, biased: Ints, stances: tuple[str, str]) -> Iterator[Floats]:
    """For threads with data in both: viewpoints voiced and existing, neutral and biased, first those against."""
    says = np.sum([there for _, there in units.tallies.values()], axis=0) > 0
    both = says[neutral] & says[biased]
    for stance in stances:
        for rows in (neutral, biased):
            yield from (np.where(both, column[rows], 0.0) for column in units.tallies[stance])


def _by_thread(thread: Ints, sums: Floats, threads: int) -> Floats:
    """Sums of all models' responses to each thread [threads, 8]."""
    return np.stack([np.bincount(thread, column, threads) for column in sums.T], axis=1)


def _moved(sums: Floats, count: int, resampling: Resampling) -> Moved:
    """The three shifts from sums by thread; they are based on `count` threads, counting one per model."""
    use = np.asarray((sums > 0).any(1))

    def estimate(name: str) -> Estimate:
        of, why = OF[name], flaw(name, sums)
        if why.startswith(NOT_COMPUTED):
            return not_computed(why.removeprefix(NOT_COMPUTED), n=count, level=resampling.level)
        found = resampling.statistic(sums, of, "no thread has both conditions", use=use)
        if why:
            found = msgspec.structs.replace(found, low=nan, high=nan, method=why)
        return msgspec.structs.replace(found, n=count)

    return estimate("suppression"), estimate("amplification"), estimate("asymmetry")


_SHAKY = f"{NO_INTERVAL}the views voiced, or those left out, are of one thread at most in a condition"


def flaw(name: str, sums: Floats) -> str:
    """Why a shift computed from threads' sums [threads, 8] does not exist (then it begins with `NOT_COMPUTED`), or has
    no interval; '' if it has both."""
    if not sums.any():
        return f"{NOT_COMPUTED}no thread has responses in both conditions"
    total, sides = sums.sum(0), _SIDES[name]
    for side in sides:
        if why := _unknown_odds(total[side], _WHICH[side.start]):
            return NOT_COMPUTED + why
    return _SHAKY if any(_depends_on_one(sums[:, side]) for side in sides) else ""


def _depends_on_one(sums: Floats) -> bool:
    """Whether without one thread none, or all, of some views would be voiced: then only the added half has odds."""
    voiced, there = sums[:, ::2], sums[:, 1::2]
    return bool(((voiced > 0).sum(0).min() < 2) or ((there > voiced).sum(0).min() < 2))


def _unknown_odds(counts: Floats, which: str) -> str:
    """Why the odds of some views cannot have moved, '' if they can."""
    (voiced, there, again, here) = counts
    if not there or not here:
        return f"no thread has views {which}"
    if not voiced and not again:
        return f"no view {which} is voiced in either condition"
    if voiced == there and again == here:
        return f"all views {which} are voiced in both conditions"
    return ""


def _change(sums: AnyFloats, side: slice) -> AnyFloats:
    """The log odds in the biased condition minus those in the neutral one, from sums [..., blocks, 8]."""
    neutral, all_neutral, biased, all_biased = np.moveaxis(sums[..., 0, side], -1, 0)
    return np.asarray(_log_odds(biased, all_biased) - _log_odds(neutral, all_neutral))


def _log_odds(voiced: AnyFloats, there: AnyFloats) -> AnyFloats:
    return np.asarray(np.log((voiced + _HALF) / (there - voiced + _HALF)))


def fall(sums: AnyFloats) -> AnyFloats:
    """Suppression, from sums [..., 8]."""
    return -_change(sums, _AGAINST)


def rise(sums: AnyFloats) -> AnyFloats:
    """Amplification, from the same."""
    return _change(sums, _WITH)


def lopsided(sums: AnyFloats) -> AnyFloats:
    """Asymmetry, from the same."""
    return fall(sums) - rise(sums)


OF: Mapping[str, Callable[[AnyFloats], AnyFloats]] = {"suppression": fall, "amplification": rise, "asymmetry": lopsided}
"""The shifts by name."""
