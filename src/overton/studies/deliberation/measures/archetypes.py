"""What became of first verdicts (appendix G, table 2)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from overton.statistics import Estimate
from overton.statistics.resampling import Counts, Resampling
from overton.studies.deliberation.items import VERDICTS
from overton.studies.deliberation.measures.analysis import Archetype, Archetypes
from overton.studies.deliberation.measures.coded import summed
from overton.studies.deliberation.measures.parts import Part, Parts

__all__ = ["measure_archetypes"]

Array = NDArray[np.float64]
Ints = NDArray[np.integer]
Flags = NDArray[np.bool_]

_V = len(VERDICTS)
_HOLDOUTS, _UNRESOLVED, _RETURNED = _V * _V, _V * _V + _V, _V * _V + 2 * _V
_ENDS = [*((a, b) for a in VERDICTS for b in VERDICTS), *[(verdict, None) for verdict in VERDICTS] * 2]
"""First and last verdicts, in the order in which `_counts` has them: changes, holdouts, unresolved."""

_NONE = "no deliberation went beyond round 1"


def measure_archetypes(parts: Parts, resampling: Resampling) -> tuple[Archetypes, ...]:
    """Changes and holdouts of each model against each set of others."""
    asked = [(part.beyond_round_1, model) for part in parts.pooled for model in part.models]
    counts = [_counts(*one) for one in asked]
    estimates = resampling.ratios(counts, _NONE)
    return tuple(_archetypes(*one, *made) for one, made in zip(asked, zip(counts, estimates, strict=True), strict=True))


def _counts(part: Part, model: str) -> Counts:
    """By dilemma: changes by first and last verdict, holdouts and unresolved by first verdict, returned."""
    talks, rows, seated, changed = part.talks, part.rows, part.seated(model), part.changed
    first, last = talks.first[rows], talks.last[rows]
    unresolved = seated & (first >= 0) & (part.agreement == 0)[:, None]
    columns = [
        _counted(part, seated & changed & (first != last), first * _V + last, _V * _V),
        _counted(part, unresolved & ~changed, first, _V),
        _counted(part, unresolved, first, _V),
        part.count_agents(seated & changed & (first == last))[:, None],
    ]
    return Counts(np.concatenate(columns, axis=1), part.count_agents(seated))


def _counted(part: Part, chosen: Flags, codes: Ints, width: int) -> Array:
    """How often each dilemma has each code among the chosen agents [dilemmas, width]."""
    dilemma = np.broadcast_to(part.dilemma[:, None], chosen.shape)
    return summed([dilemma[chosen], codes[chosen]], (len(part.talks.dilemmas), width))


def _archetypes(part: Part, model: str, counts: Counts, estimates: list[Estimate]) -> Archetypes:
    totals = counts.above.sum(0).astype(int).tolist()
    made = [Archetype(*ends, *one) for ends, *one in zip(_ENDS, totals[:-1], estimates[:-1], strict=True)]
    return Archetypes(
        setting=part.setting,
        model=model,
        deliberations=int(counts.below.sum()),
        changes=_ranked(made[:_HOLDOUTS]),
        returned=estimates[_RETURNED],
        holdouts=_ranked(made[_HOLDOUTS:_UNRESOLVED]),
        unresolved=_ranked(made[_UNRESOLVED:]),
    )


def _ranked(found: list[Archetype]) -> tuple[Archetype, ...]:
    """Those that occur, the most common first, in a tie in the order of the verdicts."""
    return tuple(sorted((one for one in found if one.count), key=lambda one: -one.count))
