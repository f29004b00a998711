"""A model on a Ray cluster. Its replicas start on free resources and are restarted when lost. The engine treats them as
servers of one model; see `overton.calls.ServerList`."""

from __future__ import annotations

import asyncio
import secrets
from collections import defaultdict
from collections.abc import Awaitable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from overton.calls import Reply, Request, Server
from overton.errors import AccessError, AnswerError, RejectedError, UnavailableError, Unreadable
from overton.models import ray_cluster
from overton.models.http_client import encoded
from overton.models.ray_connection import MAX_REPLY_BYTES, SECRET_BYTES, CallConnection, connect
from overton.models.ray_weights import Sought
from overton.models.ray_worker import Engine, Fault, ReplicaMessage, Worker
from overton.untrusted import decode_json, visible_line
from overton.version import __version__

_PIECE_BYTES = 8 * 2**20
"""The number of bytes of weights that are sent at a time. It is small enough for any node's store."""
_MAX_LINE_CHARS = 300
_MAX_WAIT_FOR_REASON_S = 10.0
"""Seconds that Ray may take to report the end of a replica after the connection to it was lost."""
_LOST = "the connection to it was lost"
_SILENCE_TIMEOUT_S = 30.0
"""Seconds that a replica may take to report that it is up."""
_SPARE_CALLS = 8
"""The number of calls that a replica takes besides requests: polls, and the call that shows the replica's end."""
_MIN_RESTART_S, _MAX_RESTART_S = 1.0, 60.0
"""Seconds until a lost replica is restarted: the first time, and at most."""
_POLL_S = 0.2

_decode_message = msgspec.json.Decoder(ReplicaMessage).decode


@dataclass(frozen=True)
class Placement:
    """The number of replicas to run, and the resources of each: `cpus` cores and `gpus` GPUs. `rest` has any other
    options of Ray. Each replica gets at most `at_once` calls in parallel. While all replicas are down, a run continues
    for `patience` seconds."""

    replicas: int = 1
    cpus: float = 1.0
    gpus: float = 0.0
    rest: Mapping[str, Any] = field(default_factory=dict)
    at_once: int = 1
    patience: float = 1800.0

    def options(self) -> dict[str, Any]:
        """The placement as Ray's options. Lost replicas are restarted by Overton and not by Ray, because the weights
        may have to be sent again."""
        taken = {"num_cpus": self.cpus, "num_gpus": self.gpus, "max_concurrency": self.at_once + _SPARE_CALLS}
        return {**self.rest, **taken, "max_restarts": 0, "max_task_retries": 0}


