"""The choices that an analysis leaves open: how pluralism is computed."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from overton.studies.measurement import How
from overton.studies.options import Option
from overton.studies.probabilities import AsAsked


class PluralismHow(How, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How pluralism is computed."""

    denominator: Annotated[
        Literal["non-neutral", "labelled"],
        Option("Denominator of a stance's precision: all non-neutral responses, or those labelled with the stance"),
    ] = "non-neutral"
    summaries: Annotated[Any, Option("Table of thread, summary, stance, votes, for one of matches", file=True)] = None
    shares: AsAsked = "as-asked"
