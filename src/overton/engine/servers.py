"""Several servers of one model, used as one model and watched during a run.

The engine learns the state of servers from their replies, and from polls that cost nothing. A server that fails is left
out and polled until it is up again. The failed call is retried on another server at once. A server whose model differs
from that of the other servers is left out permanently.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace

from overton.calls import Reply, Request, Server, ServerList
from overton.engine.rate_limit import RateLimiter
from overton.errors import AccessError, AnswerError, RejectedError, Stopped, UnavailableError, list_names

Report = Mapping[str, str]
_MAX_VALUE_CHARS = 80


class ServerConsensus:
    """The properties that all servers of a model must share. The value of a property is determined by the first servers
    that report it.

    A server is not compared in properties that it does not report.
    """

    def __init__(self, only: frozenset[str] | None = None) -> None:
        self._properties = only
        self._settled: dict[str, str] = {}

    def relevant(self, report: Report) -> dict[str, str]:
        """The properties in a server's report that servers must share."""
        return {name: value for name, value in report.items() if self._properties is None or name in self._properties}

    def settles(self, report: Report) -> bool:
        """Whether all properties in a server's report have been determined, so that the server can be compared with the
        others."""
        return all(name in self._settled for name in self.relevant(report))

    def settle(self, reports: Iterable[Report]) -> str:
        """Determine properties by the most frequent value in these servers' reports. If two values of a property are
        equally frequent, return a text with the property and both values. Otherwise return ''."""
        parts = [self.relevant(report) for report in reports]
        for name in dict.fromkeys(name for part in parts for name in part if name not in self._settled):
            counts = Counter(part[name] for part in parts if name in part).most_common(2)
            if len(counts) > 1 and counts[0][1] == counts[1][1]:
                return f"{name} {_shorten(counts[0][0])} and {_shorten(counts[1][0])}"
            self._settled[name] = counts[0][0]
        return ""

    def difference(self, report: Report) -> str:
        """How a server differs from the others, '' if it does not."""
        for name, value in self.relevant(report).items():
            if self._settled.get(name, value) != value:
                return f"it reports {name} {_shorten(value)}, the others {_shorten(self._settled[name])}"
        return ""


def _shorten(value: str) -> str:
    return repr(value if len(value) <= _MAX_VALUE_CHARS else f"{value[:_MAX_VALUE_CHARS]}...")


_MAX_FAULTS = 3
"""The number of failed calls in a row after which a server is left out. If no connection to it can be made, one failed
call is enough."""
_ONLY_MODEL = frozenset({"model"})
_MAX_NAMED = 4
_MAX_REASON_CHARS = 120


@dataclass(frozen=True)
class PollIntervals:
    """The times at which servers are polled.

    All values are seconds. The list of servers is read again every `tick`. A server that was left out is first polled
    after `first`. Each further wait is twice as long as the one before, up to `longest`. A server that has calls but
    does not reply is polled after `silent`. If no server is up, calls wait for at most `patience`.
    """

    tick: float = 1.0
    first: float = 0.5
    longest: float = 30.0
    silent: float = 60.0
    patience: float = 300.0


USUAL = PollIntervals()


class PooledServer:
    """A server in a pool, with its own rate limiter. Callers use it like any other model."""

    def __init__(self, fleet: ServerPool, server: Server, most: int) -> None:
        self.server = server
        self.limiter = RateLimiter(most, freed=fleet.wake)
        self.up = False
        self.refused = ""
        self.why = "not checked yet"
        self.faults = 0
        self.absences = 0
        self.next_look = 0.0
        self.heard_at = 0.0
        self.leaving = False
        self._fleet = fleet

    @property
    def name(self) -> str:
        """The server's name in messages."""
        return self.server.name

    @property
    def has_room(self) -> bool:
        """Whether a request can be sent to the server now."""
        return self.up and self.limiter.has_room

    async def answer(self, request: Request) -> Reply:
        """Answer once, and note whether the server works and serves the same model as the others.

        Raises:
            AnswerError: the server's own error. If other servers are available, the error says that the call can be
                sent to them.
        """
        if self.limiter.in_flight <= 1:
            self.heard_at = asyncio.get_running_loop().time()
        try:
            reply = await self.server.answer(request)
        except AnswerError as error:
            failure = self._fleet.failed(self, error)
            if failure is error:
                raise
        else:
            return await self._fleet.answered(self, reply)
        raise failure