class Replicas:
    """The replicas of one model: see `overton.calls.ServerList`. No replica is started before `listed` is first
    called."""

    strict = True
    noun = "replicas"

    def __init__(self, weights: Path, sha256: str, engine: Engine, placement: Placement) -> None:
        self.patience: float | None = placement.patience
        self._sought = Sought(sha256, weights.stat().st_size, on_nodes(weights))
        self._weights = weights
        self._engine = engine
        self._placement = placement
        self._slots: list[_Slot] = []
        self._joining: asyncio.Task[Any] | None = None
        self._ray: Any = None
        self._node_locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def listed(self) -> Sequence[Server]:
        """List the replicas that are up, and a placeholder with the reason for each replica that is not up; see
        `ServerList`.

        Raises:
            AccessError: there is no cluster to join, or the cluster cannot run such replicas.
        """
        if self._joining is None:
            self._joining = asyncio.create_task(asyncio.to_thread(ray_cluster.join))
        joining = self._joining
        ray = await asyncio.shield(joining)
        # If several callers wait, only one of them starts the replicas. After `close`, no caller does.
        if self._ray is None and self._joining is joining:
            self._ray = ray
            self._slots = [_Slot(f"replica {number}", self) for number in range(1, self._placement.replicas + 1)]
        for slot in self._slots:
            if slot.keeping.done():
                slot.keeping.result()  # the task ends by itself only if no replica can be started
        return [slot.server for slot in self._slots]

    async def close(self) -> None:
        """Stop the replicas, and Ray if it was started for them."""
        joining, slots, self._joining, self._slots = self._joining, self._slots, None, []
        for slot in slots:
            slot.end()
        await asyncio.gather(*(slot.keeping for slot in slots), return_exceptions=True)
        self._ray = None
        if joining is not None:
            with suppress(AccessError):
                await joining
                await asyncio.to_thread(ray_cluster.leave)

    # Methods for the slots

    def started(self) -> Any:
        """Start a new replica, which is up once Ray has found resources for it.

        Raises:
            AccessError: Ray does not accept the placement's options.
        """
        try:
            remote = self._ray.remote(Worker).options(**self._placement.options())
            return remote.remote(self._sought, self._engine)
        except (TypeError, ValueError, self._ray.exceptions.RayError) as error:
            raise AccessError("no replica", f"Ray cannot start a replica: {_clean_line(str(error))}") from None

    def kill(self, actor: Any) -> None:
        """Stop a replica, even a busy one."""
        with suppress(self._ray.exceptions.RayError):
            self._ray.kill(actor)

    async def heard(self, waiting: Awaitable[Any]) -> ReplicaMessage:
        """Wait for a replica's message, and decode it.

        Raises:
            AnswerError: the replica reports an error, is gone, or sent nonsense.
        """
        ray = self._ray  # keep it, because `self._ray` may be None by the time the call fails
        try:
            said = await waiting
        except ray.exceptions.RayError as error:
            raise UnavailableError("connection", _clean_line(_last_line(error)), maybe_billed=True) from None
        if not isinstance(said, bytes) or len(said) > MAX_REPLY_BYTES:
            raise _nonsense_error("not bytes, or too many")
        try:
            told = decode_json(said, _decode_message)
        except Unreadable as error:
            raise _nonsense_error(error.reason) from None
        if told.fault is not None:
            raise _error_for(told.fault)
        return told

    async def bring(self, actor: Any, node: str) -> None:
        """Bring the weights to a node. This is done once per node, however many replicas it has.

        Raises:
            UnavailableError: the weights cannot be stored on the node, or the replica that receives them is gone.
        """
        async with self._node_locks[node]:
            if (await self.heard(actor.begin.remote())).found:
                return
            for start in range(0, self._sought.size, _PIECE_BYTES):
                piece = await asyncio.to_thread(_read_piece, self._weights, start)
                await self.heard(actor.take.remote(start, piece))
            await self.heard(actor.finish.remote())

    async def load(self, actor: Any) -> None:
        """Load the weights into a replica's memory."""
        await self.heard(actor.load.remote(self._placement.at_once))

    async def connect(self, actor: Any) -> CallConnection | None:
        """Open a direct connection for the replica's calls. Return None if that is impossible; calls are then sent as
        Ray's messages."""
        if ray_cluster.is_encrypted():
            return None
        secret = secrets.token_bytes(SECRET_BYTES)
        with suppress(UnavailableError, OSError, ValueError):
            told = await self.heard(actor.listen.remote(secret))
            return await connect(told.host, told.port, secret)
        return None


class _Slot:
    """A place for one replica, which is started, watched, and replaced when lost."""

    def __init__(self, name: str, replicas: Replicas) -> None:
        self.name = name
        self.server: Server = _PendingReplica(name, "waiting for room on the cluster")
        self.keeping = asyncio.create_task(self._keep_running(replicas))

    def end(self) -> None:
        """Stop the replica, and start no other."""
        self.keeping.cancel()

    async def _keep_running(self, replicas: Replicas) -> None:
        pause = _MIN_RESTART_S
        while True:
            actor = replicas.started()
            try:
                self.server, connection = await self._bring_up(actor, replicas)
                pause = _MIN_RESTART_S
                await self._watch(actor, connection, replicas)
                why = "has ended"
            except AnswerError as error:
                why = str(error)
            finally:
                self.server.abandon()
                replicas.kill(actor)
            self.server = _PendingReplica(self.name, why)
            await asyncio.sleep(pause)
            pause = min(2 * pause, _MAX_RESTART_S)

    async def _watch(self, actor: Any, connection: CallConnection | None, replicas: Replicas) -> None:
        """Wait until the replica has ended. If the connection to it is lost, wait only a little longer for the reason.

        Raises:
            UnavailableError: the replica has ended; the message says why.
        """
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(None) as limit:

                def lose() -> None:
                    self.server = _PendingReplica(self.server.name, _LOST)
                    limit.reschedule(loop.time() + _MAX_WAIT_FOR_REASON_S)

                if connection is not None:
                    connection.on_lost = lose
                await replicas.heard(actor.stay.remote())
        except TimeoutError:
            raise UnavailableError("connection", _LOST) from None

    async def _bring_up(self, actor: Any, replicas: Replicas) -> tuple[Server, CallConnection | None]:
        told = await replicas.heard(actor.begin.remote())
        if told.overton != __version__:
            raise UnavailableError(
                "version", f"its node has overton {_clean_line(told.overton)}, but this is {__version__}"
            )
        name = f"{self.name} on {_clean_line(told.host)}"
        if not told.found:
            self.server = _PendingReplica(name, "receiving the weights")
            await replicas.bring(actor, told.node)
        self.server = _PendingReplica(name, "loading the weights")
        try:
            await replicas.load(actor)
        except AccessError as error:
            return _UnusableReplica(name, error), None
        connection = await replicas.connect(actor)
        return _Replica(name, actor, replicas, connection), connection


