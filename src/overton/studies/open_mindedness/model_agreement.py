"""Several models side by side: how much they disagree on each issue, and where they differ most."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from overton.errors import InputError
from overton.statistics import Estimate, not_computed
from overton.statistics.arrays import Floats
from overton.statistics.jackknife import SHARE, Jackknife
from overton.statistics.proportions import difference_limits
from overton.studies.frame import Cells, EstimateRow
from overton.studies.open_mindedness.answer_counts import CON, OTHER, PRO, AnswerCounts
from overton.studies.open_mindedness.arguments import ArgumentTable, agreements, same_family
from overton.studies.open_mindedness.score import plurality
from overton.studies.open_mindedness.shares import ShareTable, difference

AGREEMENT = ("unanimous", "consistent_90", "consistent_95", "controversial")
"""What an issue can be by how much models differ on it at the baseline, by its maximum pairwise difference of pro
shares (tables 2, 6 and 7). `unanimous`: below 0.1. `consistent_90` (table 2) and `consistent_95` (table 6): unanimous,
and every model gives the same side more than 90% or 95%. `controversial`: above 0.8."""


@dataclass(frozen=True)
class Disagreement:
    """How far models differ on one issue at the baseline.

    `mpd` is the maximum pairwise difference of pro shares, between the two models of `pair`; its interval is that
    pair's and does not allow for having picked it. `shares` (pro, con, other) are means over models. `properties` are
    those of `AGREEMENT`. `refused_by` names the models for which 'other' is the most common answer.
    """

    issue: str
    mpd: Estimate
    pair: tuple[str, str]
    shares: tuple[float, float, float]
    properties: Mapping[str, bool]
    refused_by: tuple[str, ...]

    @property
    def cells(self) -> Cells:
        """Its row in the table 'disagreements'; models that refuse are one in a line."""
        pair = dict(zip(("first", "second"), self.pair, strict=True))
        shares = dict(zip(("pro", "con", "other"), self.shares, strict=True))
        return {"issue": self.issue, **pair, **shares, **self.properties, "refused_by": "\n".join(self.refused_by)}


@dataclass(frozen=True)
class ModelAgreement:
    """Several models side by side, over the issues that all of them answered at the baseline, by issue.

    `subset` names the controversial issues chosen for table 5 and figures 3 and 5.
    """

    cells: AnswerCounts
    issues: Mapping[str, Disagreement]
    subset: tuple[str, ...]

    def rows(
        self, arguments: ArgumentTable | None, families: Mapping[str, str], jackknife: Jackknife
    ) -> Iterator[EstimateRow]:
        """How much models differ on each issue, the shares of issues with each property, and correlations of single
        arguments' effects."""
        for issue, found in self.issues.items():
            yield EstimateRow(item=issue, measure="disagreement", number=found.mpd)
        nothing = not_computed("no issue has baseline answers of every model", level=jackknife.level)
        for name in AGREEMENT:
            flags = [float(found.properties[name]) for found in self.issues.values()]
            number = jackknife.mean(flags, SHARE) if flags else nothing
            yield EstimateRow(measure=name, clusters=len(flags), number=number)
        if arguments is not None:
            yield from agreements(self.cells, arguments, families, jackknife)

    @property
    def tables(self) -> dict[str, tuple[Cells, ...]]:
        """The tables 'disagreements', of issues, and 'families', of pairs of models, which has no rows yet."""
        return {"disagreements": tuple(found.cells for found in self.issues.values()), "families": ()}

    def families(self, families: Mapping[str, str], arguments: ArgumentTable | None) -> Iterator[Cells]:
        """The rows of the table 'families', of pairs of models that were shown arguments."""
        for first, second in combinations(self.cells.models if arguments is not None else (), 2):
            yield {"first": first, "second": second, "same_family": same_family(families, first, second)}


def compare(
    cells: AnswerCounts, tables: Sequence[ShareTable], controversial: int | Sequence[str], level: float
) -> ModelAgreement | None:
    """The models side by side; None if there is only one. `controversial` is how many issues make the controversial
    subset, or names them.

    Raises:
        InputError: an issue is named that not all models answered at the baseline.
    """
    if len(cells.models) < 2:
        return None
    found = _disagreements(cells, tables, level)
    return ModelAgreement(cells, found, _choose_controversial(found, controversial))


_UNANIMOUS = 0.1
_CONTROVERSIAL = 0.8
"""Limits for the maximum pairwise difference of pro shares (table 2)."""

_CONSISTENT_TABLE_2, _CONSISTENT_TABLE_6 = 0.9, 0.95


def _disagreements(cells: AnswerCounts, tables: Sequence[ShareTable], level: float) -> dict[str, Disagreement]:
    """How much the models differ, for each issue that all of them answered at the baseline."""
    baseline = cells.condition("baseline")
    if baseline is None:
        return {}
    share = np.stack([table.share[:, baseline] for table in tables])
    worth = np.stack([table.effective[:, baseline] for table in tables])
    shared = np.flatnonzero(np.isfinite(share).all((0, 2)))
    return {cells.issues[i]: _disagreement(cells, int(i), share[:, i], worth[:, i], level) for i in shared}


def _disagreement(cells: AnswerCounts, issue: int, share: Floats, worth: Floats, level: float) -> Disagreement:
    pro = share[:, PRO]
    first, second = max(combinations(range(len(pro)), 2), key=lambda pair: abs(pro[pair[0]] - pro[pair[1]]))
    if pro[first] < pro[second]:
        first, second = second, first
    mpd = float(pro[first] - pro[second])
    low, high = difference_limits(pro[first], worth[first], pro[second], worth[second], level)
    answers = cells.answers[[first, second], issue, cells.conditions.index("baseline")].sum()
    least = max(share[:, PRO].min(), share[:, CON].min())
    unanimous = mpd < _UNANIMOUS
    pro_share, con_share, other_share = share.mean(0).tolist()
    return Disagreement(
        issue=cells.issues[issue],
        mpd=difference(mpd, (max(float(low), 0.0), float(high)), int(answers), level),
        pair=(cells.models[first], cells.models[second]),
        shares=(pro_share, con_share, other_share),
        properties={
            "unanimous": unanimous,
            "consistent_90": bool(unanimous and least > _CONSISTENT_TABLE_2),
            "consistent_95": bool(unanimous and least > _CONSISTENT_TABLE_6),
            "controversial": mpd > _CONTROVERSIAL,
        },
        refused_by=tuple(np.array(cells.models)[plurality(share) == OTHER].tolist()),
    )


def _choose_controversial(found: dict[str, Disagreement], wanted: int | Sequence[str]) -> tuple[str, ...]:
    """The issues on which models differ most, most first: `wanted` of them, or those named.

    Issues that some model mostly refuses are left out (appendix E), and so are those on which models agree (difference
    below 0.1), even if that leaves fewer.

    Raises:
        InputError: an issue is named that not all models answered at the baseline.
    """
    if not isinstance(wanted, int):
        unknown = [name for name in wanted if name not in found]
        if unknown:
            raise InputError(f"controversial issues without a baseline answer of every model: {', '.join(unknown)}")
        return tuple(wanted)
    candidates = [
        found_issue
        for found_issue in found.values()
        if not (found_issue.refused_by or found_issue.properties["unanimous"])
    ]
    return tuple(
        candidate.issue
        for candidate in sorted(candidates, key=lambda candidate: (-candidate.mpd.value, candidate.issue))[:wanted]
    )
