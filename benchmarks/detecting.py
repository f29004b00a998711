"""Is the power that `overton plan --detect` tells the power that there is, and what does a small pilot's noise add?

    python benchmarks/detecting.py [--pairs 500] [--study NAME ...] [--items 5 12 50] [--pilots 2000] [--check]

The first table: pairs of models as `compare.py` makes them, whose true difference is near one that is told with a
chance of 80% by the plan, when it knows from 20,000 items how the two models' differences vary ('by pairs'). Beside
what it says stands in how many of a hundred the interval of `compare` lies above 0; and what it says when it knows one
model alone and how the two go together ('by one model'). Then the same of a true difference of half the margin, with
as many items as the plan asks for so that 80% are found equivalent (left out where it asks for over 300).

The second: pilots of one model whose items vary as those of the truth. A cell has by which factor the number of items
that the pilot asks for is off (10%, median, 90% of the pilots), and the mean power that these numbers have.

With --check a difference of over 5 points and three standard errors is an error.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from functools import cache
from math import sqrt
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from compare import SOURCES, Source, pairs, verdicts
from items import DISTRIBUTIONS

from overton.statistics.chances import NORMAL, Pulls, pulls_of
from overton.statistics.detecting import Varying, apart, fewest_items, scatter, smallest_told
from overton.statistics.resampling import Jackknife
from overton.studies.comparing import meeting

POWER = 0.8
LEVEL = 0.95
_FEW = 300
_SETS, _ITEMS = 100, 200
"""The truth: so many pairs of so many items."""
_TRIED = 0.05
"""A lift by which the size of differences is found."""
_HIGHEST = 0.4
"""More than this values are not lifted: they lie between 0 and 1."""

HEADLINES: Mapping[str, tuple[str, ...]] = {
    "open-mindedness": ("open_mindedness",),
    "stance-stability": ("change_rate", "chameleon", "drift"),
    "pluralism": ("sycophancy_recall_neutral", "suppression_toward"),
    "deliberation": ("changed", "consensus"),
    "even-handedness": ("even", "gap"),
}


class Truth(NamedTuple):
    """The true difference of a headline, how it varies, and what a plan says that knows pairs, or one model alone."""

    difference: float
    varying: Varying
    pulls: Pulls
    alone: Varying
    alone_pulls: Pulls
    margin: float


@cache
def truth(study: str, distribution: str, lift: float) -> Mapping[str, Truth]:
    """Of 20,000 items."""
    found: dict[str, list[tuple[float, float, float, np.ndarray, np.ndarray, float]]] = {}
    kind = next(one for one in DISTRIBUTIONS if one.name == distribution)
    jackknife = Jackknife(unit="items")
    for pair in pairs(source_of(study), kind, _ITEMS, _SETS, lift):
        for name, both in pair.items():
            met = meeting(*both, jackknife)
            difference, (base, candidate) = met.difference, met.numbers
            own = (scatter(base) + scatter(candidate)) / 2
            told = (difference.value, scatter(difference), own, pulls_of(difference), pulls_of(base))
            found.setdefault(name, []).append((*told, both[0].measure.margin))
    return {name: _truth(each) for name, each in found.items()}


def source_of(study: str) -> Source:
    """The source of a study's pairs."""
    return next(one for one in SOURCES if one.study == study)


def _truth(each: list[tuple[float, float, float, np.ndarray, np.ndarray, float]]) -> Truth:
    differences, spreads, own, pulls, alone, margins = zip(*each, strict=True)
    varying, single = Varying(float(np.mean(spreads))), Varying(float(np.mean(own)))
    correlation = 1 - varying.items / (2 * single.items)
    return Truth(
        float(np.mean(differences)),
        varying,
        Pulls(np.concatenate(pulls)),
        apart(single, correlation),
        Pulls(np.concatenate(alone), max(correlation, 0.0)),
        margins[0],
    )


class Row(NamedTuple):
    """What is asked, what the plan says that knows pairs, and one model, and what there is."""

    asked: str
    pairs: float
    one: float
    found: float


def _lifted(start: Truth, size: float) -> float:
    """How much higher values have to be for a difference of about that size."""
    return round(min(_TRIED * size / max(start.difference, 1e-9), _HIGHEST), 4)


def cell(study: str, name: str, distribution: Any, items: int, count: int) -> Row:
    """A true difference that is told with a chance of about 80%."""
    start = truth(study, distribution.name, _TRIED)[name]
    lift = _lifted(start, smallest_told(start.varying.error(items, None), items, LEVEL, POWER, start.pulls))
    true = truth(study, distribution.name, lift)[name]
    said = [
        pulls.told(true.difference, varying.error(items, None), items, LEVEL)
        for varying, pulls in ((true.varying, true.pulls), (true.alone, true.alone_pulls))
    ]
    jackknife = Jackknife(unit="items")
    made = pairs(source_of(study), distribution, items, count, lift)
    # Whatever the verdict: a difference that is small and sure is called equivalent.
    low = [meeting(*pair[name], jackknife).gap(jackknife).own.low for pair in made]
    return Row(f"told, {items} items", *said, float(np.mean(np.array(low) > 0)))


def equivalence(study: str, name: str, distribution: Any, count: int) -> Iterator[Row]:
    """A true difference of half the margin."""
    start = truth(study, distribution.name, _TRIED)[name]
    half, margin = start.margin / 2, start.margin
    items = fewest_items(lambda n: start.pulls.equivalent(half, margin, start.varying.error(n, None), n, LEVEL), POWER)
    if items is None or items > _FEW:
        return
    lift = _lifted(start, half)
    true = truth(study, distribution.name, lift)[name]
    said = [
        pulls.equivalent(true.difference, margin, varying.error(items, None), items, LEVEL)
        for varying, pulls in ((true.varying, true.pulls), (true.alone, true.alone_pulls))
    ]
    found = verdicts(source_of(study), distribution, items, count, lift)[name]
    yield Row(f"equivalent, {items} items", *said, found["equivalent"] / found.total())


def pilots(size: int, count: int, rng: np.random.Generator, *, skewed: bool) -> tuple[float, float, float, float]:
    """Of so many pilots: by which factor the items that they ask for are off (10%, median, 90%), and the mean power."""
    draw = rng.exponential if skewed else rng.standard_normal
    variance = np.var(draw(size=(count, size)), axis=1, ddof=1)
    difference = 0.25

    def needed(of: float) -> int:
        return fewest_items(lambda n: NORMAL.told(difference, sqrt(of / n), n, LEVEL), POWER) or 1

    asked = np.array([needed(one) for one in variance])
    power = np.mean([NORMAL.told(difference, sqrt(1 / n), int(n), LEVEL) for n in asked])
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
    print("| study | headline | values of items | asked | by pairs | by one model | found |")
    print("|---|---|---|---|--:|--:|--:|")
    wrong = 0
    for study in chosen.study:
        for name in HEADLINES[study]:
            for distribution in DISTRIBUTIONS[:3]:
                rows = [cell(study, name, distribution, items, chosen.pairs) for items in chosen.items]
                for row in [*rows, *equivalence(study, name, distribution, chosen.pairs)]:
                    off = abs(row.pairs - row.found)
                    wrong += off > 0.05 + 3 * sqrt(row.pairs * (1 - row.pairs) / chosen.pairs)
                    told = " | ".join(f"{100 * one:.0f}" for one in row[1:])
                    print(f"| {study} | {name} | {distribution.name} | {row.asked} | {told} |", flush=True)
    return wrong


if __name__ == "__main__":
    main()
