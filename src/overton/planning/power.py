"""The size of the difference that a plan would detect. Variation among items is estimated from a pilot, and cost from
the plan."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import combinations
from math import isfinite, isnan, nan, sqrt
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from overton.calls.model import Model
from overton.comparison.sources import ComparisonSource, comparing_of
from overton.errors import InputError, Problem
from overton.planning.pilot import SIMULATED, asked_differently, pilot_of, trials_of
from overton.runs import dry_run
from overton.runs.dry_run import Plan
from overton.runs.experiment import Experiment
from overton.runs.setup import Arguments, SetUp
from overton.statistics.estimate import FEWEST
from overton.statistics.jackknife import Jackknife
from overton.statistics.power import (
    MOST_ITEMS,
    ItemInfluences,
    ItemVariance,
    apart,
    between,
    fewest_items,
    smallest_detectable,
)
from overton.studies.contributions import Contribution
from overton.studies.measures import WHOLE, Measure
from overton.studies.options import option_place
from overton.studies.power import Detection, ItemsNeeded, ObservedVariance, varying, varying_apart
from overton.studies.study import AnyStudy

ASSUMED = 0.5
"""The correlation of two models' true values over items, if the pilot has only one model."""
LEVEL = 0.95
_PRICED_ITEMS = 10
"""The number of items that are priced, to see how an item's cost depends on its number of trials."""
_TRIALS_SHOWN = (1, 2, 3, 5, 10, 20)


class PlanDetecting(Plan, frozen=True):
    """A plan with its detectable differences: `detect` has one entry for each requested measure."""

    detect: tuple[Detection, ...] = ()


@dataclass(frozen=True)
class Detecting:
    """The differences to detect: their sizes by measure, the power, and the pilot (see `overton.plan`).

    Raises:
        InputError: an invalid size, power, correlation or margin.
    """

    sizes: Mapping[str, float]
    power: float = 0.8
    pilot: str | None = None
    correlation: float | None = None
    margins: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        said = [
            ("detect", f"{name}={size}", "must be a number above 0", isfinite(size) and size > 0)
            for name, size in self.sizes.items()
        ]
        said += [
            ("margin", f"{name}={size}", "must be a number above 0", isfinite(size) and size > 0)
            for name, size in self.margins.items()
        ]
        said.append(("power", str(self.power), "must be above 0.05 and below 1", 0.05 < self.power < 1))
        if self.correlation is not None:
            said.append(
                ("correlation", str(self.correlation), "must be at least -1 and below 1", -1 <= self.correlation < 1)
            )
        if wrong := [Problem(option_place(place), given, reason) for place, given, reason, right in said if not right]:
            raise InputError(wrong)


