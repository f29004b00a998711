"""Measures of deliberation: decisions in, numbers with intervals out.

Formulas, choices and their reasons are in docs/deliberation.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from overton.studies.deliberation.measures.analysis import Analysis

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Analysis", "analyze"]


def analyze(
    decisions: pl.DataFrame,
    *,
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
    estimator: Literal["auto", "taste_by_model", "taste", "random", "penalised", "as_published"] = "auto",
    conformity: Literal["shared", "by model"] = "shared",
    goals: Literal["apart", "together"] = "apart",
    others: bool = False,
) -> Analysis:
    """Every measure of deliberation from decisions, one row per agent and round.

    Columns are `deliberation`, `dilemma`, `format`, `round`, `position` (null if all speak at once), `model` and
    `verdict` (null if it could not be read), and optionally `agent` (by default the model), `goal`, `values` (lists;
    null if not known), `crowd` and `failure`; others are ignored, so a run's records are such a table. The order of
    rows does not matter.

    `level` is the intervals' nominal coverage; `seed` sorts more than 1,000 dilemmas into groups; nothing is drawn
    `resamples` times here. `estimator` fits the choice model (see `overton.studies.deliberation.choice_model.fit`),
    `conformity` says whether models share it, `goals` whether goals are fitted apart or together; with `others` the
    other estimators fit it too, for comparison, which takes longer.

    Raises:
        InputError: a column is missing or has a value that is not allowed, an agent speaks twice in a round, or a
            call failed in every deliberation.
    """
    from overton.statistics.jackknife import Jackknife
    from overton.studies.deliberation.measures.assembly import assemble
    from overton.studies.deliberation.measures.choice import Fitting

    how = Fitting(estimator, conformity, goals, others)
    return assemble(decisions, Jackknife(level, resamples, seed, "dilemmas"), how)