class _PendingReplica:
    """A placeholder for a replica that is not up; see `Server`."""

    def __init__(self, name: str, why: str) -> None:
        self.name = name
        self._why = why

    async def answer(self, request: Request) -> Reply:
        """See `Server`; always fails."""
        raise UnavailableError("connection", self._why)

    async def look(self) -> Mapping[str, str]:
        """See `Server`; says why it is not up."""
        raise UnavailableError("connection", self._why)

    def abandon(self) -> None:
        """See `Server`; it has no calls."""

    async def close(self) -> None:
        """See `Server`; its slot stops it."""


class _UnusableReplica(_PendingReplica):
    """A replica on a node where the weights cannot be used. Every call gets this error."""

    def __init__(self, name: str, error: AccessError) -> None:
        super().__init__(name, str(error))
        self._error = error

    async def answer(self, request: Request) -> Reply:
        """See `Server`; always fails."""
        raise self._error

    async def look(self) -> Mapping[str, str]:
        """Report the replica as up. If it is down, its first call shows the error; see `Server`."""
        return {}


class _Replica:
    """A replica that is up; see `Server`. Its calls go over a direct connection if there is one, otherwise through
    Ray."""

    def __init__(self, name: str, actor: Any, replicas: Replicas, connection: CallConnection | None) -> None:
        self.name = name
        self._actor = actor
        self._replicas = replicas
        self._connection = connection

    async def answer(self, request: Request) -> Reply:
        """See `Server`."""
        sent = encoded(request)
        try:
            told = await self._replicas.heard(self._send(sent))
        except UnavailableError as error:
            raise UnavailableError(error.kind, f"{self.name}: {error}", maybe_billed=error.maybe_billed) from None
        if told.reply is None:
            raise _nonsense_error("no reply")
        return told.reply

    def _send(self, request: bytes) -> Awaitable[Any]:
        return self._actor.answer.remote(request) if self._connection is None else self._connection.call(request)

    async def look(self) -> Mapping[str, str]:
        """See `Server`. Its weights were checked by their hash."""
        try:
            async with asyncio.timeout(_SILENCE_TIMEOUT_S):
                if self._connection is not None:
                    await self._connection.ping()
                await self._replicas.heard(self._actor.ping.remote())
        except TimeoutError:
            raise UnavailableError("timeout", f"has been silent for {_SILENCE_TIMEOUT_S:.0f} s") from None
        return {}

    def abandon(self) -> None:
        """See `Server`."""
        self._replicas.kill(self._actor)
        if self._connection is not None:
            self._connection.close()

    async def close(self) -> None:
        """See `Server`; its slot stops it."""


class Up:
    """A server list that waits for the first replica, for callers without the engine's pool of servers."""

    def __init__(self, replicas: Replicas) -> None:
        self._replicas = replicas

    async def listed(self) -> Sequence[Server]:
        """Wait until a replica is up.

        Raises:
            UnavailableError: no replica has come up in time. The message says why.
        """
        try:
            async with asyncio.timeout(self._replicas.patience):
                while True:
                    listed = await self._replicas.listed()
                    if up := [server for server in listed if isinstance(server, _Replica | _UnusableReplica)]:
                        return up
                    await asyncio.sleep(_POLL_S)
        except TimeoutError:
            why = f"no replica has come up for {self._replicas.patience:.0f} s"
            raise UnavailableError("connection", why) from None

    async def close(self) -> None:
        """Stop them."""
        await self._replicas.close()


def on_nodes(weights: Path) -> str:
    """The path at which nodes look for the weights before Overton sends them. It is the path on this machine, because
    nodes may share a disk with it."""
    return str(weights.resolve())


def _read_piece(path: Path, start: int) -> bytes:
    with path.open("rb") as file:
        file.seek(start)
        return file.read(_PIECE_BYTES)


def _error_for(fault: Fault) -> AnswerError:
    kind, message = _clean_line(fault.kind)[:40], _clean_line(fault.message)
    if fault.sort == "rejected":
        return RejectedError(kind, message)
    if fault.sort == "access":
        return AccessError(kind, message)
    return UnavailableError(kind, message, maybe_billed=fault.maybe_billed)


def _nonsense_error(what: str) -> UnavailableError:
    return UnavailableError("malformed", f"a replica sent nonsense: {what}", maybe_billed=True)


def _last_line(error: Exception) -> str:
    """The last line of Ray's failure message, which gives the reason. The lines before it have ids and traces."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"its replica is gone: {lines[-1]}" if lines else "its replica is gone"


def _clean_line(text: str) -> str:
    return " ".join(visible_line(text).split())[:_MAX_LINE_CHARS]
