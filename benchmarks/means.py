"""Do intervals of means, ratios and proportions over few items cover the truth, and how wide are they?

These are the cells of `coverage.py --cells`. Values of items come from known distributions. Their mean, or ratio of
sums, gets its interval from `overton.statistics.jackknife` as in every study. Proportions are of items that have a
property or lack it. Data sets are in columns, so that 20,000 of them take a second.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import NamedTuple
from zlib import crc32

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

from overton.statistics.cluster_sums import ClusterSums
from overton.statistics.estimate import SHARE
from overton.statistics.jackknife import FARTHEST, Influence, Jackknife, gaps, standard_errors, student_gap

Floats = NDArray[np.float64]
Draw = Callable[[np.random.Generator, tuple[int, int]], Floats]

WIDEST = 1e-9
"""Rounding, in widths of Student's interval."""


class Values(NamedTuple):
    """A distribution of items' values: how they are drawn [items, data sets], their mean, and which coverage is the
    target (`kind` as in `items.Distribution`)."""

    draw: Draw
    truth: float
    kind: str = "heavy"


VALUES: Mapping[str, Values] = {
    "normal": Values(lambda rng, size: rng.standard_normal(size), 0.0, "even"),
    "uniform": Values(lambda rng, size: rng.random(size), 0.5, "even"),
    "Laplace": Values(lambda rng, size: rng.laplace(size=size), 0.0),
    "exponential": Values(lambda rng, size: rng.exponential(size=size), 1.0, "skewed"),
    "half 0, else Laplace": Values(lambda rng, size: (rng.random(size) < 0.5) * rng.laplace(size=size), 0.0),
    "80% 0, else exponential": Values(lambda rng, size: (rng.random(size) < 0.2) * rng.exponential(size=size), 0.2),
    "lognormal": Values(lambda rng, size: rng.lognormal(size=size), float(np.exp(0.5))),
}
ITEMS = (5, 10, 12, 30, 100)


class Mean(NamedTuple):
    """Coverage by Student's t, by the rule, and by the wider of both (differences within a model), in percent. Then the
    widths of the wider one over Student's (mean, 99% quantile, and the furthest limit), and the number of data
    sets."""

    student: float
    rule: float
    wider: float
    width: float
    wide: float
    furthest: float
    sets: int

    def __str__(self) -> str:
        covered = f"{self.student:.1f} / {self.rule:.1f} / {self.wider:.1f}"
        return f"{covered} | {self.width:.2f} | {self.wide:.2f} | {self.furthest:.2f}"


def _seeded(name: str, items: int) -> np.random.Generator:
    return np.random.default_rng(crc32(f"{name}/{items}".encode()))


def mean(name: str, items: int, sets: int) -> Mean:
    """A cell of means. Data sets without any variation are left out."""
    values, draw = VALUES[name], _seeded(name, items)
    drawn = values.draw(draw, (items, sets))
    drawn = drawn[:, np.ptp(drawn, axis=0) > 0]
    found, many = drawn.mean(0), np.full(drawn.shape[1], float(items))
    spread = standard_errors(Influence((drawn - found) / items, many, many - 1))
    half = student_gap(spread, 0.95)
    (low, high), off = gaps(spread, 0.95), values.truth - found

    def covered(below: Floats, above: Floats) -> float:
        return 100 * float(np.mean((below <= off) & (off <= above)))

    lower, upper = np.minimum(low, -half), np.maximum(high, half)
    width = (upper - lower) / (2 * half)
    return Mean(
        covered(-half, half),
        covered(low, high),
        covered(lower, upper),
        float(width.mean()),
        float(np.quantile(width, 0.99)),
        float(max((-lower / half).max(), (upper / half).max())),
        len(off),
    )


def _clipped(values: Floats) -> Floats:
    return np.clip(values, 0, 1)


def _counted(share: Floats, size: Floats, rng: np.random.Generator) -> tuple[Floats, Floats]:
    return rng.binomial(size.astype(int), share).astype(float), size


Parts = Callable[[np.random.Generator, tuple[int, int]], tuple[Floats, Floats]]


def _change_rate(rng: np.random.Generator, size: tuple[int, int]) -> tuple[Floats, Floats]:
    return _counted(_clipped(rng.normal(0.25, 0.1, size)), np.full(size, 14.0), rng)


def _recall(rng: np.random.Generator, size: tuple[int, int]) -> tuple[Floats, Floats]:
    views = rng.integers(3, 16, size).astype(float)
    return _counted(_clipped(0.7 - 0.02 * views + rng.normal(0, 0.1, size)), views, rng)


def _even_handed(rng: np.random.Generator, size: tuple[int, int]) -> tuple[Floats, Floats]:
    return _counted(_clipped(rng.normal(0.75, 0.1, size)), np.full(size, 4.0), rng)


def _rare(rng: np.random.Generator, size: tuple[int, int]) -> tuple[Floats, Floats]:
    return _counted(np.where(rng.random(size) < 0.1, 0.5, 0.0), np.full(size, 14.0), rng)


def _property(weight: Callable[[np.random.Generator, tuple[int, int]], Floats], share: float) -> Parts:
    def parts(rng: np.random.Generator, size: tuple[int, int]) -> tuple[Floats, Floats]:
        below = weight(rng, size)
        return (rng.random(size) < share) * below, below

    return parts


