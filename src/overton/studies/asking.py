"""The loop by which every study repeats a question until a reply can be read. Each repetition tells the model what was
wrong.

A study provides the question, the reader of replies, and the wording of the complaint:

    def read(reply: Reply) -> Reading[Label]:
        return read_choice(reply.text, LABELS)

    answered = await ask_until_read(
        ask, "judge", [user(prompt)], read, attempts=2, complaint=lambda problem: f"That cannot be read: {problem}."
    )
    Row(label=answered.value, reading=answered.how, attempts=answered.attempts, failure=answered.failed)

A request is repeated as long as the reader reports a problem. The conversation then continues with the reply and the
complaint. The reader decides what happens:

- `Reading(value, "as is")` or `Reading(value, "repaired")`: accept this answer.
- `Reading.invalid(problem)`, or `UnreadableReply(problem)` raised at any depth: ask again.
- a value *and* a problem: ask again, but use this value if no later reply has a value.
- neither value nor problem: accept that there is no answer (for example a refusal, if the study accepts refusals).

The loop does not raise CallFailed. If a call fails permanently, the loop ends and `ReadableReply.failure` records the
failure.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import msgspec

from overton.calls import Ask, Form, Message, Reply, Settings, Usage, assistant, user
from overton.calls.read_request import REQUEST, ReadRequest
from overton.errors import CallFailed, OvertonError, Stopped
from overton.judging import How, Reading
from overton.judging.option_probabilities import OptionChoice

T = TypeVar("T")

Read = Callable[[Reply], Reading[T] | Awaitable[Reading[T]]]
"""A reader of replies, which may raise `UnreadableReply`. It is a coroutine function if reading needs further calls."""


class UnreadableReply(OvertonError):
    """An error that a reader raises for a reply without a value. The argument describes the problem in words for the
    model."""


@dataclass(frozen=True)
class ReadableRequest(Generic[T]):
    """A request: the arguments of `Ask`, and the reader of the reply. With a `choice`, Overton also requests the token
    probabilities of the choice's labels."""

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
    """The outcome of one loop: the replies in order, the value read from each, and the call that failed permanently, if
    any."""

    replies: tuple[Reply, ...] = ()
    readings: tuple[Reading[T], ...] = ()
    failure: CallFailed | None = None
    choice: OptionChoice | None = None

    @property
    def chances(self) -> tuple[float, ...] | None:
        """The probability of each label of `choice`, from the reply that `value` was read from. None if probabilities
        were not requested or not returned."""
        if self.choice is None:
            return None
        read = [reply for reply, reading in zip(self.replies, self.readings, strict=True) if reading.value is not None]
        return self.choice.chances(read[-1]) if read else None

    @property
    def value(self) -> T | None:
        """The last value that could be read, None if no reply has a value."""
        return self._usable_reading.value

    @property
    def how(self) -> How | None:
        """How `value` was read. Without a value: None if a call failed, else 'invalid'."""
        return None if self.failure and self.value is None else self._usable_reading.how

    @property
    def repaired(self) -> bool:
        """Whether there is a value, but in another format than requested."""
        return self.how == "repaired"

    @property
    def dropped(self) -> int:
        """The number of parts that were ignored in the reply that `value` was read from."""
        return self._usable_reading.dropped

    @property
    def last(self) -> Reading[T]:
        """The `Reading` of the last reply, for studies that do not fall back on earlier replies."""
        return self.readings[-1] if self.readings else Reading(None, "invalid")

    @property
    def problem(self) -> str:
        """The problem of the last reply, '' if it had none."""
        return self.last.problem

    @property
    def attempts(self) -> int:
        """The number of attempts, including the call that failed."""
        return len(self.replies) + (self.failure is not None)

    @property
    def unusable(self) -> int:
        """The number of replies with a problem."""
        return sum(bool(reading.problem) for reading in self.readings)

    @property
    def refused(self) -> bool:
        """Whether the endpoint flagged the last reply as a refusal."""
        return bool(self.replies) and self.replies[-1].refused

    @property
    def failed(self) -> str | None:
        """The reason why a call failed permanently ('kind: message'), None if no call failed."""
        return None if self.failure is None else str(self.failure)

    @property
    def _usable_reading(self) -> Reading[T]:
        usable = (reading for reading in reversed(self.readings) if reading.value is not None)
        return next(usable, Reading(None, "invalid"))


