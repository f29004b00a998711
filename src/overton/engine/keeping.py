"""Looking after a fleet while it works: rereading its list, polling lost servers, finding silent ones."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager

from overton.calls import Server
from overton.engine.fleet import Fleet, Member
from overton.errors import AnswerError, Stopped, UnavailableError

__all__ = ["keeping"]


@asynccontextmanager
async def keeping(fleets: Iterable[Fleet]) -> AsyncIterator[None]:
    """Look after these fleets while the block runs."""
    async with AsyncExitStack() as stack:
        for fleet in fleets:
            await stack.enter_async_context(_Keeper(fleet))
        yield


class _Keeper:
    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self._looks: set[asyncio.Task[None]] = set()
        self._looked_at: set[Member] = set()
        self._none_since = 0.0

    async def __aenter__(self) -> None:
        self._task = asyncio.create_task(self._keep())
        self._task.add_done_callback(self._kept)

    async def __aexit__(self, *_: object) -> None:
        for task in (self._task, *self._looks):
            task.cancel()
        await asyncio.gather(self._task, *self._looks, return_exceptions=True)

    def _kept(self, task: asyncio.Task[None]) -> None:
        """The task has ended; its error, if any, ends the run too."""
        if not task.cancelled() and (error := task.exception()) is not None:
            self._fleet.end(error if isinstance(error, AnswerError | Stopped) else Stopped(repr(error)))

    async def _keep(self) -> None:
        fleet = self._fleet
        while True:
            await self._read_list()
            self._look_around()
            self._check_some_up()
            await asyncio.sleep(fleet.rhythm.tick)

    async def _read_list(self) -> None:
        """Read the list again; if it cannot be read, the previous servers stay."""
        try:
            self._note(await self._fleet.serving.listed())
            self._fleet.trouble = ""
        except UnavailableError as error:
            self._fleet.trouble = str(error)

    def _note(self, listed: Iterable[Server]) -> None:
        """Have one member per server of the list; one no longer listed finishes its calls and leaves."""
        fleet = self._fleet
        servers = {id(one): one for one in listed}
        for member in list(fleet.members):
            if servers.pop(id(member.server), None) is None:
                self._let_go(member)
            else:
                member.leaving = False
        fleet.members += [Member(fleet, one, fleet.most_each) for one in servers.values()]
        for notify in fleet.grown if servers else ():
            notify()

    def _let_go(self, member: Member) -> None:
        fleet = self._fleet
        if not member.leaving:
            member.leaving = True
            fleet.leave_out(member, "no longer in the list")
        if not member.pacer.in_flight:
            fleet.members.remove(member)
            fleet.answers += member.pacer.answers
            self._start(member.server.close())

    def _look_around(self) -> None:
        """Poll servers that are left out and due, and those with calls that have long been silent."""
        now = asyncio.get_running_loop().time()
        members = [one for one in self._fleet.members if one not in self._looked_at and not one.refused]
        due = [one for one in members if not (one.up or one.leaving) and one.next_look <= now]
        if due:
            self._start(self._look_at(due))
        for member in members:
            if member.up and member.pacer.in_flight and now - member.heard_at > self._fleet.rhythm.silent:
                self._start(self._look_at([member]))

    async def _look_at(self, members: Sequence[Member]) -> None:
        """Poll some in parallel and judge them together: what the majority report of their weights counts."""
        self._looked_at |= set(members)
        try:
            found = await asyncio.gather(*map(self._report_of, members))
        finally:
            self._looked_at -= set(members)
        reports = dict(zip(members, found, strict=True))
        self._fleet.judge({one: said for one, said in reports.items() if said is not None and not one.leaving})
        for member, said in reports.items():
            if said is None and member.pacer.in_flight:
                member.server.abandon()

    async def _report_of(self, member: Member) -> Mapping[str, str] | None:
        """What a server reports of itself, None if it is not up."""
        try:
            return await member.server.look()
        except UnavailableError as error:
            self._fleet.leave_out(member, str(error))
            return None

    def _start(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._looks.add(task)
        task.add_done_callback(self._looks.discard)

    def _check_some_up(self) -> None:
        """Calls wait for a server to come back, but not for ever."""
        fleet, now = self._fleet, asyncio.get_running_loop().time()
        if any(member.up for member in fleet.members):
            self._none_since = 0.0
        elif not self._none_since:
            self._none_since = now
        elif now - self._none_since > fleet.rhythm.patience:
            fleet.end(
                Stopped(f"{fleet.model}: no server has been up for {fleet.rhythm.patience:.0f} s: {fleet.summary()}")
            )
