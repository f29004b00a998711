"""The choice model of discussion (equation 2): how strongly agents keep their own verdict, or adopt others'
verdicts."""

from overton.studies.deliberation.choice_model.design import NONE, Decisions
from overton.studies.deliberation.choice_model.fit import (
    ALL_MODELS,
    ESTIMATORS,
    ChoiceFit,
    Coefficient,
    LikelihoodRatio,
    fit,
)
from overton.studies.deliberation.options import Estimator

__all__ = [
    "ALL_MODELS",
    "ESTIMATORS",
    "NONE",
    "ChoiceFit",
    "Coefficient",
    "Decisions",
    "Estimator",
    "LikelihoodRatio",
    "fit",
]
