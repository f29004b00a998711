"""Writing paraphrases: a model, the writer, puts an issue's question into the six neutral templates (section 5.1,
appendix C)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated, Literal

import msgspec

from overton.calls import Ask, Form, Reply, Trial, user
from overton.judging import Reading, object_schema, parse_json
from overton.studies.asking import UnreadableReply, as_it_came, ask_until_read
from overton.studies.open_mindedness import prompts
from overton.studies.open_mindedness.items import SIDES, Issue, Paraphrase, Side
from overton.studies.open_mindedness.paraphrases.templates import (
    TEMPLATE_FAMILIES,
    TemplateMatch,
    recognise_all,
    same_words,
)
from overton.studies.open_mindedness.reading import UNPHRASED
from overton.studies.options import Option, StudyOptions
from overton.studies.study import Dataset, Role, Study

ATTEMPTS = 3
"""The most replies requested. After an unusable reply, Overton asks again and states what is wrong."""


class RephraseOptions(StudyOptions, frozen=True, forbid_unknown_fields=True):
    """Options that choose the issues to rephrase."""

    again: Annotated[bool, Option("Also rephrase issues that already have paraphrases", extends=True)] = False


class RephraseTrial(Trial, frozen=True):
    """The task to rephrase one issue's question."""

    question: str


class Rephrasing(msgspec.Struct, frozen=True):
    """One issue's paraphrases.

    trial, issue  the trial's name and the issue's id
    status        'written', 'invalid' if the last reply still had the wrong format, or 'failed' if a call failed
    attempts      number of replies requested, 1 to 3
    corrections   number of the writer's labels that contradicted the paraphrase's wording. The orientation then follows
                  the wording
    reworded      number of paraphrases that swap A and B, as appendix C's example of template 4 does
    paraphrases   six in the order of the templates, or an empty tuple
    pro, con      the two positions as the paraphrases word them, None without paraphrases
    problem       the reason for missing paraphrases; None if they were written
    """

    trial: str
    issue: str
    status: Literal["written", "invalid", "failed"]
    attempts: int
    corrections: int = 0
    reworded: int = 0
    paraphrases: tuple[Paraphrase, ...] = ()
    pro: str | None = None
    con: str | None = None
    problem: str | None = None


class _Entry(msgspec.Struct, frozen=True):
    """One member of the list that the prompt asks for."""

    question: str
    orientation: str


_Six = list[tuple[TemplateMatch, str, Side]]
"""For each paraphrase, its recognised parts, its text, and the writer's label for the side of A."""

# This schema is written by hand, because it allows only two words as the orientation, while `_Entry` accepts any text.
_ENTRY = object_schema(question={"type": "string"}, orientation={"enum": ["pro", "con"]})
FORM = Form(schema={"type": "array", "minItems": 6, "maxItems": 6, "items": _ENTRY})


def _trials(issues: Sequence[Issue], options: RephraseOptions, seed: int) -> Iterator[RephraseTrial]:
    for issue in issues:
        if options.again or not issue.paraphrases:
            yield RephraseTrial(name=f"{issue.id}/rephrase", item=issue.id, seed=seed, question=issue.question)


async def _conduct(trial: RephraseTrial, ask: Ask) -> list[Rephrasing]:
    """Ask for the six paraphrases. If a reply is unusable, state the reason and ask again."""
    answered = await ask_until_read(
        ask,
        "writer",
        [user(prompts.fill("rephrase.ask", social_issue_question=trial.question))],
        _read,
        attempts=ATTEMPTS,
        complaint=lambda problem: prompts.fill("rephrase.complaint", problem=problem),
        repeated=as_it_came,
        form=FORM,
    )
    if answered.failure:
        return [Rephrasing(trial.name, trial.item, "failed", answered.attempts, problem=answered.failed)]
    if answered.value is None:
        return [Rephrasing(trial.name, trial.item, "invalid", answered.attempts, problem=answered.problem)]
    return [_written(trial, answered.attempts, answered.value)]


def _read(reply: Reply) -> Reading[_Six]:
    """Read the six paraphrases from a reply, in the order of the templates."""
    reading = parse_json(reply.text, list[_Entry])
    if reading.value is None:
        raise UnreadableReply(reading.problem)
    if len(reading.value) != 6:
        raise UnreadableReply(f"the list has {len(reading.value)} members, not 6")
    entries = [(entry.question.strip(), _side(number, entry)) for number, entry in enumerate(reading.value, 1)]
    return Reading(_in_order(entries), reading.how)


