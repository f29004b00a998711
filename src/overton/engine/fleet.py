"""Several servers of one model: each has its own pace, calls go to the least busy, lost servers are found again.

What is known of servers comes from their replies and from polling them, which costs nothing. A server that fails is
left out, polled, and taken back when it is up; its call is worth retrying elsewhere, at once. A server that serves
something other than the rest is left out for good.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from overton.calls import Reply, Request, Server, ServerList
from overton.engine.alike import Alike
from overton.engine.pacing import Pacer
from overton.errors import AccessError, AnswerError, RejectedError, Stopped, UnavailableError

__all__ = ["Fleet", "Member", "Rhythm"]

_FAULTS = 3
"""Failed calls in a row after which a server is left out; if no connection to it can be made, one is enough."""
_ONLY_MODEL = frozenset({"model"})
_NAMED = 4
_LONGEST_REASON = 120


@dataclass(frozen=True)
class Rhythm:
    """When servers are polled; all in seconds.

    Every `tick` the list is read again. A server left out is polled after `first`, then after twice as long each time,
    at most `longest`; one that has calls but is silent, after `silent`. With none up, calls wait for `patience`.
    """

    tick: float = 1.0
    first: float = 0.5
    longest: float = 30.0
    silent: float = 60.0
    patience: float = 300.0


USUAL = Rhythm()


class Member:
    """A server in a fleet, with its pace; to its callers, an answerer like any other."""

    def __init__(self, fleet: Fleet, server: Server, most: int) -> None:
        self.server = server
        self.pacer = Pacer(most, freed=fleet.wake)
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
        """Its name for users."""
        return self.server.name

    @property
    def has_room(self) -> bool:
        """Whether a request can be sent to it now."""
        return self.up and self.pacer.has_room

    async def answer(self, request: Request) -> Reply:
        """Answer once; the outcome shows whether the server is well and serves what the others do.

        Raises:
            AnswerError: the server's own; if others are available, the call is worth sending to them.
        """
        if self.pacer.in_flight <= 1:
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
class Fleet:
    """The servers of one model. `most_each` calls go to each at a time; `model` is its name in errors; the functions in
    `grown` are called when servers have joined."""

    model: str
    serving: ServerList
    most_each: int
    rhythm: Rhythm = field(default_factory=lambda: USUAL)
    trouble: str = ""
    members: list[Member] = field(default_factory=list)
    grown: list[Callable[[], None]] = field(default_factory=list)
    _answers: int = 0
    _alike: Alike = field(init=False)
    _waiting: deque[asyncio.Future[tuple[Member, int]]] = field(default_factory=deque)
    _undecided: dict[Member, dict[str, str]] = field(default_factory=dict)
    _decided: asyncio.Event = field(default_factory=asyncio.Event)
    _over: AnswerError | Stopped | None = None
    _agreed: tuple[str | None, str | None] | None = None

    def __post_init__(self) -> None:
        if self.serving.patience is not None:
            self.rhythm = replace(self.rhythm, patience=self.serving.patience)
        self._alike = Alike(None if self.serving.strict else _ONLY_MODEL)

    # For the desk and for displays of progress

    @property
    def most(self) -> int:
        """How many calls all servers together take at a time."""
        return self.most_each * max(1, sum(not member.refused for member in self.members))

    @property
    def limit(self) -> float:
        """How many calls the servers that are up take now."""
        return sum(member.pacer.limit for member in self.members if member.up)

    @property
    def in_flight(self) -> int:
        """How many calls are under way."""
        return sum(member.pacer.in_flight for member in self.members)

    @property
    def answers(self) -> int:
        """How many calls were answered, including those in batches."""
        return self._answers + sum(member.pacer.answers for member in self.members)

    @answers.setter
    def answers(self, count: int) -> None:
        self._answers += count - self.answers

    @property
    def refusing(self) -> bool:
        """Whether all servers that are up have refused everything for a while, for lack of capacity."""
        up = [member.pacer.refusing for member in self.members if member.up]
        return bool(up) and all(up)

    @property
    def refused(self) -> list[str]:
        """The servers that are left out for good, each with the reason."""
        return [f"{member.name}: {member.refused}" for member in self.members if member.refused]

    def summary(self) -> str:
        """How many servers are up; which are not, and why."""
        members = self.members
        out = [f"{one.name} ({one.refused or one.why})" for one in members if not one.up]
        more = f" and {len(out) - _NAMED} more" if len(out) > _NAMED else ""
        said = [f"{sum(one.up for one in members)} of {len(members)} {self.serving.noun} up"]
        said += [f"left out: {', '.join(out[:_NAMED])}{more}"] if out else []
        said += [f"using the previous list, since {self.trouble}"] if self.trouble else []
        return "; ".join(said)

    async def enter(self) -> tuple[Member, int]:
        """Wait for a place; returns the least busy server and a ticket for its pacer.

        Raises:
            Stopped: the run is stopping, or no server has been up for a long time.
            AnswerError: the servers serve different models, and it is unknown which is meant.
        """
        if self._over is not None:
            raise self._over
        if not self._waiting and (member := self._free()) is not None:
            return member, member.pacer.take()
        future: asyncio.Future[tuple[Member, int]] = asyncio.get_running_loop().create_future()
        self._waiting.append(future)
        try:
            return await future
        except asyncio.CancelledError:
            if future.done() and not future.cancelled() and future.exception() is None:
                future.result()[0].pacer.leave()  # the place was given just as the wait was cancelled
            raise

    def wake(self) -> None:
        """There may be room: admit the waiters."""
        while self._waiting and (member := self._free()) is not None:
            future = self._waiting.popleft()
            if not future.done():
                future.set_result((member, member.pacer.take()))

    def close(self) -> None:
        """Release all waiters: the run is stopping, and they will send nothing."""
        self.end(Stopped("the run is stopping"))

    def end(self, error: AnswerError | Stopped) -> None:
        """No more calls are answered; the first reason counts."""
        self._over = self._over or error
        while self._waiting:
            if not (future := self._waiting.popleft()).done():
                future.set_exception(self._over)
        self._decided.set()

    # Outcomes of calls

    async def answered(self, member: Member, reply: Reply) -> Reply:
        """A server has replied; returns the reply once it is known to come from the model that the others serve.

        Raises:
            AnswerError: it comes from another; the reply is discarded.
        """
        member.heard_at = asyncio.get_running_loop().time()
        member.faults = member.absences = 0
        if (reply.model, reply.fingerprint) == self._agreed and not member.refused:
            return reply  # as is nearly always the case
        report = {name: value for name in ("model", "fingerprint") if (value := getattr(reply, name))}
        if not self._alike.settles(report):
            self._undecided[member] = report
            self._decide()
            while self._over is None and not self._alike.settles(report):
                await self._decided.wait()
        if isinstance(self._over, AnswerError):
            raise self._over
        if not member.refused and (difference := self._alike.difference(report)):
            self.refuse(member, f"serves another model: {difference}")
        if member.refused:
            raise self._other_model(member)
        self._agreed = reply.model, reply.fingerprint
        return reply

    def failed(self, member: Member, error: AnswerError) -> AnswerError:
        """A server has not answered; returns the error for the call, which another server may still answer."""
        now = asyncio.get_running_loop().time()
        member.heard_at = now
        if isinstance(error, RejectedError):
            return error
        if isinstance(error, AccessError):
            self.refuse(member, str(error))
            if all(one.refused for one in self.members):
                return error
            return UnavailableError(
                error.kind, str(error), maybe_billed=error.maybe_billed, elsewhere=self._others(member)
            )
        if isinstance(error, UnavailableError):
            self._note(member, error, now)
            error.elsewhere = self._others(member)
        return error

    def _note(self, member: Member, error: UnavailableError, now: float) -> None:
        if error.kind == "rate limit":
            if (error.retry_after or 0.0) > self.rhythm.patience:
                self.leave_out(
                    member, f"it asked for a pause of {error.retry_after:.0f} s", now + (error.retry_after or 0)
                )
            return
        member.faults += 1
        if error.kind == "connection" or member.faults >= _FAULTS:
            self.leave_out(member, str(error))

    def _other_model(self, member: Member) -> UnavailableError:
        message = f"{self.model}: {member.name} is left out: {member.refused}"
        return UnavailableError("other model", message, maybe_billed=True, elsewhere=self._others(member))

    def _others(self, member: Member) -> bool:
        return any(one.up for one in self.members if one is not member)

    def _free(self) -> Member | None:
        """The least busy server with room."""
        best, least = None, 2.0
        for member in self.members:
            if member.has_room and (load := member.pacer.in_flight / member.pacer.limit) < least:
                best, least = member, load
        return best

    # Which servers are up

    def judge(self, looked: Mapping[Member, Mapping[str, str]]) -> None:
        """These were polled and are up: take in those that have the weights of the majority."""
        if differing := self._alike.settle(looked.values()):
            self._differ([member.name for member in looked], differing)
        for member, report in looked.items():
            if difference := self._alike.difference(report):
                self.refuse(member, f"serves other weights: {difference}")
            elif not member.refused:
                member.up, member.why, member.heard_at = True, "", asyncio.get_running_loop().time()
        self.wake()

    def leave_out(self, member: Member, why: str, until: float | None = None) -> None:
        """Give a server no calls until it is polled again and found up."""
        now = asyncio.get_running_loop().time()
        pause: float = min(self.rhythm.first * 2 ** min(member.absences, 20), self.rhythm.longest)
        if member.up or member.next_look <= now:
            member.absences += 1
            member.next_look = now + pause if until is None else until
        member.up, member.why = False, why[:_LONGEST_REASON]
        self._decide()

    def refuse(self, member: Member, why: str) -> None:
        """Leave a server out for good."""
        member.up, member.refused = False, why
        if all(one.refused for one in self.members):
            self.end(AccessError("no server", f"{self.model}: no server is left: {'; '.join(self.refused)}"))
        self._decide()

    def _decide(self) -> None:
        """Settle what the first replies report, once most servers agree or all that were called have replied."""
        votes = [self._alike.relevant(one) for one in self._undecided.values()]
        up = [one for one in self.members if one.up]
        awaited = any(one.pacer.in_flight and one not in self._undecided for one in up)
        if not votes or (awaited and max(map(votes.count, votes)) * 2 <= len(up)):
            return
        if differing := self._alike.settle(votes):
            self._differ([one.name for one in self._undecided], differing)
        self._undecided.clear()
        self._decided.set()
        self._decided = asyncio.Event()

    def _differ(self, names: Sequence[str], differing: str) -> None:
        message = (
            f"{self.model}: its servers ({', '.join(names)}) serve different models: they report {differing}, equally"
            " often: name only those that serve the model meant (or alike=model, if they may differ)"
        )
        self.end(AccessError("other model", message, maybe_billed=True))
