"""How the judge is asked: the published grading prompts, and what is read from its replies (Shen et al. 2025).

The publishers read the probability of a label's token. Here the label is read from the reply, and its token's
probability as well if that is requested and the endpoint returns it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from overton.calls import Ask, Form, user
from overton.judging import Reading
from overton.judging.option_probabilities import OptionChoice
from overton.studies.asking import ReadableReply, ReadableRequest, ask_all_until_read, unless_refused
from overton.studies.even_handedness import prompts
from overton.studies.even_handedness.record import Evenness
from overton.studies.prompts import enclosing

LETTERS = ("A", "B", "C")
GRADES = ("1", "2", "3", "4", "5")

_ATTEMPTS = 3
"""A reply that cannot be read is requested again up to twice."""
_LONGEST_REPEATED = 2_000
_LONGEST_SHOWN = 20_000
"""Characters of an answer that the judge is shown: a looping answer may have any number."""

_safe = enclosing("dialogue_a", "dialogue_b", "conversation", "response")


def evenness(
    prompts_shown: tuple[str, str], answers: tuple[str, str], groups: tuple[str, str], speaker: str | None = None
) -> ReadableRequest[str]:
    """Which of two dialogues helps more, that of side a first: answered by a letter."""
    places: dict[str, str] = {}
    for letter, prompt, answer, group in zip("ab", prompts_shown, answers, groups, strict=True):
        places[f"prompt_{letter}"] = _asked(prompt)
        places[f"response_{letter}"] = prompts.fill("ours.answered", answer=_shown(answer))
        places[f"prompt_{letter}_group"] = group
    return _wanted(prompts.fill("grading.even_handedness", **places), LETTERS, speaker)


def compliance(prompt: str, answer: str, speaker: str | None = None, *, reverse: bool = False) -> ReadableRequest[str]:
    """How far an answer does what was asked: 1 to 5; with `reverse` the options are listed in reverse."""
    return _single("compliance", prompt, answer, speaker, reverse=reverse)


def hedging(prompt: str, answer: str, speaker: str | None = None, *, reverse: bool = False) -> ReadableRequest[str]:
    """How much an answer hedges: 1 to 5; with `reverse` the options are listed in reverse."""
    return _single("hedging", prompt, answer, speaker, reverse=reverse)


def _single(name: str, prompt: str, answer: str, speaker: str | None, *, reverse: bool) -> ReadableRequest[str]:
    asked = _asked(prompt).rstrip()
    text = prompts.fill(f"grading.{name}", conversation=asked, response=_shown(answer))
    return _wanted(_reversed(text) if reverse else text, GRADES, speaker)


def _asked(prompt: str) -> str:
    return prompts.fill("ours.asked", prompt=_safe(prompt))


def _shown(answer: str) -> str:
    return _safe(answer.strip()[:_LONGEST_SHOWN]) or prompts.fill("ours.nothing")


def _wanted(text: str, labels: Sequence[str], speaker: str | None) -> ReadableRequest[str]:
    form = Form(choices=tuple(f"({label})" for label in labels))
    return ReadableRequest("judge", (user(text),), unless_refused(reading_of(labels)), form, speaker)


def _reversed(text: str) -> str:
    """A grading prompt with its list of options, with which it ends, in reverse order."""
    before, head, after = text.rpartition("Options:\n")
    lines = after.rstrip("\n").split("\n")
    return f"{before}{head}" + "\n".join(reversed(lines)) + after[len(after.rstrip("\n")) :]


def weighing(wanted: ReadableRequest[str]) -> ReadableRequest[str]:
    """The same question with its labels' probabilities."""
    assert wanted.form is not None
    return replace(wanted, choice=OptionChoice(tuple(choice.strip("()") for choice in wanted.form.choices)))


def reading_of(labels: Sequence[str]) -> Callable[[str], Reading[str]]:
    """A reader of one label: alone, at the beginning in brackets, or the only one in brackets anywhere.

    Nothing is read from prose: 'A good answer' begins with a letter but names none.
    """
    letter = f"[{''.join(labels)}]"
    alone, first, anywhere = (
        re.compile(rf"\W*({letter})\W*"),
        re.compile(rf"\s*\(({letter})\)"),
        re.compile(rf"\(({letter})\)"),
    )

    def read(text: str) -> Reading[str]:
        if whole := alone.fullmatch(text):
            return Reading(whole[1], "as is")
        if start := first.match(text):
            return Reading(start[1], "as is")
        named = sorted(set(anywhere.findall(text)))
        if len(named) == 1:
            return Reading(named[0], "repaired")
        return Reading.invalid(f"it names {len(named)} options" if named else "it names no option")

    return read


async def graded(ask: Ask, wanted: Mapping[str, ReadableRequest[str]]) -> dict[str, ReadableReply[str]]:
    """Ask for all these labels side by side, up to three times each; same names, never raising CallFailed."""
    found = await ask_all_until_read(
        ask, list(wanted.values()), attempts=_ATTEMPTS, complaint=_complaint, repeated=_repeated
    )
    return dict(zip(wanted, found, strict=True))


def _complaint(problem: str) -> str:
    return prompts.fill("ours.complaint", problem=problem, labels="the option's sign in brackets")


def _repeated(text: str) -> str:
    # A judge that rambles need not read all of it again.
    return text.strip()[:_LONGEST_REPEATED] or prompts.fill("ours.nothing")


def as_sides(letter: str | None, *, swapped: bool = False) -> Evenness | None:
    """Which side a letter says was helped more, where side b comes first if `swapped`; None for none."""
    if letter is None or letter == "C":
        return None if letter is None else "even"
    return "a" if (letter == "A") != swapped else "b"


def options_of(name: str) -> dict[str, str]:
    """What each label of a grading prompt means, word for word from the list with which it ends."""
    listed = str(prompts.load("grading")[name]).rpartition("Options:\n")[2]
    return {label: meaning.strip() for label, meaning in re.findall(r"^\((\w)\) (.*)$", listed, re.MULTILINE)}
