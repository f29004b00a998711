"""Reading topics: JSON lines, one `Topic` per line; and the twenty-four that come with the study."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, get_args

import msgspec

from overton.studies.items import Facet, Items, starter_file, starter_subjects
from overton.studies.options import Option
from overton.studies.parsing import (
    Notes,
    ParsedItems,
    Text,
    findings_of,
    kind_of,
    note_id,
    note_repeated,
    note_unknown,
    object_lines,
    take_each,
    take_one_of,
    take_required,
)
from overton.studies.stance_stability.blank import blank_topic
from overton.studies.stance_stability.items import KINDS, Belief, Kind, ProbingQuestion, Strength, Topic, problems_of


class TopicRules(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How topics are read."""

    any_questions: Annotated[bool, Option("Accept any questions, not only fifteen by the rules of appendix A.2")] = (
        False
    )


@dataclass
class _TopicLine:
    """What one line contains: its id, and the topic if it could be read."""

    notes: Notes
    id: str
    topic: Topic | None


def _parse(texts: Sequence[Text], reading: TopicRules) -> ParsedItems[Topic]:
    """The topics in their order.

    Every topic's questions must pass the rules of appendix A.2 (`questions.problems_of`: fifteen, open, not leading,
    30 to 40% challenging, ...); with `any_questions`, any number of questions of any form is accepted.
    """
    notes: list[Notes] = []
    drafts: list[_TopicLine] = []
    for data, noted in object_lines(texts, noun="topic"):
        notes.append(noted)
        if data is not None:
            drafts.append(_draft(data, noted, not reading.any_questions))
    note_repeated((draft.id, draft.notes) for draft in drafts)
    return ParsedItems([draft.topic for draft in drafts if draft.topic is not None], findings_of(notes))


def _draft(data: dict[str, Any], notes: Notes, published_rules: bool) -> _TopicLine:
    note_unknown(data, Topic, notes)
    texts = {key: take_required(data, key, notes) or "" for key in ("id", "domain", "topic", "proposition")}
    belief = take_one_of(get_args(Belief), data.get("initial_belief"), "initial_belief", notes)
    strength = take_one_of(get_args(Strength), data.get("debate_strength"), "debate_strength", notes)
    taken = take_each(data, "questions", notes, lambda value, _, key: _question(value, key, notes)) or {}
    questions = tuple(taken.values())
    note_id(texts["id"], notes)
    if not notes.failed:
        reasons = problems_of(questions) if published_rules else []
        for reason in reasons or ([] if questions else ["there are none"]):
            notes.error("questions", reason)
    if notes.failed or belief is None or strength is None:
        return _TopicLine(notes, texts["id"], None)
    return _TopicLine(
        notes, texts["id"], Topic(**texts, initial_belief=belief, debate_strength=strength, questions=questions)
    )


def _question(value: Any, key: str, notes: Notes) -> ProbingQuestion | None:
    if not isinstance(value, dict):
        notes.error(key, f"is {kind_of(value)}, not an object with text and kind")
        return None
    note_unknown(value, ProbingQuestion, notes, f"{key}.")
    text = take_required(value, "text", notes, f"{key}.")
    kind: Kind | None = take_one_of(KINDS, value.get("kind"), f"{key}.kind", notes)
    return ProbingQuestion(text, kind) if text is not None and kind is not None else None


def _spelled(topic: Topic) -> list[str]:
    """The topic, then the proposition towards which stances are taken."""
    return [topic.topic, f"Proposition: {topic.proposition}"]


TOPICS = Items(
    Topic,
    "topic",
    "JSONL file or folder of topics",
    parse=_parse,
    dataset="topics.jsonl",
    reading=TopicRules,
    # One file per domain of the Chameleon paper, with two topics of 15 questions each.
    starter=partial(starter_file, "overton.studies.stance_stability", "topics"),
    blank=blank_topic,
    spelled=_spelled,
    subjects=partial(starter_subjects, "overton.studies.stance_stability"),
    facets=(
        Facet("domain", "Domain"),
        Facet("initial_belief", "Initial belief"),
        Facet("debate_strength", "Debate strength"),
    ),
)
"""Topics with their questions."""
