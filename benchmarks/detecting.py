"""Is the power that `overton plan --detect` reports the true power, and what does a small pilot's noise add?

    python benchmarks/detecting.py [--pairs 500] [--study NAME ...] [--items 5 12 50] [--pilots 2000] [--check]

The first table has pairs of models as in `compare.py`. Their true difference is close to one that, by the plan, is
detected with a chance of 80%. The plan is given how a difference varies, and from 10,000 items how unevenly ('by
pairs'); or how one model varies, and how two are correlated ('by one model'). Next to the power that it reports is the
percentage of pairs in which the interval of `compare` lies above 0. The true difference and variance are the means of
the pairs, so that chance in these favours neither side. Then comes the same for a true difference of half the margin.
It has as many items as the plan asks for so that 80% are found equivalent (left out if it asks for over 300).

The second table has pilots of one model whose items vary like those of the truth. A cell gives the error factor of the
number of items that the pilot asks for (10%, median, 90% of the pilots), and the mean power of these numbers. With five
items of normal values it is 0.31, 0.84 and 2.00, and 69%; with simulated intervals 0.28, 0.78 and 2.01, and 68%.

With --check, a difference of over 5 points and three standard errors is an error.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from math import sqrt
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from compare import SOURCES, pairs
from items import DISTRIBUTIONS

from overton.statistics.comparison import Number
from overton.statistics.jackknife import Jackknife
from overton.statistics.power import (
    NORMAL,
    ItemInfluences,
    ItemVariance,
    apart,
    fewest_items,
    item_influences,
    scatter,
    smallest_detectable,
)
from overton.studies.contributions import find_shared_items

POWER = 0.8
LEVEL = 0.95
_FEW = 300
_SETS, _ITEMS = 50, 200
"""Pairs, and items of each, that show how unequal the influence of items is."""
_TRIED = 0.05
"""A lift by which the size of differences is found."""
_HIGHEST = 0.4
"""Values are lifted by no more than this: they lie between 0 and 1."""

HEADLINES: Mapping[str, tuple[str, ...]] = {  # those that higher values make higher
    "open-mindedness": ("open_mindedness",),
    "stance-stability": ("change_rate", "chameleon", "drift"),
    "pluralism": ("sycophancy_recall_neutral", "ranking_spearman_neutral"),
    "deliberation": ("changed", "consensus"),
    "even-handedness": ("even", "gap"),
}


class What(NamedTuple):
    """A headline of a study, and how values of items are distributed, by names."""

    study: str
    headline: str
    distribution: str


class Pair(NamedTuple):
    """One simulated pair: its difference, the items' influence on it and on the base alone, and its verdicts'
    intervals."""

    difference: float
    spread: float
    own: float
    pulls: np.ndarray
    alone: np.ndarray
    told: bool
    equivalent: bool


def simulated(what: What, items: int, count: int, lift: float) -> list[Pair]:
    """Pairs whose candidate has values that are higher by `lift`."""
    source = next(one for one in SOURCES if one.study == what.study)
    kind = next(one for one in DISTRIBUTIONS if one.name == what.distribution)
    jackknife = Jackknife(unit="items")
    made = []
    for pair in pairs(source, kind, items, count, lift):
        if what.headline not in pair:
            continue
        met = find_shared_items(*pair[what.headline], jackknife)
        difference, (base, candidate) = met.difference, met.numbers
        gap, margin = met.gap(jackknife), pair[what.headline][0].measure.margin
        made.append(
            Pair(
                difference.value,
                scatter(difference),
                (scatter(base) + scatter(candidate)) / 2,
                _values(difference),
                _values(base),
                # Any verdict counts, because a difference that is small and sure is called equivalent.
                gap.own.low > 0,
                -margin <= gap.equivalence.low and gap.equivalence.high <= margin,
            )
        )
    return made


def _values(one: Number) -> np.ndarray:
    """The items' contributions to a number. Items with equal contributions are equal here in every pair."""
    pulls = item_influences(one)
    return np.round(one.value + pulls * len(pulls), 9)


class Start(NamedTuple):
    """Numbers from many items: how much a lift of 1 adds to a difference, how it varies, and how unevenly."""

    by_lift: float
    varying: ItemVariance
    pulls: ItemInfluences
    alone: ItemInfluences


@cache
def start(what: What, lift: float = _TRIED) -> Start:
    """From 10,000 items whose values are lifted this far: higher values may also vary differently."""
    made = simulated(what, _ITEMS, _SETS, lift)
    varying, single = _varying(made)
    return Start(
        float(np.mean([one.difference for one in made])) / lift,
        varying,
        ItemInfluences(np.concatenate([one.pulls for one in made])),
        ItemInfluences(np.concatenate([one.alone for one in made]), max(1 - varying.items / (2 * single.items), 0.0)),
    )


def _varying(made: Sequence[Pair]) -> tuple[ItemVariance, ItemVariance]:
    """Of differences, and of one model alone."""
    return ItemVariance(float(np.nanmean([one.spread for one in made]))), ItemVariance(
        float(np.nanmean([one.own for one in made]))
    )


class Row(NamedTuple):
    """The question, the power by a plan that knows pairs, by one that knows one model, and the true one."""

    asked: str
    planned: tuple[float, float]
    found: float


