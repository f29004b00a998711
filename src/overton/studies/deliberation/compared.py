"""What runs and models can be compared by in deliberation: each dilemma's endings and changes of verdict.

How a deliberation ends belongs to all its agents, and is a measure of the run or table as a whole; how often verdicts
change, and the choice model's inertia and conformity, are measures of a model.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from overton.statistics.arrays import Floats
from overton.statistics.cluster_sums import ClusterSums
from overton.studies.arm_weights import LEFT_OUT
from overton.studies.deliberation.measures.endings import ROUNDS, rounds_of
from overton.studies.deliberation.measures.partners import inherited, similarity
from overton.studies.deliberation.measures.parts import SettingParts
from overton.studies.deliberation.measures.talks import Deliberations, talks_from
from overton.studies.deliberation.tables import read_table
from overton.studies.measures import WHOLE, Contribution, Measure, Sides, of_pairs
from overton.studies.results import Results

if TYPE_CHECKING:
    from overton.studies.deliberation.how import DeliberationHow
    from overton.studies.tables import RawTable


Gone = tuple[Floats | None, Floats | None]
"""By dilemma, how many deliberations have a message that failed, and one that was refused; None if not known."""

_REACHED = Measure("consensus", "Consensus", margin=0.1, leads=True)
_ROUNDS = Measure("rounds_to_consensus", "Rounds to consensus", ROUNDS, 0.25, "value", "value", leads=True)
_CHANGED = Measure("changed", "Changes of verdict", leads=True)
SIMILARITY = Measure("similarity", "Value similarity, last messages")
INHERITED = Measure("inherited", "New values taken over from partners", margin=0.1)
_FITTED = (-inf, inf)
INERTIA = Measure("inertia", "Inertia (log-odds)", _FITTED, 0.25, "value", "value")
CONFORMITY = Measure("conformity", "Conformity (log-odds)", _FITTED, 0.25, "value", "value")
_NOT_ADDITIVE = (
    "it is a parameter of a model fitted to all decisions together, not a sum over dilemmas: two fits over the same"
    " dilemmas are dependent, and how often a comparison by refitting without each dilemma would be wrong has not been"
    " measured; 'overton analyze' reports each with its own interval"
)


def of_records(results: Results, how: DeliberationHow) -> Sides:
    """What each model contributes, and what all of a deliberation's agents contribute together."""
    return _sides(results.records)


def of_table(table: RawTable, how: DeliberationHow) -> Sides:
    """The same for a table of decisions.

    Raises:
        InputError: it is not such a table.
    """
    return _sides(read_table(table))


def by_chance(results: Results, how: DeliberationHow) -> Sides:
    """Similarity and inheritance with partners drawn at random; empty if no values are known."""
    talks = talks_from(results.records)
    if talks.masks is None or not talks.known.any():
        return {}
    rng = np.random.default_rng((how.seed, len(talks)))
    return _of_values(talks, rng)


def _of_values(talks: Deliberations, rng: np.random.Generator | None = None) -> dict[str, list[Contribution]]:
    none, dilemmas = (None, None), talks.dilemmas
    if talks.weight is not None:
        whole: dict[str, list[Contribution]] = {WHOLE: [_nothing(SIMILARITY, LEFT_OUT)]}
        return whole | {model: [_nothing(INHERITED, LEFT_OUT)] for model in talks.models}
    shared = _made(SIMILARITY, dilemmas, similarity(talks, rng), "no two messages with values", none)
    return {WHOLE: list(shared)} | {
        model: list(_made(INHERITED, dilemmas, inherited(talks, model, rng), "no new value after a change", none))
        for model in talks.models
    }


def _sides(decisions: pl.DataFrame) -> Sides:
    parts = SettingParts(talks_from(decisions))
    has_values = parts.talks.masks is not None and bool(parts.talks.known.any())
    valued = _of_values(parts.talks) if has_values else {}
    dilemmas, everything = parts.talks.dilemmas, parts.everything
    gone = (_deliberations(decisions, dilemmas, "failure"), _deliberations(decisions, dilemmas, "refused"))
    whole = [
        *_made(_REACHED, dilemmas, everything.reached, "no verdict could be read", gone),
        *_made(
            _ROUNDS, dilemmas, rounds_of(everything.without_mutes), "no deliberation reached consensus", (None, None)
        ),
        *valued.get(WHOLE, ()),
    ]
    models = {
        model: [
            *_made(_CHANGED, dilemmas, everything.changes(model), "no verdict could be read", gone),
            *(_nothing(measure, _NOT_ADDITIVE) for measure in (INERTIA, CONFORMITY)),
            *valued.get(model, ()),
        ]
        for model in parts.talks.models
    }
    return {WHOLE: whole, **models}


def _made(
    measure: Measure, dilemmas: Sequence[str], counts: ClusterSums, why: str, gone: Gone
) -> Iterator[Contribution]:
    above, below = counts.above.reshape(-1), counts.below.reshape(-1)
    many = below if counts.many is None else counts.many.reshape(-1)
    each = np.divide(below, many, out=np.ones_like(below), where=many > 0)
    failed, refused = (None if share is None else share * each for share in gone)
    found = of_pairs(
        measure,
        dilemmas,
        above,
        below,
        failed_weight=failed,
        refused_weight=None if refused is None else np.minimum(refused, below),
    )
    yield found if found.items else _nothing(measure, why)


def _nothing(measure: Measure, why: str) -> Contribution:
    return Contribution(measure, (), np.empty((0, 2)), why=why)


def _deliberations(decisions: pl.DataFrame, dilemmas: Sequence[str], column: str) -> Floats:
    """How many deliberations on each dilemma have a message that failed or was refused, by `column`."""
    made = np.zeros(len(dilemmas))
    if column in decisions.columns:
        had = pl.col(column) if decisions.schema[column] == pl.Boolean else pl.col(column).is_not_null()
        places = {name: place for place, name in enumerate(dilemmas)}
        found = decisions.filter(had).unique(["dilemma", "deliberation"]).group_by("dilemma").len()
        for dilemma, count in found.iter_rows():
            if dilemma in places:
                made[places[dilemma]] = count
    return made
