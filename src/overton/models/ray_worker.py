"""The program on a cluster node. It runs one replica of a model in its own process, and exchanges messages with a run.

Messages are bytes of JSON, so a replica's messages are decoded as safely as any reply.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from overton.calls import Answerer, Reply, Request, Settings, user
from overton.errors import AccessError, AnswerError, OvertonError, RejectedError, UnavailableError, reason_of
from overton.models.ray_connection import CallServer
from overton.models.ray_weights import Shelf, Sought
from overton.untrusted import decode_json
from overton.version import __version__

Engine = Callable[[Path], Answerer]
"""A function that makes the model from a file of weights. Nodes import it by the name of its module."""

Sort = Literal["rejected", "access", "unavailable"]


class Fault(msgspec.Struct, omit_defaults=True):
    """An `AnswerError` in the form in which it is sent."""

    kind: str
    message: str
    sort: Sort = "unavailable"
    maybe_billed: bool = False


class ReplicaMessage(msgspec.Struct, omit_defaults=True):
    """A replica's message: its description, a reply, or an error. `found` says whether the node has the weights. `host`
    and `port` are where the replica listens."""

    node: str = ""
    host: str = ""
    overton: str = ""
    found: bool = False
    port: Annotated[int, msgspec.Meta(ge=0, lt=2**16)] = 0
    reply: Reply | None = None
    fault: Fault | None = None


_encode = msgspec.json.Encoder().encode
_decode_request = msgspec.json.Decoder(Request).decode
_MAX_REASON_CHARS = 1_000
_WARM_UP_REQUEST = Request((user("."),), Settings(max_tokens=1), seed=1)


def llama(path: Path, *, name: str, identity: str, hold: bool, threads: int, context: int | None) -> Answerer:
    """Make a model that llama.cpp runs in the replica's process."""
    from overton.models.llama_cpp import EmbeddedModel

    return EmbeddedModel(path, name=name, identity=identity, hold=hold, threads=threads, context=context)


class Worker:
    """One replica. Its methods raise nothing: errors are returned."""

    def __init__(self, sought: Sought, engine: Engine) -> None:
        self._shelf = Shelf(sought)
        self._engine = engine
        self._answerer: Answerer | None = None

    async def begin(self) -> bytes:
        """Report the replica's node, its version of Overton, and whether the node has the weights."""
        found = await asyncio.to_thread(self._shelf.found)
        return _encode(ReplicaMessage(_node_id(), socket.gethostname(), __version__, found is not None))

    async def take(self, start: int, piece: bytes) -> bytes:
        """Take a piece of the weights; see `Shelf.take`."""
        return await _report_outcome(asyncio.to_thread(partial(self._shelf.take, start, piece)))

    async def finish(self) -> bytes:
        """Check the weights received; see `Shelf.finish`."""
        return await _report_outcome(asyncio.to_thread(self._shelf.finish))

    async def load(self, times: int) -> bytes:
        """Load the weights into memory before the first call, with one copy per parallel call."""
        return await _report_outcome(self._load(times))

    async def answer(self, request: bytes) -> bytes:
        """Answer one request."""
        return await _report_outcome(self._answer(request))

    async def listen(self, secret: bytes) -> bytes:
        """Open a port at the node's address in Ray, for one connection of a run that knows the secret."""
        host = _node_address()
        try:
            port = await CallServer(secret, self.answer, _report_bug).listen(host)
        except OSError as error:
            return _encode(ReplicaMessage(fault=Fault("connection", f"it cannot listen: {reason_of(error)}")))
        return _encode(ReplicaMessage(host=host, port=port))

    async def ping(self) -> bytes:
        """Report that the replica is up."""
        return _encode(ReplicaMessage())

    async def stay(self) -> None:
        """Never return. When the replica is gone, this call fails, and the caller thus learns that it is gone."""
        await asyncio.Event().wait()

    async def _load(self, times: int) -> None:
        path = await asyncio.to_thread(self._shelf.found)
        if path is None:
            raise UnavailableError("weights", "the weights are no longer on its node")
        self._answerer = self._engine(path)
        await asyncio.gather(*(self._answerer.answer(_WARM_UP_REQUEST) for _ in range(times)))

    async def _answer(self, request: bytes) -> Reply:
        if self._answerer is None:
            raise UnavailableError("not loaded", "the replica has not loaded its weights")
        return await self._answerer.answer(decode_json(request, _decode_request))


async def _report_outcome(doing: object) -> bytes:
    try:
        done = await doing  # type: ignore[misc]
        return _encode(ReplicaMessage(reply=done if isinstance(done, Reply) else None))
    except AnswerError as error:
        return _encode(ReplicaMessage(fault=Fault(error.kind, str(error), _sort(error), error.maybe_billed)))
    except OvertonError as error:
        return _encode(ReplicaMessage(fault=Fault("server error", str(error))))


def _report_bug(error: BaseException) -> bytes:
    """The message to the run about an unexpected error. The run treats it as it treats Ray's report of a failed
    method."""
    message = f"its replica is gone: {type(error).__name__}: {error}"[:_MAX_REASON_CHARS]
    return _encode(ReplicaMessage(fault=Fault("connection", message, maybe_billed=True)))


def _sort(error: AnswerError) -> Sort:
    if isinstance(error, RejectedError):
        return "rejected"
    return "access" if isinstance(error, AccessError) else "unavailable"


def _node_id() -> str:
    """The node's id in its cluster. It is the same for all replicas that share the node's disk."""
    import ray

    return str(ray.get_runtime_context().get_node_id())


def _node_address() -> str:
    """The node's address within its cluster. It is the loopback address if the cluster is this machine's own."""
    import ray

    return str(ray.util.get_node_ip_address())
