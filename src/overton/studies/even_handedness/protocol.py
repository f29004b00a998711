"""The protocol of paired prompts (Shen et al. 2025): each prompt in a conversation of its own, both answers graded.

Beyond the published protocol, each pair is graded in both orders, and a share of trials has null conditions and
controls.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from overton.calls import Ask, Message, Reply, Settings, Trial, system, user
from overton.judging import Reading, faults_of
from overton.studies.asking import ReadableReply, ReadableRequest, ask_all_until_read
from overton.studies.calibration_sample import add_calibration
from overton.studies.even_handedness import prompts
from overton.studies.even_handedness.items import SIDES, OpposedPair, Side
from overton.studies.even_handedness.options import Options, system_prompts
from overton.studies.even_handedness.questions import (
    COMPLIANCE,
    EVEN_HANDEDNESS,
    HEDGING,
    QUESTION_OF,
    ask_labels,
    label_values,
    request,
)
from overton.studies.even_handedness.record import Graded, Record
from overton.studies.probabilities import sampled_replies
from overton.studies.self_agreement import is_retested, retest_speaker

_Labels = Mapping[str, ReadableReply[str]]


class PairTrial(Trial, frozen=True):
    """One pair asked once, under one system prompt or none."""

    pair: OpposedPair
    setting: str
    system: str
    repetition: int
    nulls: float
    retest: float
    shares: Literal["probabilities", "auto"] | None = None
    sampled: int = 0

    @property
    def has_nulls(self) -> bool:
        """Whether this trial has the null conditions and controls."""
        return is_retested(self.draw("nulls"), self.nulls)

    @property
    def doubled(self) -> Side:
        """The side whose prompt or answer is on both sides in its nulls."""
        return "a" if self.draw("doubled").coin() else "b"

    @property
    def judged_again(self) -> bool:
        """Whether its single grades are requested once more."""
        return is_retested(self.draw("retest"), self.retest)

    def messages(self, side: Side) -> tuple[Message, ...]:
        """What the model reads on behalf of a side."""
        asked = user(self.pair.prompt(side))
        return (system(self.system), asked) if self.system else (asked,)


def trials(pairs: Sequence[OpposedPair], options: Options, seed: int) -> Iterator[PairTrial]:
    """All trials, each pair's together."""
    return add_calibration(_trials(pairs, options, seed), options, seed)


def _trials(pairs: Sequence[OpposedPair], options: Options, seed: int) -> Iterator[PairTrial]:
    for pair in pairs:
        for setting, text in system_prompts(options):
            for repetition in range(1, options.trials + 1):
                yield PairTrial(
                    name=f"{pair.id}/{setting}/r{repetition}",
                    item=pair.id,
                    seed=seed,
                    pair=pair,
                    setting=setting,
                    system=text,
                    repetition=repetition,
                    nulls=options.nulls,
                    retest=options.retest,
                )


async def conduct(trial: PairTrial, ask: Ask) -> list[Record]:
    """Have both prompts answered, one of them again for the nulls, and the answers graded."""
    wanted = {side: _answer(trial, side) for side in SIDES}
    answered = await _ask_subject(ask, wanted)
    if failure := _failure("subject", answered.values()):
        return [_record(trial, "pair", None, failure=failure)]
    replies = {side: answered[side].replies[0] for side in SIDES}
    rows = [await _pair(trial, ask, replies)]
    if trial.has_nulls:
        rows += [await _same_prompt(trial, ask, replies), *await _controls(trial, ask, replies)]
    return rows


def _answer(trial: PairTrial, side: Side, speaker: str | None = None) -> ReadableRequest[str]:
    return ReadableRequest("subject", trial.messages(side), _read_any_reply, speaker=speaker)


def _read_any_reply(reply: Reply) -> Reading[str]:
    return Reading(reply.text, "as is")


async def _ask_subject(ask: Ask, wanted: Mapping[Side, ReadableRequest[str]]) -> dict[Side, ReadableReply[str]]:
    found = await ask_all_until_read(ask, list(wanted.values()), attempts=1, complaint=str)
    return dict(zip(wanted, found, strict=True))


async def _pair(trial: PairTrial, ask: Ask, replies: Mapping[Side, Reply]) -> Record:
    """The six judgements of a pair: even-handedness in both orders, compliance and hedging of each answer."""
    requests = _both_orders(trial, SIDES, _texts(replies)) | _grades(trial, replies)
    labels = await _ask_labels(trial, ask, requests)
    sampled = await _sample_labels(trial, ask, requests["even_first"])
    second: _Labels = {}
    if trial.judged_again:
        second = await ask_labels(ask, _grades(trial, replies, retest_speaker("judge"), again=True))
    return _record(
        trial,
        "pair",
        None,
        labels=labels,
        judged_again=trial.judged_again,
        sampled=sampled,
        **label_values(second),
        **_answer_columns("a", trial, "a", replies["a"]),
        **_answer_columns("b", trial, "b", replies["b"]),
    )


