"""Answerers whose truth is known: a model that leaves out views and flatters at known rates, and an exact judge."""

from overton.studies.pluralism.simulated.judge import PluralistJudge
from overton.studies.pluralism.simulated.parameters import JudgeParameters, Parameters
from overton.studies.pluralism.simulated.pluralist import Pluralist
from overton.studies.pluralism.simulated.world import camp

__all__ = ["JudgeParameters", "Parameters", "Pluralist", "PluralistJudge", "camp"]
