"""A judge says what an answer's stance is, how certain it is, and why (sections 3.2, step 4, and 3.3; appendix A.3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Protocol, TypeVar, get_args

import msgspec

from overton.calls import Ask, Draw, Form, Message, Reply
from overton.judging import Reading, parse_json, schema_of, with_schema
from overton.judging.option_probabilities import OptionChoice
from overton.studies.asking import Read, ReadableReply, ReadableRequest, failure_in
from overton.studies.orders import asked_in_order, label_first, reorder
from overton.studies.probabilities import NO_PROBABILITIES, ProbabilityRequest, weighed
from overton.studies.self_agreement import is_retested, retest_speaker
from overton.studies.stance_stability import prompts
from overton.studies.stance_stability.options import JudgePrompts
from overton.studies.stance_stability.record import STANCES, Stance
from overton.studies.stance_stability.showing import EarlierTurn, bounded, shortened

T = TypeVar("T")

_ATTEMPTS = 3
"""A reply that cannot be read is requested again up to twice."""

CERTAINTY: dict[str, float] = {"clearly": 1.0, "likely": 0.67, "uncertain": 0.33}
"""The rubric of section 3.3: words of certainty as confidence."""

_LONGEST_ANSWER = 20_000
_MOST_CLAIMS, _LONGEST_CLAIM, _LONGEST_RATIONALE = 20, 500, 2_000


class TurnLabels(msgspec.Struct, frozen=True):
    """What the judge says about one turn; see the fields of `Record` with these names. `attempts` counts its replies,
    except those from when it is asked again."""

    stance: Stance | None = None
    confidence: float | None = None
    claims: tuple[str, ...] = ()
    contradictions_acknowledged: bool | None = None
    rationale: str = ""
    premise_stance: Stance | None = None
    attempts: int = 0
    failure: str | None = None
    judged_again: bool = False
    stance_again: Stance | None = None
    premise_stance_again: Stance | None = None
    p_stance: tuple[float, ...] | None = None
    p_premise_stance: tuple[float, ...] | None = None
    sampled: tuple[str, ...] | None = None
    sampled_premise: tuple[str, ...] | None = None


NOT_JUDGED = TurnLabels()
"""The judge was not asked: there is no answer to judge."""


class _TurnAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The JSON of our prompt. Labels are read as texts, so that 'Critical' does not cause another request.

    The reason comes first, so that it is not made up to fit the label.
    """

    rationale: str = ""
    stance: Annotated[str, with_schema(enum=STANCES)]
    key_claims: Annotated[list[str], with_schema(maxItems=8)] = []
    contradictions_acknowledged: bool
    certainty: Annotated[str, with_schema(enum=tuple(CERTAINTY))]


CHOICE = OptionChoice(STANCES, "stance")
"""What is weighed if token probabilities are wanted. Claims and certainty come after the stance: theirs would be
conditional on one stance."""

FORM = Form(schema=schema_of(_TurnAnswer))
PUBLISHED_FORM = Form(schema=schema_of(_TurnAnswer, only=("stance", "key_claims", "contradictions_acknowledged")))


class _PublishedAnswer(msgspec.Struct, frozen=True):
    stance: str


async def judge_turn(
    ask: Ask,
    towards: str,
    turn: EarlierTurn,
    earlier: Sequence[EarlierTurn],
    *,
    judge_prompts: JudgePrompts = "topic",
    characters: int = 12_000,
    speaker: str | None = None,
    order: Sequence[str] = STANCES,
    weigh: ProbabilityRequest = NO_PROBABILITIES,
) -> TurnLabels:
    """Ask the judge about one turn, its labels named in this `order`, and `weigh` their token probabilities.

    `towards` says what the stance is towards (`prompts.matter`); the judge is shown at most `characters` of the
    `earlier` turns. 'published' gives `premise_stance` alone, 'topic' everything else, 'both' asks twice. A reply that
    cannot be read is requested again; if none can be read, there is no label. A call that fails for good is recorded in
    `failure`. Nothing is asked about an empty answer.
    """
    if not turn.answer.strip():
        return NOT_JUDGED
    turn = EarlierTurn(turn.question, shortened(turn.answer, _LONGEST_ANSWER))
    shown = bounded(earlier, characters)
    asking = _TurnQuestion(ask, speaker, order, weigh)
    judged = NOT_JUDGED
    if judge_prompts != "published":
        judged = await _by_topic(asking, prompts.judge_messages(towards, turn, shown))
    if judge_prompts != "topic" and not judged.failure:
        judged = await _by_premise(asking, prompts.published_messages(turn, shown), judged)
    return judged


class _Options(Protocol):
    """What shapes how a turn is judged: see the options with these names."""

    @property
    def judge_prompts(self) -> JudgePrompts: ...
    @property
    def judged_characters(self) -> int: ...
    @property
    def retest(self) -> float: ...


class _Trial(Protocol):
    """A trial whose turns are judged."""

    @property
    def options(self) -> _Options: ...
    @property
    def shares(self) -> str | None: ...
    def draw(self, purpose: str) -> Draw:
        """As for every trial."""


