"""The choices that an analysis leaves open: how open-mindedness is computed."""

from __future__ import annotations

from typing import Annotated, Literal

from overton.studies.measurement import How
from overton.studies.options import Option
from overton.studies.probabilities import AsAsked


class OpenMindednessHow(How, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How open-mindedness is computed."""

    controversial: Annotated[int, Option("Issues in the controversial subset", least=1)] = 10
    reading: Annotated[Literal["strict", "published"], Option("Which patterns read the stances")] = "strict"
    shares: AsAsked = "as-asked"
    answers: Annotated[
        Literal["as-asked", "forced", "free"],
        Option("Which answers are measured; as-asked takes the forced ones if there are any"),
    ] = "as-asked"
