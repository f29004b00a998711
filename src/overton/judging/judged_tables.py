"""Judged labels of any origin, corrected by people's labels of some of them: shares, means, groups, differences."""

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
"""More labels, or longer ones, are another column's texts: each label is a row of the result, estimated by itself."""

_RARE_P = 0.001
"""Labelled rows whose judged labels differ from the others' as much as chance allows this rarely are no plain draw."""


class CorrectedNumber(msgspec.Struct, frozen=True):
    """A number three times: by the judge alone (NaN if it says nothing), corrected, and by the labelled rows alone."""

    judge: float
    corrected: Estimate
    labelled: Estimate


class CorrectedRow(msgspec.Struct, frozen=True):
    """The share of a label, or the mean of labels' numbers if `label` is None.

    It describes all rows, or those of one `group`. With `against` it is that group's number minus the other's.
    """

    label: str | None
    group: str | None
    against: str | None
    number: CorrectedNumber


class JudgeHumanAgreement(msgspec.Struct, frozen=True):
    """How well judge and people agree on the labelled rows: Krippendorff's alpha, Cohen's kappa, the share alike."""

    alpha: Estimate
    kappa: Estimate
    same: Estimate


class JudgedResult(msgspec.Struct, frozen=True):
    """All results for a judged table of `units` rows, of which `labelled` have a human label.

    `population` says which rows the numbers describe, and `level` is that of their intervals.
    """

    units: int
    labelled: int
    population: str
    level: float
    rows: tuple[CorrectedRow, ...]
    agreement: JudgeHumanAgreement
    warnings: tuple[str, ...] = ()

    def rows_of(self, group: str | None = None, against: str | None = None) -> list[CorrectedRow]:
        """The rows of all units, of a group, or of its difference from another, in the order of labels."""
        return [row for row in self.rows if (row.group, row.against) == (group, against)]

    def number(self, label: str | None, group: str | None = None, against: str | None = None) -> CorrectedNumber:
        """The share of a label, or the mean (None).

        Raises:
            InputError: there is no such number.
        """
        rows = self.rows_of(group, against)
        found = next((row.number for row in rows if row.label == label), None)
        if found is None:
            there = ", ".join(row.label or "the mean" for row in rows) or "none of this group"
            raise InputError(
                [Problem("number", label or "the mean", f"there is no such number here; there are {there}")]
            )
        return found


@dataclass(frozen=True)
class JudgedTable:
    """Rows with the judge's label, the people's (None if nobody labelled), and what they belong to.

    `chance` is each row's probability of being labelled, None if labels are a plain draw; `groups` join labels under a
    name; `values` are labels' numbers, whose mean is requested.
    """

    judged: Sequence[str]
    people: Sequence[str | None]
    by: Sequence[str | None] | None = None
    cluster: Sequence[str] | None = None
    chance: Sequence[float] | None = None
    groups: Mapping[str, Sequence[str]] = field(default_factory=dict)
    values: Mapping[str, float] = field(default_factory=dict)


def correct(table: JudgedTable, *, these: bool = False, level: float = 0.95) -> JudgedResult:
    """The shares of all labels (and of joined ones), and their mean, for all rows, each group and between groups.

    With `these` they describe just these rows; otherwise rows like these, from which these were drawn.

    Raises:
        InputError: nothing is labelled; there are more than 500 labels, or longer ones than 1,000 characters; or a
            group or number for a label that nobody gave.
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
    """Of all rows, of each group, then of each pair of groups; `found` has by label the first two, in this order."""
    for place, group in enumerate([None, *names]):
        yield from (CorrectedRow(label, group, None, numbers[place]) for label, numbers in found.items())
    for a, b in combinations(range(len(names)), 2):
        for label, numbers in found.items():
            yield CorrectedRow(label, names[a], names[b], _subtract(numbers[a + 1], numbers[b + 1]))


def _check_labels(table: JudgedTable, known: Sequence[str], labelled: int) -> None:
    problems = []
    if not labelled:
        problems.append(Problem("labels", "", "no row has a label by people"))
    if len(known) > _MOST_LABELS or max(map(len, known)) > _LONGEST_LABEL:
        reason = (
            f"there are {len(known):,} different labels, the longest of {max(map(len, known)):,} characters; at most"
        )
        reason += f" {_MOST_LABELS} of {_LONGEST_LABEL:,} characters can be corrected: name the columns of labels"
        raise InputError([Problem("labels", "", reason)])
    given = [("group", name, label) for name, labels in table.groups.items() for label in labels]
    given += [("value", label, label) for label in table.values]
    problems += [
        Problem(what, name, f"{label!r} is no label here; there are {', '.join(known[:30])}")
        for what, name, label in given
        if label not in known
    ]
    problems += [Problem("group", name, "is a label already") for name in table.groups if name in known]
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
    """On the labelled rows, treating those of one cluster as alike."""
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
        f" {100 * shares[1, largest]:.1f}% of the others: these labels are no plain draw. If rows had unequal chances,"
        " give them (--chance)."
    ]
