"""The protocol of paired prompts (Shen et al. 2025): each prompt has its own conversation, and both answers are graded.

In addition to the published protocol, each pair is graded in both orders, and a proportion of trials has null
conditions and controls.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from overton.calls import Ask, Message, Reply, Trial, user
from overton.judging import faults_of
from overton.studies.asking import ReadableReply, ReadableRequest, ask_once, failure_in, read_as_is
from overton.studies.calibration_sample import add_calibration
from overton.studies.even_handedness import prompts
from overton.studies.even_handedness.items import SIDES, OpposedPair, Side
from overton.studies.even_handedness.options import Options
from overton.studies.even_handedness.questions import EVEN_HANDEDNESS, QUESTIONS
from overton.studies.even_handedness.record import Graded, Record
from overton.studies.questions import JudgedLabels, Material
from overton.studies.self_agreement import is_retested, retest_speaker
from overton.studies.system_prompts import conditions_of, name_of


class PairTrial(Trial, frozen=True):
    """One pair, asked once under one system prompt or none."""

    pair: OpposedPair
    setting: str
    repetition: int
    nulls: float
    retest: float
    shares: Literal["probabilities", "auto"] | None = None
    sampled: int = 0

    @property
    def condition_name(self) -> str:
        """The name of the system prompt that precedes the prompts; 'none' without a system prompt."""
        return self.setting

    @property
    def has_nulls(self) -> bool:
        """Whether this trial also has the null conditions and controls."""
        return is_retested(self.draw("nulls"), self.nulls)

    @property
    def doubled(self) -> Side:
        """The side whose prompt or answer takes the place of both sides in the null conditions."""
        return "a" if self.draw("doubled").coin() else "b"

    @property
    def judged_again(self) -> bool:
        """Whether the grades of single answers are requested a second time."""
        return is_retested(self.draw("retest"), self.retest)

    def messages(self, side: Side) -> tuple[Message, ...]:
        """The messages to the model for one side's prompt."""
        return (user(self.pair.prompt(side)),)


def trials(pairs: Sequence[OpposedPair], options: Options, seed: int) -> Iterator[PairTrial]:
    """All trials, grouped by pair."""
    found = (
        PairTrial(
            name=f"{pair.id}/{name_of(prompt)}/r{repetition}",
            item=pair.id,
            seed=seed,
            pair=pair,
            setting=name_of(prompt),
            system_prompt=prompt,
            repetition=repetition,
            nulls=options.nulls,
            retest=options.retest,
        )
        for pair in pairs
        for prompt in conditions_of(options)
        for repetition in range(1, options.trials + 1)
    )
    return add_calibration(found, options, seed)


async def conduct(trial: PairTrial, ask: Ask) -> list[Record]:
    """Request an answer to each prompt, then the judge's grades. If the trial has null conditions, also request a
    second answer to one prompt."""
    answered = await _ask_subject(trial, ask, SIDES)
    if failure := failure_in("subject", answered):
        return [_record(trial, "pair", None, JudgedLabels(failure=failure))]
    replies = {side: found.replies[0] for side, found in zip(SIDES, answered, strict=True)}
    rows = [await _pair(trial, ask, replies)]
    if trial.has_nulls:
        rows += [await _same_prompt(trial, ask, replies), *await _controls(trial, ask, replies)]
    return rows


async def _ask_subject(
    trial: PairTrial, ask: Ask, sides: Sequence[Side], speaker: str | None = None
) -> list[ReadableReply[str]]:
    """The answers to the prompts of these sides."""
    return await ask_once(
        ask, [ReadableRequest("subject", trial.messages(side), read_as_is, speaker=speaker) for side in sides]
    )


async def _pair(trial: PairTrial, ask: Ask, replies: Mapping[Side, Reply]) -> Record:
    """The six judgements of a pair: even-handedness in both orders, compliance and hedging of each answer."""
    both = _both_orders(trial, SIDES, _texts(replies))
    grades = {
        f"{key}_{side}": _single(trial, side, replies[side].text) for key in ("compliance", "hedging") for side in SIDES
    }
    labels = await _ask_judge(trial, ask, both | grades)
    sampled = await EVEN_HANDEDNESS.sample(ask, both["even_first"], trial.sampled)
    repeated = QUESTIONS.in_other_order(grades) if trial.judged_again else {}
    second = await QUESTIONS.ask(ask, repeated, retest_speaker("judge"))
    return _record(
        trial,
        "pair",
        None,
        labels,
        judged_again=trial.judged_again,
        sampled=sampled,
        **second.columns,
        **_answer_columns("a", trial, "a", replies["a"]),
        **_answer_columns("b", trial, "b", replies["b"]),
    )


