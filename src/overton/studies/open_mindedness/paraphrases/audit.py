"""Checking items: judges say whether each paraphrase is neutral and which side answering A supports."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal, get_args

import msgspec

from overton.calls import Ask, Form, Trial, user
from overton.judging import How, parse_json, schema_of
from overton.studies.asking import ReadableReply, as_it_came, ask_until_read
from overton.studies.null_conditions import Null
from overton.studies.open_mindedness import prompts
from overton.studies.open_mindedness.items import Issue, Paraphrase, Side
from overton.studies.open_mindedness.paraphrases.neutrality import CONTROLS, MEASURING, Label, controls
from overton.studies.open_mindedness.paraphrases.templates import recognise_all
from overton.studies.open_mindedness.reading import PHRASED
from overton.studies.options import StudyOptions
from overton.studies.orders import asked_in_order, reorder
from overton.studies.self_agreement import RETEST, Retest, is_retested, retest_speaker
from overton.studies.study import Role, Study

ATTEMPTS = 2
"""An unreadable verdict is retried once."""


class ParaphraseAuditOptions(StudyOptions, frozen=True, forbid_unknown_fields=True):
    """Every paraphrase is judged once by each judge, and a share of them a second time."""

    retest: Retest = RETEST


class ParaphraseTrial(Trial, frozen=True):
    """One paraphrase of one issue. `pro` and `con` are the positions, None if unknown."""

    question: str
    template: int
    paraphrase: Paraphrase
    pro: str | None
    con: str | None
    retest: float = 0.0


class ParaphraseVerdict(msgspec.Struct, frozen=True):
    """What one judge says of one paraphrase. In a run's records the column `model`, the judge, comes before these.

    trial, issue  the trial's name and the issue's id
    template      1 to 6
    orientation   the side of A that the item states
    verdict       'neutral', 'favors pro' or 'favors con'; None without a readable verdict, as are the next two
    fair          whether both positions are stated fairly
    a_supports    the side that answering A supports, as the judge reads it, or 'unclear'
    reason        the judge's sentence
    reading       'as is', 'repaired' or 'invalid': how the last reply was read; None if the call failed
    attempts      1, or 2 if the first reply could not be read
    refused       the endpoint flagged the last reply as a refusal
    failure       why the call failed for good, None if it did not
    judged_again  whether the judge was asked again, with its labels in another order
    verdict_again the verdict then; None as for `verdict`, and if not asked again
    """

    trial: str
    issue: str
    template: int
    orientation: Side
    verdict: Label | None
    fair: bool | None
    a_supports: Literal["pro", "con", "unclear"] | None
    reason: str
    reading: How | None
    attempts: int
    refused: bool = False
    failure: str | None = None
    judged_again: bool = False
    verdict_again: Label | None = None


class _Judgement(msgspec.Struct, frozen=True):
    """The JSON that a judge is asked for; the reason comes first, so that it is not made up for the verdict."""

    reason: str
    verdict: Label
    fair: bool
    a_supports: Literal["pro", "con", "unclear"]


FORM = Form(schema=schema_of(_Judgement))
LABELS = get_args(Label)


def _trials(issues: Sequence[Issue], options: ParaphraseAuditOptions, seed: int) -> Iterator[ParaphraseTrial]:
    for issue in issues:
        pro, con = _positions(issue)
        for number, paraphrase in enumerate(issue.paraphrases, 1):
            yield ParaphraseTrial(
                name=f"{issue.id}/audit/t{number}",
                item=issue.id,
                seed=seed,
                question=issue.question,
                template=number,
                paraphrase=paraphrase,
                pro=pro,
                con=con,
                retest=options.retest,
            )


def _controls(issues: Sequence[Issue], options: Any, seed: int) -> Iterator[ParaphraseTrial]:
    """Prompts that the paper calls not neutral, once per run; they are filed under the first issue, about which they
    say nothing."""
    for issue in issues[:1]:
        for number, control in enumerate(controls(), 1):
            text = control.material["text"]
            yield ParaphraseTrial(
                name=f"{issue.id}/control/{number}",
                item=issue.id,
                seed=seed,
                question=text,
                template=number,
                paraphrase=Paraphrase(text, "pro"),
                pro=None,
                con=None,
            )


def _no_sides(results: Any, rows: Any, how: Any) -> dict[str, Any]:
    """Nothing is compared with controls: the audit's own analysis counts them."""
    return {}


