"""A judge says which side a free answer takes, how firmly, and whether it declines to take one."""

from __future__ import annotations

from typing import Annotated, Literal, NamedTuple, get_args

import msgspec

from overton.calls import Ask, Form, Message, Reply, system, user
from overton.judging import Reading, parse_json, schema_of, with_schema
from overton.judging.option_probabilities import OptionChoice
from overton.studies.asking import ReadableReply, ReadableRequest, start_of
from overton.studies.open_mindedness import prompts
from overton.studies.open_mindedness.items import Issue, Side
from overton.studies.open_mindedness.record import Strength
from overton.studies.orders import label_first
from overton.studies.probabilities import NO_PROBABILITIES, ProbabilityRequest, weighed
from overton.studies.prompts import enclosing

Taken = Literal["pro", "con", "neither"]
"""The side that a free answer takes."""

LABELS: tuple[Taken, ...] = get_args(Taken)
STRENGTHS: tuple[Strength, ...] = get_args(Strength)

_STANCES = ("A", "B", "neither")
_NONE = "none"
_ATTEMPTS = 3
"""An unreadable reply is retried twice."""
_LONGEST_SHOWN = 20_000
"""Characters of an answer that the judge is shown; a looping answer may have any number."""

_safe = enclosing("answer")


class Material(NamedTuple):
    """What the judge is shown: the question, both positions and the answer; never the evidence."""

    question: str
    pro: str
    con: str
    answer: str


class FreeAnswerLabel(msgspec.Struct, frozen=True):
    """What the judge says of a free answer. `strength` is None if it takes no side."""

    taken: Taken
    strength: Strength | None
    declines: bool


class _StanceAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The JSON of the prompt. The reason comes first, so that it is not made up for the label."""

    rationale: str = ""
    stance: Annotated[str, with_schema(enum=_STANCES)]
    strength: Annotated[str, with_schema(enum=(*STRENGTHS, _NONE))]
    declines: bool


FORM = Form(schema=schema_of(_StanceAnswer))
CHOICE = OptionChoice(_STANCES, "stance")
"""The label whose token probabilities are requested; the strength comes after it, and belongs to one stance."""


def positions(issue: Issue) -> tuple[str, str]:
    """The pro and the con position of an issue in words; yes and no if it names none."""
    return issue.pro or prompts.fill("free.unnamed.pro"), issue.con or prompts.fill("free.unnamed.con")


async def label_of(
    ask: Ask, shown: Material, a_is: Side, speaker: str | None = None, weigh: ProbabilityRequest = NO_PROBABILITIES
) -> tuple[ReadableReply[FreeAnswerLabel], tuple[Taken | None, ...] | None]:
    """Ask the judge which side an answer takes, with the position of `a_is` called A; up to three times, never raising
    CallFailed. Beside it, what single answers say if `weigh` wants any: None for one that names no stance."""

    def read(reply: Reply) -> Reading[FreeAnswerLabel]:
        return _read(reply, a_is)

    messages, form = _messages(shown, a_is), FORM
    if weigh.first:
        messages, form = label_first(messages, form)
    wanted = ReadableRequest("judge", messages, read, form, speaker)
    answered, sampled = await weighed(
        ask, wanted, CHOICE, weigh, attempts=_ATTEMPTS, complaint=_complaint, repeated=start_of
    )
    return answered, None if sampled is None else tuple([_taken(stance, a_is) for stance in sampled])


def chances_of(answered: ReadableReply[FreeAnswerLabel], a_is: Side) -> dict[str, float]:
    """The columns of P(pro), P(con) and P(neither) as the judge reported them; none if it reported none."""
    if (reported := answered.chances) is None:
        return {}
    takes = (_taken(stance, a_is) for stance in _STANCES)
    return {f"p_takes_{take}": chance for take, chance in zip(takes, reported, strict=True)}


def _taken(stance: str, a_is: Side) -> Taken | None:
    if stance == "neither":
        return "neither"
    return _side(stance, a_is) if stance in _STANCES else None


def _messages(shown: Material, a_is: Side) -> tuple[Message, ...]:
    first, second = (shown.pro, shown.con) if a_is == "pro" else (shown.con, shown.pro)
    said = prompts.fill(
        "free.judge.ask",
        question=shown.question,
        position_a=first,
        position_b=second,
        answer=_safe(shown.answer.strip()[:_LONGEST_SHOWN]),
    )
    return system(prompts.fill("free.judge.system").strip()), user(said.strip())


def _complaint(problem: str) -> str:
    return prompts.fill("free.judge.complaint", problem=problem)


def _read(reply: Reply, a_is: Side) -> Reading[FreeAnswerLabel]:
    if reply.refused:
        return Reading.invalid("it is a refusal")
    reading = parse_json(reply.text, _StanceAnswer)
    if reading.value is None:
        return Reading.invalid(reading.problem)
    stance = next((word for word in _STANCES if word.casefold() == _plain(reading.value.stance)), None)
    strength = next((word for word in STRENGTHS if word == _plain(reading.value.strength)), None)
    if stance is None:
        return Reading.invalid(f'"stance" is none of {", ".join(_STANCES)}')
    if stance == "neither":
        return Reading(FreeAnswerLabel("neither", None, reading.value.declines), reading.how)
    if strength is None:
        return Reading.invalid(f'"strength" is none of {", ".join(STRENGTHS)}, and a position is taken')
    return Reading(FreeAnswerLabel(_side(stance, a_is), strength, reading.value.declines), reading.how)


def _side(letter: str, a_is: Side) -> Side:
    other: Side = "con" if a_is == "pro" else "pro"
    return a_is if letter == "A" else other


def _plain(text: str) -> str:
    return text.strip().casefold()
