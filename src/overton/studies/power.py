"""The variation of a study's measures over items and trials, and the results expected with fewer trials of each item.

In a run with T trials of each item, every block of fewer trials can be treated as a smaller run. The mean over blocks
of one size estimates the same quantity as a run with that number of trials. So two runs with different numbers of
trials can be compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import nan
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from overton.statistics.comparison import Number
from overton.statistics.jackknife import Jackknife, Resampling
from overton.statistics.power import ItemVariance, by_chance, item_influences, scatter
from overton.studies.contributions import Contribution, Sides, of_pairs
from overton.studies.measurement import Comparing
from overton.studies.results import Results

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class Halves:
    """The trials of every item in two halves: the odd and the even repetitions. `sides` has every model's contributions
    in each half, and `trials` the number of trials of an item in each half."""

    sides: tuple[Sides, Sides]
    trials: tuple[int, int]

    def both(self, model: str, measure: str) -> tuple[Contribution, Contribution] | None:
        """A model's contributions to a measure in both halves; None if a half has no contributions."""
        found = [
            contribution
            for sides in self.sides
            for contribution in sides.get(model, ())
            if contribution.measure.name == measure
        ]
        return (found[0], found[1]) if len(found) == 2 else None


def halves_of(comparing: Comparing, results: Results, how: Any) -> Halves | None:
    """The halves of the records of runs; None if trials are not repeated, or repetitions cannot be identified."""
    odd = halves_of_trials(results, comparing.trial)
    if odd is None:
        return None
    number, records = repetitions(results.records[comparing.trial]), results.records
    counts = number.filter(odd).n_unique(), number.filter(~odd).n_unique()
    first, second = (comparing.records(results.part(records.filter(use)), how) for use in (odd, ~odd))
    return Halves((first, second), counts)


def halves_of_trials(results: Results, column: str) -> pl.Series | None:
    """For each record, whether its repetition is odd, from the trials' names in a `column`. None if the column is '' or
    missing, if a name has no repetition, or if all records fall into one half."""
    if not column or column not in results.records.columns:
        return None
    number = repetitions(results.records[column])
    if number.null_count() or (number % 2).n_unique() < 2:
        return None
    return number % 2 == 1


def repetitions(names: pl.Series) -> pl.Series:
    """The repetition of each trial, from its name: 'issue/balanced/w1/t2/r3' is the third."""
    import polars as pl

    return names.str.extract(r"/r(\d+)$").cast(pl.Int64, strict=False)


Both = tuple[Contribution, Contribution] | None


class ObservedVariance(NamedTuple):
    """The observed variance of a statistic (`varies`), and the number of items from which the statistic is computed.
    `pulls` has the influence of each item, or each group of items, on the statistic."""

    varies: ItemVariance
    items: int
    pulls: NDArray[np.float64]


def varying(whole: Contribution, halves: Both, counts: tuple[int, int], jackknife: Jackknife) -> ObservedVariance:
    """The observed variance of one model's number."""
    every = [whole, *(halves or ())]
    items, resampling = _shared_items(every, jackknife)
    numbers = [contribution.over(items, resampling) for contribution in every]
    return ObservedVariance(_item_variance(numbers, counts), len(items), item_influences(numbers[0]))


def varying_apart(
    whole: tuple[Contribution, Contribution], halves: tuple[Both, Both], counts: tuple[int, int], jackknife: Jackknife
) -> ObservedVariance:
    """The observed variance of the difference between two models' numbers, candidate minus base."""
    base, candidate = halves
    pairs = [whole] if base is None or candidate is None else [whole, *zip(base, candidate, strict=True)]
    items, resampling = _shared_items([contribution for pair in pairs for contribution in pair], jackknife)
    numbers = [second.over(items, resampling).minus(first.over(items, resampling)) for first, second in pairs]
    return ObservedVariance(_item_variance(numbers, counts), len(items), item_influences(numbers[0]))


def chance_of(
    base: tuple[Contribution, Contribution],
    candidate: tuple[Contribution, Contribution],
    counts: tuple[int, int],
    jackknife: Jackknife,
) -> float:
    """The variance of one item's influence on the difference between two models, due only to random variation within a
    single trial."""
    items, resampling = _shared_items([*base, *candidate], jackknife)
    first, second = (
        of_candidate.over(items, resampling).minus(of_base.over(items, resampling))
        for of_base, of_candidate in zip(base, candidate, strict=True)
    )
    return by_chance(first, second, counts) if len(items) > 1 else nan


