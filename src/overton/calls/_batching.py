"""What sends a model's calls in batches, as an engine sees it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import msgspec

from overton.calls._words import Reply, Request
from overton.errors import AnswerError

__all__ = ["Batching", "Looked"]


class Looked(msgspec.Struct, frozen=True):
    """A batch as its provider shows it: how many of its calls have ended, of how many.

    `over` is True where no more will come of it. `refused` says why the whole batch was refused, so that nothing of it
    is paid; `full` that this was for want of room, which comes with time. `files` are where the results are.
    """

    over: bool
    done: int = 0
    total: int = 0
    refused: str = ""
    full: bool = False
    cut: bool = False
    files: tuple[str, ...] = ()


class Batching(Protocol):
    """A provider's batches of one model. Each method sends one request at most, or one for each page or file.

    A call in a batch goes by an `id` of the caller's; a batch by a `name` of the caller's, which ends the ids of all
    its calls, until the provider has given it an id of its own.

    All raise `UnavailableError` where it is worth to try again, `RejectedError` or `AccessError` where it is not.
    """

    @property
    def most_calls(self) -> int:
        """How many calls a batch may have."""
        ...

    @property
    def most_bytes(self) -> int:
        """How large a batch may be."""
        ...

    @property
    def hours(self) -> float:
        """How long a batch may take before it expires."""
        ...

    def line(self, id_: str, request: Request) -> bytes:
        """A call as it stands in a batch.

        Raises:
            RejectedError: no request can be made of it.
        """
        ...

    async def upload(self, name: str, lines: Sequence[bytes]) -> str:
        """Send the calls where they are sent before the batch is made; '' where they are sent with it."""
        ...

    async def create(self, name: str, upload: str, lines: Sequence[bytes]) -> str:
        """Make the batch, from when on it is paid; gives its id."""
        ...

    async def find(self, name: str, calls: int, since: float) -> list[str]:
        """The ids of batches that may be the one of this name, made of so many calls, not before `since` (Unix time).

        Where the provider keeps no names, several may come in question: the results tell.
        """
        ...

    async def look(self, id_: str) -> Looked:
        """How far a batch is."""
        ...

    async def results(self, looked: Looked, calls: int) -> Mapping[str, bytes | AnswerError]:
        """What came of the calls of a batch that is over, by their ids: the body of a reply, or why there is none.

        Of several for one id a body counts, else the first. What cannot be read is left out.
        """
        ...

    def read(self, request: Request, body: bytes) -> Reply:
        """The reply that a body holds.

        Raises:
            AnswerError: none.
        """
        ...

    async def cancel(self, id_: str) -> None:
        """Have the provider begin no more of the batch's calls; what has been answered is paid and can be read."""
        ...
