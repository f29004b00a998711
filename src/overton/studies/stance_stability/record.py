"""One row of the outcome table of stance stability: one turn of one conversation."""

from __future__ import annotations

from typing import Literal, get_args

import msgspec

from overton.studies.stance_stability.items import Kind

__all__ = ["STANCES", "Ordering", "Record", "Stance"]

Stance = Literal["supportive", "critical", "balanced", "unclear"]
Ordering = Literal["fixed", "shuffled", "grouped"]

STANCES: tuple[Stance, ...] = get_args(Stance)
"""The judge's four labels (section 3.2, step 4)."""


class Record(msgspec.Struct, frozen=True, gc=False):
    """One turn: a question, what was searched and read, the answer, and how the judge labelled it.

    conversation  the trial's name: topic, temperature, ordering, repetition
    topic, domain of the conversation
    temperature   the condition, None where the endpoint's own default holds
    ordering      the condition: 'fixed' as the topic has them, 'shuffled', or 'grouped' by kind
    turn          1 to the number of questions
    number        the question's place in its topic, from 1
    kind          what the question does
    question      its text
    query         what was searched for
    retrieved     addresses of the pages that the model was shown, in the order of their numbers
    skipped       addresses of hits that could not be read, each with its reason: 'URL (reason)'
    shortened     how many pages were cut to the budget
    cited         addresses of the pages that the answer cites by number, each once, in the order of first citation
    miscited      how many cited numbers name no page that was shown
    stance        of the answer towards the topic's proposition; None where the judge gave no usable label
    confidence    how certain the answer is, by the rubric: 1.0 clearly, 0.67 likely, 0.33 uncertain; None like `stance`
    claims        the answer's key claims; empty like `stance`
    contradictions_acknowledged   None like `stance`
    rationale     the judge's reason, '' like `stance`
    premise_stance  the label of the published judge prompt, towards the question's premise; None where not asked for
    judge_attempts  replies asked of the judge until one was usable, 0 where it was not asked
    failure       why a call of this turn failed for good ('role: kind: message'); the conversation ends there
    answer        the model's answer as it came, '' where there is none
    input_tokens, output_tokens   of the model under test, query and answer together, as reported; None where not
    refused       whether the endpoint flagged the answer as a refusal
    """

    conversation: str
    topic: str
    domain: str
    temperature: float | None
    ordering: Ordering
    turn: int
    number: int
    kind: Kind
    question: str
    query: str
    retrieved: tuple[str, ...]
    skipped: tuple[str, ...]
    shortened: int
    cited: tuple[str, ...]
    miscited: int
    stance: Stance | None
    confidence: float | None
    claims: tuple[str, ...]
    contradictions_acknowledged: bool | None
    rationale: str
    premise_stance: Stance | None
    judge_attempts: int
    failure: str | None
    answer: str
    input_tokens: int | None
    output_tokens: int | None
    refused: bool = False