async def _same_prompt(trial: PairTrial, ask: Ask, replies: Mapping[Side, Reply]) -> Record:
    """One prompt answered twice, with both answers graded as a pair. The grades show how even-handed a model would look
    if it treated both sides alike."""
    side = trial.doubled
    answered = await _ask_subject(trial, ask, [side], retest_speaker("subject"))
    if failure := failure_in("subject", answered):
        return _record(trial, "same-prompt", side, JudgedLabels(failure=failure))
    first, second = replies[side], answered[0].replies[0]
    both = _both_orders(trial, (side, side), (first.text, second.text))
    return await _grade_as(trial, ask, "same-prompt", side, both, **_answer_columns("b", trial, side, second))


async def _controls(trial: PairTrial, ask: Ask, replies: Mapping[Side, Reply]) -> list[Record]:
    """One answer against itself, both answers exchanged, and one answer next to a refusal."""
    side, own = trial.doubled, replies[trial.doubled].text
    alike = _both_orders(trial, (side, side), (own, own))
    exchanged = _both_orders(trial, SIDES, _texts(replies)[::-1]) | {
        "compliance_a": _single(trial, "a", replies["b"].text),
        "compliance_b": _single(trial, "b", replies["a"].text),
    }
    no = prompts.fill("ours.decline")
    declined = (no, replies["b"].text) if side == "a" else (replies["a"].text, no)
    return [
        # One answer against itself gives the same prompt in both orders, so the judge is asked only once.
        await _grade_as(trial, ask, "same-answer", side, {"even_first": alike["even_first"]}),
        await _grade_as(trial, ask, "exchanged", None, exchanged),
        await _grade_as(trial, ask, "declined", side, _both_orders(trial, SIDES, declined)),
    ]


async def _grade_as(
    trial: PairTrial, ask: Ask, what: Graded, side: Side | None, materials: Mapping[str, Material], **more: Any
) -> Record:
    """A null condition or control, graded by a separate speaker."""
    return _record(trial, what, side, await _ask_judge(trial, ask, materials, f"judge/{what}"), **more)


async def _ask_judge(
    trial: PairTrial, ask: Ask, materials: Mapping[str, Material], speaker: str | None = None
) -> JudgedLabels:
    return await QUESTIONS.ask(ask, materials, speaker, probabilities=trial.shares is not None)


def _both_orders(trial: PairTrial, sides: Sequence[Side], answers: Sequence[str]) -> dict[str, Material]:
    """Two answers to the prompts of these sides, in the given order and reversed."""
    material = {
        "prompt": [trial.pair.prompt(side) for side in sides],
        "answer": answers,
        "group": [trial.pair.group(side) for side in sides],
    }
    return {"even_first": material, "even_second": material}


def _single(trial: PairTrial, side: Side, answer: str) -> Material:
    """One answer to the prompt of a side."""
    return {"prompt": trial.pair.prompt(side), "answer": answer}


def _texts(replies: Mapping[Side, Reply]) -> tuple[str, str]:
    return replies["a"].text, replies["b"].text


def _answer_columns(place: Side, trial: PairTrial, side: Side, reply: Reply) -> dict[str, Any]:
    """The columns for answer a or b (`place`), which answers the prompt of `side`."""
    return {
        f"answer_{place}": reply.text,
        f"refused_{place}": reply.refused,
        f"faults_{place}": faults_of(reply.text, finish=reply.finish, shown=(trial.pair.prompt(side),)),
    }


def _record(trial: PairTrial, what: Graded, side: Side | None, labels: JudgedLabels, **more: Any) -> Record:
    """The record of one grading. If an answer is missing, `labels` has only the failure."""
    pair = trial.pair
    return Record(
        trial=trial.name,
        pair=pair.id,
        topic=pair.topic,
        category=pair.category,
        partisan=pair.partisan,
        task=pair.task,
        group_a=pair.group_a,
        group_b=pair.group_b,
        setting=trial.setting,
        repetition=trial.repetition,
        shares=trial.shares,
        graded=what,
        side=side,
        unread=labels.unread,
        failure=labels.failure,
        **labels.columns,
        **more,
    )
