"""Proportions of every label that a run's judge gave, corrected with human labels for some units.

The formulas are in `statistics.prediction_powered` and docs/judge-reference.md. If people disagree about a unit, each
person counts equally. People who cannot tell give no label. A second proportion counts each 'cannot tell' as the label
in question, so that the two proportions bound the true one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from math import isfinite, isnan, nan
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import msgspec

from overton.judging.label_tasks import CANNOT_TELL, LabelTask, SavedLabels, open_places
from overton.statistics import NO_INTERVAL, Estimate, PreferredEstimate, preferred_estimate
from overton.statistics.estimate import not_computed
from overton.statistics.judge_error_tests import EqualErrors
from overton.studies.document import Shape, with_key
from overton.studies.judged_rows import JudgedUnitTable, check, usable_shares, why_uncorrected

if TYPE_CHECKING:
    from overton.statistics.prediction_powered import JudgeAndHuman


ENOUGH = 100
"""The number of labelled rows from which the corrected number is preferred. With fewer rows, intervals for rare labels
contain the true value too rarely (see docs/judge-reference.md)."""


class Variants(msgspec.Struct, frozen=True):
    """A number from the judge's labels alone (`plain`), corrected by human labels, and from human labels alone.

    In `corrected` and `labelled`, people who cannot tell give no label. For a proportion, `corrected_at_most` counts
    each 'cannot tell' as this label. For a difference, `corrected_at_most` counts 'cannot tell' as this label on the
    first side only, and `corrected_at_least` on the second side only. `leads` names the preferred number.
    """

    SHAPE = Shape(leads=True)

    leads: str
    plain: Estimate
    corrected: Estimate
    labelled: Estimate
    corrected_at_most: Estimate | None = None
    corrected_at_least: Estimate | None = None

    def led(self, plain: Estimate) -> PreferredEstimate:
        """The preferred number together with the three variants; `plain` is the judge's number, as displayed."""
        return preferred_estimate(self.leads, {"plain": plain, "corrected": self.corrected, "labelled": self.labelled})


def leading(corrected: Estimate, labels: int) -> str:
    """The name of the preferred number: the corrected one if it has an interval and there are enough labels."""
    return "corrected" if labels >= ENOUGH and not isnan(corrected.low) else "plain"


Use = Literal["leads", "beside", "absent"]
"""Whether corrected numbers replace the judge's numbers, are displayed next to them, or do not exist."""


def use_of_variants(every: Sequence[Variants]) -> Use:
    """The most favourable use of corrected numbers of a measure in any group."""
    if any(each.leads == "corrected" for each in every):
        return "leads"
    return "beside" if any(isfinite(each.corrected.value) for each in every) else "absent"


class LabelledBetween(msgspec.Struct, frozen=True):
    """The proportions of model `a` minus those of model `b`."""

    a: str
    b: str
    shares: dict[str, Variants]


class LabelledNumbers(msgspec.Struct, frozen=True):
    """Corrected measures that depend on many labels. `groups` has the measures of each group ('' for all units).

    `how` is the method. 'whole units' corrects each unit's own value. 'errors undone' inverts the judge's errors label
    by label. 'single labels' corrects units that have one label each. `labels` counts the rows with human labels that
    are used, and `cannot_tell` the rows whose label people could not tell. `whole` counts completely labelled units.
    `together` is a sentence on whether the judge's errors cluster within units. `equal_errors` are tests of whether
    errors depend on the model or the condition, one for each kind of group.
    """

    how: str
    labels: int
    cannot_tell: int
    whole: int
    together: str
    groups: dict[str, dict[str, Variants]]
    equal_errors: tuple[EqualErrors, ...] = ()


class LabelledShares(msgspec.Struct, frozen=True):
    """One task's labels and their consequences for a run.

    `units` counts the units of `run` that the judge labelled, and `without_label` the units without a judge's label.
    `labelled` counts the judged units with human labels that are used. `set_aside` counts units with human labels that
    are not used: their groups were sampled whole and are not completely labelled. `cannot_tell` is the number of
    labelled units whose label people could not tell. If only some people could not tell, a unit counts in part. `open`
    counts the units on which people disagree without adjudication. With at least `enough` labelled units, the corrected
    number is preferred. `why` is the reason if nothing is corrected, '' otherwise. `measures` are the study's measures
    that depend on many labels, None if it has no such measures.
    """

    run: str
    task: str
    what: str
    judge: str
    people: tuple[str, ...]
    units: int
    without_label: int
    labelled: int
    set_aside: int
    cannot_tell: float
    open: int
    enough: int
    why: str
    shares: dict[str, Variants]
    models: dict[str, dict[str, Variants]]
    differences: tuple[LabelledBetween, ...]
    measures: LabelledNumbers | None = None


