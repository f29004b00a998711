"""A judge that finds the values which an explanation names word for word, as those of simulated agents do."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from overton.calls import Draw, Reply, Request
from overton.errors import AccessError
from overton.studies.deliberation.prompts import VALUES
from overton.studies.deliberation.simulated.parameters import JudgeParameters
from overton.studies.deliberation.valuing import MOST

__all__ = ["ValuesJudge"]

_OUTSIDE = "Being right"


class ValuesJudge:
    """Names the values of the list that stand in the last message, at most five; an `Answerer`."""

    name = "simulated/values-judge"
    holds_form = False

    def __init__(self, parameters: JudgeParameters | None = None) -> None:
        self.parameters = parameters or JudgeParameters()

    @classmethod
    def from_args(cls, args: Mapping[str, str]) -> ValuesJudge:
        """A judge with parameters given as words; see `JudgeParameters.from_args`."""
        return cls(JudgeParameters.from_args(args, cls.name))

    @property
    def identity(self) -> str:
        """The name and every parameter."""
        return f"{self.name} {msgspec.json.encode(self.parameters, order='deterministic').decode()}"

    async def answer(self, request: Request) -> Reply:
        """The values as the judge's prompt asks for them.

        Raises:
            AccessError: the request has no seed, so that answers could not be repeated.
        """
        if request.seed is None:
            raise AccessError("no seed", f"{self.name} draws its mistakes from the request's seed, and there is none")
        text = request.messages[-1].content
        found = [value for value in VALUES if value in text]
        invalid, outside, *misses = Draw(f"{request.seed}/values").words(2 + len(found))
        if invalid / 2**64 < self.parameters.invalid:
            return Reply("The writer does not say.")
        named = [value for value, word in zip(found, misses, strict=True) if word / 2**64 >= self.parameters.miss]
        added = [_OUTSIDE] if outside / 2**64 < self.parameters.outside else []
        return Reply(msgspec.json.encode({"answers": (added + named)[:MOST]}).decode())

    async def close(self) -> None:
        """Nothing to give back."""
