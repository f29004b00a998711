"""Coverage and width of the intervals of kappa and alpha, next to other intervals.

    python -m benchmarks.agreement [--simulations 400] [--quick]

Raters whose agreement is known label rows in clusters. In a cluster labels are alike, and so is how often raters are
right. Overton's interval is compared with its parts: leaving clusters out, and Wilson's limits. It is also compared
with the large-sample intervals of 0.2.0 (Fleiss, Cohen and Everitt 1969, summed over clusters; for a stratified sheet
Cochran 1977). `--quick` simulates a few cells, and fails unless Overton's interval covers the truth as it should.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtri

from overton.judging.agreement import cohen_kappa, krippendorff_alpha
from overton.statistics import Estimate
from overton.statistics.jackknife import StandardErrors, gaps
from overton.statistics.proportions import wilson_limits

Array = np.ndarray[Any, Any]
Limits = tuple[Array, Array]

PREVALENCES = ((0.5, 0.5), (0.8, 0.2), (0.95, 0.05), (0.4, 0.3, 0.3), (0.7, 0.25, 0.05))
RIGHT = (0.5, 0.8, 0.95, 0.99)
CLUSTERS = (5, 8, 12, 20, 40, 100)
ROWS = (1, 6)
ALIKE = 0.3
"""How alike the rows of a cluster are: the correlation of what they have in common."""
POPULATION = 300_000
SHEETS = (40, 100, 200)
NAMES = ("Overton", "jackknife", "Wilson", "large-sample")


class World(NamedTuple):
    """A world: the frequency of each label, how often a rater is right, rows of a cluster, raters, the share of labels
    missing."""

    prevalence: tuple[float, ...]
    right: float
    rows: int = 1
    raters: int = 2
    missing: float = 0.0

    def labels(self, random: np.random.Generator, sets: int, clusters: int) -> Array:
        """Labels [sets, clusters, rows, raters], -1 for a missing one. A rater who is not right guesses."""
        shares, size = np.array(self.prevalence), (sets, clusters)
        common, right = np.broadcast_to(shares, (*size, len(shares))), np.full(size, self.right)
        if self.rows > 1:
            weight = (1 - ALIKE) / ALIKE
            common = random.dirichlet(shares * weight, size)
            right = random.beta(self.right * weight, (1 - self.right) * weight, size)
        many = (*size, self.rows, self.raters)
        truth = _choose(random, common[:, :, None, None], (*many[:-1], 1))
        said = np.where(random.random(many) < right[..., None, None], truth, _choose(random, shares, many))
        return np.where(random.random(many) < self.missing, -1, said)


class Cell:
    """The results for one interval: how often it covered the truth, its width, and how often there was none."""

    def __init__(self) -> None:
        self.coverage: list[float] = []
        self.width: list[float] = []
        self.none: list[float] = []

    def add(self, limits: Limits, truth: float) -> None:
        """Count the intervals of one world."""
        low, high = (np.clip(limit, -1, 1) for limit in limits)
        made = np.isfinite(low) & np.isfinite(high)
        self.none.append(100 * float(1 - made.mean()))
        if made.any():
            self.coverage.append(100 * float(((low - 1e-9 <= truth) & (truth <= high + 1e-9))[made].mean()))
            self.width.append(float((high - low)[made].mean()))

    def __str__(self) -> str:
        mean, tenth, least = (np.mean(self.coverage), np.quantile(self.coverage, 0.1), min(self.coverage))
        return f"{mean:.1f} ({tenth:.0f}, {least:.0f}), {np.mean(self.width):.2f}, {np.mean(self.none):.0f}"


def _choose(random: np.random.Generator, shares: Array, size: tuple[int, ...]) -> Array:
    return np.asarray((random.random(size)[..., None] > shares.cumsum(-1)[..., :-1]).sum(-1))


def kappa_sums(said: Array, labels: int, weight: Array | float = 1.0) -> Array:
    """Parts of Cohen's kappa by cluster: disagreement, rows, labels of the first and of the second."""
    first, second = (np.eye(labels)[said[..., rater]] for rater in (0, 1))
    differ = (said[..., 0] != said[..., 1])[..., None]
    parts = np.concatenate([differ, np.ones_like(differ), first, second], -1)
    return np.asarray((parts * weight).sum(2))


def kappa_parts(sums: Array) -> Limits:
    """Disagreement, and that by chance."""
    labels = (sums.shape[-1] - 2) // 2
    chance = (sums[..., 2 : 2 + labels] * sums[..., 2 + labels :]).sum(-1) / sums[..., 1] ** 2
    return sums[..., 0] / sums[..., 1], 1 - chance