def shares_by_people(
    labels: SavedLabels,
    units: JudgedUnitTable,
    run: str,
    place: str,
    *,
    level: float = 0.95,
    why: str = "",
    these: bool = False,
) -> LabelledShares:
    """Proportions of every label. With `these`, they describe exactly the units of this run, otherwise a population of
    similar units.

    `place` is the source of the labels, for messages. `why` is the reason if nothing can be corrected, '' otherwise.

    Raises:
        InputError: a labelled unit is not among the units, or the judge gave it another label.
    """
    check(labels.task, units, place)
    said = usable_shares(labels)
    why = why or why_uncorrected(labels.task, units, len(said))
    names = [] if why else sorted({model for model in units.model or () if model is not None})
    found = {} if why else _correct_shares(labels.task, said, units, names, level, these=these)
    counts = [len(units.id), *(list(units.model or ()).count(name) for name in names)]

    def variants(label: str, both: _BoundedNumber, count: int) -> Variants:
        plain = judged_alone(nan if label == CANNOT_TELL else both.usual.judge, count, level)
        corrected = both.usual.corrected
        return Variants(leading(corrected, len(said)), plain, corrected, both.usual.labelled, both.most, both.least)

    shares = [
        {label: variants(label, numbers[group], count) for label, numbers in found.items()}
        for group, count in enumerate(counts)
    ]
    differences = (
        LabelledBetween(
            names[a - 1],
            names[b - 1],
            {
                label: variants(label, _subtract(numbers[a], numbers[b]), counts[a] + counts[b])
                for label, numbers in found.items()
            },
        )
        for a, b in combinations(range(1, len(counts)), 2)
    )
    return LabelledShares(
        run,
        labels.task.name,
        labels.task.what,
        labels.task.judge,
        tuple(dict.fromkeys(annotator.person for annotator in labels.said)),
        len(units.id),
        units.unlabelled,
        labelled=len(said),
        set_aside=len(labels.shares()) - len(said),
        cannot_tell=sum(answers.get(CANNOT_TELL, 0.0) for answers in said.values()),
        open=len(open_places(labels)),
        enough=ENOUGH,
        why=why,
        shares=shares[0],
        models=dict(zip(names, shares[1:], strict=True)),
        differences=tuple(differences),
    )


class _BoundedNumber(NamedTuple):
    """A number in which 'cannot tell' gives no label, and its largest and smallest value if 'cannot tell' may be any
    label."""

    usual: JudgeAndHuman
    most: Estimate | None = None
    least: Estimate | None = None


def _correct_shares(
    task: LabelTask,
    said: Mapping[int, Mapping[str, float]],
    units: JudgedUnitTable,
    names: Sequence[str],
    level: float,
    *,
    these: bool,
) -> dict[str, list[_BoundedNumber]]:
    """The proportion of each label: first over all units, then over the units of each model."""
    import numpy as np

    from overton.statistics.label_draws import JudgeAndHumanValues, LabelDraw
    from overton.statistics.prediction_powered import correct_by_labels

    judged, every = np.array(units.label), np.ones(len(units.id))
    at = np.array([units.places[task.rows[place].id] for place in said])
    chance, labelled = every.copy(), np.zeros(len(every), bool)
    chance[at] = [task.rows[place].chance for place in said]
    labelled[at] = True
    alike, number = (np.unique(of, return_inverse=True)[1] for of in (units.alike or units.group, judged))
    draw = LabelDraw(labelled, chance, alike, these, number)
    inside = [np.array([model == name for model in units.model or ()]) for name in names]

    def correct(label: str, *others: str) -> list[JudgeAndHuman]:
        """The judge's proportion of a label, corrected by human proportions of this label and of others."""
        people = np.zeros(len(every))
        people[at] = [sum(shares.get(name, 0.0) for name in (label, *others)) for shares in said.values()]
        values = JudgeAndHumanValues(people, (judged == label).astype(float), every, every)
        whole, groups = correct_by_labels(draw, values, inside, level)
        return [_about_these(number) if these else number for number in (whole, *groups)]

    if not any(CANNOT_TELL in shares for shares in said.values()):
        return {label: [_BoundedNumber(number) for number in correct(label)] for label in task.labels}
    found = {
        label: [
            _BoundedNumber(number, bound.corrected)
            for number, bound in zip(correct(label), correct(label, CANNOT_TELL), strict=True)
        ]
        for label in task.labels
    }
    return {**found, CANNOT_TELL: [_BoundedNumber(number) for number in correct(CANNOT_TELL)]}


def _about_these(number: JudgeAndHuman) -> JudgeAndHuman:
    """Note in a number's method that it describes exactly the run's units."""
    method = "{}, for exactly these units".format
    corrected, labelled = (
        estimate if isnan(estimate.low) else msgspec.structs.replace(estimate, method=method(estimate.method))
        for estimate in (number.corrected, number.labelled)
    )
    return number._replace(corrected=corrected, labelled=labelled)


def judged_alone(value: float, n: int, level: float) -> Estimate:
    """A number from the judge's labels alone, without an interval; NaN if the judge never gives such a label."""
    if isnan(value):
        return not_computed("the judge gives no such label", level=level)
    return Estimate(value, nan, nan, n, f"{NO_INTERVAL}the judge's errors are in no labelled unit", level)


def _subtract(both: _BoundedNumber, other: _BoundedNumber) -> _BoundedNumber:
    """A difference between two numbers. For its largest value, 'cannot tell' raises the first number; for its smallest
    value, it raises the second."""
    from overton.statistics.prediction_powered import JudgeAndHuman, difference

    usual = JudgeAndHuman(
        both.usual.judge - other.usual.judge,
        difference(both.usual.corrected, other.usual.corrected),
        difference(both.usual.labelled, other.usual.labelled),
    )
    if both.most is None or other.most is None:
        return _BoundedNumber(usual)
    return _BoundedNumber(
        usual, difference(both.most, other.usual.corrected), difference(both.usual.corrected, other.most)
    )


def with_labels(schema: dict[str, Any]) -> dict[str, Any]:
    """The JSON Schema of an analysis that may have the key `labels` with `LabelledShares` by label."""
    return with_key(schema, "labels", dict[str, LabelledShares])
