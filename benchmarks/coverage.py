"""Do intervals cover what they promise? Simulated items with known truths, through the measures of every study.

    python benchmarks/coverage.py [--simulations 1000] [--study NAME ...] [--items 3 5 12 50 100] [--answers 100]
                                  [--trials 15] [--population 20000] [--check]
    python benchmarks/coverage.py --cells [SETS] | --quick

A simulation gives each item a value from a named distribution, makes the records that such items have, and measures
them like those of a real model. A cell gives the percentage of 95% intervals that cover the truth, followed, if not
all data sets have an interval, by the percentage that have one. The truth comes from the same measures for thousands
of items. `--population` takes at most so many, because few simulations do not need all.

The target is 93 to 97 for symmetric values from five items on, always with an interval, and for moderate skew from
twelve; elsewhere 90 or more, or no interval. A rare property that an item has or lacks has Wilson's interval, whose
coverage at a single true share can be lower: there the target is its exact coverage. For example, the high band at a
true 1% of twelve items is covered in 88.9%, because a single item with the property puts the lower limit at 1.5%.
Squared deviations of exponential values have a skewness of 10.6, and those of lognormal values one of 6.2, so intervals
of their standard deviations are too narrow. Heavy tails are shown as they are. Cells that fall short by more than two
standard errors of so many simulations are named. With --check, it is an error if one falls short by more than chance
does in 5% of tables with as many cells (Bonferroni).

The second table is of intervals over the answers to one issue (`answers.py`), not over items.

`--cells` prints means, ratios and proportions over few items instead (`means.py`), 20,000 data sets a cell unless SETS
says otherwise. `--quick` makes them from 4,000 each, in seconds, and exits with 1 if a cell misses its target, or if a
limit is further than 1.6 times Student's from its number.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Iterator, Sequence
from time import perf_counter
from typing import NamedTuple
from zlib import crc32

import answers
import means
import numpy as np
from items import STUDIES, Distribution, Study
from numpy.typing import NDArray
from scipy.stats import norm

from overton.statistics import Estimate

ITEMS = (3, 5, 12, 50, 100)
ANSWERS = "answers"
QUICK = 4_000
YES_OR_NO = (
    *("share of issues moved", "share of conversations in the high band", "share that changes at turn 3"),
    "share that ends on another stance",
)
"""Measures that are one or the other for each item, or nearly, however its values are distributed."""
SQUARES = ("confidence: variance across temperatures", "confidence: variance within a topic")
"""Measures that are skewed although their values are symmetric."""


_ALWAYS = 0.99
"""Made-up values are of at most a hundred kinds: occasionally five items are all the same, and have no interval."""


class Cell(NamedTuple):
    """The frequency of intervals, and of those that cover the truth, in a number of simulations."""

    given: float
    covered: float
    simulations: int

    def __str__(self) -> str:
        if not self.given:
            return "none"
        return f"{100 * self.covered:.1f}" + ("" if self.given == 1 else f" ({100 * self.given:.0f})")


class Row(NamedTuple):
    """A measure of a study, over items of a distribution, by the number of items; and its true value."""

    study: str
    measure: str
    distribution: Distribution
    cells: dict[int, Cell]
    truth: float


def main() -> None:
    """Print both tables and the cells that fall short."""
    parser = argparse.ArgumentParser(description="Coverage of 95% intervals over repeated simulations.")
    parser.add_argument("--simulations", type=int, default=1000, help="data sets per cell")
    names = [*(one.name for one in STUDIES), ANSWERS]
    parser.add_argument("--study", nargs="+", choices=names, default=names)
    parser.add_argument("--items", nargs="+", type=int, default=ITEMS)
    parser.add_argument("--answers", type=int, default=100, help="simulations of one issue's answers, on twelve issues")
    parser.add_argument("--trials", type=int, default=15, help="trials of each of these")
    parser.add_argument("--population", type=int, default=20_000, help="items that tell the truth, at most")
    parser.add_argument("--check", action="store_true", help="exit with 1 if a cell falls short beyond chance")
    parser.add_argument("--cells", type=int, nargs="?", const=20_000, help="means, ratios, shares only; data sets")
    parser.add_argument("--quick", action="store_true", help="the same with 4,000 sets, exit with 1 if one falls short")
    chosen = parser.parse_args()
    started = perf_counter()
    if chosen.cells or chosen.quick:
        short = means.show(chosen.cells or QUICK)
        print(f"\n{perf_counter() - started:.0f} s; cells that fall short: {'; '.join(short) or 'none'}")
        raise SystemExit(1 if short and (chosen.quick or chosen.check) else 0)
    rows = [
        row
        for study in STUDIES
        if study.name in chosen.study
        for distribution in study.distributions
        for row in simulated(study, distribution, chosen)
    ]
    short = [*fall_short(rows)]
    if rows:
        show(rows, chosen.items)
        print(f"\n{chosen.simulations:,} simulations per cell, seeds from names of study, values and items; ", end="")
        print("cells that fall short: " + ("; ".join(short) if short else "none"))
    if ANSWERS in chosen.study:
        show_answers(chosen.answers, chosen.trials)
    print(f"\n{perf_counter() - started:.0f} s")
    if chosen.check and (wrong := [*fall_short(rows, beyond_chance(rows))]):
        raise SystemExit(f"beyond chance: {'; '.join(wrong)}")


def simulated(study: Study, distribution: Distribution, chosen: argparse.Namespace) -> Iterator[Row]:
    """The rows of a study's measures over items of a distribution."""
    simulations, population = chosen.simulations, min(study.population, chosen.population)
    everything = study.estimates(study.table(seeded(study, distribution, 0), distribution.draw, 1, population))
    truth = {measure: found[0].value for measure, found in everything.items()}
    cells: dict[str, dict[int, Cell]] = defaultdict(dict)
    for count in chosen.items:
        rng = seeded(study, distribution, count)
        held: dict[str, list[tuple[bool, bool]]] = defaultdict(list)
        for start in range(0, simulations, study.at_once):
            sets = min(study.at_once, simulations - start)
            for measure, estimates in study.estimates(study.table(rng, distribution.draw, sets, count)).items():
                held[measure] += [judged(one, truth[measure]) for one in estimates]
        for measure, found in held.items():
            given = [covers for there, covers in found if there]
            cells[measure][count] = Cell(len(given) / simulations, float(np.mean(given)) if given else 0.0, simulations)
    yield from (Row(study.name, measure, distribution, found, truth[measure]) for measure, found in cells.items())


