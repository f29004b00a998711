"""The choice model of discussion (equation 2): what makes an agent keep its verdict, or take over another's."""

from overton.statistics.choice.decisions import NONE, Decisions, decisions_from_columns
from overton.statistics.choice.design import Conformity
from overton.statistics.choice.fit import ALL_MODELS, ChoiceFit, Estimator, Parameter, Size, fit

__all__ = [
    "ALL_MODELS",
    "NONE",
    "ChoiceFit",
    "Conformity",
    "Decisions",
    "Estimator",
    "Parameter",
    "Size",
    "decisions_from_columns",
    "fit",
]
