"""Answerers whose truth is known: a model that helps one side less, and a judge with a pull to one place.

Answers carry marks (how well they help, how much they hedge), and the judge reads only these marks.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Annotated, Literal, NamedTuple

import msgspec

from overton.calls import Draw, Reply, Request
from overton.studies.even_handedness.items import SIDES, OpposedPair, Side
from overton.studies.even_handedness.questions import COMPLIANCE, EVEN_HANDEDNESS
from overton.studies.options import Option
from overton.studies.simulated import weighed_reply

Chance = float
_LETTERS, _GRADES = EVEN_HANDEDNESS.labels, COMPLIANCE.labels


class Advocate(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A model that favours one side. All chances are drawn anew for each answer."""

    favours: Annotated[Literal["a", "b"], Option("The side that it favours, if no group is named")] = "a"
    group: Annotated[str, Option("The group that it favours; prompts of all others are the other side")] = ""
    weaker: Annotated[Chance, Option("Chance that an answer to the other side helps less", least=0, most=1)] = 0.0
    refuses: Annotated[Chance, Option("Chance that it refuses the other side", least=0, most=1)] = 0.0
    hedges: Annotated[Chance, Option("Chance that an answer to the other side hedges", least=0, most=1)] = 0.0
    declines: Annotated[Chance, Option("Chance that it refuses whichever side asks", least=0, most=1)] = 0.0

    def is_other(self, pair: OpposedPair, side: Side) -> bool:
        """Whether it helps this side less."""
        return pair.group(side) != self.group if self.group else side != self.favours


class JudgeParameters(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A simulated judge. `pull` is for the letters, `noise` for all labels."""

    pull: Annotated[
        float, Option("Chance that it names the dialogue shown first, unread; below 0 the second", least=-1, most=1)
    ] = 0.0
    noise: Annotated[float, Option("Chance that it gives one of the labels at random", least=0, most=1)] = 0.0
    blind: Annotated[bool, Option("Whether it finds everything alike and compliant, whatever it is shown")] = False


def said(
    parameters: Advocate, pairs: Sequence[OpposedPair], request: Request, draw: Callable[[str], Draw]
) -> str | None:
    """An answer with its marks; None for a prompt that is in none of the pairs."""
    prompt = request.messages[-1].content
    found = next(((pair, side) for pair in pairs for side in SIDES if pair.prompt(side) == prompt), None)
    if found is None:
        return None
    other = parameters.is_other(*found)

    def happens(what: str, chance: float) -> bool:
        return draw(what).uniform() < chance

    if happens("declines", parameters.declines) or (other and happens("refuses", parameters.refuses)):
        return f"I would rather not write this. (Asked: {prompt})"
    helps = 1 if other and happens("weaker", parameters.weaker) else 2
    hedges = 4 if other and happens("hedges", parameters.hedges) else 1
    return f"Here it is, as asked: {prompt}\n\n[helps: {helps}; hedging: {hedges}]"


_DIALOGUE = r"<dialogue_{0}>\s*\[H\]: (.*?)\n\n\[A\]: (.*?)\s*</dialogue_{0}>"
_DIALOGUES = [re.compile(_DIALOGUE.format(letter), re.DOTALL) for letter in SIDES]
_CONVERSATION = re.compile(
    r"<conversation>\s*\[H\]: (.*?)\s*</conversation>\s*<response>\s*(.*?)\s*</response>", re.DOTALL
)
_MARKS = re.compile(r"\[helps: (\d); hedging: (\d)\]")


class _Marks(NamedTuple):
    helps: int
    hedging: int


def judged(
    parameters: JudgeParameters, pairs: Sequence[OpposedPair], request: Request, draw: Callable[[str], Draw]
) -> Reply | None:
    """The label that follows from the marks; None for a prompt that is none of the three."""
    asked = request.messages[0].content
    shown = [pattern.search(asked) for pattern in _DIALOGUES]
    if shown[0] and shown[1]:
        found = [_marks(*match.groups()) for match in shown if match]
        letter = _letter(parameters, found, draw)
        return weighed_reply(request, letter, letter[1], _letter_chances(parameters, found))
    conversation = _CONVERSATION.search(asked)
    if conversation is None:
        return None
    marks = _marks(*conversation.groups())
    grade = str(marks.hedging if "how much the response hedges" in asked else (5, 2, 1)[marks.helps])
    grade = "1" if parameters.blind else grade
    noise = 0.0 if parameters.blind else parameters.noise
    chances = {label: noise / len(_GRADES) + (label == grade) * (1 - noise) for label in _GRADES}
    if noise and draw("noise").uniform() < noise:
        grade = draw("grade").shuffle(_GRADES)[0]
    return weighed_reply(request, f"({grade})", grade, chances)


def _letter(parameters: JudgeParameters, marks: Sequence[_Marks], draw: Callable[[str], Draw]) -> str:
    if draw("pull").uniform() < abs(parameters.pull):
        return "(A)" if parameters.pull > 0 else "(B)"
    if draw("noise").uniform() < parameters.noise:
        return f"({draw('letter').shuffle(_LETTERS)[0]})"
    first, second = (mark.helps for mark in marks)
    if parameters.blind or first == second:
        return "(C)"
    return "(A)" if first > second else "(B)"


def _letter_chances(parameters: JudgeParameters, marks: Sequence[_Marks]) -> dict[str, float]:
    """How likely each letter is: by its pull, otherwise by noise, otherwise by what it sees."""
    first, second = (mark.helps for mark in marks)
    seen = "C" if parameters.blind or first == second else "A" if first > second else "B"
    pulled, noise = abs(parameters.pull), parameters.noise
    to = "A" if parameters.pull > 0 else "B"
    return {
        letter: (letter == to) * pulled + (1 - pulled) * (noise / len(_LETTERS) + (1 - noise) * (letter == seen))
        for letter in _LETTERS
    }


def _marks(prompt: str, answer: str) -> _Marks:
    """Read an answer's marks; an answer to another prompt, or without marks, helps with nothing."""
    found = _MARKS.search(answer)
    if found is None or prompt.strip() not in answer:
        return _Marks(0, 1)
    return _Marks(min(int(found[1]), 2), max(1, min(int(found[2]), 5)))
