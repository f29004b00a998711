"""Checking reference viewpoints: a judge says for each opinion which summaries entail it, its own cluster's or others'.

A summary that does not say what its cluster contains fails here whatever model wrote it: failures of form are counted
when viewpoints are made, failures of meaning here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import msgspec

from overton.calls import Ask, Form, Trial
from overton.judging import Reading, parse_json
from overton.studies.asking import ReadableReply, failure_in
from overton.studies.options import StudyOptions
from overton.studies.orders import reorder
from overton.studies.pluralism.audited import MEASURING
from overton.studies.pluralism.audited_sheet import SHEET
from overton.studies.pluralism.items import AtomicOpinion, ReferenceThread
from overton.studies.pluralism.judging import JudgeQuestion, judged
from overton.studies.pluralism.matching import form_of_numbers, read_numbers
from overton.studies.pluralism.prompts import post_text
from overton.studies.pluralism.prompts import reference as prompts
from overton.studies.pluralism.reading import REFERENCES
from overton.studies.pluralism.record import OpinionAudit
from overton.studies.self_agreement import RETEST, Retest, is_retested, retest_speaker
from overton.studies.study import Role, Study


class OpinionAuditOptions(StudyOptions, frozen=True, forbid_unknown_fields=True):
    """Every opinion is judged once by each judge, and a share of them a second time."""

    retest: Retest = RETEST


class OpinionTrial(Trial, frozen=True):
    """One thread whose opinions are known."""

    thread: ReferenceThread
    retest: float = 0.0


def _trials(threads: Sequence[ReferenceThread], options: OpinionAuditOptions, seed: int) -> Iterator[OpinionTrial]:
    """One per thread; those with viewpoints made by hand, or before opinions were kept, have nothing to judge."""
    for thread in threads:
        if thread.opinions:
            yield OpinionTrial(f"{thread.id}/audit", thread.id, seed, thread, options.retest)


async def _conduct(trial: OpinionTrial, ask: Ask) -> list[OpinionAudit]:
    """Each opinion with all summaries, in an order of its own; some of them again, in another."""
    opinions = trial.thread.opinions
    orders = [_order(trial, number) for number in range(1, len(opinions) + 1)]
    tasks = [_task(trial.thread, opinion, order) for opinion, order in zip(opinions, orders, strict=True)]
    answered = await judged(ask, tasks)
    rows = [
        _audit_row(trial, number, opinion, order, answer)
        for number, (opinion, order, answer) in enumerate(zip(opinions, orders, answered, strict=True), 1)
    ]
    return [await _ask_again(trial, row, order, ask) for row, order in zip(rows, orders, strict=True)]


async def _ask_again(trial: OpinionTrial, row: OpinionAudit, order: Sequence[int], ask: Ask) -> OpinionAudit:
    """The row, with a second answer if it is among those that the judge is asked about again."""
    if row.failure is not None or not is_retested(trial.draw(f"retest/{row.number}"), trial.retest):
        return row
    other = reorder(trial.draw(f"retest/{row.number}/order"), order)
    task = _task(trial.thread, trial.thread.opinions[row.number - 1], other)
    (second,) = await judged(ask, [task], speaker=retest_speaker("judge", row.number))
    named = _entailing_viewpoints(trial.thread, other, second)
    return msgspec.structs.replace(row, judged_again=True, entailed_by_again=None if named is None else tuple(named))


def _entailing_viewpoints(
    thread: ReferenceThread, order: Sequence[int], answered: ReadableReply[tuple[int, ...]]
) -> list[str] | None:
    """The viewpoints that an answer names, None if there is no answer."""
    return None if answered.value is None else [thread.viewpoints[order[place - 1]].id for place in answered.value]


def _order(trial: OpinionTrial, number: int) -> list[int]:
    """The places of the viewpoints in the order in which they are shown."""
    return trial.draw(f"order/{number}").shuffle(list(range(len(trial.thread.viewpoints))))


_KEY = "entailed_by"


def _task(thread: ReferenceThread, opinion: AtomicOpinion, order: Sequence[int]) -> JudgeQuestion[tuple[int, ...]]:
    shown = prompts.numbered(" ".join(thread.viewpoints[place].summary.split()) for place in order)
    messages = prompts.messages("audit", "ask", post=post_text(thread), viewpoints=shown, opinion=opinion.text)
    form = form_of_numbers(_KEY, range(1, len(order) + 1))
    return JudgeQuestion(messages, form, lambda text: read_entailing(text, len(order)))


def read_entailing(text: str, count: int) -> Reading[tuple[int, ...]]:
    """Numbers from 1 to `count` in a reply: `{"entailed_by": [2]}`, or a list alone. Others are dropped."""
    reading = parse_json(text)
    if reading.how == "invalid":
        return Reading.invalid(reading.problem)
    value, how = reading.value, reading.how
    if isinstance(value, dict):
        value = value.get(_KEY)
    else:
        how = "repaired"
    return read_numbers(value, how, range(1, count + 1), key=_KEY, named="summary", number=_number)


def _number(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def _audit_row(
    trial: OpinionTrial,
    number: int,
    opinion: AtomicOpinion,
    order: Sequence[int],
    answered: ReadableReply[tuple[int, ...]],
) -> OpinionAudit:
    viewpoints = trial.thread.viewpoints
    named = _entailing_viewpoints(trial.thread, order, answered)
    return OpinionAudit(
        trial=trial.name,
        thread=trial.thread.id,
        community=trial.thread.community,
        viewpoint=opinion.viewpoint,
        number=number,
        opinion=opinion.text,
        entailed=None if named is None else opinion.viewpoint in named,
        others=tuple(view.id for view in viewpoints if view.id in (named or ()) and view.id != opinion.viewpoint),
        attempts=answered.attempts,
        failure=failure_in("judge", [answered]),
    )


def _usual(role: str, speaker: str, form: Form | None) -> str:
    return '{"entailed_by": [1]}'


def _longest(role: str, speaker: str, form: Form | None) -> str:
    return "It is hard to say which of these summaries says that."


AUDITING: Study[ReferenceThread, OpinionAuditOptions, OpinionAudit, Any] = Study(
    name="audit-references",
    title="Audit of reference viewpoints",
    question="Do the summaries of reference viewpoints say what the opinions in them say, and what was lost?",
    roles=(Role("judge", "Model that judges", judges=True),),
    items=replace(REFERENCES, starter=None),  # those are hand-made, and have no opinions
    options=OpinionAuditOptions,
    record=OpinionAudit,
    kind="makes",
    measuring=MEASURING,
    sheet=SHEET,
    trials=_trials,
    conduct=_conduct,
    prompts=prompts.audit_texts,
    canned=(_usual, _longest),
)
"""Every opinion judged by each judge (one lane each), some of them twice; `audited.audit` sums up the records."""
