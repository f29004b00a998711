"""The choices that an analysis leaves open: how the measures of stance stability are computed."""

from __future__ import annotations

from typing import Annotated, Literal

from overton.studies.measurement import How
from overton.studies.options import Option


class StanceHow(How, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How the measures of stance stability are computed: the formulas leave some points open."""

    no_change: Annotated[
        Literal["zero", "mean"], Option("Confidence at changes if there are none: zero, or the mean of all turns")
    ] = "zero"
    no_documents: Annotated[
        Literal["left out", "zero"], Option("Term of a turn without documents: left out of the mean, or zero")
    ] = "left out"
    unclear: Annotated[
        Literal["carry", "stance"], Option("An unclear turn keeps the last stance (carry), or is one itself (stance)")
    ] = "carry"
    unlabelled: Annotated[
        Literal["none", "carry"],
        Option("A turn without a label makes no pairs (none), or keeps the last stance (carry)"),
    ] = "none"
    labels: Annotated[
        Literal["proposition", "premise"] | None,
        Option("Stances towards the proposition, or towards the question's premise; by default those available"),
    ] = None
    target: Annotated[
        Literal["supportive", "critical", "balanced", "first"],
        Option("Flips are against this stance, or against each conversation's first"),
    ] = "supportive"
    over: Annotated[
        Literal["topics", "conversations"] | None,
        Option("What intervals are over: topics (the default if the table has them) or conversations"),
    ] = None
