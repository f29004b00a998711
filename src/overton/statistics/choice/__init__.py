"""The choice model of discussion (equation 2): what makes an agent keep its verdict, or adopt another's."""

from overton.statistics.choice.decisions import NONE, Decisions, decisions_from_columns
from overton.statistics.choice.design import Conformity
from overton.statistics.choice.fit import ESTIMATORS, Estimator, fit
from overton.statistics.choice.results import ALL_MODELS, ChoiceFit, LikelihoodRatio, Parameter, Size

__all__ = [
    "ALL_MODELS",
    "ESTIMATORS",
    "NONE",
    "ChoiceFit",
    "Conformity",
    "Decisions",
    "Estimator",
    "LikelihoodRatio",
    "Parameter",
    "Size",
    "decisions_from_columns",
    "fit",
]
