"""Checks whether a model's first replies can be read, before the other calls are paid for.

First replies answer normal calls of the run, so no extra calls are made. Replies of earlier sessions count, too. The
model's other calls wait until it is certain whether at least half of the first replies can be read. If fewer can be
read, the run stops.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Literal, NamedTuple

import msgspec

from overton.calls import Answerer, Failure, Message, Reply, Request
from overton.calls.read_request import ReadRequest, read_request
from overton.errors import UnreadReplies, quoted
from overton.judging import echoes, faults_of, is_cut
from overton.judging.refusals import reads_as_refusal

if TYPE_CHECKING:
    from overton.engine.identity import CallKey

SAMPLE = 10
"""The number of first replies that are checked, per model and per judge. Such a small sample costs little and seldom
errs. A model is stopped in 5% of runs if 70% of its replies can be read, and in 0.6% if 80% can be read (binomial)."""

_QUOTED = 3
_LONGEST_QUOTED = 80
_CUT, _EMPTY, _ECHO = "it was cut off at max_tokens", "it is empty", "it repeats its prompt"
_SAME = "another prompt got the same reply"
_ADVICE_MODEL = "Check the server's prompt template and the model's settings (--model-arg)"
_ADVICE_JUDGE = "Try another judge, or other settings (--model-arg)"
_ADVICE = {
    _CUT: "Allow longer replies (--model-arg NAME max_tokens=N)",
    _SAME: "Check the server's prompt template; if the reply is the model's usual refusal, continue with --anyway",
    _EMPTY: "Check the content that the server returns: reasoning may use up max_tokens (--model-arg NAME"
    " max_tokens=N)",
}


class ReadCount(msgspec.Struct, frozen=True):
    """The number of a model's first replies that could be read, the number checked (`of`), and the decision ('' while
    there is no decision)."""

    read: int
    of: int
    decision: Literal["", "passed", "failed"] = ""


class Unread(NamedTuple):
    """A reply that could not be read: its trial, its text, and the problem."""

    trial: str
    text: str
    problem: str


def quote_unread(replies: Sequence[Unread], *, judges: bool) -> str:
    """Quote the first few distinct replies that could not be read, and add advice."""
    first = list({reply.text: reply for reply in reversed(replies)}.values())[::-1][:_QUOTED]
    shown = [
        f"{quoted(reply.text, _LONGEST_QUOTED)} ({reply.trial + ': ' if reply.trial else ''}{reply.problem})"
        for reply in first
    ]
    advice = dict.fromkeys(_ADVICE.get(reply.problem, _ADVICE_JUDGE if judges else _ADVICE_MODEL) for reply in first)
    alike = " each time" if len(first) == 1 and len(replies) > 1 else ""
    return f"The model replied{alike}: {'; '.join(shown)}. {'. '.join(advice)}"


def shown_name(name: str, *, judges: bool) -> str:
    """The name of a model's sample of first replies."""
    return f"{name} as judge" if judges else name


class FirstReplies:
    """The samples of first replies of a run's models, by name ('NAME', 'NAME as judge').

    `known` has the counts of earlier sessions. A sample that passed is not repeated, and a sample that failed is
    repeated with new replies. With `anyway`, calls do not wait and the run does not stop. `are_free` is True if models
    reply with longer texts, which a judge reads. In this case, a reply counts as unreadable if another prompt already
    got a reply with the same text. `found` is called with each new count. `stop` is called with the error if the run
    has to stop.
    """

    def __init__(
        self,
        known: Mapping[str, ReadCount],
        *,
        anyway: bool,
        are_free: bool,
        stop: Callable[[UnreadReplies], None],
        found: Callable[[str, ReadCount], None] = lambda name, count: None,
    ) -> None:
        self._known = known
        self._anyway = anyway
        self.are_free = are_free
        self._found = found
        self._stop = stop
        self._samples: dict[tuple[str, bool], Sample | None] = {}

    def sample(self, answerer: Answerer, *, judges: bool) -> Sample | None:
        """The sample of a model's replies, either as a judge or in another role. The result is None if an earlier
        session has finished the check."""
        key = answerer.identity, judges
        if key not in self._samples:
            name = shown_name(answerer.name, judges=judges)
            before = self._known[name].decision if name in self._known else ""
            made = Sample(name, judges, self, only_new=before == "failed", is_open=self._anyway)
            self._samples[key] = None if before == "passed" else made
        return self._samples[key]

    def decide(self, sample: Sample) -> None:
        """Decide, after another reply, whether the run continues or stops. While this is uncertain, make no
        decision."""
        if 2 * sample.read >= SAMPLE:
            sample.open()
        elif 2 * len(sample.unread) > SAMPLE and not self._anyway and not sample.has_failed:
            sample.has_failed = True
            self._stop(sample.error())
        self._found(sample.name, sample.count)

    def release(self) -> None:
        """Release all waiting calls. They send nothing, because the run is stopping."""
        for sample in filter(None, self._samples.values()):
            sample.open()


