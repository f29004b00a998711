"""Requests to the writer for a domain's topics and for each topic's questions (section 3.1, appendix A.2).

The writer proposes lists of topics, from which near-duplicates are removed and counted. It also labels its questions by
kind. Questions are checked, and requested again if they fail a check.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from typing import Annotated, Any, cast, get_args

import msgspec

from overton.calls import Ask, Form, Message, Reply, assistant, user
from overton.errors import CallFailed
from overton.judging import Reading, parse_json, schema_of, with_schema
from overton.studies.asking import as_it_came, ask_until_read
from overton.studies.stance_stability import prompts
from overton.studies.stance_stability.items import (
    KINDS,
    QUESTIONS,
    Belief,
    Kind,
    ProbingQuestion,
    Strength,
    alike,
    doubt,
    problems_of,
    text_problems,
)

_MOST_AT_ONCE = 25
"""The most topics to request in one list."""

SAME_TOPIC = 0.6
"""Two topics that share at least this proportion of their words count as the same topic (see `alike`)."""

_LONGEST = 300
"""The most characters of a topic and of a proposition."""

_SPARE_LISTS = 3
"""The number of additional lists that may be requested because of near-duplicates."""


class Proposal(msgspec.Struct, frozen=True):
    """A topic, and a sentence that answers can support or oppose."""

    topic: str
    proposition: str


class TopicProposals(msgspec.Struct, frozen=True):
    """The topics found, in order, and the near-duplicates that were left out. `problem` is '' if enough topics were
    found."""

    topics: tuple[Proposal, ...]
    duplicates: tuple[Proposal, ...]
    problem: str = ""
    failed: bool = False


_LIST_FORM = Form(schema=schema_of(list[Proposal]))


async def propose(ask: Ask, domain: str, count: int) -> TopicProposals:
    """Request lists of topics until there are `count` different topics or the number of lists reaches its limit.

    Each request names the topics found so far. If a list cannot be read, the next request says why. Unreadable lists
    count towards the limit.
    """
    found: list[Proposal] = []
    duplicates: list[Proposal] = []
    problem = ""
    again: list[Message] = []
    for _ in range(-(-count // _MOST_AT_ONCE) + _SPARE_LISTS):
        topics = "\n".join(f"- {proposal.topic}" for proposal in found)
        known = prompts.filled("topics", "known", topics=topics) + "\n\n" if found else ""
        wanted = min(_MOST_AT_ONCE, count - len(found))
        request = prompts.filled("topics", "topics", count=wanted, domain=domain, known=known)
        try:
            reply = await ask("writer", [user(request), *again], form=_LIST_FORM)
        except CallFailed as failed:
            return TopicProposals(tuple(found), tuple(duplicates), str(failed), failed=True)
        reading = parse_json(reply.text, list[Proposal])
        if reading.value is None:
            problem = f"a list of topics cannot be read: {reading.problem}"
            complaint = prompts.filled("topics", "topics_complaint", problem=reading.problem)
            again = [assistant(reply.text), user(complaint)]
            continue
        problem, again = "", []
        _sort_proposals(reading.value, count, found, duplicates)
        if len(found) == count:
            return TopicProposals(tuple(found), tuple(duplicates))
    few = f"{len(found)} of {count} different topics were proposed"
    return TopicProposals(tuple(found), tuple(duplicates), f"{few}; {problem}" if problem else few)


def _sort_proposals(listed: Sequence[Proposal], count: int, found: list[Proposal], duplicates: list[Proposal]) -> None:
    """Append new topics to `found` until it has `count`, and near-duplicates to `duplicates`."""
    for proposed in listed:
        proposal = Proposal(
            " ".join(proposed.topic.split())[:_LONGEST], " ".join(proposed.proposition.split())[:_LONGEST]
        )
        if len(found) == count or not proposal.topic or not proposal.proposition:
            continue
        same = any(alike(proposal.topic, known.topic) >= SAME_TOPIC for known in found)
        (duplicates if same else found).append(proposal)


_ATTEMPTS = 3
"""The most requests for questions. Questions that fail a check are requested again."""

_LABEL_ATTEMPTS = 2
"""The most requests for labels. Labels are requested again if they cannot be read, or if the questions' words
contradict them."""

_MOST_PROBLEMS = 20


class Written(msgspec.Struct, frozen=True):
    """A topic's questions; if no attempt succeeded, the problems of the last attempt."""

    attempts: int
    problems: tuple[str, ...] = ()
    initial_belief: Belief | None = None
    debate_strength: Strength | None = None
    questions: tuple[ProbingQuestion, ...] = ()


class _Draft(msgspec.Struct, frozen=True, kw_only=True):
    """The JSON that appendix A.2 asks for. Topic and domain in the reply are ignored, because they are known."""

    topic: Annotated[Any, with_schema(type="string")] = None
    domain: Annotated[Any, with_schema(type="string")] = None
    initial_belief: Annotated[str, with_schema(enum=get_args(Belief))]
    debate_strength: Annotated[str, with_schema(enum=get_args(Strength))]
    questions: Annotated[list[str], with_schema(minItems=QUESTIONS, maxItems=QUESTIONS)]


