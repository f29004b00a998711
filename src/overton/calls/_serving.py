"""Several servers of one model: what the engine has to know to distribute calls among them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from overton.calls._words import Reply, Request

__all__ = ["Server", "Serving"]


class Server(Protocol):
    """One of a model's servers. They all have one identity: it makes no difference which of them answers."""

    @property
    def name(self) -> str:
        """Its name for users, as 'node7:8000': for progress and errors; not part of any identity, name or record."""
        ...

    async def answer(self, request: Request) -> Reply:
        """Answer once, without retrying; raises as `Answerer.answer` does."""
        ...

    async def look(self) -> Mapping[str, str]:
        """What it reports of the weights that it serves, by property, empty if it reports nothing. Costs nothing.

        Raises:
            UnavailableError: it does not answer.
        """
        ...

    def abandon(self) -> None:
        """It is taken to be dead: fail the requests in flight, as ones that may have been carried out."""
        ...

    async def close(self) -> None:
        """Release connections and memory."""
        ...


class Serving(Protocol):
    """The servers of one model, which may come and go.

    `strict` says that all must report the same model, fingerprint and weights; otherwise the model's name is enough.
    `noun` is the plural for display, `patience` the seconds for which calls wait while none is up, None for the
    default.
    """

    noun: str
    patience: float | None

    @property
    def strict(self) -> bool:
        """See above."""
        ...

    async def listed(self) -> Sequence[Server]:
        """The current servers; one listed before is the same object again. Called about once a second.

        Raises:
            UnavailableError: this is unknown at the moment; the previous ones stay.
        """
        ...
