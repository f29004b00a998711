"""Simulated models with known parameters: a model that helps one side less, and a judge with a position bias.

Each answer carries marks for its degree of help and of hedging. The judge reads only these marks.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Literal

import msgspec

from overton.calls import Draw, Reply, Request
from overton.studies.even_handedness.items import SIDES, OpposedPair, Side
from overton.studies.even_handedness.questions import COMPLIANCE, EVEN_HANDEDNESS
from overton.studies.options import Option
from overton.studies.simulated import respondent, weighed_reply

Chance = float
_LETTERS, _GRADES = EVEN_HANDEDNESS.labels, COMPLIANCE.labels


class Advocate(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A simulated model that favours one side. Each answer has its own random numbers."""

    favours: Annotated[Literal["a", "b"], Option("The side that it favours, if no group is named")] = "a"
    group: Annotated[
        str, Option("Group that it favours instead of a side; all other groups then form the other side")
    ] = ""
    weaker: Annotated[Chance, Option("Probability that an answer to the other side helps less", least=0, most=1)] = 0.0
    refuses: Annotated[Chance, Option("Probability that it refuses the other side", least=0, most=1)] = 0.0
    hedges: Annotated[Chance, Option("Probability that an answer to the other side hedges", least=0, most=1)] = 0.0
    declines: Annotated[Chance, Option("Probability that it refuses any request", least=0, most=1)] = 0.0

    def is_other(self, pair: OpposedPair, side: Side) -> bool:
        """Whether the model helps this side less."""
        return pair.group(side) != self.group if self.group else side != self.favours


class JudgeParameters(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Parameters of a simulated judge. `pull` applies to the comparison of two dialogues, and `noise` applies to all
    labels."""

    pull: Annotated[
        float,
        Option(
            "Probability that it names the first dialogue without reading; if negative, it names the second dialogue",
            least=-1,
            most=1,
        ),
    ] = 0.0
    noise: Annotated[float, Option("Probability that it gives a random label", least=0, most=1)] = 0.0
    blind: Annotated[bool, Option("Whether it calls every pair even and every answer compliant")] = False


def said(
    parameters: Advocate, pairs: Sequence[OpposedPair], request: Request, draw: Callable[[str], Draw]
) -> str | None:
    """An answer with its marks; None for a prompt outside the pairs."""
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


def judged(
    parameters: JudgeParameters, pairs: Sequence[OpposedPair], request: Request, draw: Callable[[str], Draw]
) -> Reply | None:
    """The label that follows from the marks; None for a prompt that is not one of the judge's three prompts."""
    asked, noise = request.messages[0].content, parameters.noise
    shown = [pattern.search(asked) for pattern in _DIALOGUES]
    if shown[0] and shown[1]:
        (first, _), (second, _) = (_marks(*match.groups()) for match in shown if match)
        seen = "C" if parameters.blind or first == second else "A" if first > second else "B"
        letter, chances = _with_noise(_LETTERS, seen, noise, draw, "letter")
        to, pulled = "A" if parameters.pull > 0 else "B", abs(parameters.pull)
        chances = {name: (name == to) * pulled + (1 - pulled) * chance for name, chance in chances.items()}
        return _reply(request, to if draw("pull").uniform() < pulled else letter, chances)
    conversation = _CONVERSATION.search(asked)
    if conversation is None:
        return None
    helps, hedging = _marks(*conversation.groups())
    grade = hedging if "how much the response hedges" in asked else (5, 2, 1)[helps]
    if parameters.blind:
        grade, noise = 1, 0.0
    return _reply(request, *_with_noise(_GRADES, str(grade), noise, draw, "grade"))


def _with_noise(
    labels: Sequence[str], seen: str, noise: float, draw: Callable[[str], Draw], purpose: str
) -> tuple[str, dict[str, float]]:
    """The label `seen`, or with probability `noise` a random label; and the probability of each label."""
    label = draw(purpose).shuffle(labels)[0] if draw("noise").uniform() < noise else seen
    return label, {name: noise / len(labels) + (1 - noise) * (name == seen) for name in labels}


def _reply(request: Request, label: str, chances: Mapping[str, float]) -> Reply:
    return weighed_reply(request, f"({label})", label, chances)


def _marks(prompt: str, answer: str) -> tuple[int, int]:
    """How well an answer helps (0 to 2), and how much it hedges (1 to 5), by its marks.

    An answer to another prompt, or without marks, does not help at all.
    """
    found = _MARKS.search(answer)
    if found is None or prompt.strip() not in answer:
        return 0, 1
    return min(int(found[1]), 2), max(1, min(int(found[2]), 5))


ADVOCATE, JUDGE = respondent(Advocate, said), respondent(JudgeParameters, judged)
