"""The words of calls: messages, settings, forms, replies, trials and their draws."""

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
    """How a model generates. None leaves a setting to the endpoint.

    `temperature` and `top_p` are as providers define them; `max_tokens` counts output tokens, reasoning included;
    `reasoning_effort` is the provider's own word; with a `seed`, each call sends a seed of its own, derived from it and
    the call's identity; `extra` is merged into the request's body unchanged.
    """

    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    reasoning_effort: str | None = None
    seed: int | None = None
    extra: dict[str, Any] = msgspec.field(default_factory=dict)

    def but(self, other: Settings) -> Settings:
        """These settings overridden by those of `other`, with the extra fields of both."""
        changes = {name: value for name, value in msgspec.structs.asdict(other).items() if value is not None}
        return msgspec.structs.replace(self, **changes | {"extra": self.extra | other.extra})


class Form(msgspec.Struct, frozen=True, omit_defaults=True):
    """The form an answer must have: exactly one of `choices`, JSON that follows `schema`, or one of `openings` first.

    A prompt always states the form in words too. An answerer that can hold its output to the form does so if the user
    asked for it, and says so (`Answerer.holds_form`).

    `weigh` names options ('A', 'B') whose probabilities are wanted wherever one of them occurs in the reply (its
    `spots`); only an answerer that `weighs` can be asked for this.
    """

    choices: tuple[str, ...] = ()
    schema: dict[str, Any] | None = None
    openings: tuple[str, ...] = ()
    weigh: tuple[str, ...] = ()


_MAX_TOKENS = 10**9
Tokens = Annotated[int, msgspec.Meta(ge=0, le=_MAX_TOKENS)]
"""The most tokens a call can take. More than a billion is not a count but a number gone wrong."""