def alpha_sums(said: Array, labels: int) -> Array:
    """Parts of alpha by cluster: disagreement, labels, and how many there are of each."""
    counts = (np.eye(labels + 1)[said])[..., :labels].sum(3)
    many = counts.sum(-1, keepdims=True)
    differ = (many**2 - (counts**2).sum(-1, keepdims=True)) / np.maximum(many - 1, 1)
    return np.asarray((np.concatenate([differ, many, counts], -1) * (many > 1)).sum(2))


def alpha_parts(sums: Array) -> Limits:
    """Disagreement, and that by chance."""
    many = sums[..., 1]
    return sums[..., 0] / many, (many**2 - (sums[..., 2:] ** 2).sum(-1)) / (many * (many - 1))


def alternatives(sums: Array, parts: Callable[[Array], Limits]) -> dict[str, Limits]:
    """Limits of all sets by other intervals; NaN if there is none."""
    clusters = sums.shape[1]
    with np.errstate(divide="ignore", invalid="ignore"):
        differ, chance = parts(sums.sum(1))
        differ_without, chance_without = parts(sums.sum(1, keepdims=True) - sums)
        value = 1 - differ / chance
        spread = _spread((value[:, None] - 1 + differ_without / chance_without) * (clusters - 1) / clusters)
        low, high = gaps(spread, 0.95)
        error = _spread((differ[:, None] - differ_without) * (clusters - 1) / clusters).error
        alike = np.where(error < 1e-12, clusters, differ * (1 - differ) / error**2)
        least, most = wilson_limits(differ, alike, 0.95)
        of_differ = 1 - most / chance, 1 - least / chance
    flat = np.where(spread.error < 1e-12, np.nan, 0.0)
    wald = ndtri(0.975) * spread.error + flat
    return {
        "jackknife": (value + low + flat, value + high + flat),
        "Wilson": of_differ,
        "large-sample": (value - wald, value + wald),
    }


def _spread(influence: Array) -> StandardErrors:
    clusters = influence.shape[1]
    away = influence - influence.mean(1, keepdims=True)
    variance = (away**2).sum(1)
    skewness = np.clip(np.nan_to_num((away**3).sum(1) / variance**1.5), -1, 1)
    return StandardErrors(
        np.sqrt(variance * clusters / (clusters - 1)), skewness, np.full(len(influence), clusters - 1.0)
    )


def own_kappa(said: Array, weights: Array | None = None) -> Estimate:
    """Overton's kappa of one set."""
    clusters = np.repeat(np.arange(said.shape[0]), said.shape[1])
    first, second = said.reshape(-1, 2).T.tolist()
    return cohen_kappa(first, second, clusters.tolist(), weights=None if weights is None else weights.tolist())


def own_alpha(said: Array) -> Estimate:
    """Overton's alpha of one set."""
    clusters = np.repeat(np.arange(said.shape[0]), said.shape[1]).tolist()
    units = [[label for label in unit if label >= 0] for unit in said.reshape(-1, said.shape[-1]).tolist()]
    return krippendorff_alpha(units, clusters)


def _limits_of(found: list[Estimate]) -> Limits:
    return np.array([one.low for one in found]), np.array([one.high for one in found])


