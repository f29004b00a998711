"""How a study's measures vary over items and trials, and what fewer trials of each would give.

A run with T trials contains several with fewer: each block of its trials is one. The mean over such blocks estimates
what a run with as few trials estimates, so that two runs with different numbers of trials can be compared.
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
    """Two sets of the trials of every item, those with odd and those with even repetition numbers: what every model
    contributes in each, and how many `trials` of an item each has."""

    sides: tuple[Sides, Sides]
    trials: tuple[int, int]

    def both(self, model: str, measure: str) -> tuple[Contribution, Contribution] | None:
        """The contributions of a model to a measure in either; None if one has nothing of it."""
        found = [
            contribution
            for sides in self.sides
            for contribution in sides.get(model, ())
            if contribution.measure.name == measure
        ]
        return (found[0], found[1]) if len(found) == 2 else None


def halves_of(comparing: Comparing, results: Results, how: Any) -> Halves | None:
    """The halves of what runs gave; None if trials are not repeated, or their repetitions cannot be identified."""
    odd = halves_of_trials(results, comparing.trial)
    if odd is None:
        return None
    number, records = repetitions(results.records[comparing.trial]), results.records
    counts = number.filter(odd).n_unique(), number.filter(~odd).n_unique()
    first, second = (comparing.records(results.part(records.filter(use)), how) for use in (odd, ~odd))
    return Halves((first, second), counts)


def halves_of_trials(results: Results, column: str) -> pl.Series | None:
    """Which records are of an odd repetition, by the trials' names in a `column`; None if the column is '' or missing,
    or there are not records of both kinds."""
    if not column or column not in results.records.columns:
        return None
    number = repetitions(results.records[column])
    if number.null_count() or (number % 2).n_unique() < 2:
        return None
    return number % 2 == 1


def repetitions(names: pl.Series) -> pl.Series:
    """From the names of trials: 'issue/balanced/w1/t2/r3' is the third."""
    import polars as pl

    return names.str.extract(r"/r(\d+)$").cast(pl.Int64, strict=False)


Both = tuple[Contribution, Contribution] | None


class ObservedVariance(NamedTuple):
    """How a number varies, over how many items that was seen, and what each of these, or each group, pulls at it."""

    varies: ItemVariance
    items: int
    pulls: NDArray[np.float64]


def varying(whole: Contribution, halves: Both, counts: tuple[int, int], jackknife: Jackknife) -> ObservedVariance:
    """How one model's number varies."""
    every = [whole, *(halves or ())]
    items, resampling = _shared_items(every, jackknife)
    numbers = [contribution.over(items, resampling) for contribution in every]
    return ObservedVariance(_item_variance(numbers, counts), len(items), item_influences(numbers[0]))


def varying_apart(
    whole: tuple[Contribution, Contribution], halves: tuple[Both, Both], counts: tuple[int, int], jackknife: Jackknife
) -> ObservedVariance:
    """How the difference of two models' numbers varies, candidate minus base."""
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
    """The variance that the chance in a single trial adds to one item's pull at the difference of two models."""
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
    """How many items it takes with so many `trials` of each (None if that does not matter, or is not known).

    `items` are for the difference to be seen, with `items_between` where that number could lie given the pilot's own
    uncertainty (80%); `items_equivalent` for a true difference of half the margin to be found equivalent. None if no
    number is enough. Costs are in US dollars, None if a price is not known.
    """

    trials: int | None
    items: int | None
    items_between: tuple[int, int] | None
    cost: float | None
    items_equivalent: int | None
    cost_equivalent: float | None


class Detection(msgspec.Struct, frozen=True):
    """What it takes to see a `difference` of two models in a measure with probability `power`, and what this plan sees.

    `pilot` says where the spread of items was taken from: `pilot_items` items with `pilot_trials` trials of each by
    `pilot_models`. `correlation` is that of the models' true numbers over items, `assumed` if no pilot gave it.
    `differing` lists the settings in which the plan differs from the pilot. `spread_items` and `spread_trials` are
    standard deviations of one item's pull at the difference: over items, and by the chance in a single trial (None if
    the two could not be separated). `pairs` is how many pairs the level is divided among, as Bonferroni does.

    `unit` is what intervals are over, in the plural. Of the plan itself: `chance` that its items and trials show the
    difference, the `smallest` difference that they show with the requested power, and `chance_equivalent` that a true
    difference of half the margin is found equivalent. `why` says why there is none of this, None if there is.
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
    """Every model's contributions to the `matched` measures with only `trials` trials, the mean over blocks of them;
    nothing if the study has no such measures, or the repetition of a record is not known."""
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
    """Where blocks of `size` trials begin that together contain all of `total`, spread evenly; the first is at 0."""
    if size >= total:
        return [0]
    return [round(start) for start in np.linspace(0, total - size, -(-total // size)).tolist()]


def _block_means(found: Sequence[Sequence[Contribution]]) -> Iterator[Contribution]:
    """The mean over blocks of each item's own value, by measure; an item counts if some block has it."""
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
