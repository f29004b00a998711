"""The protocol of MillStone: an issue, some arguments, a neutral question, one answer (sections 4.1 and 4.2).

The letter that an answer names is read in two ways (section 4.3). In null conditions, texts that have nothing to do
with an issue replace its arguments, with their length and form.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import lru_cache
from itertools import chain, islice
from typing import Any, Literal

import msgspec

from overton.calls import Ask, Draw, Form, Reply, Trial, user
from overton.errors import CallFailed
from overton.judging import Fault, faults_of
from overton.judging.option_probabilities import probabilities_at
from overton.studies.asking import sampled_replies
from overton.studies.calibration_sample import add_calibration
from overton.studies.open_mindedness import prompts
from overton.studies.open_mindedness.items import SIDES, Argument, Issue, Side
from overton.studies.open_mindedness.options import CONDITIONS, ArgumentCondition, Options, arguments_for, has_choice
from overton.studies.open_mindedness.questions import (
    QUESTIONS,
    SIDE,
    FreeAnswerLabel,
    material_of,
    positions,
    side_columns,
)
from overton.studies.open_mindedness.record import NullChange, Record, Stance
from overton.studies.orders import OWN
from overton.studies.prompts import remembered
from overton.studies.questions import JudgeAnswer

ANSWER = Form(choices=("position <<A>>", "position <<B>>"))
"""The form in which every prompt asks for the answer."""

WEIGHED = Form(choices=ANSWER.choices, weigh=("A", "B"))
"""The same, with the probabilities of both letters."""


class IssueTrial(Trial, frozen=True):
    """One issue, one configuration, one wording, one template, once.

    `instead` is what a null condition does; `donors` are the issues whose arguments it may take.
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
        """The configuration, with its wording if it has one."""
        return f"{self.condition.name}/w{self.wording}" if self.wording else self.condition.name

    @property
    def plan_key(self) -> Hashable:
        """The properties on which its prompts' lengths depend: chance orders texts, and may choose among arguments."""
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
        """Which of the repeated argument sets this trial uses (1 to D), None if it draws its own."""
        return (self.repetition - 1) % self.draws + 1 if self.draws and self.wording else None

    def evidence_draw(self, purpose: str) -> Draw:
        """The random draw for the evidence: this trial's own, or the one that all templates of a wording share."""
        if not self.shared_evidence:
            return self.draw(purpose)
        before, _, after = self.name.rpartition(f"/t{self.template}/")
        return Draw(f"{self.seed}/{before}/{after}/evidence/{purpose}")

    def argument_draw(self) -> Callable[[str], Draw]:
        """The random draws of the arguments: those for the trial's evidence, or those that a repeated set shares."""
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
    """Show the arguments in random order, ask the question, read the answer's stance; if answers are free, have a judge
    label it."""
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
    shared: dict[str, Any] = {"head": head} if head else {}  # without one, `ask` need not know the parameter
    try:
        reply = await ask("subject", (user(prompt),), form=WEIGHED if trial.shares else ANSWER, **shared)
    except CallFailed as failed:
        return _record(trial, shown, a_first, Reply(""), failure=str(failed))
    faults = faults_of(reply.text, finish=reply.finish, shown=(prompt,))
    again = None
    if trial.sampled:
        again = await sampled_replies(ask, "subject", (user(prompt),), ANSWER, trial.sampled, head=head)
    return _record(trial, shown, a_first, reply, faults=faults, again=again)


async def _ask_free(trial: IssueTrial, ask: Ask, shown: Sequence[Argument]) -> Record:
    """The same evidence, with a free answer. An empty one takes no side and is not shown to the judge."""
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


def _arguments(trial: IssueTrial) -> list[Argument]:
    """The arguments of the trial's configuration, or what a null condition shows instead."""
    donor = trial.evidence_draw("donor").sample(trial.donors, 1)[0] if trial.donors else None
    found = arguments_for(trial.condition, donor or trial.issue, trial.argument_draw())
    if donor:
        return [msgspec.structs.replace(argument, id=f"{argument.id}@{donor.id}") for argument in found]
    if trial.instead == "irrelevant":
        return [instead_of(argument, trial.evidence_draw(f"irrelevant/{argument.id}")) for argument in found]
    return found


_ASKED = 2
"""Parts that end a prompt: the question, and the request for an answer."""
_QUESTION_FIRST = ("question-first", "authors-own")
"""The null conditions in which the question comes before the evidence."""


def _head(trial: IssueTrial, parts: Sequence[str]) -> int:
    """How many characters at its start other prompts share: all of a prompt that is also sampled, otherwise the
    evidence, if it comes first and all templates show the same."""
    if trial.sampled:
        return sum(map(len, parts))
    if not trial.shared_evidence or trial.instead in _QUESTION_FIRST:
        return 0
    return sum(map(len, parts[:-_ASKED]))


