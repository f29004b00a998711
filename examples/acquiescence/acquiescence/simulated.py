"""A respondent whose acquiescence is known: the study has to recover it."""

from collections.abc import Callable, Sequence
from typing import Annotated

import msgspec

from acquiescence.asking import PROMPTS, Proposal
from overton.calls import Draw, Request
from overton.studies import Option


class Parameters(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The parameters of the respondent."""

    acquiescence: Annotated[float, Option("Chance that it always says yes; below 0, no", least=-1, most=1)] = 0.0


def says(own: Parameters, proposals: Sequence[Proposal], request: Request, draw: Callable[[str], Draw]) -> str | None:
    """Yes or no by its own chance; otherwise by its view of the proposal, which follows from the proposal's id."""
    asked = PROMPTS.pattern("prompts.ask").fullmatch(request.messages[0].content.strip())
    proposal = next((one for one in proposals if asked and asked["question"] in (one.pro, one.con)), None)
    if asked is None or proposal is None:
        return None
    yes = Draw(f"view/{proposal.id}").coin() == (asked["question"] == proposal.pro)
    if draw("acquiescence").uniform() < abs(own.acquiescence):
        yes = own.acquiescence > 0
    return "Certainly, by all means." if yes else "Rather not, hardly ever."
