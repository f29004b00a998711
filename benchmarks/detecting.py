"""Is the power that `overton plan --detect` tells the power that there is, and what does a small pilot's noise add?

    python benchmarks/detecting.py [--pairs 300] [--study NAME ...] [--items 12 30 100] [--pilots 2000] [--check]

The first table: pairs of models as `compare.py` makes them, whose true difference is one that is told with a chance of
80% by the plan's formula when it knows the true variance, which 4,000 items tell. Beside what the formula says stands
in how many of a hundred the interval of `compare` lies above 0; and the same of a true difference of half the margin,
with as many items as the formula asks for so that 80% are found equivalent (left out where it asks for over 300).

The second: pilots of one model whose items vary as those of the truth. A cell has by which factor the number of items
that the pilot asks for is off (10%, median, 90% of the pilots), and the mean power that these numbers have.

With --check a difference of over 5 points and three standard errors is an error.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from math import sqrt
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from compare import SOURCES, Source, pairs, verdicts
from items import DISTRIBUTIONS, Distribution

from overton.statistics.detecting import (
    Varying,
    chance_equivalent,
    chance_told,
    fewest_items,
    scatter,
    smallest_told,
)
from overton.statistics.resampling import Jackknife
from overton.studies.comparing import meeting

POWER = 0.8
LEVEL = 0.95
_FEW = 300
POPULATION = 4_000
_TRIED = 0.02
"""A lift by which the size of differences is found."""


class Truth(NamedTuple):
    """The true difference of a headline, and what one item pulls at it."""

    difference: float
    varying: Varying
    margin: float


def truth(source: Source, distribution: Distribution, lift: float) -> dict[str, Truth]:
    """Of 4,000 items."""
    (pair,) = pairs(source, distribution, POPULATION, 1, lift)
    found = {}
    for name, both in pair.items():
        difference = meeting(*both, Jackknife(unit="items")).difference
        found[name] = Truth(difference.value, Varying(scatter(difference)), both[0].measure.margin)
    return found


def _lift_for(source: Source, distribution: Distribution, name: str, size: float) -> float:
    """How much higher values have to be for a difference of that size, taken as a line."""
    lift = _TRIED
    for _ in range(2):
        lift *= size / truth(source, distribution, lift)[name].difference
    return lift


Row = tuple[str, str, float, float]
"""Headline, what is asked, what the formula says, and what there is."""


def cells(source: Source, distribution: Distribution, items: int, count: int) -> Row:
    """A true difference that is told with a chance of 80%."""
    name = source.measures[0]
    start = truth(source, distribution, _TRIED)[name]
    size = smallest_told(start.varying.error(items, None), items, LEVEL, POWER)
    lift = _lift_for(source, distribution, name, size)
    true = truth(source, distribution, lift)[name]
    said = chance_told(true.difference, true.varying.error(items, None), items, LEVEL)
    jackknife = Jackknife(unit="items")
    made = (meeting(*pair[name], jackknife) for pair in pairs(source, distribution, items, count, lift))
    # Whatever the verdict: a difference that is small and sure is called equivalent.
    return name, f"told, {items} items", said, sum(one.gap(jackknife).own.low > 0 for one in made) / count


def equivalence(source: Source, distribution: Distribution, count: int) -> Iterator[Row]:
    """A true difference of half the margin."""
    name = source.measures[0]
    start = truth(source, distribution, _TRIED)[name]
    half = start.margin / 2

    def chance(items: int) -> float:
        return chance_equivalent(half, start.margin, start.varying.error(items, None), items, LEVEL)

    items = fewest_items(chance, POWER)
    if items is None or items > _FEW:
        return
    lift = _lift_for(source, distribution, name, half)
    true = truth(source, distribution, lift)[name]
    said = chance_equivalent(true.difference, true.margin, true.varying.error(items, None), items, LEVEL)
    found = verdicts(source, distribution, items, count, lift)[name]
    yield name, f"equivalent, {items} items", said, found["equivalent"] / found.total()


def pilots(size: int, count: int, rng: np.random.Generator, *, skewed: bool) -> tuple[float, float, float, float]:
    """Of so many pilots: by which factor the items that they ask for are off (10%, median, 90%), and the mean power."""
    draw = rng.exponential if skewed else rng.standard_normal
    variance = np.var(draw(size=(count, size)), axis=1, ddof=1)
    difference = 0.25

    def needed(of: float) -> int:
        return fewest_items(lambda n: chance_told(difference, sqrt(of / n), n, LEVEL), POWER) or 1

    asked = np.array([needed(one) for one in variance])
    power = np.mean([chance_told(difference, sqrt(1 / n), int(n), LEVEL) for n in asked])
    low, middle, high = np.quantile(asked / needed(1.0), (0.1, 0.5, 0.9))
    return float(low), float(middle), float(high), float(power)


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description="Power as planned and as found, and what a pilot's noise adds.")
    names = [one.study for one in SOURCES]
    parser.add_argument("--study", nargs="*", choices=names, default=names)
    parser.add_argument("--pairs", type=int, default=300)
    parser.add_argument("--items", nargs="+", type=int, default=[12, 30, 100])
    parser.add_argument("--pilots", type=int, default=2000)
    parser.add_argument("--check", action="store_true", help="exit with 1 where the two powers are too far apart")
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
    print(f"\n{chosen.pairs:,} pairs a cell, {chosen.pilots:,} pilots; {perf_counter() - started:.0f} s")
    if chosen.check and wrong:
        raise SystemExit(1)


def _compared(chosen: Any) -> int:
    print("| study | headline | values of items | asked | planned | found |\n|---|---|---|---|--:|--:|")
    wrong = 0
    for source in SOURCES:
        for distribution in DISTRIBUTIONS[:3] if source.study in chosen.study else ():
            rows = [cells(source, distribution, items, chosen.pairs) for items in chosen.items]
            for name, asked, said, found in [*rows, *equivalence(source, distribution, chosen.pairs)]:
                off = abs(said - found)
                wrong += off > 0.05 + 3 * sqrt(said * (1 - said) / chosen.pairs)
                head = f"| {source.study} | {name} | {distribution.name} | {asked}"
                print(f"{head} | {100 * said:.0f} | {100 * found:.0f} |", flush=True)
    return wrong


if __name__ == "__main__":
    main()
