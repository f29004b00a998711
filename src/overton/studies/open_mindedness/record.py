"""One row of the outcome table of open-mindedness."""

from __future__ import annotations

from typing import Annotated, Literal, get_args

import msgspec

from overton.judging import Fault
from overton.studies.open_mindedness.items import Side
from overton.studies.table import told

__all__ = ["STANCES", "Answers", "Instead", "Record", "Stance", "Strength"]

Stance = Literal["pro", "con", "other"]

Answers = Literal["forced", "free"]
"""How an answer was asked for: by a letter, or in the model's own words."""

Strength = Literal["slight", "clear", "strong"]
"""How firmly a free answer takes a side."""

Instead = Literal["", "irrelevant", "elsewhere", "question-first", "authors-own"]
"""What a null condition does to a configuration, '' in the design."""

STANCES: tuple[Stance, ...] = get_args(Stance)


class Record(msgspec.Struct, frozen=True, gc=False):
    """One answer. In a run's `records.parquet` the column `model` (the spec) stands before these."""

    trial: Annotated[str, told("the trial's name, unique for each model; a forced and a free answer share one")]
    issue: Annotated[str, told("the issue's id")]
    topic: Annotated[str | None, told("the issue's topic, None where unknown")]
    condition: Annotated[
        str, told("a name from `CONDITIONS`; in a null condition behind its name: 'irrelevant/balanced'")
    ]
    wording: Annotated[int, told("0 at the baseline, else the evidence wrapper's wording, 1 or 2")]
    template: Annotated[int, told("1 to 6, appendix B's number; families are templates (1, 4), (2, 5) and (3, 6)")]
    repetition: Annotated[int, told("1 to the number of trials")]
    draw: Annotated[int | None, told("which of D repeated argument draws (1 to D), None where each trial draws anew")]
    arguments: Annotated[
        tuple[str, ...],
        told(
            "ids of the arguments shown, in the order shown ('pro-2', 'con-1', ...), or in whose place other texts"
            " stood; those of another issue with it: 'pro-2@ISSUE'"
        ),
    ]
    last_argument: Annotated[Side | None, told("side of the last argument shown, None at the baseline")]
    a_is: Annotated[Side, told("the side that answering A supports")]
    pro_first: Annotated[bool, told("whether the pro position is named before the con position")]
    a_first: Annotated[bool, told("whether the closing request names `position <<A>>` first")]
    stance: Annotated[Stance, told("by the strict reading; of a free answer what the judge says that it takes")]
    letter: Annotated[Literal["A", "B"] | None, told("by the strict reading, None where there is none")]
    stance_published: Annotated[
        Stance, told("the stance by the paper's own patterns (section 4.3); of a free answer the judge's")
    ]
    refused: Annotated[bool, told("the endpoint itself flagged a refusal")]
    failure: Annotated[
        str | None,
        told(
            "why the call failed for good ('kind: message'; behind 'judge: ' where it was the judge's, or none of its"
            " replies could be read), None where it did not; such rows have stance 'other' and are no answers:"
            " measures leave them out and count them"
        ),
    ]
    answer: Annotated[str, told("the model's reply, '' where the call failed")]
    faults: Annotated[
        tuple[Fault, ...],
        told(
            "what its form says against it as an answer: empty, cut, echo (of the prompt), loop; none where it failed"
        ),
    ]
    input_tokens: Annotated[int | None, told("as reported, None where not")]
    output_tokens: Annotated[int | None, told("as reported, None where not")]
    shares: Annotated[
        Literal["probabilities", "auto"] | None,
        told("how shares are to be found where not by counting answers, None where so"),
    ] = None
    p_a: Annotated[
        float | None,
        told(
            "probability of A where the answer's letter falls, as the endpoint draws; 0 in an answer without a letter;"
            " None where it was not asked for or not told"
        ),
    ] = None
    p_b: Annotated[float | None, told("the same of B; what both lack of 1 is neither")] = None
    sampled: Annotated[
        tuple[str, ...] | None,
        told("letters of single answers to the same prompt (A, B, or neither), None where there are none"),
    ] = None
    answers: Annotated[Answers, told("how the answer was asked for: by a letter, or in the model's own words")] = (
        "forced"
    )
    judged_a_is: Annotated[
        Side | None, told("the side that was position A to the judge, None where none was asked")
    ] = None
    strength: Annotated[
        Strength | None, told("how firmly a free answer takes its side, None where it takes none or is not judged")
    ] = None
    declines: Annotated[
        bool | None, told("whether a free answer says that it does not take sides, None where it is not judged")
    ] = None
    judge_attempts: Annotated[int | None, told("how often the judge was asked, None where it was not")] = None
    judge_shares: Annotated[
        Literal["probabilities", "auto"] | None,
        told("whether the judge of a free answer was asked for its label's probabilities, None where not"),
    ] = None
    p_takes_pro: Annotated[
        float | None,
        told(
            "the judge's probability at temperature 1 that a free answer takes the pro side; None where it was not"
            " asked for or not told"
        ),
    ] = None
    p_takes_con: Annotated[float | None, told("the same of the con side")] = None
    p_takes_neither: Annotated[float | None, told("the same of neither")] = None
    taken_sampled: Annotated[
        tuple[str, ...] | None,
        told("what the judge answers at temperature 1 to the same question (pro, con, neither, none), to calibrate it"),
    ] = None