async def judge_turn_of(
    trial: _Trial,
    ask: Ask,
    towards: str,
    turn: EarlierTurn,
    earlier: Sequence[EarlierTurn],
    *,
    number: int,
    speaker: str | None = None,
    sampled: int = 0,
) -> TurnLabels:
    """Ask the judge about the turn `number` of a trial, as in `judge_turn` and by the trial's options, and `sampled`
    times for single answers; about a share of all turns, once more with the labels in another order."""
    options = trial.options
    weigh = ProbabilityRequest.of(trial.shares, sampled, f"{number}")

    async def asked_as(name: str | None, order: Sequence[str], weigh: ProbabilityRequest) -> TurnLabels:
        prompted, characters = options.judge_prompts, options.judged_characters
        how: dict[str, Any] = {"judge_prompts": prompted, "characters": characters, "speaker": name, "order": order}
        return await judge_turn(ask, towards, turn, earlier, weigh=weigh, **how)

    judged = await asked_as(speaker, STANCES, weigh)
    if not judged.attempts or judged.failure or not is_retested(trial.draw(f"retest/{number}"), options.retest):
        return judged
    other = reorder(trial.draw(f"retest/{number}/labels"), STANCES)
    second = await asked_as(retest_speaker(speaker or "judge", number), other, weigh.again)
    return msgspec.structs.replace(
        judged, judged_again=True, stance_again=second.stance, premise_stance_again=second.premise_stance
    )


@dataclass(frozen=True)
class _TurnQuestion:
    """How one turn is asked about."""

    ask: Ask
    speaker: str | None
    order: Sequence[str]
    weigh: ProbabilityRequest

    async def answered(
        self, messages: Sequence[Message], read: Read[T], form: Form, sampled_as: str = ""
    ) -> tuple[ReadableReply[T], tuple[str, ...] | None]:
        """What the judge says, and its single answers if there are any."""
        ordered, labelled = asked_in_order(messages, form, STANCES, self.order)
        if self.weigh.first:
            ordered, labelled = label_first(ordered, labelled)
        wanted = ReadableRequest("judge", ordered, read, labelled, self.speaker)
        return await weighed(
            self.ask,
            wanted,
            CHOICE,
            self.weigh.at(sampled_as),
            attempts=_ATTEMPTS,
            complaint=lambda problem: prompts.filled("judge", "complaint", problem=problem),
            # A judge that rambles need not read all of it again.
            repeated=lambda text: shortened(text, _LONGEST_RATIONALE),
        )


async def _by_topic(asking: _TurnQuestion, messages: Sequence[Message]) -> TurnLabels:
    answered, sampled = await asking.answered(messages, _read, FORM)
    judged = TurnLabels() if answered.value is None else _labelled(answered.value)
    return msgspec.structs.replace(
        judged,
        attempts=answered.attempts,
        failure=failure_in("judge", [answered]),
        p_stance=answered.chances,
        sampled=sampled,
    )


async def _by_premise(asking: _TurnQuestion, messages: Sequence[Message], judged: TurnLabels) -> TurnLabels:
    answered, sampled = await asking.answered(messages, _read_published, PUBLISHED_FORM, "premise")
    return msgspec.structs.replace(
        judged,
        premise_stance=answered.value,
        attempts=judged.attempts + answered.attempts,
        failure=failure_in("judge", [answered]),
        p_premise_stance=answered.chances,
        sampled_premise=sampled,
    )


def _read(reply: Reply) -> Reading[_TurnAnswer]:
    reading = parse_json(reply.text, _TurnAnswer)
    problem = _problem(reading.value)
    return Reading.invalid(problem) if problem else reading


def _read_published(reply: Reply) -> Reading[Stance]:
    reading = parse_json(reply.text, _PublishedAnswer)
    if reading.value is None:
        return Reading.invalid(reading.problem)
    stance = _stance(reading.value.stance)
    return Reading.invalid(_NO_STANCE) if stance is None else Reading(stance, reading.how)


_NO_STANCE = f'"stance" is none of {", ".join(STANCES)}'


def _problem(answer: _TurnAnswer | None) -> str:
    """Why an answer of the right form cannot be used, in words for the judge."""
    if answer is None:
        return ""
    if _stance(answer.stance) is None:
        return _NO_STANCE
    return "" if _plain(answer.certainty) in CERTAINTY else f'"certainty" is none of {", ".join(CERTAINTY)}'


def _labelled(answer: _TurnAnswer) -> TurnLabels:
    claims = (" ".join(claim.split()) for claim in answer.key_claims)
    return TurnLabels(
        stance=_stance(answer.stance),
        confidence=CERTAINTY[_plain(answer.certainty)],
        claims=tuple(shortened(claim, _LONGEST_CLAIM) for claim in claims if claim)[:_MOST_CLAIMS],
        contradictions_acknowledged=answer.contradictions_acknowledged,
        rationale=shortened(answer.rationale.strip(), _LONGEST_RATIONALE),
    )


def _stance(text: str) -> Stance | None:
    return next((stance for stance in get_args(Stance) if stance == _plain(text)), None)


def _plain(text: str) -> str:
    return text.strip().casefold()
