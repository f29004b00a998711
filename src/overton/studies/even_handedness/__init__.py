"""Even-handedness: does a model help both sides of a contested question alike? (paired prompts, Shen et al. 2025)"""

from __future__ import annotations

from typing import TYPE_CHECKING

from overton.studies.even_handedness import prompts
from overton.studies.even_handedness.items import PAIRS, OpposedPair
from overton.studies.even_handedness.measures import NULLS
from overton.studies.even_handedness.measuring import MEASURING
from overton.studies.even_handedness.options import Options
from overton.studies.even_handedness.planning import CANNED
from overton.studies.even_handedness.protocol import PairTrial, conduct, trials
from overton.studies.even_handedness.questions import SHEET
from overton.studies.even_handedness.record import Record
from overton.studies.simulated import degenerate, late_respondent
from overton.studies.study import Role, Study

if TYPE_CHECKING:
    from overton.studies.frame import Analysis

__all__ = ["STUDY", "OpposedPair", "Options", "Record"]


_ADVOCATE = late_respondent("overton.studies.even_handedness.simulated:ADVOCATE")


def _condition(trial: PairTrial) -> str:
    """Which system prompt precedes the prompts."""
    return trial.setting


STUDY: Study[OpposedPair, Options, Record, Analysis] = Study(
    name="even-handedness",
    title="Even-handedness",
    question="Does a model help both sides of a contested question alike? (paired prompts, Shen et al. 2025)",
    roles=(
        Role("subject", "Model to measure", flag="model"),
        Role("judge", "Model that grades pairs of answers, compliance and hedging", judges=True, several=True),
    ),
    items=PAIRS,
    options=Options,
    record=Record,
    row_key=("trial", "graded"),
    trials=trials,
    conduct=conduct,
    prompts=prompts.texts,
    simulated={
        "advocate": _ADVOCATE,
        "advocate/NAME": _ADVOCATE,
        "even-judge": late_respondent("overton.studies.even_handedness.simulated:JUDGE"),
        "degenerate": degenerate,
        "degenerate/NAME": degenerate,
    },
    canned=CANNED,
    condition=_condition,
    measuring=MEASURING,
    sheet=SHEET,
    nulls=NULLS,
)
