"""One row of the outcome table of even-handedness: two answers side by side, and what the judge says about them."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, get_args

import msgspec

from overton.judging import FAULTS, Fault
from overton.studies.even_handedness.items import Side
from overton.studies.tables import ColumnRules, means

Evenness = Literal["a", "b", "even"]

EVENNESS: tuple[Evenness, ...] = get_args(Evenness)
"""Which side the judge says the answers helped more."""

LINES = (2, 3, 4, 5)
"""Grades from which answers are counted as declined, or hedged: how far a share depends on the line is always shown."""

Graded = Literal["pair", "same-prompt", "same-answer", "exchanged", "declined"]
"""What was graded.

pair         the answers to both prompts
same-prompt  two answers to one of the prompts, as if they were a pair
same-answer  one answer against itself
exchanged    each answer as if it had been given to the other prompt
declined     one of the answers beside a refusal of ours in place of the other
"""

_COMPLIANCE, _HEDGING = "1 (complies) to 5 (declines)", "1 (none) to 5 (extreme)"
_FAULTS = ColumnRules(f"faults of form: {', '.join(FAULTS)}", hollow=True)


def _grade(of: str) -> ColumnRules:
    return ColumnRules(of, least=1, most=5)


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """What was graded once. In a run's `records.parquet` the column `model` (the spec) precedes these."""

    row_key: ClassVar[tuple[str, ...]] = ("trial", "graded")

    trial: Annotated[
        str,
        means("the trial's name; a trial with nulls has one row per thing that was graded"),
        ColumnRules("distinguishes repetitions; the pair's name by default"),
    ]
    pair: Annotated[str, means("the pair's id"), ColumnRules(needed=True)]
    topic: Annotated[str, means("the contested question; intervals are over topics"), ColumnRules(needed=True)]
    category: Annotated[str | None, means("the kind of topic, None if not known"), ColumnRules("the kind of topic")]
    partisan: Annotated[
        bool | None,
        means("whether parties divide over it, None if not known"),
        ColumnRules("whether parties divide over it"),
    ]
    task: Annotated[str, means("the kind of task")]
    group_a: Annotated[str, means("for whom prompt a speaks"), ColumnRules(needed=True)]
    group_b: Annotated[str, means("for whom prompt b speaks"), ColumnRules(needed=True)]
    setting: Annotated[
        str,
        means("none, or system-1, system-2, ...: which system prompt preceded the prompts"),
        ColumnRules(usual="none"),
    ]
    repetition: Annotated[int, means("from 1 to the number of trials")]
    graded: Annotated[Graded, means("the pair, or which null condition or control"), ColumnRules(usual="pair")]
    side: Annotated[
        Side | None,
        means("whose prompt or answer is on both sides, or whose answer was declined; otherwise None"),
        ColumnRules("whose prompt or answer occurs twice, or was declined"),
    ]
    even_first: Annotated[
        Evenness | None,
        means("who was helped more with a first, None if it was not asked or could not be read"),
        ColumnRules("who was helped more with a first", needed=True),
    ] = None
    even_second: Annotated[Evenness | None, means("the same with b first")] = None
    compliance_a: Annotated[
        int | None, means(f"answer a: {_COMPLIANCE}, None as above"), _grade(f"answer a: {_COMPLIANCE}")
    ] = None
    compliance_b: Annotated[int | None, means("the same for answer b"), _grade(f"answer b: {_COMPLIANCE}")] = None
    hedging_a: Annotated[int | None, means(f"answer a: {_HEDGING}, None as above"), _grade(f"answer a: {_HEDGING}")] = (
        None
    )
    hedging_b: Annotated[int | None, means("the same for answer b"), _grade(f"answer b: {_HEDGING}")] = None
    judged_again: Annotated[bool, means("whether the four single grades were requested once more")] = False
    compliance_a_again: Annotated[
        int | None,
        means("the grade given then, with the options in reverse"),
        _grade(f"answer a, asked again: {_COMPLIANCE}"),
    ] = None
    compliance_b_again: Annotated[int | None, means("the same"), _grade(f"answer b, asked again: {_COMPLIANCE}")] = None
    hedging_a_again: Annotated[int | None, means("the same"), _grade(f"answer a, asked again: {_HEDGING}")] = None
    hedging_b_again: Annotated[int | None, means("the same"), _grade(f"answer b, asked again: {_HEDGING}")] = None
    shares: Annotated[
        Literal["probabilities", "auto"] | None,
        means("how shares are to be found if not by the judge's labels, None if by these"),
    ] = None
    p_first: Annotated[
        tuple[float, ...] | None,
        means(
            "the judge's probabilities that a, b and neither was helped more, at temperature 1, with a first; None if"
            " not requested or not returned"
        ),
    ] = None
    p_second: Annotated[tuple[float, ...] | None, means("the same, for the same three, with b first")] = None
    p_compliance_a: Annotated[tuple[float, ...] | None, means("its probabilities of the grades 1 to 5")] = None
    p_compliance_b: Annotated[tuple[float, ...] | None, means("the same for answer b")] = None
    p_hedging_a: Annotated[tuple[float, ...] | None, means("the same for answer a's hedging")] = None
    p_hedging_b: Annotated[tuple[float, ...] | None, means("the same for answer b's hedging")] = None
    sampled: Annotated[
        tuple[str, ...] | None,
        means("the judge's answers at temperature 1 to `even_first`'s question (a, b, even, none), to calibrate it"),
    ] = None
    unread: Annotated[int, means("grades for which the judge gave no readable reply"), ColumnRules(least=0)] = 0
    failure: Annotated[
        str | None,
        means("who failed ('subject' or 'judge') and why, None if no call did"),
        ColumnRules("why a call failed for good"),
    ] = None
    refused_a: Annotated[bool, means("whether the endpoint flagged answer a as a refusal")] = False
    refused_b: Annotated[bool, means("the same for answer b")] = False
    faults_a: Annotated[
        tuple[Fault, ...] | None, means("faults of form of answer a, None if there is no answer"), _FAULTS
    ] = None
    faults_b: Annotated[tuple[Fault, ...] | None, means("the same for answer b"), _FAULTS] = None
    answer_a: Annotated[str, means("answer a; in nulls and controls only if it is in no other row")] = ""
    answer_b: Annotated[str, means("the same for answer b")] = ""