def intervals_in(
    world: World, clusters: Sequence[int], sets: int, random: np.random.Generator, *, alpha: bool
) -> Iterator[tuple[int, float, dict[str, Limits]]]:
    """For each number of clusters the true value of kappa or alpha, and all intervals of it in so many sets."""
    kinds, parts = len(world.prevalence), alpha_parts if alpha else kappa_parts
    sums, own = (alpha_sums, own_alpha) if alpha else (kappa_sums, own_kappa)
    differ, chance = parts(sums(world.labels(random, 1, POPULATION // world.rows), kinds).sum(1))
    for many in clusters:
        said = world.labels(random, sets, many)
        found = {"Overton": _limits_of([own(one) for one in said]), **alternatives(sums(said, kinds), parts)}
        yield many, float((1 - differ / chance).item()), found


def intervals_of_sheets(
    world: World, rows: int, sets: int, random: np.random.Generator
) -> tuple[float, dict[str, Limits]]:
    """The same of sheets with an equal number of rows of each label of the first, which are weighted."""
    kinds = len(world.prevalence)
    everybody = world.labels(random, 1, POPULATION)[0]
    differ, chance = kappa_parts(kappa_sums(everybody[None], kinds).sum(1))
    strata = [everybody[everybody[:, 0, 0] == label] for label in range(kinds)]
    drawn = rows // kinds
    said = np.concatenate([stratum[random.integers(0, len(stratum), (sets, drawn))] for stratum in strata], axis=1)
    weights = np.repeat([len(stratum) / POPULATION / drawn for stratum in strata], drawn)
    sums = kappa_sums(said, kinds, weights[:, None, None])
    found = {"Overton": _limits_of([own_kappa(one, weights) for one in said]), **alternatives(sums, kappa_parts)}
    return float((1 - differ / chance).item()), found | {"large-sample": _of_strata(said, weights, kinds)}


def _of_strata(said: Array, weights: Array, kinds: int) -> Limits:
    """0.2.0's interval of a stratified sheet, from the variance within strata of each row's influence."""
    first, second = said[:, :, 0, 0], said[:, :, 0, 1]
    strata = np.array([weights[first[0] == label].sum() for label in range(kinds)])
    same, chance = (first == second).astype(float), (weights * strata[second]).sum(1, keepdims=True)
    observed = (weights * same).sum(1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        value = ((observed - chance) / (1 - chance))[:, 0]
        moved = (same * (1 - chance) - (1 - observed) * strata[second]) / (1 - chance) ** 2
    parts = [moved[:, first[0] == label] for label in range(kinds)]
    variance = sum(strata[label] ** 2 * part.var(1, ddof=1) / part.shape[1] for label, part in enumerate(parts))
    wald = ndtri(0.975) * np.where(variance <= 1e-24, np.nan, variance) ** 0.5
    return value - wald, value + wald


def worlds(*, alpha: bool) -> Iterator[World]:
    """Worlds of kappa, of two raters who label everything, and of alpha, of three who leave a fifth out."""
    for prevalence, right, rows in product(PREVALENCES, RIGHT, ROWS):
        yield World(prevalence, right, rows, *((3, 0.2) if alpha else (2, 0.0)))


def print_tables(sets: int) -> None:
    """All tables."""
    random = np.random.default_rng(1)
    for name, alpha in (("Cohen's kappa", False), ("Krippendorff's alpha", True)):
        by_clusters, by_prevalence = defaultdict[str, Cells](_cells), defaultdict[str, Cells](_cells)
        for world in worlds(alpha=alpha):
            for clusters, truth, found in intervals_in(world, CLUSTERS, sets, random, alpha=alpha):
                add_to(by_clusters[str(clusters)], found, truth)
                if clusters >= 20:
                    add_to(by_prevalence[", ".join(map(str, world.prevalence))], found, truth)
        print_table(f"{name}, clusters", by_clusters)
        print_table(f"{name}, 20 clusters or more, labels", by_prevalence)
    by_rows = defaultdict[str, Cells](_cells)
    for prevalence, right, rows in product(PREVALENCES, RIGHT, SHEETS):
        truth, found = intervals_of_sheets(World(prevalence, right), rows, sets, random)
        add_to(by_rows[str(rows)], found, truth)
    print_table("Cohen's kappa of a stratified sheet, rows", by_rows)


Cells = dict[str, Cell]
"""By the interval's name."""


def _cells() -> Cells:
    return {name: Cell() for name in NAMES}


def add_to(cells: Cells, found: dict[str, Limits], truth: float) -> None:
    """Count the intervals of one world."""
    for name, limits in found.items():
        cells[name].add(limits, truth)


def print_table(head: str, rows: dict[str, Cells]) -> None:
    """A table with a row for each key."""
    print(f"| {head} | {' | '.join(NAMES)} |\n|---|{'--:|' * len(NAMES)}")
    for key, cells in rows.items():
        print(f"| {key} | {' | '.join(map(str, cells.values()))} |")
    print(flush=True)


QUICK = World((0.5, 0.5), 0.95), World((0.4, 0.3, 0.3), 0.8, 6)


def check(sets: int) -> None:
    """Simulate a few cells.

    Raises:
        SystemExit: intervals cover the truth less often than in 93 of 100 sets, by more than chance explains.
    """
    random = np.random.default_rng(1)
    least = 93 - 3 * 100 * (0.05 * 0.95 / sets) ** 0.5
    failed = []
    for alpha, world in product((False, True), QUICK):
        for clusters, truth, found in intervals_in(world, (8, 40), sets, random, alpha=alpha):
            cell = Cell()
            cell.add(found["Overton"], truth)
            said = f"{'alpha' if alpha else 'kappa'} {truth:.2f}, {clusters} clusters of {world.rows}: {cell}"
            print(said, flush=True)
            failed += [said] * (cell.coverage[0] < least)
    if failed:
        raise SystemExit("\n".join(["too low:", *failed]))


def main() -> None:
    """Read the arguments and print the tables."""
    reader = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    reader.add_argument("--simulations", type=int, default=400)
    reader.add_argument("--quick", action="store_true")
    told = reader.parse_args()
    if told.quick:
        check(min(told.simulations, 200))
    else:
        print_tables(told.simulations)


if __name__ == "__main__":
    main()
