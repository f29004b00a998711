"""Protocols of a provider's batches, of a server, and of a list of servers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import msgspec

from overton.calls.types import Reply, Request
from overton.errors import AnswerError


class BatchStatus(msgspec.Struct, frozen=True):
    """A batch's state as reported by its provider. The batch has `total` calls, of which `done` are finished.

    `over` is True if no more results will come, and `begun` if the provider has accepted the batch. `refused` is the
    reason why the whole batch was refused; nothing is then billed. `full` is True if the batch was refused for lack of
    capacity, so that a later attempt may succeed. `cut` is True if the batch ended before all of its calls were
    started, and `cancelled` if it ended because somebody cancelled it. `files` are the locations of the results.
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
    """A provider's batches of one model. Each method sends at most one request, or one request for each page or file.

    The caller gives each call an `id`, and each batch a `name`. The id of each call ends with the name of its batch.
    The batch's own id comes from the provider.

    All methods raise `UnavailableError` if a retry is worthwhile, `RejectedError` or `AccessError` if not.
    """

    @property
    def most_calls(self) -> int:
        """The maximum number of calls in a batch."""
        ...

    @property
    def most_bytes(self) -> int:
        """The maximum size of a batch in bytes."""
        ...

    @property
    def hours(self) -> float:
        """The maximum duration of a batch in hours, after which it expires."""
        ...

    def line(self, id_: str, request: Request) -> bytes:
        """A call as a line of a batch.

        Raises:
            RejectedError: the call cannot be made into a request.
        """
        ...

    @property
    def named(self) -> bool:
        """Whether the provider lists batches with their names. If it does, the result of `find` is certain."""
        ...

    async def upload(self, name: str, lines: Sequence[bytes]) -> str:
        """Upload the calls if the provider requires this before the batch. If the calls are sent with the batch, return
        ''."""
        ...

    async def find_uploads(self, name: str, since: float) -> list[str]:
        """The ids of all uploads that have this name and were made since `since` (Unix time). An upload is included
        even if `upload` failed before it could return the id.

        There are several ids if the calls were uploaded several times. The list is empty if calls are sent with the
        batch.
        """
        ...

    async def discard(self, upload: str) -> None:
        """Delete an upload that is not used for a batch."""
        ...

    async def create(self, name: str, upload: str, lines: Sequence[bytes]) -> str:
        """Make the batch, which is billed from then on; returns its id."""
        ...

    async def find(self, name: str, calls: int, since: float) -> list[str]:
        """The ids of the batches that may be the batch `name`. This batch has `calls` calls, and was made after `since`
        (Unix time).

        If the provider keeps no names, there may be several candidates, and only the results show which candidate is
        right.
        """
        ...

    async def look(self, id_: str) -> BatchStatus:
        """A batch's progress."""
        ...

    async def results(self, looked: BatchStatus, calls: int) -> Mapping[str, bytes | AnswerError]:
        """The outcomes of the calls of a finished batch, by id: the body of a reply, or the reason for a missing reply.

        If an id has several outcomes, a body takes precedence. Without a body, the first outcome counts. Unreadable
        results are left out.
        """
        ...

    def read(self, request: Request, body: bytes) -> Reply:
        """The reply in a body.

        Raises:
            AnswerError: the body contains no reply.
        """
        ...

    async def cancel(self, id_: str) -> None:
        """Ask the provider to start no more of the batch's calls. Calls that were answered are billed and can be
        read."""
        ...


class Server(Protocol):
    """One of a model's servers. All of the model's servers have the same identity, because it does not matter which
    server answers."""

    @property
    def name(self) -> str:
        """The server's name for users, such as 'node7:8000', for progress and errors. It is not part of the model's
        identity or name, or of any record."""
        ...

    async def answer(self, request: Request) -> Reply:
        """Answer once, without retrying; raises as `Answerer.answer` does."""
        ...

    async def look(self) -> Mapping[str, str]:
        """Ask the server which weights it serves. This costs nothing. Return the reported properties with their values.
        The result is empty if the server reports none.

        Raises:
            UnavailableError: the server does not answer.
        """
        ...

    def abandon(self) -> None:
        """Treat the server as dead. Its requests in flight fail, and count as possibly carried out."""
        ...

    async def close(self) -> None:
        """Release connections and memory."""
        ...


class ServerList(Protocol):
    """The servers of one model, which may come and go.

    If `strict`, all servers must report the same model, fingerprint and weights; otherwise the same model name is
    enough. `noun` is the word for several servers in messages. `patience` is the number of seconds that calls wait
    while all servers are down, None for the default.
    """

    noun: str
    patience: float | None

    @property
    def strict(self) -> bool:
        """Whether all servers must report the same model, fingerprint and weights."""
        ...

    async def listed(self) -> Sequence[Server]:
        """The current servers. A server that was listed before is returned as the same object. Overton calls this about
        once a second.

        Raises:
            UnavailableError: the list is unavailable at the moment. The previous servers stay in use.
        """
        ...
