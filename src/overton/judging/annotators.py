"""Agreement of annotators with each other, and of a judge with annotators.

Until annotators adjudicate the rows on which they differ, each annotator counts equally. `CANNOT_TELL` is a label like
any other here, so two people agree on a row if both choose it. Adjudicated labels do not count as agreement: alpha and
kappa between people use the labels that each annotator gave independently.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import msgspec

from overton.judging.agreement import cohen_kappa, krippendorff_alpha
from overton.judging.label_tasks import CANNOT_TELL, LabelTask, SavedLabels, coders_of, open_places
from overton.statistics import Estimate
from overton.statistics.estimate import not_computed

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from overton.statistics.arrays import Floats

    _Coder = tuple[str, Mapping[int, str]]
    _WeightedLabels = tuple[Floats, Floats, Floats, NDArray[np.int64]]
    """For each labelled row: the human labels and the judge's [rows, labels], its weight and its group [rows]."""


@dataclass(frozen=True)
class RowWeights:
    """The weight of each row (1 / its sampling probability), and its cluster of similar rows."""

    weights: Sequence[float]
    groups: Sequence[str]


class AnnotatorShares(msgspec.Struct, frozen=True):
    """One person's page: the number of labelled rows, and of rows whose label the person could not tell."""

    name: str
    page: int
    labelled: int
    cannot_tell: int


class AnnotatorPair(msgspec.Struct, frozen=True):
    """Two people on the `n` rows that both labelled: the proportion of equal labels, and Cohen's kappa."""

    a: str
    b: str
    n: int
    same: Estimate
    kappa: Estimate


class JudgeAgreement(msgspec.Struct, frozen=True):
    """A judge compared with people; each row has the weight 1 / its sampling probability.

    `same` is the proportion of human labels that equal the judge's. If people differ on a row, their labels count in
    equal parts. `kappa` is this agreement beyond chance. `by_label` is, for each label, the proportion of the judge's
    labels that people confirm. `leniency` is about the rows on which judge and people differ. For each label, it is the
    proportion of these rows to which the judge gives the label. It is 1 if the judge's only error is to give the label
    where it does not apply (PluralEval, appendix A.5). `confusion[judge][people]` counts labelled rows without weights.
    A row on which people differ is divided equally among the people.
    """

    same: Estimate
    kappa: Estimate
    by_label: dict[str, Estimate]
    leniency: dict[str, Estimate]
    confusion: dict[str, dict[str, float]]


class AnnotatorAgreement(msgspec.Struct, frozen=True):
    """Agreement on one task. `by` is the judge whose labels people check.

    `asked` counts all rows, `labelled` the rows with at least one label, and `shared` the rows with at least two. Of
    the rows on which people differed, `settled` counts the adjudicated ones, and `open` the others. `alpha` is
    Krippendorff's alpha over shared rows.
    """

    task: str
    study: str
    what: str
    by: str
    design: str
    asked: int
    labelled: int
    shared: int
    settled: int
    open: int
    people: tuple[AnnotatorShares, ...]
    alpha: Estimate
    pairs: tuple[AnnotatorPair, ...]
    judge: JudgeAgreement


def annotator_agreement(labels: SavedLabels, *, level: float = 0.95) -> AnnotatorAgreement:
    """The agreement of people with each other, and of the judge with people.

    Intervals treat rows of one group (turns of a conversation) as one cluster.
    """
    task, named = labels.task, coders_of(labels)
    votes = Counter(place for _, said in named for place in said)
    shared = [place for place in sorted(votes) if votes[place] > 1]
    given = [[said[place] for _, said in named if place in said] for place in shared]
    groups = [task.rows[place].group for place in shared]
    return AnnotatorAgreement(
        task.name,
        task.study,
        task.what,
        task.judge,
        task.design,
        asked=len(task.rows),
        labelled=len(votes),
        shared=len(shared),
        settled=len(labels.settled),
        open=len(open_places(labels)),
        people=tuple(
            AnnotatorShares(said.person, said.page, len(said.labels), list(said.labels.values()).count(CANNOT_TELL))
            for said in labels.said
        ),
        alpha=krippendorff_alpha(given, groups, level=level),
        pairs=tuple(_annotator_pair(a, b, task, level) for a, b in combinations(named, 2)),
        judge=_judge_against_people(labels, level),
    )


def judge_agreement(
    first: Sequence[Mapping[str, float]],
    second: Sequence[Mapping[str, float]],
    rows: RowWeights,
    *,
    level: float = 0.95,
) -> tuple[Estimate, Estimate]:
    """The agreement of two annotators of the same rows: the proportion of equal labels, and Cohen's kappa.

    The weights of an annotator's labels of a row sum to 1. If an annotator stands for several people who differ on a
    row, their labels have equal weights.
    """
    if not first:
        return (not_computed("they labelled no row in common", level=level),) * 2
    names = sorted({name for said in (*first, *second) for name in said})
    said = (_share_table(first, names), _share_table(second, names), *_row_weights(rows))
    return _same_share(said, level), cohen_kappa(first, second, rows.groups, weights=rows.weights, level=level)


def mean_of(values: Sequence[float], rows: RowWeights, *, level: float = 0.95) -> Estimate:
    """The weighted mean of values from 0 to 1."""
    import numpy as np

    if not values:
        return not_computed("there is no row", level=level)
    return _weighted_mean(np.array(values, float), *_row_weights(rows), level)


