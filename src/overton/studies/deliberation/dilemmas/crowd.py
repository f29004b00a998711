"""The judge for comments that patterns cannot read.

The judge names the comment's verdict, or states that the comment has no verdict (step 5).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from overton.calls import Ask, Form, Trial, user
from overton.judging import How, read_choice
from overton.studies.asking import ReadableReply, as_it_came, ask_until_read
from overton.studies.deliberation import prompts
from overton.studies.deliberation.items import VERDICTS, Verdict
from overton.studies.items import Items
from overton.studies.options import StudyOptions
from overton.studies.orders import reorder, text_in_order
from overton.studies.self_agreement import RETEST, Retest, SelfAgreement, is_retested, of_labels, retest_speaker
from overton.studies.study import Role, Study

ATTEMPTS = 2
"""Requests per answer: Overton repeats the request once if the answer is unreadable."""

NONE = "NONE"
FORM = Form(choices=(*VERDICTS, NONE))


class UnclearComment(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A comment for the judge: its id, its post's id, and its text as readers saw it."""

    id: str
    post: str
    body: str


class CrowdOptions(StudyOptions, frozen=True, forbid_unknown_fields=True):
    """Options for judging comments. The judge reads every comment once, and a sample of comments a second time."""

    retest: Retest = RETEST


class CrowdTrial(Trial, frozen=True):
    """One comment."""

    comment: UnclearComment
    retest: float = 0.0


class CrowdVerdict(msgspec.Struct, frozen=True):
    """The judge's verdict on one comment. In a run's records the column `model`, which names the judge, precedes these
    columns.

    trial, comment, post  the trial's name and the ids of comment and post
    verdict       the verdict, None if the comment has none or the answer could not be read
    reading       how the last answer was read ('as is', 'repaired' or 'invalid'), or None if the call failed
    attempts      1, or 2 if the first answer could not be read
    refused       whether the endpoint flagged the last answer as a refusal
    failure       the reason why the call failed permanently, None if it succeeded
    judged_again  whether the judge read the comment again, with the verdicts in another order
    verdict_again, reading_again  `verdict` and `reading` from the second request, None without a second request
    """

    trial: str
    comment: str
    post: str
    verdict: Verdict | None
    reading: How | None
    attempts: int
    refused: bool = False
    failure: str | None = None
    judged_again: bool = False
    verdict_again: Verdict | None = None
    reading_again: How | None = None


def judged(records: Iterable[CrowdVerdict]) -> dict[str, Verdict]:
    """The verdicts that a judge found, by the comment's id, for `selection.select`."""
    return {record.comment: record.verdict for record in records if record.verdict is not None}


def self_agreement(records: Iterable[CrowdVerdict], *, level: float = 0.95) -> SelfAgreement | None:
    """The judge's agreement with itself over the comments that it read twice. 'None of them' counts as a separate
    label, and comments on one post form one cluster. The result is None if no comment was read twice."""
    asked = [record for record in records if record.judged_again]
    first, second = (
        [_label(*pair) for pair in some]
        for some in (
            [(record.verdict, record.reading) for record in asked],
            [(record.verdict_again, record.reading_again) for record in asked],
        )
    )
    return of_labels(first, second, [record.post for record in asked], level=level)


def _label(verdict: Verdict | None, reading: How | None) -> str | None:
    """The label that a judge gave; None if nothing could be read."""
    return None if reading in (None, "invalid") else verdict or NONE


def _trials(comments: Sequence[UnclearComment], options: CrowdOptions, seed: int) -> Iterator[CrowdTrial]:
    for comment in comments:
        yield CrowdTrial(f"{comment.post}/{comment.id}/crowd", comment.id, seed, comment, options.retest)


async def _conduct(trial: CrowdTrial, ask: Ask) -> list[CrowdVerdict]:
    """Ask for one of the five verdicts or 'none'. If the answer is unreadable, say why and ask once more."""
    record = _record(trial, await _ask_verdict(trial, ask))
    if record.failure is not None or not is_retested(trial.draw("retest"), trial.retest):
        return [record]
    order = reorder(trial.draw("retest/labels"), VERDICTS)
    second = _record(trial, await _ask_verdict(trial, ask, order, retest_speaker("judge")))
    repeated = {"judged_again": True, "verdict_again": second.verdict, "reading_again": second.reading}
    return [msgspec.structs.replace(record, **repeated)]


async def _ask_verdict(
    trial: CrowdTrial, ask: Ask, order: Sequence[str] = VERDICTS, speaker: str | None = None
) -> ReadableReply[str]:
    comment = trial.comment.body
    # Reorder only Overton's words. A comment may also name all verdicts, and stays unchanged.
    request = text_in_order(_words("ask", comment=_HERE), VERDICTS, order).replace(_HERE, comment)
    return await ask_until_read(
        ask,
        "judge",
        [user(request)],
        lambda reply: read_choice(reply.text, FORM.choices),
        attempts=ATTEMPTS,
        complaint=lambda problem: _words("complaint", problem=problem),
        repeated=as_it_came,
        form=Form(choices=(*order, NONE)),
        speaker=speaker,
    )


_HERE = "\0comment\0"


def _words(name: str, **values: str) -> str:
    return prompts.fill(f"crowd.{name}", **values).strip()


def _record(trial: CrowdTrial, answered: ReadableReply[str]) -> CrowdVerdict:
    return CrowdVerdict(
        trial=trial.name,
        comment=trial.comment.id,
        post=trial.comment.post,
        verdict=next((verdict for verdict in VERDICTS if verdict == answered.value), None),
        reading=answered.how,
        attempts=answered.attempts,
        refused=answered.refused and not answered.failure,
        failure=answered.failed,
    )


def _prompts() -> dict[str, str]:
    return prompts.PROMPTS.texts("crowd")


STUDY: Study[UnclearComment, CrowdOptions, CrowdVerdict, None] = Study(
    name="crowd-verdicts",
    title="Verdicts of a crowd",
    question="Which verdicts do comments give, if patterns cannot read them?",
    roles=(Role("judge", "Model that reads the comments that patterns cannot", judges=True),),
    items=Items(UnclearComment, "comment", "comments that patterns could not read"),
    options=CrowdOptions,
    record=CrowdVerdict,
    kind="serves",
    trials=_trials,
    conduct=_conduct,
    prompts=_prompts,
)
"""The study in which a judge reads every unclear comment, some twice.

`judged` turns its records into the verdicts that `selection.select` takes.
"""