@dataclass
class ServerPool:
    """The servers of one model. Each server gets at most `most_each` calls at a time. `model` is the model's name in
    errors. The functions in `grown` are called when servers have joined."""

    model: str
    serving: ServerList
    most_each: int
    rhythm: PollIntervals = field(default_factory=lambda: USUAL)
    trouble: str = ""
    members: list[PooledServer] = field(default_factory=list)
    grown: list[Callable[[], None]] = field(default_factory=list)
    _answers: int = 0
    _consensus: ServerConsensus = field(init=False)
    _waiting: deque[asyncio.Future[tuple[PooledServer, int]]] = field(default_factory=deque)
    _undecided: dict[PooledServer, dict[str, str]] = field(default_factory=dict)
    _decided: asyncio.Event = field(default_factory=asyncio.Event)
    _end_reason: AnswerError | Stopped | None = None
    _agreed: tuple[str | None, str | None] | None = None

    def __post_init__(self) -> None:
        if self.serving.patience is not None:
            self.rhythm = replace(self.rhythm, patience=self.serving.patience)
        self._consensus = ServerConsensus(None if self.serving.strict else _ONLY_MODEL)

    # For the dispatcher and for displays of progress

    @property
    def most(self) -> int:
        """The maximum number of parallel calls, over all servers."""
        return self.most_each * max(1, sum(not member.refused for member in self.members))

    @property
    def limit(self) -> float:
        """The number of parallel calls that the servers allow at present, counting only servers that are up."""
        return sum(member.limiter.limit for member in self.members if member.up)

    @property
    def in_flight(self) -> int:
        """The number of calls in flight."""
        return sum(member.limiter.in_flight for member in self.members)

    @property
    def answers(self) -> int:
        """The number of calls that were answered, including those in batches."""
        return self._answers + sum(member.limiter.answers for member in self.members)

    @answers.setter
    def answers(self, count: int) -> None:
        self._answers += count - self.answers

    @property
    def refusing(self) -> bool:
        """Whether all servers that are up have refused every request for a while, for lack of capacity."""
        up = [member.limiter.refusing for member in self.members if member.up]
        return bool(up) and all(up)

    @property
    def refused(self) -> list[str]:
        """The servers that are left out permanently, each with the reason."""
        return [f"{member.name}: {member.refused}" for member in self.members if member.refused]

    def summary(self) -> str:
        """A text with the number of servers that are up, and the reason why each of the others is not up."""
        members = self.members
        out = [f"{member.name} ({member.refused or member.why})" for member in members if not member.up]
        said = [f"{sum(member.up for member in members)} of {len(members)} {self.serving.noun} up"]
        said += [f"left out: {list_names(out, _MAX_NAMED)}"] if out else []
        said += [f"using the previous list, since {self.trouble}"] if self.trouble else []
        return "; ".join(said)

    async def enter(self) -> tuple[PooledServer, int]:
        """Wait until a server can take a call; return the least busy server and a ticket for its limiter.

        Raises:
            Stopped: the run is stopping, or no server has been up for a long time.
            AnswerError: the servers serve different models, and Overton cannot know which model the user wants.
        """
        if self._end_reason is not None:
            raise self._end_reason
        if not self._waiting and (member := self._least_busy()) is not None:
            return member, member.limiter.take()
        future: asyncio.Future[tuple[PooledServer, int]] = asyncio.get_running_loop().create_future()
        self._waiting.append(future)
        try:
            return await future
        except asyncio.CancelledError:
            if future.done() and not future.cancelled() and future.exception() is None:
                future.result()[0].limiter.leave()  # the call was admitted just as its wait was cancelled
            raise

    def wake(self) -> None:
        """Admit waiting calls, if there is capacity."""
        while self._waiting and (member := self._least_busy()) is not None:
            future = self._waiting.popleft()
            if not future.done():
                future.set_result((member, member.limiter.take()))

    def close(self) -> None:
        """Release all waiting calls. They send nothing, because the run is stopping."""
        self.end(Stopped("the run is stopping"))

    def end(self, error: AnswerError | Stopped) -> None:
        """Answer no more calls. If this is called more than once, the first reason counts."""
        self._end_reason = self._end_reason or error
        while self._waiting:
            if not (future := self._waiting.popleft()).done():
                future.set_exception(self._end_reason)
        self._decided.set()

    # Outcomes of calls

    async def answered(self, member: PooledServer, reply: Reply) -> Reply:
        """Return a server's reply once it is known that the server serves the same model as the others.

        Raises:
            AnswerError: the server serves another model, and the reply is discarded.
        """
        member.heard_at = asyncio.get_running_loop().time()
        member.faults = member.absences = 0
        if (reply.model, reply.fingerprint) == self._agreed and not member.refused:
            return reply  # nearly always
        report = {name: value for name in ("model", "fingerprint") if (value := getattr(reply, name))}
        if not self._consensus.settles(report):
            self._undecided[member] = report
            self._decide()
            while self._end_reason is None and not self._consensus.settles(report):
                await self._decided.wait()
        if isinstance(self._end_reason, AnswerError):
            raise self._end_reason
        if not member.refused and (difference := self._consensus.difference(report)):
            self.refuse(member, f"serves another model: {difference}")
        if member.refused:
            raise self._other_model_error(member)
        self._agreed = reply.model, reply.fingerprint
        return reply

    def failed(self, member: PooledServer, error: AnswerError) -> AnswerError:
        """Note that a server has not answered a call. Return the error for the call. Another server may still answer
        the call."""
        now = asyncio.get_running_loop().time()
        member.heard_at = now
        if isinstance(error, RejectedError):
            return error
        if isinstance(error, AccessError):
            self.refuse(member, str(error))
            if all(other.refused for other in self.members):
                return error
            return UnavailableError(
                error.kind, str(error), maybe_billed=error.maybe_billed, elsewhere=self._has_others_up(member)
            )
        if isinstance(error, UnavailableError):
            self._note_failure(member, error, now)
            error.elsewhere = self._has_others_up(member)
        return error

    def _note_failure(self, member: PooledServer, error: UnavailableError, now: float) -> None:
        if error.kind == "rate limit":
            if (error.retry_after or 0.0) > self.rhythm.patience:
                self.leave_out(
                    member, f"it asked for a pause of {error.retry_after:.0f} s", now + (error.retry_after or 0)
                )
            return
        member.faults += 1
        if error.kind == "connection" or member.faults >= _MAX_FAULTS:
            self.leave_out(member, str(error))

    def _other_model_error(self, member: PooledServer) -> UnavailableError:
        message = f"{self.model}: {member.name} is left out: {member.refused}"
        return UnavailableError("other model", message, maybe_billed=True, elsewhere=self._has_others_up(member))

    def _has_others_up(self, member: PooledServer) -> bool:
        return any(other.up for other in self.members if other is not member)

    def _least_busy(self) -> PooledServer | None:
        """The least busy server with capacity."""
        best, least = None, 2.0
        for member in self.members:
            if member.has_room and (load := member.limiter.in_flight / member.limiter.limit) < least:
                best, least = member, load
        return best

    # Which servers are up

    def judge(self, looked: Mapping[PooledServer, Mapping[str, str]]) -> None:
        """Use the polled servers that serve the same weights as the majority, and leave the others out permanently."""
        if differing := self._consensus.settle(looked.values()):
            self._end_for_difference([member.name for member in looked], differing)
        for member, report in looked.items():
            if difference := self._consensus.difference(report):
                self.refuse(member, f"serves other weights: {difference}")
            elif not member.refused:
                member.up, member.why, member.heard_at = True, "", asyncio.get_running_loop().time()
        self.wake()

    def leave_out(self, member: PooledServer, why: str, until: float | None = None) -> None:
        """Send a server no calls until a poll finds it up again."""
        now = asyncio.get_running_loop().time()
        pause: float = min(self.rhythm.first * 2 ** min(member.absences, 20), self.rhythm.longest)
        if member.up or member.next_look <= now:
            member.absences += 1
            member.next_look = now + pause if until is None else until
        member.up, member.why = False, why[:_MAX_REASON_CHARS]
        self._decide()

    def refuse(self, member: PooledServer, why: str) -> None:
        """Leave a server out permanently."""
        member.up, member.refused = False, why
        if all(other.refused for other in self.members):
            self.end(AccessError("no server", f"{self.model}: no server is left: {'; '.join(self.refused)}"))
        self._decide()

    def _decide(self) -> None:
        """Determine the properties from the first replies. This waits until most servers agree or every server with a
        call has replied."""
        votes = [self._consensus.relevant(report) for report in self._undecided.values()]
        up = [member for member in self.members if member.up]
        awaited = any(member.limiter.in_flight and member not in self._undecided for member in up)
        if not votes or (awaited and max(map(votes.count, votes)) * 2 <= len(up)):
            return
        if differing := self._consensus.settle(votes):
            self._end_for_difference([member.name for member in self._undecided], differing)
        self._undecided.clear()
        self._decided.set()
        self._decided = asyncio.Event()

    def _end_for_difference(self, names: Sequence[str], differing: str) -> None:
        message = (
            f"{self.model}: its servers ({', '.join(names)}) serve different models. The same number of"
            f" servers report {differing}. Name only the servers of the model that you want (or set alike=model if the"
            " models may differ)"
        )
        self.end(AccessError("other model", message, maybe_billed=True))