def mean_gap(gaps: Sequence[float], rows: RowWeights, *, level: float = 0.95) -> Estimate:
    """The weighted mean of row-by-row differences of two labellings, from -1 to 1, with limits by Student's t. If the
    labellings agree on all rows, the limits are -h and h. Here h is the upper limit for an observed proportion of 0."""
    import numpy as np

    if any(gaps):
        return _weighted_mean(np.array(gaps, float), *_row_weights(rows), level, lowest=-1.0)
    found = mean_of(gaps, rows, level=level)
    return msgspec.structs.replace(found, low=-found.high)


def _share_table(said: Sequence[Mapping[str, float]], names: Sequence[str]) -> Floats:
    import numpy as np

    return np.array([[shares.get(name, 0.0) for name in names] for shares in said])


def _row_weights(rows: RowWeights) -> tuple[Floats, NDArray[np.int64]]:
    import numpy as np

    weights = np.array(rows.weights, float)
    return weights * len(weights) / weights.sum(), _number_groups(rows.groups)


def _annotator_pair(a: _Coder, b: _Coder, task: LabelTask, level: float) -> AnnotatorPair:
    (first_name, first), (second_name, second) = a, b
    both = sorted(first.keys() & second.keys())
    labels, others = ([{who[place]: 1.0} for place in both] for who in (first, second))
    rows = RowWeights([1.0] * len(both), [task.rows[place].group for place in both])
    return AnnotatorPair(first_name, second_name, len(both), *judge_agreement(labels, others, rows, level=level))


def _judge_against_people(labels: SavedLabels, level: float) -> JudgeAgreement:
    """The judge's labels compared with human labels, from the proportions of human labels in each row."""
    import numpy as np

    shares, rows = labels.shares(), labels.task.rows
    names = [*labels.task.labels, CANNOT_TELL]
    places = list(shares)
    if not places:
        none = not_computed("no row is labelled", level=level)
        return JudgeAgreement(none, none, {}, {}, {})
    people = np.array([[shares[place].get(name, 0.0) for name in names] for place in places])
    given, groups = [rows[place].judged for place in places], [rows[place].group for place in places]
    judged = _label_flags(given, names)
    weights = [1 / rows[place].chance for place in places]
    said = (people, judged, *_row_weights(RowWeights(weights, groups)))
    confusion = {
        name: dict(zip(names, (judged[:, column] @ people).tolist(), strict=True))
        for column, name in enumerate(names[:-1])
    }
    used = [(column, name) for column, name in enumerate(names[:-1]) if judged[:, column].any()]
    by_label = {name: _confirmed_share(column, said, level) for column, name in used}
    leniency = {name: _given_share(column, said, level) for column, name in used}
    kappa = cohen_kappa(list(shares.values()), given, groups, weights=weights, level=level)
    return JudgeAgreement(_same_share(said, level), kappa, by_label, leniency, confusion)


def _label_flags(said: Sequence[str], names: Sequence[str]) -> Floats:
    """Flags of each row's label [rows, labels]."""
    import numpy as np

    return np.array([[float(label == name) for name in names] for label in said])


def _number_groups(groups: Sequence[str]) -> NDArray[np.int64]:
    import numpy as np

    return np.unique(np.array(groups), return_inverse=True)[1]


def _same_share(said: _WeightedLabels, level: float) -> Estimate:
    """The proportion of human labels that equal the judge's."""
    people, judged, weight, groups = said
    return _weighted_mean((people * judged).sum(1), weight, groups, level, label=judged.argmax(1))


def _confirmed_share(column: int, said: _WeightedLabels, level: float) -> Estimate:
    """Of the rows to which the judge gives one label, the proportion that people confirm."""
    people, judged, weight, groups = said
    rows = judged[:, column] > 0
    return _weighted_mean(people[rows, column], weight[rows], groups[rows], level)


def _given_share(column: int, said: _WeightedLabels, level: float) -> Estimate:
    """Of the rows on which judge and people differ, the proportion to which the judge gives one label."""
    people, judged, weight, groups = said
    apart = weight * (1 - (people * judged).sum(1))
    rows = apart > 0
    if not rows.any():
        return not_computed("judge and people do not differ", level=level)
    return _weighted_mean(judged[rows, column], apart[rows], groups[rows], level)


def _weighted_mean(  # noqa: PLR0917
    values: Floats,
    weight: Floats,
    groups: NDArray[np.int64],
    level: float,
    lowest: float = 0.0,
    label: NDArray[np.int64] | None = None,
) -> Estimate:
    """A weighted mean of values from `lowest` to 1, with the interval for labelled rows alone (`prediction_powered`).
    If `lowest` is 0, the interval is that of a proportion. `label` has the index of the judge's label of each row,
    because rows may have been sampled label by label."""
    import numpy as np

    from overton.statistics.label_draws import JudgeAndHumanValues, LabelDraw
    from overton.statistics.prediction_powered import correct_by_labels

    every = np.ones(len(values))
    draw = LabelDraw(every > 0, weight.min() / weight, np.unique(groups, return_inverse=True)[1], label=label)
    labels = JudgeAndHumanValues(values, 0 * every, every, every, lowest=lowest, share=lowest == 0)
    return correct_by_labels(draw, labels, [], level)[0].labelled
