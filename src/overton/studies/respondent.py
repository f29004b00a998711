"""Respondents whose truth is known, made from their parameters and what they say."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import msgspec

from overton.calls import Alternative, Answerer, Draw, Reply, Request, Spot
from overton.errors import AccessError, InputError, RejectedError
from overton.studies.options import OPTION, options_of
from overton.studies.study import Simulated

__all__ = ["Says", "Seeded", "respondent", "weighed_reply"]

Says = Callable[[Any, Sequence[Any], Request, Callable[[str], Draw]], str | Reply | None]
"""`says(parameters, items, request, draw)` gives the reply, None if it does not know the prompt; `draw(purpose)` gives
the random choices of this one call."""


def weighed_reply(
    request: Request, said: str, option: str, chances: Mapping[str, float], *, first: bool = False
) -> Reply:
    """The reply `said`, with the probabilities of its options if the request's form asks for them.

    `option` is the one that it names; its place is its last occurrence in the reply, or with `first` the first.
    """
    if request.form is None or not request.form.weigh:
        return Reply(said)
    alternatives = tuple([Alternative(one, chance, chance) for one, chance in chances.items() if chance > 0])
    place = said.index(option) if first else said.rindex(option)
    return Reply(said, spots=(Spot(place, option, alternatives),))


def respondent(parameters: type[msgspec.Struct], says: Says) -> Simulated:
    """A value of `Study.simulated`: a respondent with `parameters`, each field with its `Option`.

    Users set them with --model-arg. Its replies follow from the parameters, the items and each call's seed alone.
    """

    def made(items: Sequence[Any], name: str, arguments: Mapping[str, str]) -> Answerer:
        called = f"simulated/{name}"
        try:
            chosen = options_of(parameters, arguments)
        except InputError as error:
            raise error.placed(lambda place: f"{called}, {place.removeprefix(OPTION)}") from None
        return _Respondent(called, chosen, items, says)

    return made


class Seeded(ABC):
    """An `Answerer` whose replies follow from its parameters and each call's seed alone."""

    name: str
    parameters: msgspec.Struct
    holds_form = False
    draws: ClassVar[str] = "answers"
    """What it draws from the seed, as the error for a request without one calls it."""

    @property
    def identity(self) -> str:
        """The name and every parameter."""
        return f"{self.name} {msgspec.json.encode(self.parameters, order='deterministic').decode()}"

    async def answer(self, request: Request) -> Reply:
        """What `reply` says.

        Raises:
            AccessError: the request has no seed, so that the reply could not be repeated.
            RejectedError: it does not know the prompt.
        """
        if request.seed is None:
            raise AccessError(
                "no seed", f"{self.name} draws its {self.draws} from the request's seed, and there is none"
            )
        return self.reply(request)

    @abstractmethod
    def reply(self, request: Request) -> Reply:
        """The reply to a request that has a seed."""

    async def close(self) -> None:  # noqa: B027 - it has nothing open, and no respondent has to say so again
        """Nothing to close."""


class _Respondent(Seeded):
    weighs = True

    def __init__(self, name: str, parameters: msgspec.Struct, items: Sequence[Any], says: Says) -> None:
        self.name = name
        self.parameters = parameters
        self._items = items
        self._says = says

    def reply(self, request: Request) -> Reply:
        """Say what it says. Raises `RejectedError` if it does not know the prompt."""
        said = self._says(self.parameters, self._items, request, lambda purpose: Draw(f"{request.seed}/{purpose}"))
        if said is None:
            raise RejectedError("unknown prompt", f"{self.name} does not know this prompt")
        return said if isinstance(said, Reply) else Reply(said)
