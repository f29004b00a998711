"""Shares of every label that a run's judge gave to its units, corrected by the labels that people gave to some.

`statistics.prediction_powered` has the formulas, as has docs/judges.md. If people differ, each counts equally. Those
who cannot tell give none of the labels; the share if all of them had given a label is shown beside it, so that the
truth is bounded both ways.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from math import isnan, nan
from typing import TYPE_CHECKING, Any, NamedTuple

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
"""From this many labelled rows on, the corrected number leads: with fewer, intervals of rare labels cover too seldom
(see docs/judges.md)."""


class Variants(msgspec.Struct, frozen=True):
    """A number by the judge alone (`plain`), corrected by people's labels, and by what people labelled alone.

    In `corrected` and `labelled` those who cannot tell give no label; for a share, `corrected_at_most` is as if all of
    them had given this one (for a difference: on the first side only; in `corrected_at_least` on the second side only).
    `leads` names the number to use.
    """

    SHAPE = Shape(leads=True)

    leads: str
    plain: Estimate
    corrected: Estimate
    labelled: Estimate
    corrected_at_most: Estimate | None = None
    corrected_at_least: Estimate | None = None

    def led(self, plain: Estimate) -> PreferredEstimate:
        """The number to use, with the three; `plain` is the judge's, as it is shown."""
        return preferred_estimate(self.leads, {"plain": plain, "corrected": self.corrected, "labelled": self.labelled})


def leading(corrected: Estimate, labels: int) -> str:
    """Which one to use: the corrected one if it has an interval, and there are enough labels."""
    return "corrected" if labels >= ENOUGH and not isnan(corrected.low) else "plain"


class LabelledBetween(msgspec.Struct, frozen=True):
    """Model `a` minus model `b`."""

    a: str
    b: str
    shares: dict[str, Variants]


class LabelledNumbers(msgspec.Struct, frozen=True):
    """Measures of many labels together, corrected: by `groups` ('' for everything), then by measure.

    `how` says whether 'whole units' are corrected by their own values, the judge's 'errors undone' label by label, or
    units that have 'single labels' corrected by these. `labels` are the rows of measured units that people labelled,
    `cannot_tell` those whose label they could not tell;
    `whole` units are completely labelled, and `together` says in a sentence whether errors in one unit cluster.
    `equal_errors` are tests of whether they depend on the model or the condition, one for each kind of group.
    """

    how: str
    labels: int
    cannot_tell: int
    whole: int
    together: str
    groups: dict[str, dict[str, Variants]]
    equal_errors: tuple[EqualErrors, ...] = ()


class LabelledShares(msgspec.Struct, frozen=True):
    """One task's labels and what follows from them for a run.

    Of the `units` of `run` to which the judge gave a label (`without_label` have none) people labelled `labelled`, and
    `set_aside` more in groups that were drawn whole and are not completely labelled. For `cannot_tell` of these,
    counted by people's shares, they could not tell, and on `open` ones they differ and have not settled it. From
    `enough` labelled ones on, the corrected number leads. `why` says why nothing is corrected, and is empty if it is.
    `measures` are those that the study makes from many such labels, None if it makes none.
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
    """Shares of every label, for units like those of this run, or with `these` for exactly its units.

    `place` is where the labels were read from, for messages; `why` says why nothing can be corrected, '' if it can.

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
    """A number with no label from those who cannot tell, and the most and the least that they could make of it."""

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
    """The share of each label, over all units and then over those of each model."""
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
        """The judge's share of a label, by people's shares of this one and of others."""
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
    """A number that describes exactly the run's units; its method says so."""
    method = "{}, for exactly these units".format
    corrected, labelled = (
        estimate if isnan(estimate.low) else msgspec.structs.replace(estimate, method=method(estimate.method))
        for estimate in (number.corrected, number.labelled)
    )
    return number._replace(corrected=corrected, labelled=labelled)


def judged_alone(value: float, n: int, level: float) -> Estimate:
    """A number by the judge alone, which has no interval; NaN if the judge gives no such label."""
    if isnan(value):
        return not_computed("the judge gives no such label", level=level)
    return Estimate(value, nan, nan, n, f"{NO_INTERVAL}what the judge gets wrong is in none", level)


def _subtract(both: _BoundedNumber, other: _BoundedNumber) -> _BoundedNumber:
    """A difference; those who cannot tell raise its first side to the most, its second for the least."""
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
    """The JSON Schema of an analysis that may have `labels` beside its own keys: by label, `LabelledShares`."""
    return with_key(schema, "labels", dict[str, LabelledShares])
