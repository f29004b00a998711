"""Respondents whose truth is known, made of their parameters and of what they say."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from overton.calls import Answerer, Draw, Reply, Request
from overton.errors import AccessError, InputError, RejectedError
from overton.studies.options import OPTION, options_of
from overton.studies.study import Simulated

__all__ = ["Says", "respondent"]

Says = Callable[[Any, Sequence[Any], Request, Callable[[str], Draw]], str | None]
"""`says(parameters, items, request, draw)` gives the reply, None to what it does not know; `draw(purpose)` gives the
random choices of this one call."""


def respondent(parameters: type[msgspec.Struct], says: Says) -> Simulated:
    """What `Study.simulated` holds under a name: a respondent with `parameters`, each field with its `Option`.

    A person sets them by --model-arg. Its replies follow from the parameters, the items and each call's seed alone.
    """

    def made(items: Sequence[Any], name: str, arguments: Mapping[str, str]) -> Answerer:
        called = f"simulated/{name}"
        try:
            chosen = options_of(parameters, arguments)
        except InputError as error:
            raise error.placed(lambda place: f"{called}, {place.removeprefix(OPTION)}") from None
        return _Respondent(called, chosen, items, says)

    return made


@dataclass(frozen=True)
class _Respondent:
    name: str
    parameters: msgspec.Struct
    items: Sequence[Any]
    says: Says
    holds_form: bool = False

    @property
    def identity(self) -> str:
        """The name and every parameter."""
        return f"{self.name} {msgspec.json.encode(self.parameters, order='deterministic').decode()}"

    async def answer(self, request: Request) -> Reply:
        """Say what it says.

        Raises:
            AccessError: the request has no seed, so that the reply could not be repeated.
            RejectedError: it does not know what it is asked.
        """
        if request.seed is None:
            raise AccessError("no seed", f"{self.name} draws its answers from the request's seed, and there is none")
        said = self.says(self.parameters, self.items, request, lambda purpose: Draw(f"{request.seed}/{purpose}"))
        if said is None:
            raise RejectedError("unknown prompt", f"{self.name} does not know what it is asked")
        return Reply(said)

    async def close(self) -> None:
        """Nothing to give back."""
