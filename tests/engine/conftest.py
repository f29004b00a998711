"""Answerers under a test's control, and dispatchers with a journal in a temporary folder."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from tests.engine.models import model_of

from overton.calls import Price, Reply, Request, Settings, Trial, user
from overton.engine import Budget, Dispatcher, Journal, Lane, Limits, RateLimiter, RetryPolicy, Seat
from overton.engine.ask import TrialAsk
from overton.engine.records import RecordWriter


class Row(msgspec.Struct, frozen=True):
    """The record of these tests."""

    trial: str
    answer: str


@dataclass
class Puppet:
    """An answerer whose behaviour the test defines; `asked` has the text of every attempt, in order."""

    behave: Callable[[str, int], Awaitable[Reply]]
    name: str = "test/puppet"
    identity: str = "test/puppet"
    holds_form: bool = False
    asked: list[str] = field(default_factory=list)

    async def answer(self, request: Request) -> Reply:
        text = request.messages[-1].content
        self.asked.append(text)
        return await self.behave(text, self.asked.count(text))

    async def close(self) -> None:
        """Nothing to release."""


@dataclass
class Bench:
    """A maker of dispatchers on one journal, which closes them at the end."""

    path: Path
    journals: list[Journal] = field(default_factory=list)

    def dispatcher(self, *, retry_failed: bool = False, patience: RetryPolicy | None = None, **more: Any) -> Dispatcher:
        journal = Journal(self.path, retry_failed=retry_failed)
        self.journals.append(journal)
        limits = more.pop("limits", Limits())
        return Dispatcher(journal, Budget(limits), patience or RetryPolicy(4, 0.001, 0.002), **more)

    def again(self, **more: Any) -> Dispatcher:
        """A dispatcher for the next session."""
        self.close()
        return self.dispatcher(**more)

    def close(self) -> None:
        while self.journals:
            self.journals.pop().close()


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path / "journal.db")
    yield made
    made.close()


@pytest.fixture
def puppet() -> Callable[..., Puppet]:
    async def echo(text: str, attempt: int) -> Reply:
        return Reply(f"re: {text}")

    def make(behave: Callable[[str, int], Awaitable[Reply]] = echo, **more: Any) -> Puppet:
        return Puppet(behave, **more)

    return make


@pytest.fixture
def bind() -> Callable[..., Seat]:
    def make(answerer: Any, *, most: int = 8, price: Price | None = None, **settings: Any) -> Seat:
        return Seat(model_of(answerer, price=price), Settings(**settings), RateLimiter(most))

    return make


@pytest.fixture
def asking() -> Callable[..., TrialAsk]:
    def make(dispatcher: Dispatcher, bound: Seat, trial: str = "t", **bindings: Seat) -> TrialAsk:
        return TrialAsk(dispatcher, trial, {"subject": bound, **bindings})

    return make


@pytest.fixture
def study(tmp_path: Path) -> SimpleNamespace:
    """A study of one question per trial: `trials(count, items)`, `conduct`, and `lane(bound, trials)`."""

    def trials(count: int, items: int = 1) -> list[Trial]:
        return [Trial(f"i{k * items // count}/r{k}", f"i{k * items // count}", 0) for k in range(count)]

    async def conduct(trial: Trial, ask: Any) -> list[Row]:
        reply = await ask("subject", (user(trial.name),))
        return [Row(trial.name, reply.text)]

    def lane(bound: Seat, planned: list[Trial], **more: Any) -> Lane:
        outcomes = RecordWriter(tmp_path / "parts", Row, {"model": bound.model.answerer.name}, **more)
        return Lane({"subject": bound}, lambda: planned, outcomes, Counter(trial.item for trial in planned))

    return SimpleNamespace(trials=trials, conduct=conduct, lane=lane, Row=Row)
