"""Verdicts on differences between two models, and joint intervals of all pairs of several, over few items.

The cells of `compare.py --cells`. Differences of items come from known distributions; in all but the last, the two
models are exchangeable when they do not differ. An effect moves every item, and is as large as a paired t test finds in
80% of normal data sets. `overton compare` uses Student's t. Next to it are the rule corrected for skewness, and the
wider of both, which differences within a model have.

In the last distribution, samples without the few far items have a high mean and a small standard error (correlation
-0.8). So with ten items 96% of the false verdicts say 'higher'.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import combinations
from typing import NamedTuple
from zlib import crc32

import numpy as np
from numpy.typing import NDArray
from scipy.special import nctdtr, stdtrit
from scipy.stats import ttest_1samp

from overton.statistics.comparison import FEW, gap, joint_differences, number
from overton.statistics.estimate import ratio
from overton.statistics.jackknife import Influence, Jackknife, gaps, standard_errors, student_gap

Floats = NDArray[np.float64]
Draw = Callable[[np.random.Generator, tuple[int, int]], Floats]

MOST = 5.5
"""The most false verdicts on two equal models, in percent."""
POWER = 3.0
"""How far the power may be below that of a paired t test, in points."""
JOINT = 94.0
"""The least joint coverage, in percent."""
_THROUGH = 200
"""Data sets that go through `gap` one by one, as `overton compare` does."""


class Differences(NamedTuple):
    """A distribution of items' differences [items, data sets] with mean 0, and the standard deviation of one. Also
    whether two models are exchangeable if they do not differ."""

    draw: Draw
    deviation: float
    exchangeable: bool = True


def _binary(rng: np.random.Generator, size: tuple[int, int]) -> Floats:
    return (rng.random(size) < 0.3).astype(float) - (rng.random(size) < 0.3)


DIFFERENCES: Mapping[str, Differences] = {
    "normal": Differences(lambda rng, size: rng.standard_normal(size), 1.0),
    "two binary (0.3)": Differences(_binary, 0.42**0.5),
    "half of the items 0, else normal": Differences(
        lambda rng, size: (rng.random(size) < 0.5) * rng.standard_normal(size), 0.5**0.5
    ),
    "one-sided skewed (-exponential)": Differences(
        lambda rng, size: 1 - rng.exponential(size=size), 1.0, exchangeable=False
    ),
}


class Told(NamedTuple):
    """Verdicts 'higher' or 'lower' in percent of data sets: by a paired t test (SciPy's), by Student's t as in
    `compare`, by the rule, and by the wider of both."""

    test: float
    student: float
    rule: float
    wider: float


def told(name: str, items: int, sets: int, lift: float = 0.0) -> Told:
    """How often an interval excludes 0; with a `lift`, how often it lies above."""
    rng = np.random.default_rng(crc32(f"{name}/{items}/{lift > 0}".encode()))
    drawn = DIFFERENCES[name].draw(rng, (items, sets)) + lift
    found, many = drawn.mean(0), np.full(sets, float(items))
    spread = standard_errors(Influence((drawn - found) / items, many, many - 1))
    half, (low, high) = student_gap(spread, 0.95), gaps(spread, 0.95)
    varies = spread.error > 1e-9  # a difference that is the same in all items has Wilson's interval instead
    _as_compared(drawn[:, :_THROUGH], (found - half)[:_THROUGH], varies[:_THROUGH])

    def share(below: Floats, above: Floats) -> float:
        out = (found + below > 0) | ((found + above < 0) & (lift == 0))
        return 100 * float(np.mean(out & varies))

    wider = share(np.minimum(low, -half), np.maximum(high, half))
    return Told(_tested(drawn[:, varies], sets, above=lift > 0), share(-half, half), share(low, high), wider)


def _tested(drawn: Floats, sets: int, *, above: bool) -> float:
    found = ttest_1samp(drawn, 0.0, axis=0)
    out = (found.pvalue < 0.05) & ((found.statistic > 0) | (not above))
    return 100 * float(out.sum()) / sets


def _as_compared(drawn: Floats, low: Floats, varies: NDArray[np.bool_]) -> None:
    """Checks some of the limits against those that a comparison of two models gives."""
    items, jackknife = len(drawn), Jackknife()
    for values, limit, some in zip(drawn.T, low, varies, strict=True):
        if some:
            one = number(np.column_stack([values, np.ones(items)]), ratio, jackknife.over(items))
            own = gap(one, jackknife, items).own
            assert abs(own.low - limit) < 1e-6, (own, limit)


def effect(name: str, items: int) -> float:
    """The lift that a paired t test finds in 80% of normal data sets with this standard deviation."""
    critical = stdtrit(items - 1, 0.975)
    low, high = 0.0, 10.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if 1 - nctdtr(items - 1, middle, critical) >= 0.8 else (middle, high)
    return high * DIFFERENCES[name].deviation / items**0.5


def jointly(models: int, items: int, sets: int) -> float:
    """The percentage of data sets of equal models whose pairs' intervals all cover 0, at the level of
    `joint_differences`.

    Bonferroni's level is the same for all data sets, so that they are computed at once; max-t's is not.
    """
    rng = np.random.default_rng((models, items))
    pairs = np.array([*combinations(range(models), 2)])
    held = 0
    for start in range(0, sets, 1000):
        some = min(1000, sets - start)
        values = rng.standard_normal((items, models, some))
        differences = values[:, pairs[:, 1]] - values[:, pairs[:, 0]]
        found = differences.mean(0)
        parts = ((differences - found) / items).reshape(items, -1)
        many = np.full(parts.shape[1], float(items))
        spread = standard_errors(Influence(parts, many, many - 1))
        for place in range(some) if items >= FEW else [0]:
            level = _level(values[:, :, place], pairs, items)
            half = student_gap(spread, level).reshape(found.shape)
            inside = (np.abs(found) <= half).all(0)
            held += int(inside[place]) if items >= FEW else int(inside.sum())
    return 100 * held / sets


def _level(values: Floats, pairs: NDArray[np.int64], items: int) -> float:
    over = Jackknife().over(items)
    numbers = [number(np.column_stack([one, np.ones(items)]), ratio, over) for one in values.T]
    return joint_differences([(numbers[b].minus(numbers[a]), range(items)) for a, b in pairs.tolist()], 0.95, 0)


def show(sets: int, joint: int) -> list[str]:
    """Print both tables; `joint` counts the data sets with 30 items of the second. The cells that miss their target."""
    return [*_verdicts(sets), *_joint(sets, joint)]


def _verdicts(sets: int) -> Iterator[str]:
    noise = 200 * (0.05 * 0.95 / sets) ** 0.5
    print(f"Two models, {sets:,} data sets a cell: false verdicts / power, %\n")
    print("| difference | items | paired t test | `compare` | the rule | the wider (within a model) |")
    print("|---|--:|---|---|---|---|")
    for name, kind in DIFFERENCES.items():
        for items in (5, 10, 30):
            false, power = told(name, items, sets), told(name, items, sets, effect(name, items))
            cells = (f"{one:.1f} / {other:.1f}" for one, other in zip(false, power, strict=True))
            print(f"| {name} | {items} | " + " | ".join(cells) + " |", flush=True)
            if kind.exchangeable and false.student > MOST + (noise if sets < 20_000 else 0.0):
                yield f"{name}, {items} items: {false.student:.1f}% false verdicts"
            if power.test - power.student > POWER:
                yield f"{name}, {items} items: power {power.student:.1f}%"


def _joint(sets: int, joint: int) -> Iterator[str]:
    models = (3, 6, 10)
    print(
        f"\nAll pairs of equal models, normal items: joint coverage, % ({sets:,} data sets; {joint:,} with 30 items)\n"
    )
    print("| items |" + "".join(f" {one} models |" for one in models))
    print("|--:|" + "--:|" * len(models))
    for items in (5, 10, 30):
        many = sets if items < FEW else joint
        cells = {one: jointly(one, items, many) for one in models}
        print(f"| {items} |" + "".join(f" {one:.1f} |" for one in cells.values()), flush=True)
        for one, covered in cells.items():
            if covered < JOINT - 200 * (0.05 * 0.95 / many) ** 0.5:
                yield f"{one} models, {items} items: {covered:.1f}% jointly"
