"""One row of the outcome table of stance stability: one turn of one conversation."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, get_args

import msgspec

from overton.judging import FAULTS, Fault
from overton.studies.stance_stability.items import Kind
from overton.studies.tables import ColumnRules, means

Stance = Literal["supportive", "critical", "balanced", "unclear"]
Ordering = Literal["fixed", "shuffled", "grouped"]

STANCES: tuple[Stance, ...] = get_args(Stance)
"""The judge's four labels (section 3.2, step 4)."""

_UNLABELLED = ("invalid", "none")


class Record(msgspec.Struct, frozen=True, gc=False):
    """One turn: a question, what was searched and read, the answer, and how the judge labelled it."""

    row_key: ClassVar[tuple[str, ...]] = ("conversation", "turn")

    conversation: Annotated[
        str, means("the trial's name: topic, temperature, ordering, repetition"), ColumnRules("its name", needed=True)
    ]
    topic: Annotated[str, means("the conversation's topic")]
    domain: Annotated[str, means("the conversation's domain")]
    temperature: Annotated[
        float | None,
        means("the condition, None for the endpoint's own default"),
        ColumnRules("empty or 'own' for the endpoint's own", none=("own", "default"), added=True),
    ]
    ordering: Annotated[
        Ordering,
        means("the condition: 'fixed' as in the topic, 'shuffled', or 'grouped' by kind"),
        ColumnRules("how the questions were ordered", known=()),
    ]
    turn: Annotated[
        int,
        means("from 1 to the number of questions"),
        ColumnRules("turns are taken in the order of their numbers", needed=True),
    ]
    number: Annotated[int, means("the question's place in its topic, from 1")]
    kind: Annotated[Kind, means("what the question does")]
    question: Annotated[str, means("its text"), ColumnRules("shows which turns ask for the overall view", text=True)]
    query: Annotated[str, means("what was searched for")]
    retrieved: Annotated[
        tuple[str, ...],
        means("addresses of the pages that the model was shown, in the order of their numbers"),
        ColumnRules("documents that the model was shown", hollow=True),
    ]
    skipped: Annotated[
        tuple[str, ...],
        means("addresses of hits that could not be read, each with its reason: 'URL (reason)'"),
    ]
    shortened: Annotated[int, means("how many pages were cut to the budget")]
    cited: Annotated[
        tuple[str, ...],
        means("addresses of the pages that the answer cites by number, each once, in the order of first citation"),
        ColumnRules("documents that the answer cites", hollow=True),
    ]
    miscited: Annotated[int, means("how many cited numbers belong to no page that was shown")]
    stance: Annotated[
        Stance | None,
        means("the answer's stance towards the topic's proposition; None if the judge gave no usable label"),
        ColumnRules("empty or 'invalid' if there is no usable label", needed=True, none=_UNLABELLED),
    ]
    confidence: Annotated[
        float | None,
        means("how certain the answer is, by the rubric: 1.0 clearly, 0.67 likely, 0.33 uncertain; None like `stance`"),
        ColumnRules("how certain the answer is", least=0, most=1),
    ]
    claims: Annotated[tuple[str, ...], means("the answer's key claims; empty if `stance` is None")]
    contradictions_acknowledged: Annotated[
        bool | None, means("whether the answer acknowledges contradictions; None like `stance`")
    ]
    rationale: Annotated[str, means("the judge's reason; '' if `stance` is None")]
    premise_stance: Annotated[
        Stance | None,
        means("the label by the published judge prompt, towards the question's premise; None if not requested"),
        ColumnRules("the label by the published prompt", none=_UNLABELLED),
    ]
    judge_attempts: Annotated[int, means("replies requested of the judge until one was usable, 0 if it was not asked")]
    failure: Annotated[
        str | None,
        means("why a call of this turn failed for good ('role: kind: message'); the conversation ends there"),
        ColumnRules("a conversation with a failure is left out entirely and counted"),
    ]
    answer: Annotated[str, means("the model's answer as received, '' if there is none")]
    input_tokens: Annotated[
        int | None,
        means("of the measured model, query and answer together, as reported; None if not reported"),
    ]
    output_tokens: Annotated[
        int | None,
        means("of the measured model, query and answer together, as reported; None if not reported"),
    ]
    refused: Annotated[bool, means("whether the endpoint flagged the answer as a refusal")] = False
    judged_again: Annotated[bool, means("whether the judge was asked again, with its labels in another order")] = False
    stance_again: Annotated[
        Stance | None, means("`stance` from the second request; None as for `stance`, and if not asked again")
    ] = None
    premise_stance_again: Annotated[Stance | None, means("the same for `premise_stance`")] = None
    faults: Annotated[
        tuple[Fault, ...],
        means(f"faults of the answer's form: {', '.join(FAULTS)}"),
        ColumnRules(hollow=True),
    ] = ()
    shares: Annotated[
        Literal["probabilities", "auto"] | None,
        means("whether the judge was asked for its labels' probabilities, None if not"),
    ] = None
    p_stance: Annotated[
        tuple[float, ...] | None,
        means(
            "its probabilities at temperature 1 that `stance` is supportive, critical, balanced, unclear; None if"
            " not requested or not returned"
        ),
    ] = None
    p_premise_stance: Annotated[tuple[float, ...] | None, means("the same for `premise_stance`")] = None
    sampled: Annotated[
        tuple[str, ...] | None,
        means("the judge's answers at temperature 1 to `stance`'s question, none if no label; to calibrate it"),
    ] = None
    sampled_premise: Annotated[tuple[str, ...] | None, means("the same for `premise_stance`'s question")] = None
