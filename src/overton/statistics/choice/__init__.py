"""The choice model of discussion (equation 2): what makes an agent keep its verdict, or take over another's."""

from overton.statistics.choice.columns import decisions_from_columns
from overton.statistics.choice.decisions import NONE, Decisions
from overton.statistics.choice.design import Conformity
from overton.statistics.choice.fit import Estimator, fit
from overton.statistics.choice.result import ALL_MODELS, ChoiceFit, Parameter, Size

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
