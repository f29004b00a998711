"""The protocol of MillStone: an issue, some arguments, a neutral question, one answer (sections 4.1 and 4.2).

An answer's letter is read by the rules chosen for the run, and also by the paper's patterns (`letters`). In some null
conditions, texts on other subjects replace an issue's arguments. These texts have the same length and format as the
arguments.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from itertools import chain, islice
from typing import Any, Literal

import msgspec

from overton.calls import Ask, Draw, Form, Reply, Trial, user
from overton.errors import CallFailed, quoted
from overton.judging import Fault, faults_of
from overton.judging.option_probabilities import probabilities_at
from overton.studies.asking import ask_and_read, sampled_replies
from overton.studies.calibration_sample import add_calibration
from overton.studies.open_mindedness import prompts
from overton.studies.open_mindedness.items import SIDES, Argument, Issue, Side
from overton.studies.open_mindedness.letters import (
    LetterReading,
    common_reading,
    published_letter,
    strict_letter,
    strict_place,
)
from overton.studies.open_mindedness.options import CONDITIONS, ArgumentCondition, Options, arguments_for, has_choice
from overton.studies.open_mindedness.questions import (
    QUESTIONS,
    SIDE,
    FreeAnswerLabel,
    material_of,
    positions,
    side_columns,
)
from overton.studies.open_mindedness.record import Letter, NullChange, Record, Stance
from overton.studies.orders import OWN
from overton.studies.prompts import remembered
from overton.studies.questions import JudgeAnswer

ANSWER = Form(choices=("position <<A>>", "position <<B>>"))
"""The answers between which every forced prompt asks the model to choose."""

WEIGHED = Form(choices=ANSWER.choices, weigh=("A", "B"))
"""Like `ANSWER`, with a request for the probabilities of both letters."""


class IssueTrial(Trial, frozen=True):
    """One repetition of one issue in one configuration, wording and template.

    `instead` is the change that a null condition makes; '' outside null conditions. `donors` are the issues whose
    arguments may replace those of the trial's issue.
    """

    issue: Issue
    condition: ArgumentCondition
    wording: int
    template: int
    repetition: int
    draws: int | None
    instead: NullChange = ""
    donors: tuple[Issue, ...] = ()
    shares: Literal["probabilities", "auto"] | None = None
    sampled: int = 0
    answers: Literal["forced", "free", "both"] = "forced"
    shared_evidence: bool = False

    @property
    def condition_name(self) -> str:
        """The configuration's name, with the wording of the evidence wrapper if there is one."""
        return f"{self.condition.name}/w{self.wording}" if self.wording else self.condition.name

    @property
    def plan_key(self) -> Hashable:
        """The properties that determine the lengths of a trial's prompts. They include the ids of sampled arguments.
        The key is None if another text replaces the arguments, because that text has a random length."""
        if self.instead in ("irrelevant", "elsewhere"):
            return None
        shown: frozenset[str] | None = None
        if has_choice(self.condition, self.issue):
            arguments = arguments_for(self.condition, self.issue, self.argument_draw())
            shown = frozenset([argument.id for argument in arguments])
        asked = (self.item, self.condition.name, self.wording, self.template)
        return (*asked, self.instead, self.answers, self.shares, self.sampled, shown)

    @property
    def argument_set(self) -> int | None:
        """The number of the repeated argument set for this trial (1 to D); None if the trial samples its own
        arguments."""
        return (self.repetition - 1) % self.draws + 1 if self.draws and self.wording else None

    def evidence_draw(self, purpose: str) -> Draw:
        """The random number stream for the evidence. With `shared_evidence`, trials that differ only in the template
        share one stream. Otherwise each trial has its own stream."""
        if not self.shared_evidence:
            return self.draw(purpose)
        before, _, after = self.name.rpartition(f"/t{self.template}/")
        return Draw(f"{self.seed}/{before}/{after}/evidence/{purpose}")

    def argument_draw(self) -> Callable[[str], Draw]:
        """The source of random number streams for choosing arguments. Trials with the same repeated argument set share
        one source. Other trials use `evidence_draw`."""
        if self.argument_set is None:
            return self.evidence_draw
        shared = f"{self.seed}/{self.issue.id}/{self.condition.name}/set {self.argument_set}"
        return lambda purpose: Draw(f"{shared}/{purpose}")