@asynccontextmanager
async def watching_servers(fleets: Iterable[ServerPool]) -> AsyncIterator[None]:
    """Watch these servers, and poll them, while the block runs."""
    async with AsyncExitStack() as stack:
        for fleet in fleets:
            await stack.enter_async_context(_ServerWatcher(fleet))
        yield


class _ServerWatcher:
    def __init__(self, fleet: ServerPool) -> None:
        self._fleet = fleet
        self._tasks: set[asyncio.Task[None]] = set()
        self._being_polled: set[PooledServer] = set()
        self._none_since = 0.0

    async def __aenter__(self) -> None:
        self._task = asyncio.create_task(self._watch())
        self._task.add_done_callback(self._pass_on_error)

    async def __aexit__(self, *_: object) -> None:
        for task in (self._task, *self._tasks):
            task.cancel()
        await asyncio.gather(self._task, *self._tasks, return_exceptions=True)

    def _pass_on_error(self, task: asyncio.Task[None]) -> None:
        """Handle the end of the task. If it ended with an error, the error ends the run, too."""
        if not task.cancelled() and (error := task.exception()) is not None:
            self._fleet.end(error if isinstance(error, AnswerError | Stopped) else Stopped(repr(error)))

    async def _watch(self) -> None:
        fleet = self._fleet
        while True:
            await self._read_list()
            self._poll_due()
            self._check_some_up()
            await asyncio.sleep(fleet.rhythm.tick)

    async def _read_list(self) -> None:
        """Read the list of servers again. If it cannot be read, keep the previous servers."""
        try:
            self._update_members(await self._fleet.serving.listed())
            self._fleet.trouble = ""
        except UnavailableError as error:
            self._fleet.trouble = str(error)

    def _update_members(self, listed: Iterable[Server]) -> None:
        """Make one member for each server of the list. A server no longer listed finishes its calls and leaves."""
        fleet = self._fleet
        servers = {id(server): server for server in listed}
        for member in list(fleet.members):
            if servers.pop(id(member.server), None) is None:
                self._retire(member)
            else:
                member.leaving = False
        fleet.members += [PooledServer(fleet, server, fleet.most_each) for server in servers.values()]
        for notify in fleet.grown if servers else ():
            notify()

    def _retire(self, member: PooledServer) -> None:
        fleet = self._fleet
        if not member.leaving:
            member.leaving = True
            fleet.leave_out(member, "no longer in the list")
        if not member.limiter.in_flight:
            fleet.members.remove(member)
            fleet.answers += member.limiter.answers
            self._start(member.server.close())

    def _poll_due(self) -> None:
        """Poll servers that were left out, once they are due, and servers that have long been silent although they have
        calls."""
        now = asyncio.get_running_loop().time()
        members = [member for member in self._fleet.members if member not in self._being_polled and not member.refused]
        due = [member for member in members if not (member.up or member.leaving) and member.next_look <= now]
        if due:
            self._start(self._poll(due))
        for member in members:
            if member.up and member.limiter.in_flight and now - member.heard_at > self._fleet.rhythm.silent:
                self._start(self._poll([member]))

    async def _poll(self, members: Sequence[PooledServer]) -> None:
        """Poll some servers in parallel. Those that do not report the same weights as the majority are left out."""
        self._being_polled |= set(members)
        try:
            found = await asyncio.gather(*map(self._report_of, members))
        finally:
            self._being_polled -= set(members)
        reports = dict(zip(members, found, strict=True))
        self._fleet.judge({member: said for member, said in reports.items() if said is not None and not member.leaving})
        for member, said in reports.items():
            if said is None and member.limiter.in_flight:
                member.server.abandon()

    async def _report_of(self, member: PooledServer) -> Mapping[str, str] | None:
        """A server's report about its model, None if the server is not up."""
        try:
            return await member.server.look()
        except UnavailableError as error:
            self._fleet.leave_out(member, str(error))
            return None

    def _start(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _check_some_up(self) -> None:
        """Stop the run if no server has been up for too long."""
        fleet, now = self._fleet, asyncio.get_running_loop().time()
        if any(member.up for member in fleet.members):
            self._none_since = 0.0
        elif not self._none_since:
            self._none_since = now
        elif now - self._none_since > fleet.rhythm.patience:
            fleet.end(
                Stopped(f"{fleet.model}: no server has been up for {fleet.rhythm.patience:.0f} s: {fleet.summary()}")
            )