class _Labels(msgspec.Struct, frozen=True):
    kinds: Annotated[list[Annotated[str, with_schema(enum=KINDS)]], with_schema(minItems=QUESTIONS, maxItems=QUESTIONS)]


_FORM = Form(schema=schema_of(_Draft))
_LABEL_FORM = Form(schema=schema_of(_Labels))

_COUNT = "array of {} strings"
"""The words of the published prompt with the number of questions, 15 in the paper."""


async def write_questions(ask: Ask, speaker: str, topic: str, domain: str, count: int = QUESTIONS) -> Written:
    """Ask for `count` questions about a topic until they pass every check, at most `_ATTEMPTS` times.

    Each further request lists the problems of the last attempt.

    Raises:
        CallFailed: a call failed permanently.
    """

    async def read(reply: Reply) -> Reading[Written]:
        draft, problems = _read(reply.text, count)
        if draft is None or problems:
            return _wrong(problems)
        questions, problems = await _labelled(ask, speaker, topic, draft.questions)
        if problems:
            return _wrong(problems)
        belief, strength = (_plain(draft.initial_belief), _plain(draft.debate_strength))
        return Reading(Written(0, (), cast(Belief, belief), cast(Strength, strength), questions), "as is")

    answered = await ask_until_read(
        ask,
        "writer",
        [user(_request(topic, domain, count))],
        read,
        attempts=_ATTEMPTS,
        complaint=lambda problems: prompts.filled("questions", "complaint", problems=problems),
        repeated=as_it_came,
        form=_with_count(_FORM, "questions", count),
        speaker=speaker,
    )
    if answered.failure:
        raise answered.failure
    return msgspec.structs.replace(answered.value or Written(0), attempts=answered.attempts)


def _request(topic: str, domain: str, count: int) -> str:
    """The published prompt, word for word except for the number of questions."""
    text = prompts.PROMPTS.fill("questions.ask", topic=topic, domain=domain)
    return text.replace(_COUNT.format(QUESTIONS), _COUNT.format(count), 1)


def _with_count(form: Form, name: str, count: int) -> Form:
    """The reply format, with exactly `count` members in the list called `name`."""
    schema = deepcopy(form.schema) or {}
    schema["properties"][name] |= {"minItems": count, "maxItems": count}
    return Form(schema=schema)


def _wrong(problems: Sequence[str]) -> Reading[Written]:
    return Reading(Written(0, tuple(problems)), "as is", _listed(problems))


async def _labelled(
    ask: Ask, speaker: str, topic: str, texts: Sequence[str]
) -> tuple[tuple[ProbingQuestion, ...], list[str]]:
    """The questions with the kinds that the writer assigns to them, and the problems of the labelled questions."""
    numbered = "\n".join(f"{number}. {text}" for number, text in enumerate(texts, 1))

    def read(reply: Reply) -> Reading[tuple[ProbingQuestion, ...]]:
        kinds, problem = _kinds(reply.text, len(texts))
        if problem:
            return Reading.invalid(_listed([problem]))
        questions = tuple(ProbingQuestion(text, kind) for text, kind in zip(texts, kinds, strict=False))
        doubts = [
            f"question {number} {why}" for number, question in enumerate(questions, 1) if (why := doubt(question))
        ]
        return Reading(questions, "as is", _listed(doubts))

    answered = await ask_until_read(
        ask,
        "writer",
        [user(prompts.filled("topics", "kinds", topic=topic, questions=numbered))],
        read,
        attempts=_LABEL_ATTEMPTS,
        complaint=lambda problems: prompts.filled("topics", "kinds_complaint", problems=problems),
        repeated=as_it_came,
        form=_with_count(_LABEL_FORM, "kinds", len(texts)),
        speaker=speaker,
    )
    if answered.failure:
        raise answered.failure
    questions = answered.last.value or ()
    return questions, problems_of(questions, len(texts)) if questions else [
        "the kinds of the questions could not be told"
    ]


def _read(text: str, count: int) -> tuple[_Draft | None, list[str]]:
    reading = parse_json(text, _Draft)
    if reading.value is None:
        return None, [f"it cannot be read: {reading.problem}"]
    draft = msgspec.structs.replace(
        reading.value, questions=[" ".join(question.split()) for question in reading.value.questions]
    )
    problems = [
        f'"{key}" is none of {", ".join(known)}'
        for key, value, known in (
            ("initial_belief", draft.initial_belief, get_args(Belief)),
            ("debate_strength", draft.debate_strength, get_args(Strength)),
        )
        if _plain(value) not in known
    ]
    return draft, problems + text_problems(draft.questions, count)


def _kinds(text: str, count: int) -> tuple[list[Kind], str]:
    reading = parse_json(text, _Labels)
    if reading.value is None:
        return [], reading.problem
    named = [_plain(kind) for kind in reading.value.kinds]
    kinds = [kind for name in named for kind in KINDS if kind == name]
    if len(named) != count:
        return [], f"there are {len(named)} kinds, not {count}"
    if len(kinds) != len(named):
        return [], f"{', '.join(sorted(set(named) - set(KINDS)))[:200]} are no kinds"
    return kinds, ""


def _plain(text: str) -> str:
    return text.strip().casefold()


def _listed(problems: Sequence[str]) -> str:
    return "\n".join(f"- {problem}" for problem in problems[:_MOST_PROBLEMS])