def _side(number: int, entry: _Entry) -> Side:
    side = next((side for side in SIDES if side == entry.orientation), None)
    if side is None:
        raise UnreadableReply(f'the orientation of paraphrase {number} is neither "pro" nor "con"')
    return side


def _in_order(entries: Sequence[tuple[str, Side]]) -> _Six:
    recognised = _recognised(entries)
    by_template = {match.template: (match, *entry) for match, entry in zip(recognised, entries, strict=True)}
    missing = [number for number in range(1, 7) if number not in by_template]
    if missing:
        raise UnreadableReply(f"no paraphrase follows template {missing[0]}")
    for template, mirror in TEMPLATE_FAMILIES:
        _check_mirrored(by_template[template][0], by_template[mirror][0])
    return [by_template[number] for number in range(1, 7)]


def _written(trial: RephraseTrial, attempts: int, six: _Six) -> Rephrasing:
    """The record of six usable paraphrases, each with the orientation that its wording implies."""
    return Rephrasing(
        trial=trial.name,
        issue=trial.item,
        status="written",
        attempts=attempts,
        corrections=sum(match.a_is != label for match, _, label in six),
        reworded=sum(match.reworded for match, _, _ in six),
        paraphrases=tuple(Paraphrase(text, match.a_is or label) for match, text, label in six),
        pro=six[0][0].pro,
        con=six[0][0].con,
    )


def _recognised(entries: Sequence[tuple[str, Side]]) -> list[TemplateMatch]:
    """The recognised parts of each paraphrase. Its label decides which position is pro only if the wordings do not show
    it."""
    found = recognise_all([text for text, _ in entries])
    for number, match in enumerate(found, 1):
        if match is None:
            raise UnreadableReply(f"paraphrase {number} does not follow any of the six templates word for word")
    return [
        match.with_orientation(label) for match, (_, label) in zip(found, entries, strict=True) if match is not None
    ]


def _check_mirrored(match: TemplateMatch, other: TemplateMatch) -> None:
    if not (same_words(match.first, other.second) and same_words(match.second, other.first)):
        raise UnreadableReply(
            f"the paraphrases of templates {match.template} and {other.template} must state the same two positions, "
            "in the other order"
        )


def with_paraphrases(issues: Sequence[Issue], records: Iterable[Rephrasing]) -> list[Issue]:
    """The dataset: `issues` with the paraphrases in `records`. Positions that an issue lacks come from its paraphrases.

    Issues without a written record are returned unchanged.
    """
    written = {record.issue: record for record in records if record.status == "written"}
    return [_fill_paraphrases(issue, written[issue.id]) if issue.id in written else issue for issue in issues]


def _fill_paraphrases(issue: Issue, record: Rephrasing) -> Issue:
    return msgspec.structs.replace(
        issue, paraphrases=record.paraphrases, pro=issue.pro or record.pro, con=issue.con or record.con
    )


def _summary(records: Sequence[Rephrasing]) -> Iterator[str]:
    """Lines that state how many issues were rephrased, and why each other issue was not."""
    written = sum(record.status == "written" for record in records)
    yield f"{written} of {len(records)} issues rephrased."
    for record in records:
        if record.status != "written":
            yield f"{record.issue}: {record.status} after {record.attempts} replies: {record.problem}"
    if written < len(records):
        yield "'overton items fill-templates' writes paraphrases without a model."


STUDY: Study[Issue, RephraseOptions, Rephrasing, None] = Study(
    name="rephrase",
    title="Paraphrases",
    question="Write six neutral paraphrases per issue (MillStone, appendix C).",
    roles=(Role("writer", "Model that writes the paraphrases", flag="model"),),
    items=UNPHRASED,
    dataset=Dataset(
        "issues.jsonl",
        lambda issues, records, options: with_paraphrases(issues, records),
        _summary,
        lambda records: sum(record.status != "written" for record in records),
    ),
    options=RephraseOptions,
    record=Rephrasing,
    kind="makes",
    trials=_trials,
    conduct=_conduct,
    prompts=lambda: prompts.texts("rephrase"),
)
"""The study that writes six neutral paraphrases per issue. `with_paraphrases` turns its records into the dataset."""
