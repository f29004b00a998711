"""Protocols of a provider's batches, of a server and of a list of servers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import msgspec

from overton.calls.types import Reply, Request
from overton.errors import AnswerError


class BatchStatus(msgspec.Struct, frozen=True):
    """A batch as its provider reports it: how many of its calls have finished, of how many.

    `over` is True if no more results will come, `begun` if the provider has accepted the batch. `refused` says why the
    whole batch was refused, so that none of it is billed; `full` that this was for lack of capacity, which may return.
    `cut` is True if it ended before some calls were started, `cancelled` if that is because somebody cancelled it.
    `files` are where the results are.
    """

    over: bool
    done: int = 0
    total: int = 0
    refused: str = ""
    full: bool = False
    cut: bool = False
    cancelled: bool = False
    begun: bool = True
    files: tuple[str, ...] = ()


class BatchApi(Protocol):
    """A provider's batches of one model. Each method sends at most one request, or one per page or file.

    A call in a batch goes by the caller's `id`; a batch goes by the caller's `name`, which ends the ids of all its
    calls, until the provider has given it an id.

    All raise `UnavailableError` if a retry is worthwhile, `RejectedError` or `AccessError` if not.
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
        """A call as a line of a batch.

        Raises:
            RejectedError: it cannot be made into a request.
        """
        ...

    @property
    def named(self) -> bool:
        """Whether the provider lists batches with their names: what `find` returns is then this batch for certain."""
        ...

    async def upload(self, name: str, lines: Sequence[bytes]) -> str:
        """Upload the calls if they precede the batch; '' if they are sent with it."""
        ...

    async def find_uploads(self, name: str, since: float) -> list[str]:
        """The ids that `upload` gave, or would have given, for this name since `since` (Unix time).

        There are several if the calls were uploaded several times, and none if they are sent with the batch.
        """
        ...

    async def discard(self, upload: str) -> None:
        """Delete an upload of which no batch is made."""
        ...

    async def create(self, name: str, upload: str, lines: Sequence[bytes]) -> str:
        """Make the batch, which is billed from then on; returns its id."""
        ...

    async def find(self, name: str, calls: int, since: float) -> list[str]:
        """The ids of batches that may have this name, made of `calls` calls and not before `since` (Unix time).

        If the provider keeps no names, there may be several candidates: the results will show.
        """
        ...

    async def look(self, id_: str) -> BatchStatus:
        """A batch's progress."""
        ...

    async def results(self, looked: BatchStatus, calls: int) -> Mapping[str, bytes | AnswerError]:
        """The outcomes of the calls of a finished batch, by id: the body of a reply, or why there is none.

        Of several for one id a body wins, otherwise the first. Unreadable results are left out.
        """
        ...

    def read(self, request: Request, body: bytes) -> Reply:
        """The reply in a body.

        Raises:
            AnswerError: there is none.
        """
        ...

    async def cancel(self, id_: str) -> None:
        """Have the provider start no more of the batch's calls; those answered are billed and can be read."""
        ...


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
        """Ask what it reports of the weights that it serves, by property, empty if it reports nothing. Costs nothing.

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


class ServerList(Protocol):
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
