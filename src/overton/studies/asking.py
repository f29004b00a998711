"""Asking until a reply can be read: the one loop by which every study asks again and says what was wrong.

A study says what it asks, how a reply is read, and how a complaint is worded:

    def read(reply: Reply) -> Reading[Label]:
        return read_choice(reply.text, LABELS)

    answered = await ask_until_read(
        ask, "judge", [user(prompt)], read, attempts=2, complaint=lambda problem: f"That cannot be read: {problem}."
    )
    Row(label=answered.value, reading=answered.how, attempts=answered.attempts, failure=answered.failed)

A reply is requested again while its reading names a problem: the conversation continues with the reply and with the
complaint. So the reader decides everything:

- `Reading(value, "as is")` or `Reading(value, "repaired")`: this is the answer.
- `Reading.invalid(problem)`, or `UnreadableReply(problem)` raised at any depth: ask again.
- a value *and* a problem: ask again, but use this value if nothing better comes.
- neither value nor problem: there is no answer, and asking again is of no use (a refusal, if a study treats it so).

Nothing here raises CallFailed: a call that failed for good ends the asking and is recorded in `ReadableReply.failure`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import msgspec

from overton.calls import Ask, Form, Message, Reply, Settings, Usage, assistant, user
from overton.errors import CallFailed, OvertonError, Stopped
from overton.judging import How, Reading
from overton.judging.option_probabilities import OptionChoice

T = TypeVar("T")

Read = Callable[[Reply], Reading[T] | Awaitable[Reading[T]]]
"""How a reply is read; a coroutine function if that takes more calls. It may raise `UnreadableReply`."""


class UnreadableReply(OvertonError):
    """Raised by a reader: there is no value in the reply; the argument is the problem, worded for the model."""


@dataclass(frozen=True)
class ReadableRequest(Generic[T]):
    """One request: the arguments of `Ask`, and how a reply is read; with a `choice` its labels' probabilities are
    requested as well."""

    role: str
    messages: Sequence[Message]
    read: Read[T]
    form: Form | None = None
    speaker: str | None = None
    settings: Settings | None = None
    shared: bool = False
    head: int = 0
    choice: OptionChoice | None = None


@dataclass(frozen=True)
class ReadableReply(Generic[T]):
    """How the asking went: the replies in order, what was read from each, and the call that failed for good."""

    replies: tuple[Reply, ...] = ()
    readings: tuple[Reading[T], ...] = ()
    failure: CallFailed | None = None
    choice: OptionChoice | None = None

    @property
    def chances(self) -> tuple[float, ...] | None:
        """P of each label of the choice, in the reply that `value` was read from; None if they were not requested or
        not returned."""
        if self.choice is None:
            return None
        read = [reply for reply, reading in zip(self.replies, self.readings, strict=True) if reading.value is not None]
        return self.choice.chances(read[-1]) if read else None

    @property
    def value(self) -> T | None:
        """The last value that could be read, None if none could."""
        return self._usable_reading.value

    @property
    def how(self) -> How | None:
        """How `value` was read; 'invalid' if no reply has one, None if a call failed instead."""
        return None if self.failure and self.value is None else self._usable_reading.how

    @property
    def repaired(self) -> bool:
        """Whether there is a value, but in another form than requested."""
        return self.how == "repaired"

    @property
    def dropped(self) -> int:
        """How many further things that could not be used are in the reply that `value` is from."""
        return self._usable_reading.dropped

    @property
    def last(self) -> Reading[T]:
        """The reading of the last reply, for a study that does not fall back on an earlier one."""
        return self.readings[-1] if self.readings else Reading(None, "invalid")

    @property
    def problem(self) -> str:
        """The problem of the last reply, '' if it had none."""
        return self.last.problem

    @property
    def attempts(self) -> int:
        """How often it was asked, including the call that failed."""
        return len(self.replies) + (self.failure is not None)

    @property
    def unusable(self) -> int:
        """How many replies had a problem."""
        return sum(bool(reading.problem) for reading in self.readings)

    @property
    def refused(self) -> bool:
        """Whether the endpoint flagged the last reply as a refusal."""
        return bool(self.replies) and self.replies[-1].refused

    @property
    def failed(self) -> str | None:
        """Why the call failed for good ('kind: message'), None if none did."""
        return None if self.failure is None else str(self.failure)

    @property
    def _usable_reading(self) -> Reading[T]:
        usable = (reading for reading in reversed(self.readings) if reading.value is not None)
        return next(usable, Reading(None, "invalid"))


NO_LABEL = "none"
"""The label of a single answer that names none."""


def as_it_came(text: str) -> str:
    """A reply as it came, even if it is empty."""
    return text


_LONGEST_REPEATED = 2_000
"""Characters: a judge that rambles need not read all of its last reply again."""


def start_of(text: str, empty: str = "-") -> str:
    """The start of a reply, in place of the whole; `empty` for a blank one."""
    return text.strip()[:_LONGEST_REPEATED] or empty


def _replace_empty(text: str) -> str:
    """A reply as it came, '-' for an empty one: endpoints refuse messages without content."""
    return text or "-"


async def ask_until_read(
    ask: Ask,
    role: str,
    messages: Sequence[Message],
    read: Read[T],
    *,
    attempts: int,
    complaint: Callable[[str], str],
    repeated: Callable[[str], str] = _replace_empty,
    form: Form | None = None,
    speaker: str | None = None,
    settings: Settings | None = None,
    shared: bool = False,
    choice: OptionChoice | None = None,
) -> ReadableReply[T]:
    """Ask `role` until a reply can be read, at most `attempts` times, each time with what was wrong with the last one.

    The conversation of an attempt is `messages` and, for each reply before it, that reply as `repeated` gives it (cut,
    say) and the user's turn `complaint(problem)`. `form`, `speaker`, `settings` and `shared` are those of `Ask`, for
    every attempt; `choice` is that of `ReadableRequest`.

    Raises:
        Stopped, AccessError: the run cannot continue; let them pass.
    """
    wanted = ReadableRequest(role, messages, read, form, speaker, settings, shared, choice=choice)
    (answered,) = await ask_all_until_read(ask, [wanted], attempts=attempts, complaint=complaint, repeated=repeated)
    return answered


async def ask_all_until_read(
    ask: Ask,
    wanted: Sequence[ReadableRequest[T]],
    *,
    attempts: int,
    complaint: Callable[[str], str],
    repeated: Callable[[str], str] = _replace_empty,
    all_or_none: bool = False,
) -> list[ReadableReply[T]]:
    """The same for several requests side by side; the results are in their order.

    They are sent in rounds: those with a readable reply are done, all others are sent again together. So they may share
    a role and a speaker, and calls are numbered the same whichever reply comes first. With `all_or_none` nothing is
    sent again once a call has failed for good, for a study that then has no use for the rest.

    Raises:
        Stopped, AccessError: as above, once all requests side by side have finished.
    """
    conversations = [_Conversation(request, list(request.messages)) for request in wanted]
    for _ in range(attempts):
        waiting = [conversation for conversation in conversations if conversation.is_open]
        if not waiting or (all_or_none and any(conversation.failure for conversation in conversations)):
            break
        await _send_round(ask, waiting)
        for conversation in waiting:
            await conversation.read(complaint, repeated)
    return [
        ReadableReply(
            tuple(conversation.replies), tuple(conversation.readings), conversation.failure, conversation.wanted.choice
        )
        for conversation in conversations
    ]


async def ask_once(ask: Ask, wanted: Sequence[ReadableRequest[T]]) -> list[ReadableReply[T]]:
    """The same for requests that are each sent once, side by side, whatever their replies say."""
    return await ask_all_until_read(ask, wanted, attempts=1, complaint=str)


@dataclass
class _Conversation(Generic[T]):
    """A request with its messages, replies and readings so far."""

    wanted: ReadableRequest[T]
    messages: list[Message]
    replies: list[Reply] = field(default_factory=list)
    readings: list[Reading[T]] = field(default_factory=list)
    failure: CallFailed | None = None

    @property
    def is_open(self) -> bool:
        """Whether the request is to be sent, for the first time or again."""
        return self.failure is None and (not self.readings or bool(self.readings[-1].problem))

    async def send(self, ask: Ask) -> None:
        """Ask once: this adds a reply, or a failure."""
        request = self.wanted
        how: dict[str, Any] = (
            {"head": request.head} if request.head else {}
        )  # without one, askers need not know the argument
        try:
            reply = await ask(
                request.role,
                tuple(self.messages),
                speaker=request.speaker,
                form=request.choice.weighed(request.form) if request.choice else request.form,
                settings=request.settings,
                shared=request.shared,
                **how,
            )
        except CallFailed as failed:
            self.failure = failed
        else:
            self.replies.append(reply)

    async def read(self, complaint: Callable[[str], str], repeated: Callable[[str], str]) -> None:
        """Read the last reply, and continue the conversation if it must be requested again."""
        if self.failure:
            return
        reply = self.replies[-1]
        reading = await _read(self.wanted.read, reply)
        self.readings.append(reading)
        if reading.problem:
            self.messages += [assistant(repeated(reply.text)), user(complaint(reading.problem))]


async def _send_round(ask: Ask, conversations: Sequence[_Conversation[T]]) -> None:
    if len(conversations) == 1:  # in the trial's own task, so that stopping the trial stops the asking
        await conversations[0].send(ask)
    else:
        await side_by_side(conversation.send(ask) for conversation in conversations)


async def _read(read: Read[T], reply: Reply) -> Reading[T]:
    try:
        found = read(reply)
        return found if isinstance(found, Reading) else await found
    except UnreadableReply as why:
        return Reading.invalid(str(why))


def read_as_is(reply: Reply) -> Reading[str]:
    """A reader that accepts any reply, and gives its text."""
    return Reading(reply.text, "as is")


async def sampled_replies(  # noqa: PLR0917
    ask: Ask,
    role: str,
    messages: Sequence[Message],
    form: Form,
    count: int,
    settings: Settings | None = None,
    head: int = 0,
    place: str = "",
) -> list[Reply]:
    """Single answers to a prompt whose probabilities are requested; those whose call failed permanently are left out.

    They request no probabilities themselves. Each has a speaker of its own, so that more or fewer of them change no
    other. If a trial has several such prompts each has its `place`. `head` is that of `Ask`, and has to be that of the
    prompt whose probabilities are requested: a prompt that is read in other parts is rounded differently.
    """
    plain = msgspec.structs.replace(form, weigh=())
    speaker = f"{role}/sampled/{place}/" if place else f"{role}/sampled/"
    wanted = [
        ReadableRequest(role, messages, read_as_is, plain, f"{speaker}{number}", settings, head=head)
        for number in range(1, count + 1)
    ]
    return [answered.replies[0] for answered in await ask_once(ask, wanted) if answered.replies]


def unless_refused(read: Callable[[str], Reading[T]]) -> Callable[[Reply], Reading[T]]:
    """A reader of replies from a reader of texts: a reply that the endpoint flagged as a refusal is asked for again."""

    def reading(reply: Reply) -> Reading[T]:
        return Reading.invalid("it is a refusal") if reply.refused else read(reply.text)

    return reading


def failure_in(role: str, answered: Iterable[ReadableReply[Any]]) -> str | None:
    """The first call of these that failed permanently ('role: kind: message'); None if none did."""
    return next((f"{role}: {reply.failure}" for reply in answered if reply.failure is not None), None)


async def side_by_side(strands: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """The strands' results, in order. All finish before the first error is raised, so that nothing paid for is lost.

    Strands that ask one role more than once need a speaker each, or their calls would be numbered as they happen.
    """
    outcomes = await asyncio.gather(*strands, return_exceptions=True)
    errors = [outcome for outcome in outcomes if isinstance(outcome, BaseException)]
    if errors:
        raise min(errors, key=lambda error: isinstance(error, Stopped))  # an error of the run comes before its stop
    return [outcome for outcome in outcomes if not isinstance(outcome, BaseException)]


def total_usage(replies: Sequence[Reply]) -> Usage:
    """The sums over replies; None if no reply says how many, otherwise those that do not say count as 0."""
    return Usage(
        _total([reply.usage.input_tokens for reply in replies]),
        _total([reply.usage.output_tokens for reply in replies]),
    )


def _total(counts: Sequence[int | None]) -> int | None:
    return sum(count or 0 for count in counts) if any(count is not None for count in counts) else None
