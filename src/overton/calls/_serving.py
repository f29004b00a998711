"""Several servers of one model: what the engine has to know of them to share calls out among them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from overton.calls._words import Reply, Request

__all__ = ["Server", "Serving"]


class Server(Protocol):
    """One of the servers of a model. All of a model's have one identity: which of them answers makes no difference."""

    @property
    def name(self) -> str:
        """What people call it, as 'node7:8000': for progress and errors; part of no identity, name or record."""
        ...

    async def answer(self, request: Request) -> Reply:
        """Answer once, without retrying; raises as `Answerer.answer` does."""
        ...

    async def look(self) -> Mapping[str, str]:
        """What it says of the weights that it serves, by property, empty where it says nothing. Costs nothing.

        Raises:
            UnavailableError: it does not answer.
        """
        ...

    def abandon(self) -> None:
        """It is taken for dead: let the requests under way fail, as ones that may have been carried out."""
        ...

    async def close(self) -> None:
        """Give back connections and memory."""
        ...


class Serving(Protocol):
    """The servers of one model, which may come and go.

    `strict` says that all have to report the same model, fingerprint and weights; else the model's name is enough.
    `noun` is what people call several of them, `patience` the seconds for which calls wait while none is up, None for
    the usual.
    """

    noun: str
    patience: float | None

    @property
    def strict(self) -> bool:
        """See above."""
        ...

    async def listed(self) -> Sequence[Server]:
        """The servers there are now; one that was listed before is the same object again. Asked about once a second.

        Raises:
            UnavailableError: that cannot be told just now; those of before stay.
        """
        ...
