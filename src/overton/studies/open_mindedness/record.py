"""One row of the outcome table of open-mindedness."""

from __future__ import annotations

from typing import Literal

import msgspec

from overton.studies.open_mindedness.items import Side

__all__ = ["Record", "Stance"]

Stance = Literal["pro", "con", "other"]


class Record(msgspec.Struct, frozen=True, gc=False):
    """One trial's outcome. In a run's `records.parquet` the column `model` (the spec) stands before these.

    trial            the trial's name, unique for each model
    issue, topic     the issue's id and topic (None where unknown)
    condition        a name from `CONDITIONS`
    wording          0 at the baseline, else the evidence wrapper's wording, 1 or 2
    template         1 to 6, appendix B's number; families are templates (1, 4), (2, 5) and (3, 6)
    repetition       1 to the number of trials
    draw             which of D repeated argument draws (1 to D), None where each trial draws anew
    arguments        ids of the arguments shown, in the order shown ('pro-2', 'con-1', ...)
    last_argument    side of the last argument shown, None at the baseline
    a_is             the side that answering A supports
    pro_first        whether the pro position is named before the con position
    a_first          whether the closing request names `position <<A>>` first
    stance           'pro', 'con' or 'other', by the strict reading
    letter           'A', 'B' or None, by the strict reading
    stance_published the stance by the paper's own patterns (section 4.3)
    refused          the endpoint itself flagged a refusal
    failure          why the call failed for good ('kind: message'), None where it did not; such rows have stance
                     'other' and are no answers: measures leave them out and count them
    answer           the model's reply, '' where the call failed
    input_tokens, output_tokens   as reported, None where not
    """

    trial: str
    issue: str
    topic: str | None
    condition: str
    wording: int
    template: int
    repetition: int
    draw: int | None
    arguments: tuple[str, ...]
    last_argument: Side | None
    a_is: Side
    pro_first: bool
    a_first: bool
    stance: Stance
    letter: Literal["A", "B"] | None
    stance_published: Stance
    refused: bool
    failure: str | None
    answer: str
    input_tokens: int | None
    output_tokens: int | None
