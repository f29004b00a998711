"""Headlines against their nulls: each model's number, what it would be if nothing happened, and how far apart they are.

Each is taken over all items that have it, so that a headline has one value wherever it is printed, and each item is
left out of both (`overton.studies.measures`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import isnan
from typing import Any, Literal, NamedTuple

import msgspec
import numpy as np

from overton.errors import InputError
from overton.statistics import Estimate, not_computed
from overton.statistics.comparison import equivalence_level, joint_differences, verdict_of
from overton.statistics.jackknife import Jackknife
from overton.studies.contributions import Contribution, SharedItems, Sides, find_shared_items
from overton.studies.findings import FAMILY, Said, count_tests
from overton.studies.measurement import Comparing
from overton.studies.measures import Measure
from overton.studies.null_conditions import Null
from overton.studies.probabilities import resolve_probabilities
from overton.studies.results import Results

Verdict = Literal["clear", "not clear", "cannot tell"]


class Against(msgspec.Struct, frozen=True):
    """A model's measure against one of its nulls; `model` is '' for all models together.

    `observed` and `under_null` are over all items that have them, `items` counts those that have either; it is 0 if one
    of the two has none. `difference` is `observed` minus `under_null`, each item left out of both. `verdict`: 'not
    clear' if its interval of twice the error (0.9 for 0.95) lies within the measure's margin, the one for comparing
    models; otherwise 'clear' if its interval excludes 0, alone and among all tests of its family (max-t, or
    with few items Bonferroni); otherwise 'cannot tell'. `joint_differences` is the difference with that wider interval.
    `what`: a null, or a factor, which asks in another way.
    """

    model: str
    measure: str
    null: str
    what: Literal["null", "factor"]
    items: int
    observed: Estimate
    under_null: Estimate
    difference: Estimate
    together: Estimate
    margin: float
    verdict: Verdict


def contrast(first: Contribution, second: Contribution, jackknife: Jackknife, *, wider: bool = True) -> Estimate:
    """The first number minus the second, of one model, each cluster left out of both; `n` is the smaller count.

    Its limits are the `wider` of the rule's and Student's, as for differences from null conditions, or the rule's own.
    """
    shared = find_shared_items(second, first, jackknife, within_model=True)
    if not shared.items:
        return not_computed(second.why or first.why, level=jackknife.level)
    over = jackknife.over(len(shared.items))
    made = shared.gap(jackknife).own if wider else shared.difference.estimate(over)
    return msgspec.structs.replace(made, n=min(round(side.parts[:, 1].sum()) for side in (first, second)))


class _MeasureAndNull(NamedTuple):
    """A measure and its null: the contributions of both, the null's first, and the items that they share."""

    model: str
    null: Null
    both: tuple[Contribution, Contribution]
    shared: SharedItems

    @property
    def measure(self) -> Measure:
        return self.both[1].measure


def compare_with_nulls(
    nulls: Sequence[Null], comparing: Comparing | None, results: Results, how: Any, said: Sequence[Said] = ()
) -> list[tuple[Measure, Null, Against]]:
    """Every measure that has a null; empty if no null was asked, or could be computed from the records.

    `said` is what the study declares besides: its tests and the differences of which a sentence speaks are one family
    (`FAMILY`). Those that only the table has are a family of their own.
    """
    available = [null for null in nulls if null.trials is None or null.name in results.nulls]
    if comparing is None or not available:
        return []
    jackknife = Jackknife(how.level, seed=how.seed, unit=comparing.unit)
    own = comparing.records(results, how)
    like = resolve_probabilities(how, comparing.weighing(results, how))
    pairs = [pair for null in available for pair in _pair_with_null(null, comparing, own, results, like, jackknife)]
    with_sentence, others = list[_MeasureAndNull](), list[_MeasureAndNull]()
    for pair in pairs:
        (with_sentence if is_said(pair.measure, pair.model, comparing) else others).append(pair)
    compared = {
        (pair.model, pair.measure.name) for pair in with_sentence if pair.null.what == "null" and pair.shared.items
    }
    level, of_others = (
        _joint_level(with_sentence, jackknife, count_tests(said, compared)),
        _joint_level(others, jackknife),
    )
    return [
        (
            pair.measure,
            pair.null,
            _compare_with_null(pair, jackknife, level if is_said(pair.measure, pair.model, comparing) else of_others),
        )
        for pair in pairs
    ]


def is_said(measure: Measure, model: str, comparing: Comparing) -> bool:
    """Whether a sentence compares the measure with its nulls: it is a headline. A variant has none, since beside the
    headline's own it would be a second verdict on the same thing."""
    return bool(measure.leads or comparing.place(measure.name, model)) and not measure.variant


def _joint_level(pairs: Sequence[_MeasureAndNull], jackknife: Jackknife, beside: int = 0) -> float:
    """The level at which the intervals of all differences hold jointly (`joint_differences`), with `beside`
    other tests: their part of the family's error."""
    with_interval = [pair for pair in pairs if not isnan(pair.shared.gap(jackknife).own.low)]
    row = {
        name: place for place, name in enumerate(sorted({item for pair in with_interval for item in pair.shared.items}))
    }
    gaps = [(pair.shared.difference, [row[item] for item in pair.shared.items]) for pair in with_interval]
    part = len(gaps) / max(len(gaps) + beside, 1)
    return joint_differences(gaps, 1 - part * min(1 - jackknife.level, FAMILY), jackknife.seed)


def null_sides(null: Null, comparing: Comparing, results: Results, how: Any) -> Sides:
    """Every model's contributions under a null condition: of its view of the results, measured as the design is."""
    if null.sides is not None:
        return null.sides(results, results.nulls.get(null.name), how)
    return comparing.records(null.alone(results), how)


def _pair_with_null(  # noqa: PLR0917
    null: Null, comparing: Comparing, own: Sides, results: Results, how: Any, jackknife: Jackknife
) -> Iterator[_MeasureAndNull]:
    try:
        sides, why = null_sides(null, comparing, results, how), ""
    except InputError as error:  # if all of its calls failed, say
        sides, why = {}, f"'{null.name}' gives nothing: {error}"
    for model, found in own.items():
        known = {contribution.measure.name: contribution for contribution in sides.get(model, ())}
        for contribution in found:
            empty = Contribution(
                contribution.measure, (), np.empty((0, 2)), why=why or "the null was not asked of this model"
            )
            other = known.get(contribution.measure.name, empty)
            if null.measures(contribution.measure.name):
                yield _MeasureAndNull(
                    model,
                    null,
                    (other, contribution),
                    find_shared_items(other, contribution, jackknife, within_model=True),
                )


def _compare_with_null(pair: _MeasureAndNull, jackknife: Jackknife, level: float) -> Against:
    measure, items = pair.both[1].measure, pair.shared.items
    alone = pair.shared.gap(jackknife)
    joint = pair.shared.gap(jackknife, (level, equivalence_level(level)))
    under, observed = (side.alone(jackknife) for side in pair.both)
    return Against(
        model=pair.model,
        measure=measure.name,
        null=pair.null.name,
        what=pair.null.what,
        items=len(items),
        observed=observed,
        under_null=under,
        difference=alone.own,
        together=joint.own,
        margin=measure.margin,
        verdict=_VERDICTS[verdict_of([alone, joint], measure.margin)],
    )


_VERDICTS: dict[str, Verdict] = {
    "higher": "clear",
    "lower": "clear",
    "equivalent": "not clear",
    "undecided": "cannot tell",
}