def trials(issues: Sequence[Issue], options: Options, seed: int) -> Iterator[IssueTrial]:
    """All trials, grouped by issue: 990 per issue with the published options."""
    return add_calibration(_trials(issues, options, seed), options, seed)


def _trials(issues: Sequence[Issue], options: Options, seed: int) -> Iterator[IssueTrial]:
    for issue in issues:
        for name in options.conditions:
            condition = CONDITIONS[name]
            for wording in options.wordings if _has_arguments(condition) else (0,):
                for template in options.templates:
                    for repetition in range(1, options.trials + 1):
                        yield IssueTrial(
                            name=f"{issue.id}/{name}/w{wording}/t{template}/r{repetition}",
                            item=issue.id,
                            seed=seed,
                            issue=issue,
                            condition=condition,
                            wording=wording,
                            template=template,
                            repetition=repetition,
                            draws=options.draws,
                            answers=options.answers,
                            shared_evidence=options.shared_evidence,
                        )


async def conduct(trial: IssueTrial, ask: Ask) -> list[Record]:
    """Show the arguments in random order, ask the question, and read the answer's stance. A judge labels the stance of
    a free answer."""
    shown = trial.evidence_draw("order").shuffle(_arguments(trial))
    asked = {"forced": (_ask_forced,), "free": (_ask_free,), "both": (_ask_forced, _ask_free)}[trial.answers]
    return [await ask_answer(trial, ask, shown) for ask_answer in asked]


async def _ask_forced(trial: IssueTrial, ask: Ask, shown: Sequence[Argument]) -> Record:
    a_first = trial.draw("closing").coin()
    question = trial.issue.paraphrases[trial.template - 1].text, _request(a_first)
    before = _request(trial.draw("opening").coin()) if trial.instead == "authors-own" else ""
    parts = _parts(trial, shown, question, before)
    prompt = "".join(parts)
    head = _head(trial, parts)
    shared: dict[str, Any] = {"head": head} if head else {}  # some `ask` functions do not know the parameter
    form = WEIGHED if trial.shares else ANSWER
    try:
        reply = await ask_and_read(
            ask, "subject", (user(prompt),), partial(_letter_problem, trial), form=form, **shared
        )
    except CallFailed as failed:
        return _record(trial, shown, a_first, Reply(""), failure=str(failed))
    faults = faults_of(reply.text, finish=reply.finish, shown=(prompt,))
    again = None
    if trial.sampled:
        again = await sampled_replies(ask, "subject", (user(prompt),), ANSWER, trial.sampled, head=head)
    return _record(trial, shown, a_first, reply, faults=faults, again=again)


async def _ask_free(trial: IssueTrial, ask: Ask, shown: Sequence[Argument]) -> Record:
    """Ask for a free answer after the same evidence, and let the judge label it. An empty answer takes no side, and the
    judge does not see it."""
    question = _open_question(trial.issue, trial.template)
    prompt = "".join(_parts(trial, shown, question, question[-1]))
    try:
        reply = await ask("subject", (user(prompt),), speaker="subject/free")
    except CallFailed as failed:
        return _free_record(trial, shown, Reply(""), failure=str(failed))
    faults = faults_of(reply.text, finish=reply.finish, shown=(prompt,))
    if not reply.text.strip():
        return _free_record(trial, shown, reply, faults=faults)
    a_is = SIDES[trial.draw("judged").coin()]
    weighed = trial.shares is not None
    material = material_of(trial.issue, reply.text, a_is, label_first=weighed)
    (judged,) = await QUESTIONS.ask_about(ask, [(SIDE, material, OWN)], probabilities=weighed)
    sampled = None if judged.failure else await SIDE.sample(ask, material, trial.sampled)
    return _free_record(trial, shown, reply, faults=faults, a_is=a_is, judged=judged, sampled=sampled)


_UNREAD_FORMS = {
    "both": "it names both letters",
    "empty": "it is empty",
    "thinking": "it ended while the model was still thinking",
}
"""Reasons by form for answers without a letter in the common reading."""


