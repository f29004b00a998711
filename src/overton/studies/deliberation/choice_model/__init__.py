"""The choice model of discussion (equation 2): what makes an agent keep its verdict, or adopt another's."""

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
