"""Making items: a writer puts an issue's question into the six neutral templates (section 5.1, appendix C)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

import msgspec

from overton.calls import Ask, Form, Message, Reply, Trial, assistant, user
from overton.errors import CallFailed
from overton.judging import parse_json
from overton.studies.open_mindedness import prompts
from overton.studies.open_mindedness.items import Issue, Paraphrase, Side
from overton.studies.open_mindedness.reading import UNPHRASED
from overton.studies.open_mindedness.templates import TEMPLATE_FAMILIES, Recognised, recognise_all, same_words
from overton.studies.study import Role, Study

__all__ = ["ATTEMPTS", "STUDY", "RephraseOptions", "RephraseTrial", "Rephrasing", "with_paraphrases"]

ATTEMPTS = 3
"""A bad reply is asked for again twice, with what was wrong with it."""


class RephraseOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`again` also rephrases issues that have paraphrases; without it they are left as they are."""

    again: bool = False


class RephraseTrial(Trial, frozen=True):
    """One issue's question."""

    question: str


class Rephrasing(msgspec.Struct, frozen=True):
    """One issue's paraphrases.

    trial, issue  the trial's name and the issue's id
    status        'written'; 'invalid' where the last reply still was of the wrong form; 'failed' where a call failed
    attempts      how many replies were asked for, 1 to 3
    corrections   how many labels contradicted the paraphrase's own wording: the orientation then follows the wording
    reworded      how many paraphrases exchange A and B as appendix C's example of template 4 does
    paraphrases   six in the order of the templates, or none
    pro, con      the two positions as the paraphrases word them, None without paraphrases
    problem       what was wrong, None where written
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


class _Unusable(Exception):
    """A reply that must be asked for again; its text is the reason, in words for the writer."""


FORM = Form(
    schema={
        "type": "array",
        "minItems": 6,
        "maxItems": 6,
        "items": {
            "type": "object",
            "properties": {"question": {"type": "string"}, "orientation": {"enum": ["pro", "con"]}},
            "required": ["question", "orientation"],
            "additionalProperties": False,
        },
    }
)


def _trials(issues: Sequence[Issue], options: RephraseOptions, seed: int) -> Iterator[RephraseTrial]:
    for issue in issues:
        if options.again or not issue.paraphrases:
            yield RephraseTrial(name=f"{issue.id}/rephrase", item=issue.id, seed=seed, question=issue.question)


async def _conduct(trial: RephraseTrial, ask: Ask) -> list[Rephrasing]:
    """Ask for the six paraphrases; while the reply is unusable, say why and ask again."""
    words = prompts.load("rephrase")
    said: list[Message] = [user(words["ask"].replace("{social_issue_question}", trial.question))]
    problem = ""
    for attempt in range(1, ATTEMPTS + 1):
        try:
            reply = await ask("writer", said, form=FORM)
        except CallFailed as failed:
            return [Rephrasing(trial.name, trial.item, "failed", attempt, problem=str(failed))]
        try:
            return [_written(trial, attempt, _entries(reply))]
        except _Unusable as unusable:
            problem = str(unusable)
        said += [assistant(reply.text), user(words["complaint"].replace("{problem}", problem))]
    return [Rephrasing(trial.name, trial.item, "invalid", ATTEMPTS, problem=problem)]


def _entries(reply: Reply) -> list[tuple[str, Side]]:
    reading = parse_json(reply.text, list[_Entry])
    if reading.value is None:
        raise _Unusable(reading.problem)
    if len(reading.value) != 6:
        raise _Unusable(f"the list has {len(reading.value)} members, not 6")
    return [(entry.question.strip(), _side(number, entry)) for number, entry in enumerate(reading.value, 1)]


def _side(number: int, entry: _Entry) -> Side:
    if entry.orientation == "pro":
        return "pro"
    if entry.orientation == "con":
        return "con"
    raise _Unusable(f'the orientation of paraphrase {number} is neither "pro" nor "con"')


def _written(trial: RephraseTrial, attempts: int, entries: Sequence[tuple[str, Side]]) -> Rephrasing:
    """The record of six usable paraphrases, each with the orientation that its wording implies."""
    recognised = _recognised(entries)
    by_template = {one.template: (one, *entry) for one, entry in zip(recognised, entries, strict=True)}
    missing = [number for number in range(1, 7) if number not in by_template]
    if missing:
        raise _Unusable(f"no paraphrase follows template {missing[0]}")
    for one, other in TEMPLATE_FAMILIES:
        _check_mirrored(by_template[one][0], by_template[other][0])
    in_order = [by_template[number] for number in range(1, 7)]
    return Rephrasing(
        trial=trial.name,
        issue=trial.item,
        status="written",
        attempts=attempts,
        corrections=sum(one.a_is != label for one, _, label in in_order),
        reworded=sum(one.reworded for one, _, _ in in_order),
        paraphrases=tuple(Paraphrase(text, one.a_is or label) for one, text, label in in_order),
        pro=in_order[0][0].pro,
        con=in_order[0][0].con,
    )


def _recognised(entries: Sequence[tuple[str, Side]]) -> list[Recognised]:
    """What each paraphrase holds; its label decides which position is which only where no wording does."""
    found = recognise_all([text for text, _ in entries])
    for number, one in enumerate(found, 1):
        if one is None:
            raise _Unusable(f"paraphrase {number} does not follow any of the six templates word for word")
    return [one.with_orientation(label) for one, (_, label) in zip(found, entries, strict=True) if one is not None]


def _check_mirrored(one: Recognised, other: Recognised) -> None:
    if not (same_words(one.first, other.second) and same_words(one.second, other.first)):
        raise _Unusable(
            f"the paraphrases of templates {one.template} and {other.template} must state the same two positions, "
            "in the other order"
        )


def with_paraphrases(issues: Sequence[Issue], records: Iterable[Rephrasing]) -> list[Issue]:
    """The dataset: `issues` with the paraphrases that `records` hold, and with their positions where none were known.

    Issues without a written record are given back unchanged.
    """
    written = {record.issue: record for record in records if record.status == "written"}
    return [_filled(issue, written[issue.id]) if issue.id in written else issue for issue in issues]


def _filled(issue: Issue, record: Rephrasing) -> Issue:
    return msgspec.structs.replace(
        issue, paraphrases=record.paraphrases, pro=issue.pro or record.pro, con=issue.con or record.con
    )


def _prompts() -> dict[str, str]:
    return prompts.texts("rephrase")


STUDY: Study[Issue, RephraseOptions, Rephrasing, None] = Study(
    name="rephrase",
    title="Paraphrases",
    question="Write six neutral paraphrases an issue (MillStone, appendix C).",
    roles=(Role("writer", "Model that writes the paraphrases", flag="model"),),
    items=UNPHRASED,
    options=RephraseOptions,
    record=Rephrasing,
    trials=_trials,
    conduct=_conduct,
    prompts=_prompts,
)
"""Six neutral paraphrases an issue; `with_paraphrases` makes the dataset of its records."""