RATIOS: Mapping[str, tuple[Parts, float]] = {
    "change rate 0.25, 14 pairs a topic": (_change_rate, 90.0),
    "recall of 3 to 15 viewpoints, lower where there are many": (_recall, 93.0),
    "even-handedness 0.75, 4 pairs a topic": (_even_handed, 93.0),
    "rare change: one topic in ten, half of 14 pairs": (_rare, 0.0),
    "all or nothing (0.3), items of weight 3 to 15": (
        _property(lambda rng, size: rng.integers(3, 16, size).astype(float), 0.3),
        90.0,
    ),
    "all or nothing (0.3), a third with five times the weight": (
        _property(lambda rng, size: np.where(rng.random(size) < 0.3, 5.0, 1.0), 0.3),
        90.0,
    ),
}
"""Numbers of studies as sums of items, and the least coverage that is the target (0: shown as a warning)."""


def ratio(name: str, items: int, sets: int) -> tuple[float, float]:
    """The percentage of intervals of a ratio that cover the truth, and their mean width."""
    parts, _ = RATIOS[name]
    rng = _seeded(name, items)
    above, below = parts(np.random.default_rng(0), (1000, 2000))
    truth = above.sum() / below.sum()
    made = Jackknife().over(items).ratios([ClusterSums(*parts(rng, (items, sets)))], "nothing", SHARE)[0]
    ends = np.array([(one.low, one.high) for one in made])
    covered = (ends[:, 0] <= truth) & (truth <= ends[:, 1])
    return 100 * float(covered.mean()), float((ends[:, 1] - ends[:, 0]).mean())


class Share(NamedTuple):
    """Coverage of a proportion of items, averaged over all true proportions, in percent, and the mean width."""

    covered: float
    width: float


def share(items: int) -> Share:
    """The exact coverage of the interval of a share of items that have a property: no draws, every count at once."""
    low, high = _limits_of_shares(items)
    chance = binom.pmf(np.arange(items + 1)[:, None], items, TRUTHS)
    covered = (chance * ((low <= TRUTHS) & (high >= TRUTHS))).sum(0)
    return Share(100 * float(covered.mean()), float((chance * (high - low)).sum(0).mean()))


def covered_share(items: int, truth: float) -> float:
    """The same of a single true share, from 0 to 1."""
    low, high = _limits_of_shares(items)
    return float((binom.pmf(np.arange(items + 1), items, truth) * ((low <= truth) & (truth <= high))[:, 0]).sum())


TRUTHS: Floats = (np.arange(1000) + 0.5) / 1000


@cache
def _limits_of_shares(items: int) -> tuple[Floats, Floats]:
    """The limits of a share that 0, 1, ... or all of so many items have [items + 1, 1]."""
    rows = (np.arange(items)[:, None] < np.arange(items + 1)).astype(float)
    made = Jackknife().over(items).ratios([ClusterSums(rows, np.ones(items))], "nothing", SHARE)[0]
    low, high = (np.array([getattr(one, end) for one in made])[:, None] for end in ("low", "high"))
    return low, high


def noise(percent: float, sets: int) -> float:
    """Twice the standard error of a coverage in percent."""
    return 200 * float(np.sqrt(percent / 100 * (1 - percent / 100) / sets))


def show(sets: int) -> list[str]:
    """Print the three tables; the cells that fall short of the target, and limits that are too far out."""
    return [*_means(sets), *_ratios(sets), *_shares()]


def _means(sets: int) -> Iterator[str]:
    print(f"Means, {sets:,} data sets a cell; widths and limits of the wider rule over Student's\n")
    print("| values | items | cover t / rule / wider | mean width | 99% width | furthest limit |")
    print("|---|--:|---|--:|--:|--:|")
    for name, values in VALUES.items():
        for items in ITEMS:
            cell = mean(name, items, sets)
            print(f"| {name} | {items} | {cell} |", flush=True)
            if cell.furthest > FARTHEST + WIDEST:
                yield f"{name}, {items} items: a limit {cell.furthest:.2f} times as far as Student's"
            least = 93.0 if values.kind == "even" or items >= 12 else 90.0
            if values.kind != "heavy" and not least - noise(least, sets) <= cell.rule <= 97 + noise(97, sets):
                yield f"{name}, {items} items: {cell.rule:.1f}"


def _ratios(sets: int) -> Iterator[str]:
    items = (5, 10, 30, 100)
    print(f"\nNumbers of studies, {sets:,} data sets a cell: coverage (mean width)\n")
    print("| number |" + "".join(f" {count} |" for count in items))
    print("|---|" + "--:|" * len(items))
    for name, (_, least) in RATIOS.items():
        cells = {count: ratio(name, count, sets) for count in items}
        print(f"| {name} |" + "".join(f" {one:.1f} ({width:.2f}) |" for one, width in cells.values()), flush=True)
        for count, (covered, _) in cells.items():
            if covered < least - noise(max(least, 1), sets):
                yield f"{name}, {count} items: {covered:.1f}"


def _shares() -> Iterator[str]:
    items = (5, 10, 12, 30, 100)
    print("\nShares of items, exactly, averaged over all true shares: coverage (mean width)\n")
    print("|" + "".join(f" {count} |" for count in items))
    print("|" + "--:|" * len(items))
    cells = {count: share(count) for count in items}
    print("|" + "".join(f" {one.covered:.1f} ({one.width:.2f}) |" for one in cells.values()))
    for count, one in cells.items():
        if not 94.5 <= one.covered <= 96.5:
            yield f"share of {count} items: {one.covered:.1f}"
