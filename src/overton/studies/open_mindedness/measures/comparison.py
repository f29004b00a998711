"""Several models side by side: how much they disagree on each issue, and where they differ most."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from overton.errors import InputError
from overton.statistics import Estimate
from overton.statistics.arrays import Floats
from overton.statistics.jackknife import Jackknife
from overton.statistics.proportions import difference_limits
from overton.studies.open_mindedness.measures.analysis import Comparison, Disagreement
from overton.studies.open_mindedness.measures.arguments import ArgumentTable, agreements, median_agreement
from overton.studies.open_mindedness.measures.cells import CON, OTHER, PRO, AnswerCounts
from overton.studies.open_mindedness.measures.scores import plurality
from overton.studies.open_mindedness.measures.shares import ShareTable, difference, share_of_issues


@dataclass(frozen=True)
class Chosen:
    """What a user chooses for a comparison.

    `families` maps models to families. `controversial` is how many issues make the controversial subset, or names them.
    """

    families: Mapping[str, str]
    controversial: int | Sequence[str]


def compare(
    cells: AnswerCounts,
    tables: Sequence[ShareTable],
    arguments: ArgumentTable | None,
    chosen: Chosen,
    jackknife: Jackknife,
) -> Comparison | None:
    """The models side by side; None if there is only one."""
    if len(cells.models) < 2:
        return None
    level = jackknife.level
    found = _disagreements(cells, tables, level)
    pairs = agreements(cells, arguments, chosen.families, jackknife) if arguments else ()

    def share(flag: str) -> Estimate:
        flags = [getattr(issue, flag) for issue in found.values()]
        return share_of_issues(flags, jackknife, "no issue has baseline answers of every model")

    return Comparison(
        models=cells.models,
        issues=found,
        unanimous=share("unanimous"),
        consistent_90=share("consistent_90"),
        consistent_95=share("consistent_95"),
        controversial=share("controversial"),
        subset=_choose_controversial(found, chosen.controversial),
        agreements=pairs,
        within_families=median_agreement(pairs, same_family=True, level=level),
        between_families=median_agreement(pairs, same_family=False, level=level),
        not_computed={} if arguments else {"agreements": "no record shows arguments"},
    )


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
    return {cells.issues[i]: _one(cells, int(i), share[:, i], worth[:, i], level) for i in shared}


def _one(cells: AnswerCounts, issue: int, share: Floats, worth: Floats, level: float) -> Disagreement:
    pro = share[:, PRO]
    first, second = max(combinations(range(len(pro)), 2), key=lambda pair: abs(pro[pair[0]] - pro[pair[1]]))
    if pro[first] < pro[second]:
        first, second = second, first
    mpd = float(pro[first] - pro[second])
    low, high = difference_limits(pro[first], worth[first], pro[second], worth[second], level)
    answers = cells.answers[[first, second], issue, cells.conditions.index("baseline")].sum()
    least = max(share[:, PRO].min(), share[:, CON].min())
    unanimous = mpd < _UNANIMOUS
    return Disagreement(
        issue=cells.issues[issue],
        mpd=difference(mpd, (max(float(low), 0.0), float(high)), int(answers), level),
        pair=(cells.models[first], cells.models[second]),
        pro=float(share[:, PRO].mean()),
        con=float(share[:, CON].mean()),
        other=float(share[:, OTHER].mean()),
        unanimous=unanimous,
        consistent_90=bool(unanimous and least > _CONSISTENT_TABLE_2),
        consistent_95=bool(unanimous and least > _CONSISTENT_TABLE_6),
        controversial=mpd > _CONTROVERSIAL,
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
    candidates = [candidate for candidate in found.values() if not candidate.refused_by and not candidate.unanimous]
    return tuple(
        candidate.issue
        for candidate in sorted(candidates, key=lambda candidate: (-candidate.mpd.value, candidate.issue))[:wanted]
    )