def _letter_problem(trial: IssueTrial, reply: Reply) -> str:
    """The reason why a reply names no position by the run's reading; '' if it names one."""
    read = _reading_of(trial, reply)
    if read.letter:
        return ""
    return _UNREAD_FORMS.get(
        read.form, "it names neither letter" if trial.reading == "common" else "it names no letter, or both"
    )


def _arguments(trial: IssueTrial) -> list[Argument]:
    """The arguments of the trial's configuration, or the texts with which a null condition replaces them."""
    donor = trial.evidence_draw("donor").sample(trial.donors, 1)[0] if trial.donors else None
    found = arguments_for(trial.condition, donor or trial.issue, trial.argument_draw())
    if donor:
        return [msgspec.structs.replace(argument, id=f"{argument.id}@{donor.id}") for argument in found]
    if trial.instead == "irrelevant":
        return [instead_of(argument, trial.evidence_draw(f"irrelevant/{argument.id}")) for argument in found]
    return found


_ASKED = 2
"""The number of parts at the end of a prompt: the question and the request for an answer."""
_QUESTION_FIRST = ("question-first", "authors-own")
"""The null conditions in which the question comes before the evidence."""


def _head(trial: IssueTrial, parts: Sequence[str]) -> int:
    """The number of characters at the start of a prompt that other calls repeat. If the prompt is also sampled, this is
    the length of the prompt. Otherwise it is the length of the evidence, or 0 if the evidence does not come first or
    templates do not share it."""
    if trial.sampled:
        return sum(map(len, parts))
    if not trial.shared_evidence or trial.instead in _QUESTION_FIRST:
        return 0
    return sum(map(len, parts[:-_ASKED]))


def _parts(trial: IssueTrial, shown: Sequence[Argument], question: tuple[str, str], before: str) -> tuple[str, ...]:
    """The prompt's parts in the order of the trial's null condition. `question` has the question and the request. The
    null condition 'authors-own' adds the request `before` after the question.
    """
    if trial.instead not in _QUESTION_FIRST:
        return _with_evidence(shown, trial.wording, question)
    opening, evidence, _ = _evidence(trial.wording, shown)
    closing = prompts.fill(f"nulls.question_first.closing_{trial.wording}")
    asked = (before,) if trial.instead == "authors-own" else ()
    return (question[0], *asked, f"\n\n{opening}", *evidence, f"\n\n{closing}", question[1])


def prompt_parts(
    issue: Issue, shown: Sequence[Argument], wording: int, template: int, a_first: bool
) -> tuple[str, ...]:
    """The parts of a prompt, in order. Many prompts share parts, so a report stores each part once.

    With arguments, the prompt begins with the opening. A heading and the text with sources follow for each argument,
    then the closing. The paraphrase of `template` (1 to 6) and the request always follow. The request names `position
    <<A>>` first if `a_first`.
    """
    return _with_evidence(shown, wording, (issue.paraphrases[template - 1].text, _request(a_first)))


def free_parts(issue: Issue, shown: Sequence[Argument], wording: int, template: int) -> tuple[str, ...]:
    """The parts of the prompt for a free answer. It has the same evidence, the question, and both positions in the
    order of `template`. It prescribes no answer format."""
    return _with_evidence(shown, wording, _open_question(issue, template))


def _with_evidence(shown: Sequence[Argument], wording: int, question: tuple[str, str]) -> tuple[str, ...]:
    if not shown:
        return question
    opening, evidence, closing = _evidence(wording, shown)
    return (opening, *evidence, closing, *question)


def _evidence(wording: int, shown: Sequence[Argument]) -> tuple[str, list[str], str]:
    """The opening, a heading and the text of each argument, and the closing."""
    opening, headings, closing = _wrapper(wording, len(shown))
    return opening, [part for pair in zip(headings, map(_cited, shown), strict=True) for part in pair], closing


@remembered(256)
def _wrapper(wording: int, count: int) -> tuple[str, tuple[str, ...], str]:
    words = f"evidence.wording.{wording}"
    headings = tuple(f"\n\n{prompts.fill(f'{words}.heading', number=number)}\n" for number in range(1, count + 1))
    return prompts.fill(f"{words}.opening"), headings, f"\n\n{prompts.fill(f'{words}.closing')}\n\n"


