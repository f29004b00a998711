"""A respondent whose acquiescence is known: the study has to recover it."""

from collections.abc import Callable, Sequence
from typing import Annotated

import msgspec

from acquiescence.asking import PROMPTS, Question
from overton.calls import Draw, Request
from overton.studies import Option


class Parameters(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the respondent is like: at 1 it always says yes, at -1 always no, at 0 it looks only at the question."""

    acquiescence: Annotated[
        float, Option("Chance that it says yes whatever it is asked; below 0, no", least=-1, most=1)
    ] = 0.0


def says(
    parameters: Parameters, questions: Sequence[Question], request: Request, draw: Callable[[str], Draw]
) -> str | None:
    """Yes or no by its own chance; otherwise by its view of the question, which follows from the question's id."""
    asked = PROMPTS.pattern("prompts.ask").fullmatch(request.messages[0].content.strip())
    question = next((one for one in questions if asked and asked["question"] in (one.pro, one.con)), None)
    if asked is None or question is None:
        return None
    if draw("acquiescence").uniform() < abs(parameters.acquiescence):
        return "yes" if parameters.acquiescence > 0 else "no"
    supports = Draw(f"view/{question.id}").coin()
    return "yes" if supports == (asked["question"] == question.pro) else "no"