NO_LABEL = "none"
"""The label recorded for a single answer that names no label."""


def as_it_came(text: str) -> str:
    """Return a reply unchanged, even if it is empty."""
    return text


_LONGEST_REPEATED = 2_000
"""The largest number of characters of a reply that the next request repeats. A judge need not read all of a long reply
again."""


def start_of(text: str, empty: str = "-") -> str:
    """Return the start of a reply, or `empty` if the reply is blank."""
    return text.strip()[:_LONGEST_REPEATED] or empty


def _replace_empty(text: str) -> str:
    """Return a reply unchanged, or '-' if it is empty, because endpoints refuse messages without content."""
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
    """Ask `role` until a reply can be read, at most `attempts` times. Each repetition states what was wrong with the
    last reply.

    Each attempt sends `messages`. For each earlier reply it adds two turns: the reply as returned by `repeated` (which
    may shorten it), and the user's turn `complaint(problem)`. Every attempt passes `form`, `speaker`, `settings` and
    `shared` to `Ask`. For `choice`, see `ReadableRequest`.

    Raises:
        Stopped, AccessError: the run cannot continue; do not catch them.
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
    """Send several requests at the same time, and repeat each of them as `ask_until_read` does. The results are in the
    order of the requests.

    Requests are sent in rounds: each round sends all requests that still have no readable reply. The numbering of calls
    therefore does not depend on which reply comes first, and several requests may share a role and a speaker. With
    `all_or_none`, no request is repeated once a call has failed permanently, because the study needs all replies.

    Raises:
        Stopped, AccessError: as in `ask_until_read`, once all requests have finished.
    """
    conversations = [_Conversation(request, list(request.messages)) for request in wanted]
    for _ in range(attempts):
        waiting = [conversation for conversation in conversations if conversation.is_open]
        if not waiting or (all_or_none and any(conversation.failure for conversation in conversations)):
            break
        await _send_round(ask, waiting)
        for conversation in waiting:
            await conversation.read(complaint, repeated)
    for conversation in conversations:
        conversation.end()
    return [
        ReadableReply(
            tuple(conversation.replies), tuple(conversation.readings), conversation.failure, conversation.wanted.choice
        )
        for conversation in conversations
    ]


async def ask_once(ask: Ask, wanted: Sequence[ReadableRequest[T]]) -> list[ReadableReply[T]]:
    """Send several requests at the same time. Never repeat a request, whatever its reply is."""
    return await ask_all_until_read(ask, wanted, attempts=1, complaint=str)


async def ask_and_read(
    ask: Ask, role: str, messages: Sequence[Message], problem: Callable[[Reply], str], **how: Any
) -> Reply:
    """Ask once, and tell the execution backend whether the reply can be read: `problem(reply)` is '' if it can.

    Raises:
        CallFailed: the call failed permanently.
    """
    request = ReadRequest()
    under = REQUEST.set(request)
    try:
        reply = await ask(role, messages, **how)
    finally:
        REQUEST.reset(under)
    if request.heard is not None:
        request.end(reply, problem(reply))
    return reply


@dataclass
class _Conversation(Generic[T]):
    """A request with its messages, replies and readings so far."""

    wanted: ReadableRequest[T]
    messages: list[Message]
    replies: list[Reply] = field(default_factory=list)
    readings: list[Reading[T]] = field(default_factory=list)
    failure: CallFailed | None = None
    request: ReadRequest | None = None

    def __post_init__(self) -> None:
        """Prepare the report to the execution backend, unless the request accepts every reply."""
        self.request = None if self.wanted.read is read_as_is else ReadRequest()

    @property
    def is_open(self) -> bool:
        """Whether the request must be sent, for the first time or again."""
        return self.failure is None and (not self.readings or bool(self.readings[-1].problem))

    async def send(self, ask: Ask) -> None:
        """Ask once, and record the reply or the failure."""
        request = self.wanted
        how: dict[str, Any] = (
            {"head": request.head} if request.head else {}
        )  # left out if 0, so that `ask` may lack this parameter
        under = REQUEST.set(self.request)
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
        finally:
            REQUEST.reset(under)

    def end(self) -> None:
        """End the loop, and report to the execution backend whether the last reply could be read. A value with a
        problem counts as read."""
        if self.request is None:
            return
        if self.failure is not None or not self.readings:
            self.request.end(None, "")
        else:
            last = self.readings[-1]
            self.request.end(self.replies[-1], last.problem if last.how == "invalid" else "")

    async def read(self, complaint: Callable[[str], str], repeated: Callable[[str], str]) -> None:
        """Read the last reply. If the request must be repeated, add the reply and the complaint to the conversation."""
        if self.failure:
            self.end()
            return
        reply = self.replies[-1]
        reading = await _read(self.wanted.read, reply)
        self.readings.append(reading)
        if reading.problem:
            self.messages += [assistant(repeated(reply.text)), user(complaint(reading.problem))]
        else:
            self.end()


async def _send_round(ask: Ask, conversations: Sequence[_Conversation[T]]) -> None:
    if len(conversations) == 1:  # in the trial's own task, so that stopping the trial stops the call
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
    """Sample single answers to a prompt whose token probabilities are requested. Answers whose call failed permanently
    are left out.

    The calls for these answers request no token probabilities. Each call has its own speaker, so the number of answers
    does not affect other calls. If a trial has several such prompts, pass a different `place` for each prompt. `head`
    is passed to `Ask`. It must be the `head` of the call that requests the probabilities. Otherwise the local model
    splits the prompt at another point, and rounding errors differ.
    """
    plain = msgspec.structs.replace(form, weigh=())
    speaker = f"{role}/sampled/{place}/" if place else f"{role}/sampled/"
    wanted = [
        ReadableRequest(role, messages, read_as_is, plain, f"{speaker}{number}", settings, head=head)
        for number in range(1, count + 1)
    ]
    return [answered.replies[0] for answered in await ask_once(ask, wanted) if answered.replies]


def unless_refused(read: Callable[[str], Reading[T]]) -> Callable[[Reply], Reading[T]]:
    """Convert a reader of texts to a reader of replies. If the endpoint flagged a reply as a refusal, the request is
    repeated."""

    def reading(reply: Reply) -> Reading[T]:
        return Reading.invalid("it is a refusal") if reply.refused else read(reply.text)

    return reading


def failure_in(role: str, answered: Iterable[ReadableReply[Any]]) -> str | None:
    """The reason for the first permanent failure of a call ('role: kind: message'); None if no call failed."""
    return next((f"{role}: {reply.failure}" for reply in answered if reply.failure is not None), None)


async def side_by_side(strands: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """Run the coroutines `strands` at the same time, and return their results in order. The first error is raised only
    after all coroutines have finished, so that no paid reply is lost.

    Coroutines that ask the same role need different speakers. Otherwise the numbering of their calls would depend on
    which call happens to be made first.
    """
    outcomes = await asyncio.gather(*strands, return_exceptions=True)
    errors = [outcome for outcome in outcomes if isinstance(outcome, BaseException)]
    if errors:
        raise min(errors, key=lambda error: isinstance(error, Stopped))  # prefer any other error to Stopped
    return [outcome for outcome in outcomes if not isinstance(outcome, BaseException)]


def total_usage(replies: Sequence[Reply]) -> Usage:
    """Sum each token count over the replies. A reply without the count adds 0. If no reply has the count, the sum is
    None."""
    return Usage(
        _total([reply.usage.input_tokens for reply in replies]),
        _total([reply.usage.output_tokens for reply in replies]),
    )


def _total(counts: Sequence[int | None]) -> int | None:
    return sum(count or 0 for count in counts) if any(count is not None for count in counts) else None