class Usage(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """Tokens of one call, as the endpoint reported them; None if it did not.

    The input tokens include those `cached`, read from the endpoint's cache, and those `written` to it.
    """

    input_tokens: Tokens | None = None
    output_tokens: Tokens | None = None
    cached: Tokens | None = None
    written: Tokens | None = None

    @classmethod
    def said(cls, input_tokens: object, output_tokens: object, cached: object = None, written: object = None) -> Usage:
        """Usage as an endpoint reported it. An impossible number (negative, above a billion, not whole) counts as
        unreported: the reply is kept, and the call counts at its worst case."""
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

    `cached` and `written` are those of input tokens read from the endpoint's cache and written to it, None if they cost
    the same as others. `batch` is the share of the price that is paid in batches, None if unknown; `as_of` is the date
    (ISO) of the price, '' if unknown.
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
        """The price of a call in a batch: the full one if no other is known.

        If writing to a cache is free, a batch is not promised the lower price for tokens read from it.
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
    """How much more than usual a token costs; negative if it is cheaper."""
    return 0.0 if price is None else price - usual


class Reach(msgspec.Struct, frozen=True, order=True):
    """Something that an answerer would reach: an address, with the variable whose content would be sent there, '' if
    none; or with `opens` a file or folder, by its path, or weights by their name; with `lists` the servers that a file
    lists, whatever they are by then; with `runs` where answering processes would be started."""

    place: str
    variable: str = ""
    opens: bool = False
    lists: bool = False
    runs: bool = False

    def __str__(self) -> str:
        """As text, to follow 'would'."""
        if self.opens:
            return f"open {self.place}"
        if self.runs:
            return f"run its replicas on {self.place}"
        if self.lists:
            return f"send the content of {self.variable} to every server that {self.place} lists, as it may change"
        return f"send the content of {self.variable} to {self.place}" if self.variable else f"call {self.place}"


class Request(msgspec.Struct, frozen=True):
    """A call as an answerer receives it. `seed` is this call's own, already derived; None if none is to be sent.

    `head` is how many characters of the first message are shared with other calls made at about the same time: an
    answerer that caches what it has read may read them once for all. It changes nothing but rounding, and is not part
    of a call's identity.
    """

    messages: tuple[Message, ...]
    settings: Settings
    form: Form | None = None
    seed: int | None = None
    head: int = 0


_Probability = Annotated[float, msgspec.Meta(ge=0, le=1)]


class Alternative(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """A token that could have occurred at a place, and how likely it was, given all before it.

    `plain` is its probability at temperature 1; `drawn` the one with which the endpoint sampled, by temperature, by
    truncation, and by the grammar that held the answer, if one did.
    """

    token: str
    plain: _Probability
    drawn: _Probability


class Spot(msgspec.Struct, frozen=True, gc=False):
    """A place in a reply where one of the requested options occurs.

    `token` is the token there, from the character `at` of the text; `alternatives` those tokens that start an option,
    including the one sampled. What their probabilities lack of 1 is everything else.
    """

    at: int
    token: str
    alternatives: tuple[Alternative, ...]


class Reply(msgspec.Struct, frozen=True, omit_defaults=True):
    """A reply: an outcome that the journal keeps.

    `finish` is the provider's own word for why it ended; `refused` is True if the endpoint itself flagged a refusal
    (its text is then in `text`); `model` is the name the endpoint reported, `fingerprint` its word for the model's
    configuration, and `served_by` who computed the reply, if a router says so, or which package on this machine did.
    `spots` are where options occur that the form asked to `weigh`, empty if none was asked for or none occurs.
    """

    text: str
    finish: str = "stop"
    refused: bool = False
    usage: Usage = Usage()
    model: str | None = None
    spots: tuple[Spot, ...] = ()
    fingerprint: str | None = None
    served_by: str | None = None


class Failure(msgspec.Struct, frozen=True):
    """A call that failed permanently: an outcome that the journal keeps as well."""

    kind: str
    message: str
    attempts: int = 1


class Trial(msgspec.Struct, frozen=True):
    """One item in one condition, once. Studies derive from it and add what their `conduct` needs.

    `name` is unique in its run and contains no model, so that all models get the same draws; `item` is the id of its
    item; `seed` is the run's.
    """

    name: str
    item: str
    seed: int

    @property
    def condition_name(self) -> str:
        """Its condition, without its item and anything else that repeats it; a study has a single one by default."""
        return "asked"

    @property
    def plan_key(self) -> Hashable:
        """Trials with equal keys are planned alike, so a plan counts only one of them. None (the default) if a study
        does not know. On the same replies they make equally many calls of equal lengths, and share the same ones."""
        return None

    def draw(self, purpose: str) -> Draw:
        """The random choices of this trial for one purpose."""
        return Draw(f"{self.seed}/{self.name}/{purpose}")


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
        """Ask the answerer bound to `role`; `speaker` distinguishes several in one role (by default the role).

        `settings` override the role's own, as for a temperature that is a condition. A `shared` call is the same
        whichever trial makes it, and however often: it is made once per run. `head` is how many characters of the first
        message are shared with other calls at about the same time (see `Request`).

        Raises:
            CallFailed: the call failed permanently.
            Stopped: the run is stopping; let it pass.
        """
        ...

    async def all(self, questions: Sequence[Question]) -> list[Reply]:
        """Ask in parallel; replies in the order of the questions. All finish before the first error is raised."""
        ...


class Answerer(Protocol):
    """Whatever answers a call: a model, a search engine, a page fetcher."""

    @property
    def name(self) -> str:
        """`provider/name` as the user wrote it, or the name given to it."""
        ...

    @property
    def identity(self) -> str:
        """By what its calls are the same as others: provider and name, or the weights' hash; never an address."""
        ...

    @property
    def holds_form(self) -> bool:
        """True where answers are held to the form asked for (by a grammar), so that they cannot break it."""
        ...

    async def answer(self, request: Request) -> Reply:
        """Answer once, without retrying.

        Raises:
            UnavailableError: worth retrying.
            RejectedError: this request will never be answered.
            AccessError: no request will be.
        """
        ...

    async def close(self) -> None:
        """Release connections and memory."""
        ...


def weighs(answerer: Answerer) -> bool:
    """Whether an answerer returns the probabilities of what a form asks to `weigh`: it says so by an attribute
    `weighs`; one without it returns none."""
    return bool(getattr(answerer, "weighs", False))


Conduct = Callable[[Any, Ask], Awaitable[list[Any]]]
"""`conduct(trial, ask)` returns the trial's records; a pure function of the trial and the replies."""


def options_named(token: str, options: Sequence[str], lead: str = "", said: str = "") -> tuple[str, ...]:
    """The options that `token` may start, or continue if `said` of one already precedes it.

    `lead` is what the token has before the option ('<<' of '<<A'), which an alternative needs as well. Case and spaces
    before a word are ignored: 'A', ' A' and 'a' are one option. A token that goes beyond the option ('A>>') still names
    it, unless what follows makes it another word ('Ask').
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
    their words; a sample is the start of a shuffle. There is no state: the same call gives the same choice.

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
        """`size` of the items without replacement, in random order; all of them if there are fewer."""
        return self.shuffle(items)[:size]