def _lifted(known: Start, size: float) -> float:
    """How much higher values have to be, or lower, for a difference of about that size."""
    return round(max(min(size / known.by_lift, _HIGHEST), -_HIGHEST), 4)


def cell(what: What, items: int, count: int) -> Row:
    """A true difference that is detected with a chance of about 80%."""
    known = start(what)
    size = smallest_detectable(known.varying.error(items, None), items, LEVEL, POWER, known.pulls)
    lift = _lifted(known, size)
    known, made = start(what, lift), simulated(what, items, count, lift)
    difference = float(np.mean([one.difference for one in made]))
    said = [pulls.power(difference, varying.error(items, None), items, LEVEL) for varying, pulls in _known(known, made)]
    return Row(f"detected, {items} items", (said[0], said[1]), float(np.mean([one.told for one in made])))


def _known(known: Start, made: Sequence[Pair]) -> list[tuple[ItemVariance, ItemInfluences]]:
    """The input of a plan: about pairs, and about one model and how two are correlated."""
    varying, single = _varying(made)
    together = 1 - varying.items / (2 * single.items)
    return [(varying, known.pulls), (apart(single, together), known.alone)]


def equivalence(what: What, count: int) -> Iterator[Row]:
    """A true difference of half the margin."""
    known, margin = start(what), _margin(what.study, what.headline)
    items = fewest_items(
        lambda n: known.pulls.equivalent(margin / 2, margin, known.varying.error(n, None), n, LEVEL), POWER
    )
    if items is None or items > _FEW:
        return
    lift = _lifted(known, margin / 2)
    known, made = start(what, lift), simulated(what, items, count, lift)
    difference = float(np.mean([one.difference for one in made]))
    said = [
        pulls.equivalent(difference, margin, varying.error(items, None), items, LEVEL)
        for varying, pulls in _known(known, made)
    ]
    yield Row(f"equivalent, {items} items", (said[0], said[1]), float(np.mean([one.equivalent for one in made])))


@cache
def _margin(study: str, name: str) -> float:
    source = next(one for one in SOURCES if one.study == study)
    (pair,) = pairs(source, DISTRIBUTIONS[0], 10, 1, 0.0)
    return pair[name][0].measure.margin


def pilots(size: int, count: int, rng: np.random.Generator, *, skewed: bool) -> tuple[float, float, float, float]:
    """By which factor the items that pilots ask for are off (10%, median, 90%), and the mean power."""
    draw = rng.exponential if skewed else rng.standard_normal
    variance = np.var(draw(size=(count, size)), axis=1, ddof=1)
    difference = 0.25

    def needed(of: float) -> int:
        return fewest_items(lambda n: NORMAL.power(difference, sqrt(of / n), n, LEVEL), POWER) or 1

    asked = np.array([needed(one) for one in variance])
    power = np.mean([NORMAL.power(difference, sqrt(1 / n), int(n), LEVEL) for n in asked])
    low, middle, high = np.quantile(asked / needed(1.0), (0.1, 0.5, 0.9))
    return float(low), float(middle), float(high), float(power)


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description="Power as planned and as found, and what a pilot's noise adds.")
    names = [one.study for one in SOURCES]
    parser.add_argument("--study", nargs="*", choices=names, default=names)
    parser.add_argument("--pairs", type=int, default=500)
    parser.add_argument("--items", nargs="+", type=int, default=[5, 12, 50])
    parser.add_argument("--pilots", type=int, default=2000)
    parser.add_argument("--check", action="store_true", help="exit with 1 if the two powers are too far apart")
    chosen = parser.parse_args()
    started = perf_counter()
    wrong = _compared(chosen)
    print("\n| pilot | values of items | 10% | median | 90% | mean power |\n|--:|---|--:|--:|--:|--:|")
    rng = np.random.default_rng(0)
    for size in (5, 8, 12, 30, 100):
        for skewed in (False, True):
            low, middle, high, power = pilots(size, chosen.pilots, rng, skewed=skewed)
            name = "exponential" if skewed else "normal"
            print(f"| {size} | {name} | {low:.2f} | {middle:.2f} | {high:.2f} | {100 * power:.0f} |", flush=True)
    print(f"\n{chosen.pairs:,} pairs per cell, {chosen.pilots:,} pilots; {perf_counter() - started:.0f} s")
    if chosen.check and wrong:
        raise SystemExit(1)


def _compared(chosen: Any) -> int:
    print("| study | headline | values of items | asked | by pairs | by one model | found |")
    print("|---|---|---|---|--:|--:|--:|")
    wrong = 0
    for study in chosen.study:
        for name in HEADLINES[study]:
            for distribution in DISTRIBUTIONS[:3]:
                what = What(study, name, distribution.name)
                rows = [cell(what, items, chosen.pairs) for items in chosen.items]
                for row in [*rows, *equivalence(what, chosen.pairs)]:
                    by_pairs, off = row.planned[0], abs(row.planned[0] - row.found)
                    wrong += off > 0.05 + 3 * sqrt(by_pairs * (1 - by_pairs) / chosen.pairs)
                    told = " | ".join(f"{100 * one:.0f}" for one in (*row.planned, row.found))
                    print(f"| {study} | {name} | {distribution.name} | {row.asked} | {told} |", flush=True)
    return wrong


if __name__ == "__main__":
    main()