@remembered(2)
def _request(a_first: bool) -> str:
    return "\n\n" + prompts.fill(f"evidence.answer.{'a' if a_first else 'b'}_first")


@lru_cache(maxsize=16_384)
def _cited(argument: Argument) -> str:
    return "\n".join([argument.text, "Sources:", *argument.sources]) if argument.sources else argument.text


def _open_question(issue: Issue, template: int) -> tuple[str, str]:
    pro, con = positions(issue)
    asked = prompts.fill(f"free.question.{template}", question=issue.question, pro=pro, con=con)
    return asked, "\n\n" + prompts.fill("free.answer.request")


def _has_arguments(condition: ArgumentCondition) -> bool:
    return condition.balanced or condition.pros != 0 or condition.cons != 0


def _record(
    trial: IssueTrial,
    shown: Sequence[Argument],
    a_first: bool,
    reply: Reply,
    *,
    faults: tuple[Fault, ...] = (),
    failure: str | None = None,
    again: Sequence[Reply] | None = None,
) -> Record:
    a_is = trial.issue.paraphrases[trial.template - 1].orientation
    read = _reading_of(trial, reply)
    return Record(
        trial=trial.name,
        issue=trial.issue.id,
        topic=trial.issue.topic,
        condition="/".join(filter(None, [trial.instead, trial.condition.name])),
        wording=trial.wording,
        template=trial.template,
        repetition=trial.repetition,
        draw=trial.argument_set,
        arguments=tuple([argument.id for argument in shown]),
        last_argument=_side(shown[-1]) if shown else None,
        a_is=a_is,
        pro_first=trial.template <= 3,
        a_first=a_first,
        stance=stance_of(read.letter, a_is),
        letter=read.letter,
        stance_published=stance_of(published_letter(reply.text), a_is),
        refused=reply.refused,
        failure=failure,
        answer=reply.text,
        faults=faults,
        input_tokens=reply.usage.input_tokens,
        output_tokens=reply.usage.output_tokens,
        shares=trial.shares,
        **(_chances(reply, read.place) if trial.shares and failure is None else {}),
        sampled=None if again is None else tuple([_reading_of(trial, each).letter or "neither" for each in again]),
        **(_common_columns(read, reply, a_is) if trial.reading == "common" and failure is None else {}),
    )


def _common_columns(read: LetterReading, reply: Reply, a_is: Side) -> dict[str, Any]:
    """The columns that only runs with the common reading have."""
    return {"form": read.form, "stance_strict": stance_of(strict_letter(reply.text), a_is)}


def _reading_of(trial: IssueTrial, reply: Reply) -> LetterReading:
    """The letter of a reply by the run's reading. In the common reading, a reply that is only thinking has the form
    'thinking'."""
    if trial.reading == "common":
        read = common_reading(reply.text)
        return replace(read, form="thinking") if read.form == "empty" and reply.thinking else read
    return LetterReading(strict_letter(reply.text), strict_place(reply.text), "none")


def _free_record(
    trial: IssueTrial,
    shown: Sequence[Argument],
    reply: Reply,
    *,
    faults: tuple[Fault, ...] = (),
    failure: str | None = None,
    a_is: Side | None = None,
    judged: JudgeAnswer[FreeAnswerLabel] | None = None,
    sampled: tuple[str, ...] | None = None,
) -> Record:
    label = judged.value if judged else None
    stance: Stance = "other" if label is None or label.taken == "neither" else label.taken
    plain = _record(msgspec.structs.replace(trial, shares=None), shown, a_first=True, reply=reply, faults=faults)
    return msgspec.structs.replace(
        plain,
        stance=stance,
        letter=None,
        form=None,
        stance_strict=None,
        stance_published=stance,
        failure=failure or _unjudged(judged, quotes=trial.reading == "common"),
        answers="free",
        judged_a_is=a_is,
        judge_shares=trial.shares,
        **(side_columns(judged) if judged else {}),
        taken_sampled=sampled,
    )


def _unjudged(judged: JudgeAnswer[FreeAnswerLabel] | None, *, quotes: bool) -> str | None:
    """The reason why a judged free answer has no label; None if it has one or was not judged. With `quotes`, the reason
    includes the judge's words.
    """
    if judged is None or judged.value is not None:
        return None
    if judged.failure:
        return judged.failure
    answered = judged.replies[0]
    said = f": {quoted(answered.replies[-1].text.strip())}" if quotes and answered.replies else ""
    return f"judge: unread: {answered.problem}{said}"


