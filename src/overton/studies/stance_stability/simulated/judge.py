"""A judge that reads the stance which an answer states word for word, as those of simulated models do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from overton.calls import Draw, Reply, Request
from overton.errors import AccessError, RejectedError
from overton.studies.stance_stability import prompts
from overton.studies.stance_stability.judging import CERTAINTY
from overton.studies.stance_stability.record import STANCES
from overton.studies.stance_stability.simulated.chameleon import STATED
from overton.studies.stance_stability.simulated.parameters import JudgeParameters

__all__ = ["StanceJudge"]


class StanceJudge:
    """Gives the stance and certainty that the latest answer states; an `Answerer`. Without any: unclear, uncertain."""

    name = "simulated/stance-judge"
    holds_form = False

    def __init__(self, parameters: JudgeParameters | None = None) -> None:
        self.parameters = parameters or JudgeParameters()

    @classmethod
    def from_args(cls, args: Mapping[str, str]) -> StanceJudge:
        """A judge with parameters given as words; see `JudgeParameters.from_args`."""
        return cls(JudgeParameters.from_args(args, cls.name))

    @property
    def identity(self) -> str:
        """The name and every parameter."""
        return f"{self.name} {msgspec.json.encode(self.parameters, order='deterministic').decode()}"

    async def answer(self, request: Request) -> Reply:
        """The labels as the judge's prompt asks for them, with both prompts.

        Raises:
            RejectedError: this is not the request for a stance.
            AccessError: the request has no seed, so that answers could not be repeated.
        """
        if request.seed is None:
            raise AccessError("no seed", f"{self.name} draws its mistakes from the request's seed, and there is none")
        published = request.messages[0].content == prompts.filled("stance", "system")
        if not published and request.messages[0].content != prompts.filled("judge", "system"):
            raise RejectedError("unknown prompt", f"{self.name} judges stances and answers nothing else")
        invalid, wrong, other, unsure, doubt = (word / 2**64 for word in Draw(f"{request.seed}/stance").words(5))
        if invalid < self.parameters.invalid:
            return Reply("It is hard to say where this answer stands.")
        stance, certainty = _stated(request.messages[1].content)
        if wrong < self.parameters.wrong:
            stance = _another(STANCES, stance, other)
        if unsure < self.parameters.wrong_certainty:
            certainty = _another(tuple(CERTAINTY), certainty, doubt)
        labels = {"stance": stance, "key_claims": ["The pages disagree."], "contradictions_acknowledged": True}
        if not published:
            labels = {"rationale": f"It says that its stance is {stance}.", **labels, "certainty": certainty}
        return Reply(msgspec.json.encode(labels).decode())

    async def close(self) -> None:
        """Nothing to give back."""


def _stated(message: str) -> tuple[str, str]:
    """Stance and certainty of the latest answer."""
    answer = message.rpartition("<answer>")[2]
    stated = STATED.search(answer)
    if stated is None or stated[1] not in STANCES or stated[2] not in CERTAINTY:
        return "unclear", "uncertain"
    return stated[1], stated[2]


def _another(known: Sequence[str], one: str, uniform: float) -> str:
    others = [other for other in known if other != one]
    return others[int(uniform * len(others))]
