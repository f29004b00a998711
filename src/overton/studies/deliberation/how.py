"""The choices that an analysis leaves open: how deliberation's measures are computed."""

from __future__ import annotations

from typing import Annotated, Literal

from overton.studies.measurement import How
from overton.studies.options import Option


class DeliberationHow(How, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How the measures of deliberation are computed."""

    estimator: Annotated[
        Literal["auto", "taste_by_model", "taste", "random", "penalised", "as_published"],
        Option(
            "Estimator of the choice model: taste_by_model (a model's lasting taste is not inertia), taste (the same,"
            " with equally strong tastes of all models), random (no tastes), auto (taste_by_model if the data identify"
            " it, otherwise random), penalised, or as_published (the authors' own)"
        ),
    ] = "auto"
    conformity: Annotated[
        Literal["shared", "by model"], Option("Whether models share their conformity: shared, or by model")
    ] = "shared"
    goals: Annotated[Literal["apart", "together"], Option("Fit the goals apart, or together")] = "apart"
    others: Annotated[bool, Option("Fit the choice model with all estimators", flag="--all-estimators")] = False