def _chances(reply: Reply, place: int | None) -> dict[str, Any]:
    """P(A) and P(B) at the letter at index `place`; both are 0 without a letter, and None if not reported."""
    found = {"A": 0.0, "B": 0.0} if place is None else probabilities_at(reply, place, ("A", "B"))
    return {"p_a": None, "p_b": None} if found is None else {"p_a": found["A"], "p_b": found["B"]}


def _side(argument: Argument) -> Side:
    return "pro" if argument.id.startswith("pro-") else "con"


def prompt_texts() -> dict[str, str]:
    """Every text by Overton that a model reads in this study, by name."""
    return prompts.texts("evidence", "free", "nulls")


def stance_of(letter: Letter | None, a_is: Side) -> Stance:
    """The stance of a letter if A supports `a_is`; 'other' without a letter."""
    if letter is None:
        return "other"
    return a_is if letter == "A" else ("con" if a_is == "pro" else "pro")


_MARKS = re.compile(r"(?:\s?\[[^\[\]\n]{1,12}\])+")
"""Citation marks after a sentence: ' [1] [2]'."""
_LEAD = re.compile(r"\s*(?:[-*•#]+\s+|\d{1,2}[.)]\s+|>\s*)?")
"""The mark at the start of a line, such as a bullet, a number or a heading's mark."""
_SHORT = 60
"""A line with fewer characters, such as a heading, gets only the first words of a sentence."""


def instead_of(argument: Argument, draw: Draw) -> Argument:
    """An irrelevant text with the argument's id, number of lines, approximate line lengths, citation marks and number
    of sources.

    Sentences keep their order within a passage. Passages are in random order.
    """
    sentences = _sentences(draw)
    lines = [_line(line, sentences) for line in argument.text.split("\n")]
    sources: list[str] = draw.shuffle(list(prompts.load("nulls")["sources"]))
    cited = tuple(_cite_instead(source, sources[place % len(sources)]) for place, source in enumerate(argument.sources))
    return Argument(argument.id, "\n".join(lines), cited)


@lru_cache(maxsize=1)
def _passages() -> tuple[tuple[str, ...], ...]:
    return tuple(map(tuple, prompts.load("nulls")["passages"]))


def _sentences(draw: Draw) -> Iterator[str]:
    """An endless iterator over sentences. It repeats the passages in the same random order."""
    passages = draw.shuffle(list(_passages()))
    while True:
        yield from chain.from_iterable(passages)


def _line(line: str, sentences: Iterator[str]) -> str:
    """A line of irrelevant sentences whose total length is closest to that of `line`. Bullet and citation marks of
    `line` are kept."""
    lead = _LEAD.match(line)
    begins = lead[0] if lead else ""
    marks = _MARKS.findall(line)
    wanted = len(line) - len(begins) - sum(map(len, marks))
    if wanted < 1:
        return line
    chosen = [_beginning(next(sentences), wanted)] if wanted < _SHORT else list(_up_to(wanted, sentences))
    for place, mark in enumerate(marks):
        chosen[place % len(chosen)] += mark
    return begins + " ".join(chosen)


def _beginning(sentence: str, wanted: int) -> str:
    """The first words of a sentence, up to `wanted` characters, but at least one word."""
    if len(sentence) <= wanted:
        return sentence
    return f"{sentence[:wanted].rpartition(' ')[0] or sentence.partition(' ')[0]}."


def _up_to(wanted: int, sentences: Iterator[str]) -> Iterator[str]:
    """One or more sentences whose total length comes closest to `wanted`."""
    length = -1
    while True:
        (sentence,) = islice(sentences, 1)
        longer = length + 1 + len(sentence)
        if length > 0 and longer - wanted > wanted - length:
            return
        yield sentence
        length = longer
        if length >= wanted:
            return


def _cite_instead(source: str, instead: str) -> str:
    """The source `instead` with the citation mark of `source`."""
    mark = _MARKS.match(source)
    return f"{mark[0]} {instead}" if mark else instead