async def _ask_labels(
    trial: PairTrial, ask: Ask, requests: Mapping[str, ReadableRequest[str]]
) -> dict[str, ReadableReply[str]]:
    """The labels of a trial, with their probabilities if it asks for them."""
    if not trial.shares:
        return await ask_labels(ask, requests)
    return await ask_labels(
        ask, {column: QUESTION_OF[column].with_probabilities(plain) for column, plain in requests.items()}
    )


async def _sample_labels(trial: PairTrial, ask: Ask, wanted: ReadableRequest[str]) -> tuple[str, ...] | None:
    """Single answers of the judge at temperature 1, if this trial was drawn to calibrate its probabilities."""
    if not trial.sampled or wanted.form is None:
        return None
    at_one = Settings(temperature=1.0)
    replies = await sampled_replies(ask, "judge", wanted.messages, wanted.form, trial.sampled, at_one)
    return tuple([EVEN_HANDEDNESS.value(EVEN_HANDEDNESS.read(reply.text).value) or "none" for reply in replies])


def _grades(
    trial: PairTrial, replies: Mapping[Side, Reply], speaker: str | None = None, *, again: bool = False
) -> dict[str, ReadableRequest[str]]:
    """Both grades of both answers; `again` with the options in reverse."""
    return {
        column: request(column, {"prompt": trial.pair.prompt(side), "answer": replies[side].text}, speaker)
        for question in (COMPLIANCE, HEDGING)
        for side, column in zip(SIDES, question.columns.values() if again else question.columns, strict=True)
    }


def _both_orders(
    trial: PairTrial, sides: tuple[Side, Side], answers: tuple[str, str], speaker: str | None = None
) -> dict[str, ReadableRequest[str]]:
    """Two answers to the prompts of these sides, in the given order and reversed."""
    material = {
        "prompt": [trial.pair.prompt(side) for side in sides],
        "answer": answers,
        "group": [trial.pair.group(side) for side in sides],
    }
    return {column: request(column, material, speaker) for column in ("even_first", "even_second")}


async def _same_prompt(trial: PairTrial, ask: Ask, replies: Mapping[Side, Reply]) -> Record:
    """One prompt answered twice, graded as a pair: how even a model that treats both sides alike can look."""
    side = trial.doubled
    answered = (await _ask_subject(ask, {side: _answer(trial, side, retest_speaker("subject"))}))[side]
    if failure := _failure("subject", [answered]):
        return _record(trial, "same-prompt", side, failure=failure)
    first, second = replies[side], answered.replies[0]
    requests = _both_orders(trial, (side, side), (first.text, second.text), "judge/same-prompt")
    labels = await _ask_labels(trial, ask, requests)
    return _record(trial, "same-prompt", side, labels=labels, **_answer_columns("b", trial, side, second))


async def _controls(trial: PairTrial, ask: Ask, replies: Mapping[Side, Reply]) -> list[Record]:
    """One answer against itself, both answers exchanged, and one answer beside a refusal."""
    side, pair = trial.doubled, trial.pair
    own = replies[side].text
    alike = _both_orders(trial, (side, side), (own, own), "judge/same-answer")
    exchanged = _both_orders(trial, SIDES, _texts(replies)[::-1], "judge/exchanged")
    exchanged |= {
        f"compliance_{side}": request(
            f"compliance_{side}", {"prompt": pair.prompt(side), "answer": replies[other].text}, "judge/exchanged"
        )
        for side, other in (SIDES, SIDES[::-1])
    }
    no = prompts.fill("ours.decline")
    declined = (no, replies["b"].text) if side == "a" else (replies["a"].text, no)
    beside = _both_orders(trial, SIDES, declined, "judge/declined")
    return [
        # Both orders of one answer against itself are the same prompt, so it is asked once.
        _record(trial, "same-answer", side, labels=await _ask_labels(trial, ask, {"even_first": alike["even_first"]})),
        _record(trial, "exchanged", None, labels=await _ask_labels(trial, ask, exchanged)),
        _record(trial, "declined", side, labels=await _ask_labels(trial, ask, beside)),
    ]


def _texts(replies: Mapping[Side, Reply]) -> tuple[str, str]:
    return replies["a"].text, replies["b"].text


def _answer_columns(place: Side, trial: PairTrial, side: Side, reply: Reply) -> dict[str, Any]:
    """The columns of the answer in a place, given to the prompt of a side."""
    return {
        f"answer_{place}": reply.text,
        f"refused_{place}": reply.refused,
        f"faults_{place}": faults_of(reply.text, finish=reply.finish, shown=(trial.pair.prompt(side),)),
    }


def _failure(who: str, answered: Any) -> str | None:
    return next((f"{who}: {reply.failure}" for reply in answered if reply.failure is not None), None)


def _record(
    trial: PairTrial,
    what: Graded,
    side: Side | None,
    *,
    labels: _Labels | None = None,
    failure: str | None = None,
    **more: Any,
) -> Record:
    pair, labels = trial.pair, labels or {}
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
        unread=sum(label.value is None and label.failure is None for label in labels.values()),
        failure=failure or _failure("judge", labels.values()),
        **label_values(labels, weighed=trial.shares is not None),
        **more,
    )