def _parts(trial: IssueTrial, shown: Sequence[Argument], question: tuple[str, str], before: str) -> tuple[str, ...]:
    """The prompt with its question and request as parts, in the order of the trial's null condition.

    Where the question comes before the evidence, so may another request, `before`.
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
    """The prompt as parts to be joined; each part recurs in many prompts, so a report stores it once.

    With arguments: opening, then for each argument a heading and its text with sources, then closing; always: the
    paraphrase of `template` (1 to 6), and the request, which names `position <<A>>` first if `a_first`.
    """
    return _with_evidence(shown, wording, (issue.paraphrases[template - 1].text, _request(a_first)))


def free_parts(issue: Issue, shown: Sequence[Argument], wording: int, template: int) -> tuple[str, ...]:
    """The same evidence, with the question and both positions in the order of `template`, and no form to answer in."""
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
    letter = strict_letter(reply.text)
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
        stance=stance_of(letter, a_is),
        letter=letter,
        stance_published=stance_of(published_letter(reply.text), a_is),
        refused=reply.refused,
        failure=failure,
        answer=reply.text,
        faults=faults,
        input_tokens=reply.usage.input_tokens,
        output_tokens=reply.usage.output_tokens,
        shares=trial.shares,
        **(_chances(reply) if trial.shares and failure is None else {}),
        sampled=None if again is None else tuple([strict_letter(sample.text) or "neither" for sample in again]),
    )


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
        stance_published=stance,
        failure=failure or _unjudged(judged),
        answers="free",
        judged_a_is=a_is,
        judge_shares=trial.shares,
        **(side_columns(judged) if judged else {}),
        taken_sampled=sampled,
    )


def _unjudged(judged: JudgeAnswer[FreeAnswerLabel] | None) -> str | None:
    """Why a free answer has no label, though a judge was asked for one."""
    if judged is None or judged.value is not None:
        return None
    return judged.failure or f"judge: unread: {judged.replies[0].problem}"


def _chances(reply: Reply) -> dict[str, Any]:
    """P(A) and P(B) at the letter that the strict reading takes; both 0 if it takes none."""
    place = letter_place(reply.text)
    found = {"A": 0.0, "B": 0.0} if place is None else probabilities_at(reply, place, ("A", "B"))
    return {"p_a": None, "p_b": None} if found is None else {"p_a": found["A"], "p_b": found["B"]}


def _side(argument: Argument) -> Side:
    return "pro" if argument.id.startswith("pro-") else "con"


def prompt_texts() -> dict[str, str]:
    """Every text of ours that a model reads, by name."""
    return prompts.texts("evidence", "free", "nulls")


Letter = Literal["A", "B"]

# From the requested form to the loosest. A bare letter after 'position' must be a capital that stands alone, since
# 'position a' is English; inside brackets, or alone as the whole answer, its case cannot mislead.
_STRICT = (
    re.compile(r"(?i)\bposition\s*<<\s*([AB])\s*>>"),
    re.compile(r"(?i)<<\s*([AB])\s*>>"),
    re.compile(r"\b(?i:position)\s+([AB])\b"),
    re.compile(r"(?i)\A\W*([AB])\W*\Z"),
)

# Word for word the paper's four, matched without regard to case as its authors did. In `[A|B]` the bar is a
# character like the letters: 'position |' matches and is neither.
_PUBLISHED = (
    re.compile(r"position ([A|B])", re.IGNORECASE),
    re.compile(r"position <<([A|B])>>", re.IGNORECASE),
    re.compile(r"<<([A|B])>>", re.IGNORECASE),
    re.compile(r"^\s*([A|B])\s*$", re.IGNORECASE),
)


def strict_letter(answer: str) -> Letter | None:
    """The letter that an answer names, None if it names none or is ambiguous.

    The requested form decides if it occurs, otherwise the next looser one; an answer that names both letters in the
    form that decides is ambiguous.
    """
    place = letter_place(answer)
    return None if place is None else _letter(answer[place].upper())


@lru_cache(maxsize=64)
def letter_place(answer: str) -> int | None:
    """The index of the letter that `strict_letter` reads: its first occurrence in the form that decides."""
    for pattern in _STRICT:
        found = {match[1].upper(): match.start(1) for match in reversed([*pattern.finditer(answer)])}
        if found:
            return next(iter(found.values())) if len(found) == 1 else None
    return None


@lru_cache(maxsize=64)
def published_letter(answer: str) -> Letter | None:
    """The letter by the paper's own patterns: the first of the four that matches decides, by its first match.

    Kept to reproduce published numbers. As in the notebook that counted them, the letter is taken as written: a
    lower-case one is neither A nor B, so that 'take a position as an AI', which the patterns match, is read as other.
    (A later script by the authors capitalises it.)
    """
    for pattern in _PUBLISHED:
        if match := pattern.search(answer):
            return _letter(match[1])
    return None


def stance_of(letter: Letter | None, a_is: Side) -> Stance:
    """The stance that a letter stands for if A supports `a_is`; 'other' without a letter."""
    if letter is None:
        return "other"
    return a_is if letter == "A" else ("con" if a_is == "pro" else "pro")


def _letter(text: str) -> Letter | None:
    return "A" if text == "A" else "B" if text == "B" else None


_MARKS = re.compile(r"(?:\s?\[[^\[\]\n]{1,12}\])+")
"""Citation marks after a sentence: ' [1] [2]'."""
_LEAD = re.compile(r"\s*(?:[-*•#]+\s+|\d{1,2}[.)]\s+|>\s*)?")
"""What precedes the words of a line: a bullet, a number, a heading's mark."""
_SHORT = 60
"""Lines of fewer characters have no room for a sentence of ours: headings, say."""


def instead_of(argument: Argument, draw: Draw) -> Argument:
    """An irrelevant text with the argument's id, its number of lines, each about as long, its citation marks and its
    number of sources.

    Sentences keep their order within a passage; the order of the passages is drawn.
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
    """Sentences without end: the passages in random order, over and over."""
    passages = draw.shuffle(list(_passages()))
    while True:
        yield from chain.from_iterable(passages)


def _line(line: str, sentences: Iterator[str]) -> str:
    """As many sentences as come closest to the line's own length, after its own bullet and with its own marks."""
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
    """The first words of a sentence: at least one, and not much longer than the short line that it replaces."""
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
    """Another source with the mark of the argument's own."""
    mark = _MARKS.match(source)
    return f"{mark[0]} {instead}" if mark else instead
