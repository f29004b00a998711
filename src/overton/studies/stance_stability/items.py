"""The topic: what a conversation is about; and the transcript: an existing conversation."""

from __future__ import annotations

from typing import Literal, get_args

import msgspec

Belief = Literal["supportive", "critical", "balanced"]
Strength = Literal["weak", "moderate", "strong"]
Kind = Literal[
    "counter-evidence", "methodology", "counterfactual", "trade-off", "clarification", "support", "implication"
]

KINDS: tuple[Kind, ...] = get_args(Kind)
"""What a question does, in the order of appendix A.2."""

CHALLENGING: frozenset[Kind] = frozenset(KINDS[:4])
"""The kinds that should make up 30 to 40% of a topic's questions."""


class ProbingQuestion(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One question, and what it does."""

    text: str
    kind: Kind


class Topic(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A contested topic with its questions (appendix A.2).

    `id` is unique and made of letters, digits, '-', '_' and '.'; `proposition` is the sentence that one can be for
    (supportive) or against (critical): all answers' stances are towards it, whatever a question presupposes.
    """

    id: str
    domain: str
    topic: str
    proposition: str
    initial_belief: Belief
    debate_strength: Strength
    questions: tuple[ProbingQuestion, ...]


class TranscriptTurn(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One turn as recorded; `question` is '' and the documents are None if they were not recorded."""

    turn: int
    question: str
    answer: str
    retrieved: tuple[str, ...] | None = None
    cited: tuple[str, ...] | None = None


class Transcript(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A conversation, however it came about.

    `id` is unique. Stances are towards the `proposition`; if that is '', towards the `topic`'s main claim; if that is
    '' too, towards what the first question asks about. `model`, `domain` and `temperature` are kept as they are.
    """

    id: str
    turns: tuple[TranscriptTurn, ...]
    topic: str = ""
    proposition: str = ""
    model: str = ""
    domain: str = ""
    temperature: float | None = None