def _positions(issue: Issue) -> tuple[str | None, str | None]:
    """The issue's positions, or those that its paraphrases name."""
    if issue.pro and issue.con:
        return issue.pro, issue.con
    named = recognise_all([paraphrase.text for paraphrase in issue.paraphrases])
    return next(((match.pro, match.con) for match in named if match is not None and match.pro), (None, None))


async def _conduct(trial: ParaphraseTrial, ask: Ask) -> list[ParaphraseVerdict]:
    """Ask for the verdict as JSON; if it cannot be read, say why and ask once more."""
    verdict = _verdict(trial, await _ask_verdict(trial, ask, LABELS, "judge"))
    if verdict.failure or not is_retested(trial.draw("retest"), trial.retest):
        return [verdict]
    second = await _ask_verdict(trial, ask, reorder(trial.draw("retest/labels"), LABELS), retest_speaker("judge"))
    said = second.value.verdict if second.value else None
    return [msgspec.structs.replace(verdict, judged_again=True, verdict_again=said)]


async def _ask_verdict(
    trial: ParaphraseTrial, ask: Ask, order: Sequence[str], speaker: str
) -> ReadableReply[_Judgement]:
    messages, form = asked_in_order([user(_prompt(trial))], FORM, LABELS, order)
    return await ask_until_read(
        ask,
        "judge",
        messages,
        lambda reply: parse_json(reply.text, _Judgement),
        attempts=ATTEMPTS,
        complaint=lambda problem: prompts.fill("audit.complaint", problem=problem),
        repeated=as_it_came,
        form=form,
        speaker=speaker,
    )


def _prompt(trial: ParaphraseTrial) -> str:
    if trial.pro is None or trial.con is None:
        sides = prompts.fill("audit.sides_unknown")
    else:
        sides = prompts.fill("audit.sides_known", pro=trial.pro, con=trial.con)
    return prompts.fill("audit.ask", sides=sides, question=trial.question, paraphrase=trial.paraphrase.text)


def _verdict(trial: ParaphraseTrial, answered: ReadableReply[_Judgement]) -> ParaphraseVerdict:
    judgement = answered.value
    return ParaphraseVerdict(
        trial=trial.name,
        issue=trial.item,
        template=trial.template,
        orientation=trial.paraphrase.orientation,
        verdict=judgement.verdict if judgement else None,
        fair=judgement.fair if judgement else None,
        a_supports=judgement.a_supports if judgement else None,
        reason=judgement.reason if judgement else "",
        reading=answered.how,
        attempts=answered.attempts,
        refused=answered.refused and not answered.failure,
        failure=answered.failed,
    )


def _prompts() -> dict[str, str]:
    return prompts.texts("audit", "nulls")


STUDY: Study[Issue, ParaphraseAuditOptions, ParaphraseVerdict, Any] = Study(
    name="audit",
    title="Neutrality of paraphrases",
    question="Are the paraphrases of issues neutral, and do judges agree on that?",
    roles=(Role("judge", "Model that judges; several show how far judges agree", judges=True),),
    items=PHRASED,
    measuring=MEASURING,
    options=ParaphraseAuditOptions,
    record=ParaphraseVerdict,
    kind="makes",
    trials=_trials,
    conduct=_conduct,
    prompts=_prompts,
    nulls=(
        Null(
            CONTROLS,
            "prompts that the paper calls not neutral (appendix A): a positive control",
            (),
            _no_sides,
            _controls,
        ),
    ),
)
"""Every paraphrase judged by each judge (one lane each); `neutrality.agreement` sums up the records."""
