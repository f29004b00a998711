"""What makes two calls the same, and how each ask gets its place, identity and seed, wherever the asking is done."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from functools import lru_cache
from hashlib import blake2b
from typing import Generic, NamedTuple, Protocol, TypeVar

import msgspec

from overton.calls import Form, Message, Request, Settings

__all__ = [
    "Identity",
    "Place",
    "Placing",
    "S",
    "call_seed",
    "differing_parts",
    "digest",
    "identify",
    "seat_name",
    "slot_of",
]

_PARTS = ("messages", "settings", "form")
"""What a call's content is made of, in the order of its digests."""

_WIDTH = 8


class Identity(msgspec.Struct, frozen=True, gc=False):
    """A call's identity: the place in the run where it stands, and the content that is asked there.

    `slot` is a digest of trial, speaker, ask number and answerer; `content` the digests of messages, settings and
    form, side by side. One slot is asked once: another content in the same slot means that code, prompts, items or
    settings have changed since.
    """

    slot: bytes
    content: bytes

    def __str__(self) -> str:
        return (self.slot + self.content).hex()


class Place(NamedTuple):
    """Where in a run a call stands: the `number`-th thing (from 0) that `trial` asks `speaker`, and who answers.

    A call that all trials share stands in none: its `trial` is empty, its number 0.
    """

    trial: str
    speaker: str
    number: int
    answerer: str


def identify(place: Place, messages: Sequence[Message], settings: Settings, form: Form | None) -> Identity:
    """The identity of a call; nothing in it depends on order or time. The slot of a shared call is its content's."""
    said = blake2b(b"".join(map(_said, messages)), digest_size=_WIDTH).digest()
    content = said + _how(_encode(settings), _encode(form))
    return Identity(slot_of(place, content), content)


def slot_of(place: Place, content: bytes) -> bytes:
    """The slot of a call with this content in this place."""
    where = "\0".join(map(str, place)).encode() + (b"" if place.trial else content)
    return blake2b(where, digest_size=16).digest()


def _said(message: Message) -> bytes:
    """A message with its length before it, so that no two conversations run into the same bytes."""
    content = message.content.encode()
    return b"%s %d " % (message.role.encode(), len(content)) + content


def call_seed(identity: Identity, seed: int) -> int:
    """The seed sent with a call: 31 bits that follow from its identity and the seed asked for."""
    word = blake2b(identity.slot + identity.content + str(seed).encode(), digest_size=4).digest()
    return int.from_bytes(word, "little") >> 1


def digest(value: object) -> str:
    """A hexadecimal digest of any value of plain types and structs, the same whatever the order of its keys."""
    return blake2b(_encode(value), digest_size=16).hexdigest()


def differing_parts(one: bytes, other: bytes) -> list[str]:
    """Names of the parts in which the contents of two identities differ."""
    cut = [(index * _WIDTH, (index + 1) * _WIDTH) for index in range(len(_PARTS))]
    return [part for part, (start, end) in zip(_PARTS, cut, strict=True) if one[start:end] != other[start:end]]


# Keys are sorted, since the order of a dictionary (a schema, extra fields) has no meaning to an endpoint.
_encode = msgspec.json.Encoder(order="deterministic").encode


@lru_cache(maxsize=1024)
def _how(settings: bytes, form: bytes) -> bytes:
    return b"".join(blake2b(part, digest_size=_WIDTH).digest() for part in (settings, form))


class Identified(Protocol):
    """Whoever answers, as far as a call's identity goes."""

    @property
    def identity(self) -> str:
        """See `Answerer`."""
        ...


class Seat(Protocol):
    """Who answers under a name, and how it is asked."""

    @property
    def answerer(self) -> Identified:
        """Who answers."""
        ...

    @property
    def settings(self) -> Settings:
        """How it is asked where a call does not say."""
        ...


S = TypeVar("S", bound=Seat)


def seat_name(seats: Container[str], role: str, speaker: str) -> str:
    """The name under which a speaker's answerer is known: the speaker's own, or its beginning before a '/', or the
    role's. So 'judge/again' is the judge, and 'judge/1/again' the first of several."""
    while speaker not in seats and "/" in speaker:
        speaker = speaker.rpartition("/")[0]
    return speaker if speaker in seats else role


class Placing(Generic[S]):
    """Numbers the asks of one trial, each as it is made, so that side by side is as good as in turn.

    `seats` are by role or speaker; `own` is the identity of the answerer that the trial's lane has for itself, '' where
    the run has one lane only.
    """

    __slots__ = ("_numbers", "_own", "_seats", "_trial")

    def __init__(self, trial: str, seats: Mapping[str, S], own: str = "") -> None:
        self._trial = trial
        self._seats = seats
        self._own = own
        self._numbers: dict[str, int] = {}

    @property
    def calls(self) -> int:
        """How many calls it has made; those that trials share are nobody's own."""
        return sum(self._numbers.values())

    def call(  # noqa: PLR0917
        self,
        role: str,
        messages: Sequence[Message],
        speaker: str | None,
        form: Form | None,
        settings: Settings | None,
        shared: bool,
        head: int = 0,
    ) -> tuple[S, Identity, Place, Request]:
        """The call that an ask stands for, and who is to answer it."""
        who = speaker or role
        seat = self._seats[seat_name(self._seats, role, who)]
        how = seat.settings if settings is None else seat.settings.but(settings)
        if shared:
            place = Place("", who, 0, seat.answerer.identity)
        else:
            answerer = seat.answerer.identity
            # What a judge is asked in a trial of one model is another call than in the same trial of another.
            trial = self._trial if self._own in ("", answerer) else f"{self._trial} of {self._own}"
            place = Place(trial, who, self._numbers.get(who, 0), answerer)
            self._numbers[who] = place.number + 1
        identity = identify(place, messages, how, form)
        seed = None if how.seed is None else call_seed(identity, how.seed)
        return seat, identity, place, Request(tuple(messages), how, form, seed, head)
