"""Comparison of headlines with their null conditions: each model's number, its value without the cause under study, and
the difference.

Each number is over all items that have it, so a headline has the same value wherever it is printed. The jackknife
leaves each item out of both numbers (`overton.studies.measures`).
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
    """A model's measure compared with one of its null conditions; `model` is '' for all models together.

    `observed` is over all items with an observed value, and `under_null` over all items with a value under the null
    condition. `items` counts the items with at least one of these values. If `observed` or `under_null` has no items,
    `items` is 0. `difference` is `observed` minus `under_null`; the jackknife leaves each item out of both numbers.
    `together` is the same difference with a wider interval, corrected for all tests of its family (max-t, or Bonferroni
    with few items).

    `verdict` is decided twice, with the usual and with the corrected intervals. It is 'not clear' if the interval for
    equivalence (90% for the level 0.95) lies within the measure's margin for comparing models. Otherwise it is 'clear'
    if the interval excludes 0, and 'cannot tell' if the interval includes 0. If the two decisions differ, `verdict` is
    'cannot tell'. `what` is 'null' for a null condition, and 'factor' for a prompt variant.
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
    """The difference between two numbers of one model: the first minus the second. The jackknife leaves each cluster
    out of both numbers; `n` is the smaller of the two numbers' counts.

    Without `wider`, the limits are Overton's usual limits. With `wider`, Student's t limits replace the usual limits if
    they are wider, as for differences from null conditions.
    """
    shared = find_shared_items(second, first, jackknife, within_model=True)
    if not shared.items:
        return not_computed(second.why or first.why, level=jackknife.level)
    over = jackknife.over(len(shared.items))
    made = shared.gap(jackknife).own if wider else shared.difference.estimate(over)
    return msgspec.structs.replace(made, n=min(round(side.parts[:, 1].sum()) for side in (first, second)))


class _MeasureAndNull(NamedTuple):
    """A measure and its null condition. `both` has the contributions to both numbers, those of the null condition
    first. `shared` has both numbers over their items.
    """

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
    """Compare every measure with its null conditions. The list is empty if the run has no null conditions and none can
    be computed from its records.

    `said` has the study's other tests. These tests and the differences that a sentence reports form one family of tests
    (`FAMILY`). The differences that appear only in the table form another family.
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
    """Return whether a sentence compares the measure with its null conditions. Headlines have such a sentence. Variants
    have no such sentence, because it would be a second verdict on the same quantity."""
    return bool(measure.leads or comparing.place(measure.name, model)) and not measure.variant


def _joint_level(pairs: Sequence[_MeasureAndNull], jackknife: Jackknife, beside: int = 0) -> float:
    """The level at which the intervals of all differences hold jointly (`joint_differences`). The family has `beside`
    other tests, so the differences get only a part of the family's error rate."""
    with_interval = [pair for pair in pairs if not isnan(pair.shared.gap(jackknife).own.low)]
    row = {
        name: place for place, name in enumerate(sorted({item for pair in with_interval for item in pair.shared.items}))
    }
    gaps = [(pair.shared.difference, [row[item] for item in pair.shared.items]) for pair in with_interval]
    part = len(gaps) / max(len(gaps) + beside, 1)
    return joint_differences(gaps, 1 - part * min(1 - jackknife.level, FAMILY), jackknife.seed)


def null_sides(null: Null, comparing: Comparing, results: Results, how: Any) -> Sides:
    """Every model's contributions under a null condition. They come from the null condition's own function or, if it
    has none, from the study's usual function."""
    if null.sides is not None:
        return null.sides(results, results.nulls.get(null.name), how)
    return comparing.records(null.alone(results), how)


def _pair_with_null(  # noqa: PLR0917
    null: Null, comparing: Comparing, own: Sides, results: Results, how: Any, jackknife: Jackknife
) -> Iterator[_MeasureAndNull]:
    try:
        sides, why = null_sides(null, comparing, results, how), ""
    except InputError as error:  # for example, if all calls of the null condition failed
        sides, why = {}, f"'{null.name}' cannot be computed: {error}"
    for model, found in own.items():
        known = {contribution.measure.name: contribution for contribution in sides.get(model, ())}
        for contribution in found:
            empty = Contribution(
                contribution.measure, (), np.empty((0, 2)), why=why or "this model was not asked in the null condition"
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
