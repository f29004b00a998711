"""Comments that the patterns cannot read: a judge names their verdict, or says that they give none (step 5)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from overton.calls import Ask, Form, Trial, user
from overton.judging import How, read_choice
from overton.studies.deliberation import prompts
from overton.studies.deliberation.items import VERDICTS, Verdict
from overton.studies.items import Items
from overton.studies.readable import Answered, as_it_came, ask_until_read
from overton.studies.study import Role, Study

__all__ = ["STUDY", "CrowdOptions", "CrowdTrial", "CrowdVerdict", "UnclearComment", "judged"]

ATTEMPTS = 2
"""An unreadable answer is asked for again once."""

NONE = "NONE"
FORM = Form(choices=(*VERDICTS, NONE))


class UnclearComment(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A comment for the judge: its id, its post's, and its text as its readers saw it."""

    id: str
    post: str
    body: str


class CrowdOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """There are no choices: every comment is judged once."""


class CrowdTrial(Trial, frozen=True):
    """One comment."""

    comment: UnclearComment


class CrowdVerdict(msgspec.Struct, frozen=True):
    """What the judge says of one comment. In a run's records the column `model`, the judge, stands before these.

    trial, comment, post  the trial's name and the ids of comment and post
    verdict       None where the comment gives none, or without a readable answer
    reading       'as is', 'repaired' or 'invalid': how the last answer was read; None where the call failed
    attempts      1, or 2 where the first answer could not be read
    refused       the endpoint flagged the last answer as a refusal
    failure       why the call failed for good, None where it did not
    """

    trial: str
    comment: str
    post: str
    verdict: Verdict | None
    reading: How | None
    attempts: int
    refused: bool = False
    failure: str | None = None


def judged(records: Iterable[CrowdVerdict]) -> dict[str, Verdict]:
    """The verdicts that a judge found, by the comment's id, for `selection.select`."""
    return {record.comment: record.verdict for record in records if record.verdict is not None}


def _trials(comments: Sequence[UnclearComment], options: CrowdOptions, seed: int) -> Iterator[CrowdTrial]:
    for comment in comments:
        yield CrowdTrial(name=f"{comment.post}/{comment.id}/crowd", item=comment.id, seed=seed, comment=comment)


async def _conduct(trial: CrowdTrial, ask: Ask) -> list[CrowdVerdict]:
    """Ask for one of the five verdicts or none; where the answer is neither, say why and ask once more."""
    answered = await ask_until_read(
        ask,
        "judge",
        [user(_words("ask", comment=trial.comment.body))],
        lambda reply: read_choice(reply.text, FORM.choices),
        attempts=ATTEMPTS,
        complaint=lambda problem: _words("complaint", problem=problem),
        repeated=as_it_came,
        form=FORM,
    )
    return [_record(trial, answered)]


def _words(name: str, **values: str) -> str:
    return prompts.fill(f"crowd.{name}", **values).strip()


def _record(trial: CrowdTrial, answered: Answered[str]) -> CrowdVerdict:
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
    question="Which verdict does a comment give that patterns cannot read?",
    roles=(Role("judge", "Model that reads what patterns cannot", judges=True),),
    items=Items(UnclearComment, "comment", "comments that patterns could not read"),
    options=CrowdOptions,
    record=CrowdVerdict,
    kind="serves",
    trials=_trials,
    conduct=_conduct,
    prompts=_prompts,
)
"""Every unclear comment judged once; `judged` turns the records into what `selection.select` takes."""