def seeded(study: Study, distribution: Distribution, items: int) -> np.random.Generator:
    """The random numbers of a cell."""
    return np.random.default_rng(crc32(f"{study.name}/{distribution.name}/{items}".encode()))


def judged(one: Estimate, truth: float) -> tuple[bool, bool]:
    """Whether there is an interval, and whether it covers the truth, up to rounding."""
    return bool(np.isfinite(one.low)), one.low - 1e-9 <= truth <= one.high + 1e-9


def show(rows: Sequence[Row], items: Sequence[int]) -> None:
    """A row for each measure and distribution."""
    print("| study | measure | values of items |" + "".join(f" {count} |" for count in items))
    print("|---|---|---|" + "--:|" * len(items))
    for study, measure, distribution, cells, _ in rows:
        told = "".join(f" {cells[count]} |" for count in items)
        print(f"| {study} | {measure} | {distribution.name} |{told}")


def fall_short(rows: Sequence[Row], errors: float = 2.0) -> Iterator[str]:
    """The cells that miss their target by so many standard errors."""
    for study, measure, distribution, cells, truth in rows:
        for count, cell in cells.items():
            least, most, always = wanted(measure, distribution.kind, count, truth)
            if (always and cell.given < _ALWAYS) or (
                cell.given
                and not least - errors * error(cell, least) <= cell.covered <= most + errors * error(cell, most)
            ):
                yield f"{study}, {measure}, {distribution.name}, {count} items: {cell}"


def wanted(measure: str, kind: str, items: int, truth: float) -> tuple[float, float, bool]:
    """The least and the most coverage, and whether there must always be an interval."""
    if measure in YES_OR_NO:
        return min(0.9, means.covered_share(items, truth)), 1, False
    kind = "skewed" if measure in SQUARES and kind == "even" else kind
    if kind == "heavy":
        return 0, 1, False
    if (kind == "even" and items >= 5) or (kind == "skewed" and items >= 12):
        return 0.93, 0.97, kind == "even"
    return 0.9, 1, False


def beyond_chance(rows: Sequence[Row]) -> float:
    """How many standard errors one of as many cells with an interval is off in 5% of tables, at most."""
    return float(norm.isf(0.05 / max(sum(bool(cell.given) for row in rows for cell in row.cells.values()), 1)))


def error(cell: Cell, coverage: float) -> float:
    """The standard error of a coverage from that many intervals."""
    return float(np.sqrt(coverage * (1 - coverage) / (cell.simulations * cell.given)))


def show_answers(simulations: int, trials: int) -> None:
    """Coverage, mean error and mean width of intervals over the answers to one issue."""
    design = answers.records(12, trials)
    results: dict[str, list[tuple[float, Estimate]]] = defaultdict(list)
    for number in range(simulations):
        for name, truth, estimate in answers.simulate(design, number):
            results[name].append((truth, estimate))
    made = f"{design.height:,} trials on 12 issues, {simulations} simulations"
    print(f"\nOpen-mindedness, from an issue's answers: {made}\n")
    print("| | intervals | covered | mean error | mean width |")
    print("|---|--:|--:|--:|--:|")
    for name, pairs in results.items():
        truths = np.array([value for value, _ in pairs])
        value, low, high = (np.array([getattr(one, end) for _, one in pairs]) for end in ("value", "low", "high"))
        known: NDArray[np.bool_] = np.isfinite(value)
        covered = 100 * ((low <= truths) & (truths <= high))[known].mean()
        error, width = (value - truths)[known].mean(), (high - low)[known].mean()
        print(f"| {name} | {known.sum():,} | {covered:.1f} | {error:.3f} | {width:.3f} |")


if __name__ == "__main__":
    main()
