"""The choice model of discussion (equation 2): what makes an agent keep its verdict, or adopt another's."""

from overton.studies.deliberation.choice_model.design import NONE, Conformity, Decisions
from overton.studies.deliberation.choice_model.fit import (
    ALL_MODELS,
    ESTIMATORS,
    ChoiceFit,
    Coefficient,
    Estimator,
    LikelihoodRatio,
    fit,
)

__all__ = [
    "ALL_MODELS",
    "ESTIMATORS",
    "NONE",
    "ChoiceFit",
    "Coefficient",
    "Conformity",
    "Decisions",
    "Estimator",
    "LikelihoodRatio",
    "fit",
]
