"""Correction of a judge's labels, whatever their source, with human labels of some rows: proportions, means and
differences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, compress
from typing import TYPE_CHECKING, Any

import msgspec

from overton.errors import InputError, Problem
from overton.judging.agreement import cohen_kappa, krippendorff_alpha, share
from overton.statistics import Estimate

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from overton.statistics.label_draws import JudgeAndHumanValues


UNREAD = "unread"
"""The label for rows that a judge read without giving a usable label."""

_MOST_LABELS = 500
_LONGEST_LABEL = 1_000
"""If a column has more labels, or longer labels, it probably contains other texts. Each label would become a row of the
result."""

_RARE_P = 0.001
"""The p-value below which labelled rows do not count as a simple random sample, because their judged labels differ from
those of the other rows."""


class CorrectedNumber(msgspec.Struct, frozen=True):
    """Three versions of a number: from the judge's labels alone (NaN if there are none), corrected, and from the
    human-labelled rows alone."""

    judge: float
    corrected: Estimate
    labelled: Estimate


class CorrectedRow(msgspec.Struct, frozen=True):
    """The proportion of a label, or the mean of labels' numbers if `label` is None.

    The number describes all rows, or the rows of one `group`. With `against`, the number is the value for `group` minus
    the value for the group `against`.
    """

    label: str | None
    group: str | None
    against: str | None
    number: CorrectedNumber


class JudgeHumanAgreement(msgspec.Struct, frozen=True):
    """The agreement of judge and people on the labelled rows: Krippendorff's alpha, Cohen's kappa, and the proportion
    of equal labels."""

    alpha: Estimate
    kappa: Estimate
    same: Estimate


class JudgedResult(msgspec.Struct, frozen=True):
    """All results for a judged table of `units` rows, of which `labelled` have a human label.

    `population` describes the rows that the numbers are about, and `level` is the level of their intervals.
    """

    units: int
    labelled: int
    population: str
    level: float
    rows: tuple[CorrectedRow, ...]
    agreement: JudgeHumanAgreement
    warnings: tuple[str, ...] = ()

    def rows_of(self, group: str | None = None, against: str | None = None) -> list[CorrectedRow]:
        """The rows for all units, for a group, or for the difference between two groups, in the order of labels."""
        return [row for row in self.rows if (row.group, row.against) == (group, against)]

    def number(self, label: str | None, group: str | None = None, against: str | None = None) -> CorrectedNumber:
        """The proportion of a label, or the mean if `label` is None.

        Raises:
            InputError: there is no such number.
        """
        rows = self.rows_of(group, against)
        found = next((row.number for row in rows if row.label == label), None)
        if found is None:
            there = ", ".join(row.label or "the mean" for row in rows) or "none of this group"
            raise InputError(
                [Problem("number", label or "the mean", f"is not one of these numbers, which are {there}")]
            )
        return found


@dataclass(frozen=True)
class JudgedTable:
    """Rows with the judge's label, the human label (None for unlabelled rows), the group and the cluster.

    `chance` is each row's probability of being labelled, None if the labelled rows are a simple random sample. `groups`
    has lists of labels to join, by the name of the joined label. `values` gives labels the numbers from which the mean
    is computed.
    """

    judged: Sequence[str]
    people: Sequence[str | None]
    by: Sequence[str | None] | None = None
    cluster: Sequence[str] | None = None
    chance: Sequence[float] | None = None
    groups: Mapping[str, Sequence[str]] = field(default_factory=dict)
    values: Mapping[str, float] = field(default_factory=dict)


def correct(table: JudgedTable, *, these: bool = False, level: float = 0.95) -> JudgedResult:
    """Compute the proportion of each label and each joined label, and the mean. Each number is for all rows, for each
    group, and for the difference of each pair of groups.

    With `these`, numbers describe exactly these rows; otherwise they describe the population from which these rows were
    sampled.

    Raises:
        InputError: no row is labelled, there are more than 500 labels, labels exceed 1,000 characters, or there is a
            group or number for a label that does not occur.
    """
    import numpy as np

    from overton.statistics.label_draws import LabelDraw

    people = np.array([person or "" for person in table.people])
    judged = np.array(table.judged)
    labelled = np.array([label is not None for label in table.people])
    known = sorted({*table.judged, *(label for label in table.people if label is not None)})
    _check_labels(table, known, int(labelled.sum()))
    plain = np.full(len(judged), labelled.mean())
    draw = LabelDraw(
        labelled,
        plain if table.chance is None else np.array(table.chance, float),
        np.unique(table.cluster, return_inverse=True)[1] if table.cluster else np.arange(len(judged)),
        these,
        np.unique(judged, return_inverse=True)[1],
    )
    names = sorted({group for group in table.by or () if group is not None})
    inside = [np.array([group == name for group in table.by or ()]) for name in names]
    asked: dict[str | None, JudgeAndHumanValues] = {name: _share_values(people, judged, [name]) for name in known}
    asked |= {name: _share_values(people, judged, labels) for name, labels in table.groups.items()}
    if table.values:
        asked[None] = _mean_values(people, judged, table.values)
    found = {name: _correct_groups(draw, labels, inside, level) for name, labels in asked.items()}
    return JudgedResult(
        len(judged),
        int(labelled.sum()),
        "these rows" if these else "rows like these",
        level,
        tuple(_rows(found, names)),
        _judge_human_agreement(
            judged[labelled].tolist(),
            people[labelled].tolist(),
            list(compress(table.cluster, labelled)) if table.cluster else None,
            level,
        ),
        tuple(_draw_warnings(judged, labelled, plain=table.chance is None)),
    )


def _rows(found: Mapping[str | None, Sequence[CorrectedNumber]], names: Sequence[str]) -> Iterator[CorrectedRow]:
    """The result's rows: for all units, for each group, then for each pair of groups. `found` has, by label, the number
    for all units, then those for groups."""
    for place, group in enumerate([None, *names]):
        yield from (CorrectedRow(label, group, None, numbers[place]) for label, numbers in found.items())
    for a, b in combinations(range(len(names)), 2):
        for label, numbers in found.items():
            yield CorrectedRow(label, names[a], names[b], _subtract(numbers[a + 1], numbers[b + 1]))


def _check_labels(table: JudgedTable, known: Sequence[str], labelled: int) -> None:
    problems = []
    if not labelled:
        problems.append(Problem("labels", "", "no row has a human label"))
    if len(known) > _MOST_LABELS or max(map(len, known)) > _LONGEST_LABEL:
        reason = (
            f"there are {len(known):,} different labels, the longest of {max(map(len, known)):,} characters; at most"
        )
        reason += f" {_MOST_LABELS} of {_LONGEST_LABEL:,} characters can be corrected; name the columns with labels"
        raise InputError([Problem("labels", "", reason)])
    given = [("group", name, label) for name, labels in table.groups.items() for label in labels]
    given += [("value", label, label) for label in table.values]
    problems += [
        Problem(what, name, f"{label!r} is not a label of this table, which has {', '.join(known[:30])}")
        for what, name, label in given
        if label not in known
    ]
    problems += [Problem("group", name, "is already a label") for name in table.groups if name in known]
    if problems:
        raise InputError(problems)


def _share_values(people: NDArray[Any], judged: NDArray[Any], labels: Sequence[str]) -> JudgeAndHumanValues:
    import numpy as np

    from overton.statistics.label_draws import JudgeAndHumanValues

    every = np.ones(len(people))
    return JudgeAndHumanValues(
        np.isin(people, labels).astype(float), np.isin(judged, labels).astype(float), every, every
    )


def _mean_values(people: NDArray[Any], judged: NDArray[Any], values: Mapping[str, float]) -> JudgeAndHumanValues:
    import numpy as np

    from overton.statistics.label_draws import JudgeAndHumanValues

    def numbered(said: NDArray[Any], numbers: Mapping[str, float]) -> NDArray[np.float64]:
        return np.array([numbers.get(label, 0.0) for label in said.tolist()], float)

    counts = dict.fromkeys(values, 1.0)
    return JudgeAndHumanValues(
        numbered(people, values),
        numbered(judged, values),
        numbered(people, counts),
        numbered(judged, counts),
        lowest=min(values.values()),
        highest=max(values.values()),
        share=False,
    )


def _correct_groups(draw: Any, labels: JudgeAndHumanValues, inside: list[Any], level: float) -> list[CorrectedNumber]:
    from overton.statistics.prediction_powered import correct_by_labels

    every, groups = correct_by_labels(draw, labels, inside, level)
    return [CorrectedNumber(group.judge, group.corrected, group.labelled) for group in (every, *groups)]


def _subtract(corrected_number: CorrectedNumber, other: CorrectedNumber) -> CorrectedNumber:
    from overton.statistics.prediction_powered import difference

    return CorrectedNumber(
        corrected_number.judge - other.judge,
        difference(corrected_number.corrected, other.corrected),
        difference(corrected_number.labelled, other.labelled),
    )


def _judge_human_agreement(
    judged: Sequence[str], people: Sequence[str], clusters: Sequence[str] | None, level: float
) -> JudgeHumanAgreement:
    """The agreement on the labelled rows. Rows of one cluster are not treated as independent."""
    same = [judge == person for judge, person in zip(judged, people, strict=True)]
    return JudgeHumanAgreement(
        krippendorff_alpha(list(zip(judged, people, strict=True)), clusters, level=level),
        cohen_kappa(judged, people, clusters, level=level),
        share(same, clusters, level=level),
    )


def _draw_warnings(judged: NDArray[Any], labelled: NDArray[Any], *, plain: bool) -> list[str]:
    import numpy as np
    from scipy.stats import chi2_contingency

    if not plain or labelled.all() or not labelled.any():
        return []
    names, codes = np.unique(judged, return_inverse=True)
    table = np.stack([np.bincount(codes[rows], minlength=len(names)) for rows in (labelled, ~labelled)])
    if len(names) < 2 or chi2_contingency(table).pvalue > _RARE_P:
        return []
    shares = table / table.sum(axis=1, keepdims=True)
    largest = int(np.abs(shares[0] - shares[1]).argmax())
    return [
        f"The judge gives {str(names[largest])!r} to {100 * shares[0, largest]:.1f}% of the labelled rows and to"
        f" {100 * shares[1, largest]:.1f}% of the other rows, so the labelled rows are not a simple random sample. If"
        " rows were sampled with unequal probabilities, name the column with the probabilities (--chance)."
    ]