@dataclass(eq=False)
class Sample:
    """A model's first replies. Until the sample is open, all further calls wait.

    `unread` are the replies that could not be read. With `only_new`, replies of earlier sessions do not count.
    """

    name: str
    judges: bool
    of: FirstReplies
    only_new: bool = False
    is_open: bool = False
    has_failed: bool = False
    read: int = 0
    unread: list[Unread] = field(default_factory=list)
    _prompts: dict[str, list[tuple[Message, ...]]] = field(default_factory=dict)
    _repeated: int = 0
    _held: set[object] = field(default_factory=set)
    _in_flight: int = 0
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    def place_of(self, request: Request, slot: bytes) -> object | None:
        """Identify the label or answer that a call asks for; successive calls may ask for the same label or answer.
        Return None if the check is finished, or if only the study can read replies of this format."""
        if self.is_full:
            return None
        return read_request() or (slot if request.form is None else None)

    @property
    def settled(self) -> int:
        """The number of replies that count so far."""
        return self.read + len(self.unread)

    @property
    def is_full(self) -> bool:
        """Whether the check is finished."""
        return self.settled >= SAMPLE

    @property
    def count(self) -> ReadCount:
        """The number of replies that could be read so far, and the decision."""
        decision: Literal["", "passed", "failed"] = "passed" if 2 * self.read >= SAMPLE else ""
        return ReadCount(self.read, self.settled, "failed" if self.has_failed else decision)

    async def enter(self, place: object) -> None:
        """Wait until a call for a label or answer may be made. The caller must then call `leave`.

        A call may also be made if no other call is in flight. Otherwise calls could wait for each other for ever.
        """
        while not (self.is_open or place in self._held or self._has_place or not self._in_flight):
            self._changed.clear()
            await self._changed.wait()
        if not self.is_open:
            self._held.add(place)
        self._in_flight += 1

    def leave(self) -> None:
        """Note that a call that entered has its outcome, or was cancelled."""
        self._in_flight -= 1
        self._changed.set()

    @property
    def _has_place(self) -> bool:
        return len(self._held) + self.settled < SAMPLE

    def hear(self, place: object, key: CallKey, request: Request, found: Reply | Failure, *, is_new: bool) -> None:
        """Note a call's outcome. If the study reads the reply, the reply counts once it has been read. Otherwise it
        counts at once."""
        if not is_new and self.only_new:
            return
        if isinstance(found, Failure):
            self._settle(place, key.trial, None, "")
        elif isinstance(place, ReadRequest):
            place.heard = partial(self._settle, place, key.trial)
        elif self._is_known(found, request):
            self._settle(place, key.trial, None, "")
        else:
            self._settle(place, key.trial, found, _problem_of_form(found, request) or self._repetition(found, request))

    def _is_known(self, reply: Reply, request: Request) -> bool:
        """Whether this prompt got the same reply before, as at temperature 0. Such a reply does not count again."""
        known = self._prompts.get(reply.text, ()) if self.of.are_free and self._repeated < SAMPLE else ()
        self._repeated += request.messages in known
        return request.messages in known

    def _repetition(self, reply: Reply, request: Request) -> str:
        """The problem of a reply that repeats the reply to another prompt; '' if it does not."""
        known = self._prompts.setdefault(reply.text, [])
        is_repeated = bool(known) and self.of.are_free and not self.judges
        known.append(request.messages)
        return _SAME if is_repeated else ""

    def _settle(self, place: object, trial: str, reply: Reply | None, problem: str) -> None:
        """Count the last reply to the calls for a label or answer. If there is no reply, let another call be checked
        instead."""
        self._held.discard(place)
        self._changed.set()
        if reply is None or self.is_full:
            return
        if not problem or (not self.judges and _is_refusal(reply)):
            self.read += 1
        else:
            self.unread.append(Unread(trial, reply.text, _problem_of_end(reply) or problem))
        self.of.decide(self)

    def open(self) -> None:
        """Let all waiting and further calls proceed."""
        self.is_open = True
        self._held.clear()
        self._changed.set()

    def error(self) -> UnreadReplies:
        """The error with which the run stops: the reason, some of the replies, and the remedy."""
        return UnreadReplies(
            f"Overton could not read {len(self.unread)} of the first {self.read + len(self.unread)} replies of"
            f" {self.name}. It stops if more than half of the first {SAMPLE} are unreadable."
            f" {quote_unread(self.unread, judges=self.judges)}"
        )


def _is_refusal(reply: Reply) -> bool:
    """Whether the reply is a refusal, which counts as an answer of a measured model but not of a judge."""
    return reply.refused or reads_as_refusal(reply.text)


def _problem_of_form(reply: Reply, request: Request) -> str:
    """The problem of a reply that the study does not parse; '' if it has none."""
    if "empty" in faults_of(reply.text):
        return _problem_of_end(reply) or _EMPTY
    prompts = [message.content for message in request.messages if message.role != "assistant"]
    if any(echoes(reply.text, [prompt]) and echoes(prompt, [reply.text]) for prompt in prompts):
        return _ECHO
    return _problem_of_end(reply)


def _problem_of_end(reply: Reply) -> str:
    """The problem of a truncated reply; '' if it was not truncated."""
    return _CUT if is_cut(reply.finish) else ""
