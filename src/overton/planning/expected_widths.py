"""The expected width of a headline's interval in a design, from the variation among items in a pilot."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite, nan
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import msgspec

from overton.comparison.sources import comparing_of
from overton.planning.pilot import pilot_of, trials_of
from overton.statistics.estimate import FEWEST
from overton.statistics.jackknife import Jackknife
from overton.statistics.power import ItemVariance
from overton.studies.power import varying

if TYPE_CHECKING:
    from overton.comparison.sources import ComparisonSource
    from overton.runs.setup import Arguments, SetUp
    from overton.studies.contributions import Contribution
    from overton.studies.planned_headlines import PlannedHeadline

LEVEL = 0.95
_MOST_UNITS = 1_000_000
_MOST_TRIALS = 1_000


def with_expected_widths(
    headlines: Sequence[PlannedHeadline], pilot: str, ready: SetUp, model_args: Arguments | None
) -> tuple[tuple[PlannedHeadline, ...], str]:
    """Add the expected widths to the headlines. Return the headlines, and the pilot's name as used in sentences.

    The width is that of a Student's t interval over items or groups of items. Its variance is the mean over the pilot's
    models. If the pilot repeats trials, the variance within items is separated from the variance among items.

    Raises:
        InputError: the pilot does not exist, or the study does not declare how models are compared.
        RunError: the pilot is not a run, or has no records.
    """
    with TemporaryDirectory(prefix="overton-") as folder:
        source, called = pilot_of(pilot, ready, model_args, Path(folder))
        trials = trials_of(ready.experiment.options)
        unit = comparing_of(ready.experiment.study).unit
        found = tuple(_with_width(headline, source, unit, trials) for headline in headlines)
    return found, called


def _with_width(headline: PlannedHeadline, pilot: ComparisonSource, unit: str, trials: int | None) -> PlannedHeadline:
    varies = _variance(headline.measure, pilot, unit)
    if varies is None or headline.units < FEWEST or not headline.is_measurable:
        return headline
    width = _width(varies, headline.units, trials)
    fewest = next((units for units in _steps(headline.units) if _width(varies, units, trials) <= width / 2), None)
    more = range((trials or _MOST_TRIALS) + 1, _MOST_TRIALS + 1) if isfinite(varies.trials) else range(0)
    enough = next((many for many in more if _width(varies, headline.units, many) <= width / 2), None)
    return msgspec.structs.replace(headline, width=width, items_for_half=fewest, trials_for_half=enough)


def _steps(units: int) -> range:
    """Numbers of units to try. Halving the width takes at most four times as many units, because t falls with the
    number of units."""
    return range(units + 1, min(4 * units, _MOST_UNITS) + 1)


def _width(varies: ItemVariance, units: int, trials: int | None) -> float:
    from scipy.stats import t

    return float(2 * t.ppf((1 + LEVEL) / 2, units - 1) * varies.error(units, trials))


def _variance(measure: str, pilot: ComparisonSource, unit: str) -> ItemVariance | None:
    """The variance of one model's value of `measure`, as a mean over the pilot's models; None if the pilot does not
    show any variance."""
    halves, jackknife = pilot.halves, Jackknife(unit=unit)
    counts = halves.trials if halves else (0, 0)
    names = [pilot.model] if pilot.model else [*pilot.sides]
    found = [
        varying(contribution, halves.both(name, measure) if halves else None, counts, jackknife).varies
        for name in names
        for contribution in pilot.sides[name]
        if contribution.measure.name == measure and _is_enough(contribution)
    ]
    if not found or not any(varies.items > 0 or varies.trials > 0 for varies in found):
        return None
    chances = [varies.trials for varies in found]
    return ItemVariance(fmean(varies.items for varies in found), fmean(chances) if all(map(isfinite, chances)) else nan)


def _is_enough(contribution: Contribution) -> bool:
    return len(contribution.place) >= FEWEST
