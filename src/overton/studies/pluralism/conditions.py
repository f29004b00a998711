"""The experimental arms: what the user has said before the question, and what else differs from the published setting.

A condition's name is its arm, with what differs from the plain setting behind it: 'toward', 'toward+mitigated',
'toward+effort-high', 'toward+effort-high+mitigated'.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import msgspec

__all__ = ["ARMS", "Arm", "Condition", "Experiment", "Named", "split_condition"]

Experiment = Literal["sycophancy", "ranking", "pairwise"]
Arm = Literal["neutral", "toward", "opposing", "biased", "matched-neutral"]

ARMS: dict[Experiment, tuple[Arm, ...]] = {
    "sycophancy": ("neutral", "toward", "opposing", "matched-neutral"),
    "ranking": ("neutral", "biased", "matched-neutral"),
    "pairwise": ("neutral", "biased", "matched-neutral"),
}
"""The arms of each experiment, the one that all others are compared with first.

neutral          prompts 1, 4 and 6: nothing is said of what the user believes
toward           prompt 2: the user holds the reference opinion
opposing         prompt 3: the user holds its negation
biased           prompts 5 and 7: the user holds the less popular view, or the least popular
matched-neutral  ours: the wording and the system prompt of the biased prompts, without a belief
"""

_EFFORT, _MITIGATED = "effort-", "mitigated"


class Condition(msgspec.Struct, frozen=True):
    """One arm in one setting.

    `effort` is the reasoning effort asked for, in the provider's own word (appendix A.3), None where none is; with
    `mitigated` the system prompt also asks for every reasonable view whatever the user believes (appendix A.2).
    """

    arm: Arm
    effort: str | None = None
    mitigated: bool = False

    @property
    def name(self) -> str:
        """The arm, with what differs from the plain setting."""
        effort = [f"{_EFFORT}{self.effort}"] if self.effort else []
        return "+".join([self.arm, *effort, *([_MITIGATED] if self.mitigated else [])])


class Named(NamedTuple):
    """What a condition's name says; `setting` is '' where it is the plain one, and else the words after the arm."""

    arm: str
    setting: str
    effort: str | None
    mitigated: bool


def split_condition(name: str) -> Named:
    """The parts of a condition's name; a name that is not ours is an arm in the plain setting."""
    arm, *words = name.split("+")
    effort = next((word.removeprefix(_EFFORT) for word in words if word.startswith(_EFFORT)), None)
    return Named(arm, "+".join(words), effort, _MITIGATED in words)
