"""The types of calls: messages, settings, reply formats, replies, trials and their random choices."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Hashable, Sequence
from hashlib import shake_128
from struct import unpack
from typing import Annotated, Any, Literal, Protocol, TypeVar

import msgspec


class Message(msgspec.Struct, frozen=True, gc=False):
    """One turn of a conversation."""

    role: Literal["system", "user", "assistant"]
    content: str


def system(content: str) -> Message:
    """A system message."""
    return Message("system", content)


def user(content: str) -> Message:
    """A user's message."""
    return Message("user", content)


def assistant(content: str) -> Message:
    """A message of the model's."""
    return Message("assistant", content)


class Settings(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """A model's settings for generation. None leaves a setting to the endpoint.

    `temperature` and `top_p` are as providers define them. `max_tokens` counts output tokens, reasoning included.
    `reasoning_effort` is the provider's own word. With a `seed`, each call sends its own seed, derived from this `seed`
    and the call's identity. `extra` is merged into the request's body unchanged.
    """

    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    reasoning_effort: str | None = None
    seed: int | None = None
    extra: dict[str, Any] = msgspec.field(default_factory=dict)

    def but(self, other: Settings) -> Settings:
        """These settings, overridden by those in `other`. The result has the `extra` fields of both settings."""
        changes = {name: value for name, value in msgspec.structs.asdict(other).items() if value is not None}
        return msgspec.structs.replace(self, **changes | {"extra": self.extra | other.extra})


class Form(msgspec.Struct, frozen=True, omit_defaults=True):
    """A required reply format: one of `choices`, JSON that follows `schema`, or a text that starts with one of
    `openings`.

    A prompt always states the format in words, too. If the user requests it, a model that supports constrained decoding
    also forces its output into the format, and reports this (`Answerer.holds_form`).

    `weigh` names options such as 'A' and 'B'. At each place in the reply where an option occurs, the token
    probabilities of all options are requested (see `Reply.spots`). Only models for which `weighs` is true support this.
    """

    choices: tuple[str, ...] = ()
    schema: dict[str, Any] | None = None
    openings: tuple[str, ...] = ()
    weigh: tuple[str, ...] = ()


_MAX_TOKENS = 10**9
Tokens = Annotated[int, msgspec.Meta(ge=0, le=_MAX_TOKENS)]
"""The maximum number of tokens of a call. A number above a billion is an error, not a count."""


class Usage(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """Token counts of one call, as reported by the endpoint; None if not reported.

    `input_tokens` includes the tokens read from the endpoint's cache (`cached`) and the tokens written to this cache
    (`written`).
    """

    input_tokens: Tokens | None = None
    output_tokens: Tokens | None = None
    cached: Tokens | None = None
    written: Tokens | None = None

    @classmethod
    def said(cls, input_tokens: object, output_tokens: object, cached: object = None, written: object = None) -> Usage:
        """Token counts as reported by an endpoint. An impossible number (negative, above a billion, not whole) counts
        as unreported: the reply is kept, and the call counts at its maximum price."""
        return cls(
            _possible_tokens(input_tokens),
            _possible_tokens(output_tokens),
            _possible_tokens(cached) or None,
            _possible_tokens(written) or None,
        )

    @property
    def sound(self) -> bool:
        """Whether all numbers are possible for a call."""
        return all(
            _possible_tokens(count) == count
            for count in (self.input_tokens, self.output_tokens, self.cached, self.written)
        )


def _possible_tokens(count: object) -> int | None:
    return count if type(count) is int and 0 <= count <= _MAX_TOKENS else None


_IMPOSSIBLE_AMOUNT = 2**53


class Price(msgspec.Struct, frozen=True, omit_defaults=True):
    """US dollars per million tokens, in and out.

    `cached` and `written` are the prices of input tokens read from the endpoint's cache and written to it, None if such
    tokens cost as much as other input tokens. `batch` is the proportion of the price that is paid in batches, None if
    unknown. `as_of` is the date (ISO) of the price, '' if unknown.
    """

    input: float
    output: float
    cached: float | None = None
    written: float | None = None
    batch: float | None = None
    as_of: str = ""

    @property
    def sound(self) -> bool:
        """Whether all amounts are possible for a price."""
        amounts = self.input, self.output, self.cached or 0.0, self.written or 0.0
        return all(0 <= amount < _IMPOSSIBLE_AMOUNT for amount in amounts) and 0 <= (self.batch or 0.0) <= 1

    @property
    def worst_input(self) -> float:
        """The most that an input token can cost."""
        return self.input if self.written is None else max(self.input, self.written)

    @property
    def in_batches(self) -> Price:
        """The price of a call in a batch; the full price if the price in batches is unknown.

        If `cached` or `written` is None, both are None in the result.
        """
        share = 1.0 if self.batch is None else self.batch
        cached, written = self.cached, self.written
        if cached is not None and written is not None:
            cached, written = cached * share, written * share
        else:
            cached = written = None
        return Price(self.input * share, self.output * share, cached, written, as_of=self.as_of)

    def cost(self, usage: Usage) -> float | None:
        """The cost of a call in dollars; None if the endpoint reported no token counts, or impossible ones."""
        if usage.input_tokens is None or usage.output_tokens is None or not usage.sound:
            return None
        dollars = usage.input_tokens * self.input + usage.output_tokens * self.output
        if usage.cached or usage.written:
            read = min(usage.cached or 0, usage.input_tokens)
            wrote = min(usage.written or 0, usage.input_tokens - read)
            dollars += read * _extra_cost(self.cached, self.input) + wrote * _extra_cost(self.written, self.input)
        return dollars / 1e6


def _extra_cost(price: float | None, usual: float) -> float:
    """The difference between a token's price and the usual price; negative if the token is cheaper."""
    return 0.0 if price is None else price - usual


class Reach(msgspec.Struct, frozen=True, order=True):
    """An external resource of a model or service. By default, `place` is an address, and `variable` names the
    environment variable whose content would be sent there ('' for none). With `opens`, `place` is the path of a file or
    folder, or the name of weights. With `lists`, `place` is a file that lists servers. With `runs`, `place` is
    where processes would be started. With `makes`, `place` is a folder that would be created."""

    place: str
    variable: str = ""
    opens: bool = False
    lists: bool = False
    runs: bool = False
    makes: bool = False

    def __str__(self) -> str:
        """A phrase that continues a sentence after 'would'."""
        if self.makes:
            return f"make the folder {self.place}"
        if self.opens:
            return f"open {self.place}"
        if self.runs:
            return f"run its replicas on {self.place}"
        if self.lists:
            return f"send the content of {self.variable} to every server that {self.place} lists now or later"
        return f"send the content of {self.variable} to {self.place}" if self.variable else f"call {self.place}"


class Request(msgspec.Struct, frozen=True):
    """A call as a model or service receives it. `seed` is the call's own derived seed; None to send no seed.

    The first `head` characters of the first message are the same in other calls made at about the same time. A model
    that caches its input may process these characters only once for all these calls. `head` affects replies only
    through rounding errors, and is not part of a call's identity.
    """

    messages: tuple[Message, ...]
    settings: Settings
    form: Form | None = None
    seed: int | None = None
    head: int = 0


_Probability = Annotated[float, msgspec.Meta(ge=0, le=1)]


class Alternative(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """A token that could have occurred at a place, and its probability given everything before it.

    `plain` is the token's probability at temperature 1. `drawn` is the token's probability when the endpoint samples.
    It also depends on temperature, truncation, and constrained decoding.
    """

    token: str
    plain: _Probability
    drawn: _Probability


class Spot(msgspec.Struct, frozen=True, gc=False):
    """A place in a reply where one of the requested options occurs.

    `token` is the token at this place; it starts at the character `at` of the text. `alternatives` are the tokens that
    start an option, including the sampled token. Their probabilities sum to 1 minus the probability of all other
    tokens.
    """

    at: int
    token: str
    alternatives: tuple[Alternative, ...]


class Reply(msgspec.Struct, frozen=True, omit_defaults=True):
    """A reply: an outcome that the journal keeps.

    `finish` is the provider's word for the reason why the reply ended. `refused` is True if the endpoint itself flagged
    a refusal, whose text is then in `text`. `model` is the name that the endpoint reported, and `fingerprint` is the
    endpoint's identifier of the model's configuration. `served_by` is the company or package that computed the reply,
    if known. `spots` are the places in the text at which options of the reply format's `weigh` occur; empty if there
    are no such places. `thinking` is the text between marks for the model's thinking (`<think>`), if the run removes
    it. A study then receives the rest as `text`. The journal keeps the whole text and no `thinking`.
    """

    text: str
    finish: str = "stop"
    refused: bool = False
    usage: Usage = Usage()
    model: str | None = None
    spots: tuple[Spot, ...] = ()
    fingerprint: str | None = None
    served_by: str | None = None
    thinking: str = ""


class Failure(msgspec.Struct, frozen=True):
    """A call that failed permanently. The journal keeps it as an outcome."""

    kind: str
    message: str
    attempts: int = 1


class SystemPrompt(msgspec.Struct, frozen=True):
    """A system prompt from the user. It precedes the messages to the measured models.

    `name` is the prompt's condition: 'system-1', 'system-2', ... in the user's order.
    """

    name: str
    text: str


ReplyReading = Literal["common", "strict"]
"""How replies are read. 'common' drops a model's thinking and reads the formats in which models usually answer.
'strict' takes replies as they came and reads only the requested formats, as Overton 0.2.0 did."""


class RunSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The fields of a `Trial` that depend on its run, and not on its study.

    `system_prompt` precedes the messages to the measured models. `plain_name` is the trial's name without the system
    prompt, and random choices are made from this name. If the study itself names the conditions and makes the random
    choices, `plain_name` is ''. `reading` is the way of parsing replies.
    """

    system_prompt: SystemPrompt | None = None
    plain_name: str = ""
    reading: ReplyReading = "strict"


class Trial(RunSettings, frozen=True):
    """One item in one condition, once. Studies derive from this class and add the fields that their `conduct` needs.

    `name` is unique in its run. It contains no model name, because random choices are made from `name` and are the same
    for all models. `item` is the item's id. `seed` and `reading` come from the run; `Study.trials` sets `reading`.
    """

    name: str
    item: str
    seed: int

    @property
    def condition_name(self) -> str:
        """The trial's condition, without its item and repetition. By default a study has a single condition."""
        return "asked"

    @property
    def plan_key(self) -> Hashable:
        """Trials with equal keys have equal plans, so only one of these trials is planned. Given the same replies,
        these trials make the same number of calls, with the same lengths. Their shared calls are also the same. The key
        is None (the default) if a study does not know which trials have equal plans."""
        return None

    def draw(self, purpose: str) -> Draw:
        """The random choices of this trial for one purpose."""
        return Draw(f"{self.seed}/{self.plain_name or self.name}/{purpose}")


class Question(msgspec.Struct, frozen=True):
    """One question, for `Ask.all`."""

    role: str
    messages: tuple[Message, ...]
    speaker: str | None = None
    form: Form | None = None
    settings: Settings | None = None
    shared: bool = False
    head: int = 0


class Ask(Protocol):
    """A study's only way to make calls."""

    async def __call__(
        self,
        role: str,
        messages: Sequence[Message],
        *,
        speaker: str | None = None,
        form: Form | None = None,
        settings: Settings | None = None,
        shared: bool = False,
        head: int = 0,
    ) -> Reply:
        """Ask the model or service bound to `role`. `speaker` distinguishes several speakers in one role; by default it
        is the role.

        `settings` override the role's own settings, for example if the temperature is a condition. A `shared` call is
        made once per run, even if many trials request it. `head` is the number of characters of the first message that
        other calls at about the same time share (see `Request`).

        Raises:
            CallFailed: the call failed permanently.
            Stopped: the run is stopping; let this error pass.
        """
        ...

    async def all(self, questions: Sequence[Question]) -> list[Reply]:
        """Ask several questions in parallel, and return the replies in the order of the questions. All questions finish
        before the first error is raised."""
        ...


class Answerer(Protocol):
    """A model, search engine or page fetcher, which answers calls."""

    @property
    def name(self) -> str:
        """`provider/name` as the user wrote it, or the name given to it."""
        ...

    @property
    def identity(self) -> str:
        """The part of a call's identity that names the model or service: provider and name, or the weights' hash. It is
        never an address."""
        ...

    @property
    def holds_form(self) -> bool:
        """True if constrained decoding (a grammar) forces replies into the requested format."""
        ...

    async def answer(self, request: Request) -> Reply:
        """Answer once, without retrying.

        Raises:
            UnavailableError: a retry may succeed.
            RejectedError: this request will never be answered.
            AccessError: no request to this model or service will be answered.
        """
        ...

    async def close(self) -> None:
        """Release connections and memory."""
        ...


def weighs(answerer: Answerer) -> bool:
    """Whether a model returns the probabilities of the options in a reply format's `weigh`. A model declares this by an
    attribute `weighs`; a model without the attribute returns no probabilities."""
    return bool(getattr(answerer, "weighs", False))


Conduct = Callable[[Any, Ask], Awaitable[list[Any]]]
"""`conduct(trial, ask)` returns the trial's records; a pure function of the trial and the replies."""


def options_named(token: str, options: Sequence[str], lead: str = "", said: str = "") -> tuple[str, ...]:
    """The options that `token` may start, or may continue after `said`. `said` is the part of an option that comes
    before the token, '' if there is none.

    `lead` is the text before the option in the token ('<<' of '<<A'). There are no options if `token` does not start
    with this text. Case and spaces before a word are ignored: 'A', ' A' and 'a' are one option. A token may go on after
    the option ('A>>'), but not with further letters or digits ('Ask').
    """
    word = token.lstrip()
    if not word.startswith(lead.lstrip()):
        return ()
    piece = word[len(lead.lstrip()) :]
    piece = (piece.lstrip() if not said else piece).rstrip()
    if not piece:
        return ()
    whole = (said + piece).casefold()
    return tuple(option for option in options if _can_name(whole, option.casefold()))


def _can_name(whole: str, option: str) -> bool:
    if option.startswith(whole):
        return True
    return whole.startswith(option) and not (whole[len(option)].isalnum() or whole[len(option)] == "_")


T = TypeVar("T")


class Draw:
    """Random choices made from a name.

    The k-th 64-bit word of SHAKE-128(name), little-endian, is the k-th random number. A shuffle sorts the items by
    their random numbers; a sample is the start of a shuffle. There is no state, so the same call gives the same choice.

    Example: `Draw("7/night-buses/order").shuffle(arguments)`.
    """

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name.encode()

    def words(self, count: int) -> tuple[int, ...]:
        """`count` independent integers, uniform on [0, 2**64)."""
        return unpack(f"<{count}Q", shake_128(self._name).digest(8 * count))

    def uniform(self) -> float:
        """A number in [0, 1)."""
        return (self.words(1)[0] >> 11) / 2**53

    def coin(self) -> bool:
        """True or False, equally likely."""
        return self.words(1)[0] & 1 == 1

    def shuffle(self, items: Sequence[T]) -> list[T]:
        """The items in random order."""
        words = self.words(len(items))
        return [items[i] for i in sorted(range(len(items)), key=words.__getitem__)]

    def sample(self, items: Sequence[T], size: int) -> list[T]:
        """A sample of `size` items without replacement, in random order; all items if there are fewer than `size`."""
        return self.shuffle(items)[:size]
