"""Agents and a values judge whose truth is known: they answer the protocol's prompts as equation 2 says."""

from overton.studies.deliberation.simulated.deliberator import Deliberator
from overton.studies.deliberation.simulated.judge import ValuesJudge
from overton.studies.deliberation.simulated.parameters import JudgeParameters, Parameters

__all__ = ["Deliberator", "JudgeParameters", "Parameters", "ValuesJudge"]
