"""Answerers whose truth is known: a model that changes its stance at a known rate, and a judge with known errors."""

from overton.studies.stance_stability.simulated.chameleon import Chameleon
from overton.studies.stance_stability.simulated.judge import StanceJudge
from overton.studies.stance_stability.simulated.parameters import JudgeParameters, Parameters

__all__ = ["Chameleon", "JudgeParameters", "Parameters", "StanceJudge"]