def _shared_items(every: Sequence[Contribution], jackknife: Jackknife) -> tuple[list[str], Resampling]:
    items = sorted(set.intersection(*(set(contribution.place) for contribution in every)))
    return items, jackknife.over(max(len(items), 1))


def _item_variance(numbers: Sequence[Number], counts: tuple[int, int]) -> ItemVariance:
    whole = scatter(numbers[0])
    if len(numbers) < 3:
        return ItemVariance(whole)
    return ItemVariance.found(whole, by_chance(numbers[1], numbers[2], counts), sum(counts))


class ItemsNeeded(msgspec.Struct, frozen=True):
    """The number of items required with `trials` trials of each item. `trials` is None if the number of trials does not
    matter or is unknown.

    To detect the difference, `items` items are required. `items_between` is an 80% interval for that number, which
    reflects the pilot's uncertainty. `items_equivalent` items are required to find two models equivalent if they truly
    differ by half the margin. A value is None if no number of items is enough. Costs are in US dollars, None if a price
    is unknown.
    """

    trials: int | None
    items: int | None
    items_between: tuple[int, int] | None
    cost: float | None
    items_equivalent: int | None
    cost_equivalent: float | None


class Detection(msgspec.Struct, frozen=True):
    """The number of items required to detect a `difference` between two models with probability `power`, and what this
    plan detects.

    `pilot` names the source of the variation between items: `pilot_models` answered `pilot_trials` trials of each of
    `pilot_items` items. `correlation` is the correlation over items between the two models' true numbers. `assumed` is
    True if no pilot gave this correlation. `differing` lists the settings in which the plan differs from the pilot.
    `spread_items` and `spread_trials` are standard deviations of one item's influence on the difference. `spread_items`
    is due to differences between items, and `spread_trials` to random variation within a single trial. `spread_trials`
    is None if these two sources could not be separated. `pairs` is the number of pairs of models among which the
    significance level is divided (Bonferroni).

    `unit` is the plural word for the clusters that intervals are over. Three values describe the plan itself. `chance`
    is the plan's power to detect the difference, and `smallest` is the smallest difference that it detects with the
    requested power. `chance_equivalent` is the probability that the plan finds two models equivalent if they truly
    differ by half the margin. If these three values are missing, `why` is the reason, otherwise None.
    """

    measure: str
    title: str
    difference: float
    unit: str
    margin: float
    power: float
    level: float
    pairs: int
    pilot: str
    pilot_models: tuple[str, ...]
    pilot_items: int
    pilot_trials: int | None
    correlation: float | None
    assumed: bool
    differing: tuple[str, ...] = ()
    spread_items: float | None = None
    spread_trials: float | None = None
    items: int = 0
    trials: int | None = None
    chance: float | None = None
    smallest: float | None = None
    chance_equivalent: float | None = None
    needed: tuple[ItemsNeeded, ...] = ()
    why: str | None = None


def with_fewer_trials(comparing: Comparing, results: Results, how: Any, trials: int) -> Sides:
    """Every model's contributions to the `matched` measures, as expected from a run with only `trials` trials. They are
    means over blocks of that many trials. The result is empty if the study has no `matched` measures, or if a record's
    repetition is unknown."""
    records = results.records
    if comparing.few is None or comparing.trial not in records.columns:
        return {}
    number = repetitions(records[comparing.trial])
    if number.null_count() or not records.height:
        return {}
    found = [
        comparing.few(results.part(records.filter((number > first) & (number <= first + trials))), how)
        for first in blocks(max(number.to_list()), trials)
    ]
    models = dict.fromkeys(model for sides in found for model in sides)
    return {model: list(_block_means([sides[model] for sides in found if model in sides])) for model in models}


def blocks(total: int, size: int) -> list[int]:
    """The starts of evenly spread blocks of `size` trials, which together contain all of `total` trials. The first
    block starts at 0. Blocks may overlap."""
    if size >= total:
        return [0]
    return [round(start) for start in np.linspace(0, total - size, -(-total // size)).tolist()]


def _block_means(found: Sequence[Sequence[Contribution]]) -> Iterator[Contribution]:
    """For each measure, the mean over blocks of each item's value. An item is included if at least one block has it."""
    for some in zip(*found, strict=True):
        values: dict[str, list[float]] = {}
        for contribution in some:
            for name, row in contribution.place.items():
                values.setdefault(name, []).append(float(contribution.parts[row, 0] / contribution.parts[row, 1]))
        mean = np.array([np.mean(own) for own in values.values()])
        measure = some[0].measure
        if values:
            yield of_pairs(measure, list(values), mean, np.ones(len(mean)))
        else:
            yield Contribution(measure, (), np.empty((0, 2)), why=some[0].why)