def add_detections(
    planned: Plan,
    wanted: Detecting,
    ready: SetUp,
    answering: Mapping[str, Sequence[Model]],
    model_args: Arguments | None = None,
) -> PlanDetecting:
    """Add to the plan what it would detect, for each measure.

    Raises:
        InputError: the pilot or a measure does not exist, or the study does not declare how models are compared.
        RunError: the pilot is not a run, or has no records.
    """
    study = ready.experiment.study
    comparing_of(study)
    costs = _Costs(planned, ready, answering)
    models = len(answering[study.first])
    pairs = max(1, 1 if study.together else models * (models - 1) // 2)
    with TemporaryDirectory(prefix="overton-") as folder:
        pilot, called = pilot_of(wanted.pilot, ready, model_args, Path(folder))
        made = tuple(
            _PilotMeasure(study, wanted, pilot, called, measure, size, pairs).detection(costs)
            for measure, size in wanted.sizes.items()
        )
        simulated = wanted.pilot is None or wanted.pilot.startswith(SIMULATED)
        otherwise = () if simulated else tuple(asked_differently(pilot, ready))
    return PlanDetecting(
        **{name: getattr(planned, name) for name in planned.__struct_fields__},
        detect=tuple(msgspec.structs.replace(detection, differing=otherwise) for detection in made),
    )


class _Costs:
    """The cost of a plan's units, by the number of trials. Intervals are over units, and a unit may consist of
    `several` items of the study."""

    def __init__(self, planned: Plan, ready: SetUp, answering: Mapping[str, Sequence[Model]]) -> None:
        self._planned_items = planned.items
        self.trials = trials_of(ready.experiment.options)
        self._item_cost = None if planned.cost is None else planned.cost / max(planned.items, 1)
        self._cost_of_sample = _cost_function(ready.experiment, answering)
        self._sample_costs: dict[int, float] = {}

    def items(self, several: float) -> int:
        """The number of units of the plan."""
        return round(self._planned_items / several)

    def of(self, items: int | None, trials: int | None, several: float) -> float | None:
        """The cost in US dollars of `items` units, each of `several` items with `trials` trials per item. None if a
        price is unknown."""
        if items is None or self._item_cost is None:
            return None
        cost = items * several * self._item_cost
        if trials is None or self.trials is None or trials == self.trials:
            return cost
        return cost * self._sampled_cost(trials) / max(self._sampled_cost(self.trials), 1e-12)

    def _sampled_cost(self, trials: int) -> float:
        """The cost of the sampled items. It is linear in the number of trials, so two points determine it."""
        for count in (1, 2):
            self._sample_costs[count] = (
                self._sample_costs[count] if count in self._sample_costs else self._cost_of_sample(count)
            )
        return self._sample_costs[1] + (trials - 1) * (self._sample_costs[2] - self._sample_costs[1])


def _cost_function(experiment: Experiment, answering: Mapping[str, Sequence[Model]]) -> Callable[[int], float]:
    items = experiment.items
    some = items[:: max(1, len(items) // _PRICED_ITEMS)][:_PRICED_ITEMS]

    def cost(trials: int) -> float:
        options = msgspec.structs.replace(experiment.options, trials=trials)
        return dry_run.plan(replace(experiment, items=some, options=options), answering).cost or 0.0

    return cost


@dataclass(frozen=True)
class _PilotMeasure:
    """One measure of a pilot, and the size of a difference in it."""

    study: AnyStudy
    wanted: Detecting
    pilot: ComparisonSource
    called: str
    measure: str
    size: float
    pairs: int

    def detection(self, costs: _Costs) -> Detection:
        """The numbers of items and trials that detect the difference."""
        known = self._contributions()
        declared = known[0][1].measure
        names = tuple(name for name, _ in known)
        head = Detection(
            measure=self.measure,
            title=declared.title,
            difference=self.size,
            unit=comparing_of(self.study).unit,
            margin=self.wanted.margins.get(self.measure, declared.margin),
            power=self.wanted.power,
            level=1 - (1 - LEVEL) / self.pairs,
            pairs=self.pairs,
            pilot=self.called,
            pilot_models=tuple(name or "all together" for name in names),
            pilot_items=min(len(contribution.place) for _, contribution in known),
            pilot_trials=self._pilot_trials,
            correlation=None,
            assumed=False,
            items=costs.items(several := self._items_per_unit(contribution for _, contribution in known)),
            trials=costs.trials,
        )
        if why := self._why_unknown(known):
            return msgspec.structs.replace(head, why=why)
        found = self._estimate_spread(known)
        varies = found.varies
        if isnan(varies.items):
            return msgspec.structs.replace(head, why="variation among items cannot be estimated from the pilot")
        if varies.items <= 0 and not varies.trials > 0:
            return msgspec.structs.replace(
                head, why="all items of the pilot gave the same result, so variation is unknown; name another pilot"
            )
        return _complete_detection(
            msgspec.structs.replace(
                head, pilot_items=found.items, correlation=found.correlation, assumed=found.assumed
            ),
            found,
            costs,
            several,
        )

    def _items_per_unit(self, known: Iterable[Contribution]) -> float:
        """The number of the study's items per unit of the intervals. For example, several pairs form one topic."""
        if comparing_of(self.study).unit == self.study.items.plural:
            return 1.0
        return max(
            len(self.pilot.asked) / max(len({name for contribution in known for name in contribution.items}), 1), 1.0
        )

    def _contributions(self) -> list[tuple[str, Contribution]]:
        """The contributions of the pilot's models to the measure.

        Raises:
            InputError: there is no such measure.
        """
        sides = self.pilot.sides
        names = [self.pilot.model] if self.pilot.model else [*sides]
        found = [
            (name, contribution)
            for name in names
            for contribution in sides[name]
            if contribution.measure.name == self.measure
        ]
        if not found:
            measures: dict[str, Measure] = {
                contribution.measure.name: contribution.measure for name in names for contribution in sides[name]
            }
            reason = f"no such measure; known are {', '.join(measures)}"
            raise InputError([Problem(option_place("detect"), self.measure, reason)])
        return found

    def _why_unknown(self, known: Sequence[tuple[str, Contribution]]) -> str:
        for name, contribution in known:
            if len(contribution.place) < FEWEST:
                short = (
                    contribution.why
                    or f"it has only {len(contribution.place)} informative {self.study.items.plural}, and needs 5"
                )
                return f"the pilot does not show how items vary: {name or self.called} ({short})"
        return ""

    @property
    def _pilot_trials(self) -> int | None:
        provenance = self.pilot.provenance
        found = provenance.options.get("trials") if provenance else None
        return found if isinstance(found, int) else None

    def _estimate_spread(self, known: Sequence[tuple[str, Contribution]]) -> _DifferenceSpread:
        """Estimate how a difference between two models varies. With several models and no given correlation, the
        estimate uses the differences between these models. Otherwise it uses the models' own variation and the given or
        assumed correlation."""
        jackknife = Jackknife(unit=comparing_of(self.study).unit)
        halves = self.pilot.halves
        counts = halves.trials if halves else (0, 0)
        both = [halves.both(name, self.measure) if halves else None for name, _ in known]
        each = [
            varying(contribution, pair, counts, jackknife) for (_, contribution), pair in zip(known, both, strict=True)
        ]
        own, seen = _mean_variance([variance.varies for variance in each]), min(variance.items for variance in each)
        given = self.wanted.correlation
        if len(known) < 2 or given is not None or known[0][0] == WHOLE:
            correlation = ASSUMED if given is None else given
            pulls = ItemInfluences(_standardised_pulls(each), max(correlation, 0.0))
            return _DifferenceSpread(apart(own, correlation), pulls, seen, correlation, given is None)
        gaps = [
            varying_apart((first, second), pair, counts, jackknife)
            for ((_, first), (_, second)), pair in zip(combinations(known, 2), combinations(both, 2), strict=True)
        ]
        found = _mean_variance([gap.varies for gap in gaps])
        together = 1 - found.items / (2 * own.items) if own.items > 0 else nan
        correlated = together if isfinite(together) else None
        return _DifferenceSpread(
            found,
            ItemInfluences(_standardised_pulls(gaps)),
            min(variance.items for variance in gaps),
            correlated,
            False,
        )


class _DifferenceSpread(NamedTuple):
    """The variation of a difference between two models, and the items' influences (`pulls`). `items` is the number of
    items on which the estimate is based. `correlation` is given, `assumed` or estimated."""

    varies: ItemVariance
    pulls: ItemInfluences
    items: int
    correlation: float | None
    assumed: bool

    def pulls_with(self, trials: int | None) -> ItemInfluences:
        """The distribution of the items' influences on the result, if each item has `trials` trials. With fewer trials,
        an item's influence contains more random variation within trials."""
        items, chance = self.varies.items, self.varies.trials
        if self.pulls.alike is None or trials is None or not isfinite(chance) or not chance > 0:
            return self.pulls
        return self.pulls.with_chance(chance / trials / (items + chance / trials))


def _standardised_pulls(several: Sequence[ObservedVariance]) -> NDArray[np.float64]:
    """The items' influences in several models or pairs, standardised within each model or pair."""
    return np.concatenate(
        [
            (observed_variance.pulls - observed_variance.pulls.mean()) / (observed_variance.pulls.std() or 1.0)
            for observed_variance in several
        ]
    )


def _mean_variance(several: Sequence[ItemVariance]) -> ItemVariance:
    """The mean of variances. The variance of trials is included only if it is known in all cases."""
    if any(isnan(item_variance.trials) for item_variance in several):
        return ItemVariance(fmean(variance.items for variance in several))
    return ItemVariance(fmean(variance.items for variance in several), fmean(variance.trials for variance in several))


def _complete_detection(head: Detection, found: _DifferenceSpread, costs: _Costs, several: float) -> Detection:
    """Add the number of items needed for each number of trials, and the difference that the plan itself would
    detect."""
    level, power, margin, varies = head.level, head.power, head.margin, found.varies
    known_trials = isfinite(varies.trials)
    trials = costs.trials if known_trials else head.pilot_trials
    known: ItemVariance = varies if known_trials or costs.trials is None else ItemVariance(varies.items)
    error, pulls = known.error(max(head.items, 1), costs.trials), found.pulls_with(costs.trials)
    enough = head.items >= FEWEST
    return msgspec.structs.replace(
        head,
        spread_items=sqrt(varies.items),
        spread_trials=sqrt(varies.trials) if known_trials else None,
        chance=pulls.power(head.difference, error, head.items, level) if enough else None,
        smallest=smallest_detectable(error, head.items, level, power, pulls) if enough else None,
        chance_equivalent=pulls.equivalent(margin / 2, margin, error, head.items, level) if enough else None,
        needed=tuple(_needed_rows(head, found, costs, trials, several)),
    )


def _needed_rows(
    head: Detection, found: _DifferenceSpread, costs: _Costs, trials: int | None, several: float
) -> Iterator[ItemsNeeded]:
    varies = found.varies
    every = [trials] if trials is None or not isfinite(varies.trials) else sorted({*_TRIALS_SHOWN, trials})
    for many in every:
        items, same = _fewest(head, partial(varies.error, trials=many), found.pulls_with(many))
        yield ItemsNeeded(
            many,
            items,
            None if items is None else between(items, head.pilot_items),
            costs.of(items, many, several),
            same,
            costs.of(same, many, several),
        )


def _fewest(head: Detection, error: Callable[[int], float], pulls: ItemInfluences) -> tuple[int | None, int | None]:
    """The number of items that detect the difference, and the number of items that show equivalence if the true
    difference is half the margin."""
    level, margin = head.level, head.margin
    detected = fewest_items(lambda n: pulls.power(head.difference, error(n), n, level), head.power)
    same = fewest_items(lambda n: pulls.equivalent(margin / 2, margin, error(n), n, level), head.power)
    return _none_if_too_many(detected), _none_if_too_many(same)


def _none_if_too_many(items: int | None) -> int | None:
    return items if items is None or items <= MOST_ITEMS else None
