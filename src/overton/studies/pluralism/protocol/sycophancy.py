"""The experiment with open-ended responses, without and with a belief that the user states (section 6.1)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from overton.calls import Ask, Draw, Message, Reply
from overton.judging import Fault, faults_of
from overton.studies.calibration_sample import choose_calibration_turns
from overton.studies.orders import OWN, drawn_order
from overton.studies.pluralism import prompts
from overton.studies.pluralism.items import ReferenceThread, Viewpoint, by_votes
from overton.studies.pluralism.protocol.splitting import SplitResponses, split_responses
from overton.studies.pluralism.protocol.trials import (
    ThreadTrial,
    TrialFailed,
    belief_of,
    changed,
    counted,
    new_row,
    reply_columns,
    subject,
)
from overton.studies.pluralism.questions import (
    MATCH,
    QUESTIONS,
    STANCE,
    SUMMARY,
    entailed_of,
    entailment_chances,
    matching_order,
)
from overton.studies.pluralism.record import ENOUGH, Again, Record, Response, SummaryStance, ViewpointCandidate
from overton.studies.pluralism.replies import Stances
from overton.studies.questions import Material
from overton.studies.self_agreement import is_retested, retest_speaker


async def conduct(trial: ThreadTrial, ask: Ask) -> Record:
    """Find the reference opinion, state the belief, request responses, and have a judge label and match them."""
    row = changed(
        new_row(trial),
        viewpoints=tuple(viewpoint.id for viewpoint in trial.thread.viewpoints),
        votes=tuple(viewpoint.votes for viewpoint in trial.thread.viewpoints),
        asked=trial.options.responses,
    )
    found = await _find_reference(trial, ask)
    row = changed(
        row,
        candidates=len(found.labelled),
        candidates_unread=found.unread,
        stances=found.stances,
        tried=found.labelled,
    )
    if found.viewpoint is None:
        return changed(row, status="failed" if found.failure else "not eligible", failure=found.failure)
    row = changed(row, reference=found.viewpoint.id, stances_again=found.again)
    try:
        row = changed(row, belief=await belief_of(trial, found.viewpoint, ask))
        given = await _responses(trial, row.belief, ask)
    except TrialFailed as why:
        return changed(row, status="failed", failure=str(why))
    row = changed(row, **reply_columns(given.replies), given=len(given.split.responses), split=given.split.by)
    return await _judge_responses(trial, row, found.viewpoint, given, ask)


class SycophancyReplies(NamedTuple):
    """Replies to `messages`, and the responses in them. `finish` has one value per response. For the last response in a
    reply, the value is the provider's reason for the reply's end. For all other responses it is ''."""

    messages: Sequence[Message]
    replies: Sequence[Reply]
    split: SplitResponses
    finish: Sequence[str]

    def faults(self, place: int) -> tuple[Fault, ...]:
        """The ways in which the response at this index, from 0, is malformed."""
        text, *earlier = reversed(self.split.responses[: place + 1])
        shown = [message.content for message in self.messages]
        return faults_of(text, finish=self.finish[place], shown=shown, earlier=earlier)


async def _responses(trial: ThreadTrial, belief: str, ask: Ask) -> SycophancyReplies:
    """Request all responses in one reply, as published, or each in a separate reply. In one reply, only the last
    response can be truncated."""
    count = trial.options.responses
    alone = trial.options.independent or count == 1
    messages = prompts.generation_messages(trial.thread, trial.condition, belief, count, independent=alone)
    replies = await subject(trial, ask, messages, times=count if alone else 1)
    if not alone:
        split = split_responses(replies[0].text, count)
        return SycophancyReplies(messages, replies, split, [*[""] * (len(split.responses) - 1), replies[0].finish])
    said = [reply for reply in replies if reply.text.strip()]
    split = SplitResponses(tuple(reply.text.strip() for reply in said), "whole")
    return SycophancyReplies(messages, replies, split, [reply.finish for reply in said])


async def _judge_responses(
    trial: ThreadTrial, row: Record, reference: Viewpoint, given: SycophancyReplies, ask: Ask
) -> Record:
    """The row with its responses, which the judge has labelled and matched."""
    responses = given.split.responses[: trial.options.responses]
    if not responses:
        return changed(row, responses=(Response(1, "", None, None, ("empty", "cut") if row.cut else ("empty",)),))
    weighed = trial.shares is not None
    materials = [_material(trial, reference, number, text) for number, text in enumerate(responses, 1)]
    stances, matches = [
        await QUESTIONS.ask_about(ask, [(question, material, OWN) for material in materials], probabilities=weighed)
        for question in (STANCE, MATCH)
    ]
    sampled = await _singles(trial, materials, ask)
    answers = [*stances, *matches]
    return changed(
        row,
        failure=next(filter(None, (answer.failure for answer in answers)), None),
        responses=tuple(
            Response(
                number,
                text,
                stance.value,
                entailed_of(match),
                given.faults(number - 1),
                stance.probabilities(),
                entailment_chances(match),
                **sampled.get(number, {}),
            )
            for number, (text, stance, match) in enumerate(zip(responses, stances, matches, strict=True), 1)
        ),
        **counted([reply for answer in answers for reply in answer.replies]),
        again=tuple(
            [
                await _again(trial, number, material, ask)
                for number, material in enumerate(materials, 1)
                if is_retested(trial.draw(f"retest/{number}"), trial.options.retest)
            ]
        ),
    )


def _material(trial: ThreadTrial, reference: Viewpoint, number: int, response: str) -> Material:
    """The response with this number, for the judge."""
    options = trial.options
    return {
        "thread": trial.thread,
        "response": response,
        "reference": reference.id,
        "matching": options.matching,
        "order": matching_order(trial, len(trial.thread.viewpoints), number, options.shown),
    }


async def _singles(trial: ThreadTrial, materials: Sequence[Material], ask: Ask) -> dict[int, dict[str, Any]]:
    """The judge's answers at temperature 1 about some responses, by the number of the response. The result is empty if
    the trial is not in the calibration sample. The answers are about the response's stance. If the judge matches in
    pairs, there are also answers about one randomly chosen viewpoint."""
    drawn = choose_calibration_turns(trial.draw("calibration/responses"), trial.sampled, range(1, len(materials) + 1))
    views = trial.thread.viewpoints
    found: dict[int, dict[str, Any]] = {}
    for number, often in drawn.items():
        material = materials[number - 1]
        found[number] = {"sampled": await STANCE.sample(ask, material, often, f"stance/{number}")}
        if trial.options.matching == "pairs":
            place = trial.draw(f"calibration/match/{number}").sample(range(1, len(views) + 1), 1)[0]
            said = await MATCH.sample(ask, material, often, f"match/{number}", prompt=place - 1)
            found[number] |= {"sampled_match": said, "sampled_of": views[place - 1].id}
    return found


async def _again(trial: ThreadTrial, number: int, material: Material, ask: Ask) -> Again:
    """The judge's second labels for the response with this number. The prompts list labels and viewpoints in another
    order."""
    labels, viewpoints = (drawn_order(trial.draw(f"retest/{number}/{what}")) for what in ("labels", "viewpoints"))
    speaker = retest_speaker("judge", number)
    (stance,) = await QUESTIONS.ask_about(ask, [(STANCE, material, labels)], speaker)
    (match,) = await QUESTIONS.ask_about(ask, [(MATCH, material, viewpoints)], speaker)
    return Again(number, stance.value, entailed_of(match) if match.replies else None)


class Reference(NamedTuple):
    """The result of the search for a reference opinion.

    `viewpoint` is the reference opinion, None if no viewpoint qualifies. `labelled` has the viewpoints that were tried,
    each with its labels. If a viewpoint qualifies, it is the last in `labelled`. `failure` is the reason if a request
    for labels failed permanently, otherwise None. `again` has the judge's second labels for `stances`. It is empty if
    there are no second labels.
    """

    viewpoint: Viewpoint | None
    labelled: tuple[ViewpointCandidate, ...]
    failure: str | None
    again: tuple[SummaryStance | None, ...] = ()

    @property
    def stances(self) -> tuple[SummaryStance | None, ...]:
        """The stances of the thread's viewpoints towards the reference opinion, in the order of the thread. The stance
        is 'reference' for the reference itself, and None without a usable label."""
        return self.labelled[-1].stances if self.viewpoint else ()

    @property
    def unread(self) -> int:
        """The number of tried viewpoints for which some label is missing."""
        return sum(None in candidate.stances for candidate in self.labelled)


async def _find_reference(trial: ThreadTrial, ask: Ask) -> Reference:
    """Try the viewpoints, most votes first and at most as many as the option allows, until one qualifies.

    In one call, the judge labels the stances of all other viewpoints towards the viewpoint that is tried. A run makes
    this call only once for all its trials and models. A viewpoint whose labels cannot be read does not qualify. If a
    call fails permanently, there is no reference opinion. Trying the next viewpoint instead would be wrong, because
    this viewpoint may qualify when the call is retried.
    """
    thread, most = trial.thread, trial.options.candidates
    labelled: list[ViewpointCandidate] = []
    for viewpoint in by_votes(thread, most) if len(thread.viewpoints) > 2 * ENOUGH else []:
        place = thread.viewpoints.index(viewpoint) + 1
        material = {"thread": thread, "reference": viewpoint.id}
        (labelling,) = await QUESTIONS.ask_about(ask, [(SUMMARY, material, OWN)], shared=True)
        labels = labelling.value or {}
        labelled.append(ViewpointCandidate(viewpoint.id, _stances(thread, place, labels)))
        if labelling.failure:
            return Reference(None, tuple(labelled), labelling.failure)
        if _qualifies(labels):
            return Reference(viewpoint, tuple(labelled), None, await _stances_again(trial, place, ask))
    return Reference(None, tuple(labelled), None)


async def _stances_again(trial: ThreadTrial, place: int, ask: Ask) -> tuple[SummaryStance | None, ...]:
    """The judge's second labels towards a reference opinion, with the summaries in another order. These labels are
    requested once per run, for a sample of reference opinions. For a reference opinion outside the sample, the result
    is empty."""
    thread = trial.thread
    name = f"{trial.seed}/{thread.id}/{thread.viewpoints[place - 1].id}/retest"  # the same in all trials of a thread
    if not is_retested(Draw(name), trial.options.retest):
        return ()
    material = {"thread": thread, "reference": thread.viewpoints[place - 1].id}
    asked = [(SUMMARY, material, drawn_order(Draw(f"{name}/order")))]
    (labelling,) = await QUESTIONS.ask_about(ask, asked, retest_speaker("judge"), shared=True)
    return _stances(thread, place, labelling.value or {})


def _qualifies(labels: Stances) -> bool:
    given = list(labels.values())
    return given.count("supporting") >= ENOUGH and given.count("against") >= ENOUGH


def _stances(thread: ReferenceThread, reference: int, labels: Stances) -> tuple[SummaryStance | None, ...]:
    places = range(1, len(thread.viewpoints) + 1)
    return tuple("reference" if place == reference else labels.get(place) for place in places)
