"""Respondents with known parameters, and respondents without usable answers.

Respondents without usable answers ('degenerate') give a useless reply to any request, so they can represent a model
that is broken or does not cooperate. A study adds them to its simulated models:

    simulated={..., "degenerate": degenerate, "degenerate/NAME": degenerate}

A run then takes `--model simulated/degenerate --model-arg simulated/degenerate kind=silent`. In names such as
`simulated/degenerate/babbling`, `.../silent`, `.../looping`, `.../refusing` and `.../echoing`, the last part is the
kind, so that one run can ask all five.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from itertools import cycle, islice
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, TypeVar, get_args

import msgspec

from overton.calls import Alternative, Answerer, Draw, Reply, Request, Spot
from overton.errors import AccessError, InputError, Problem, RejectedError
from overton.studies.options import OPTION, Field, Option, fields_of, values_of
from overton.studies.study import Simulated, late

P = TypeVar("P", bound=msgspec.Struct)

Says = Callable[[Any, Sequence[Any], Request, Callable[[str], Draw]], str | Reply | None]
"""`says(parameters, items, request, draw)` gives the reply, None if the simulated model does not know the prompt.
`draw(purpose)` gives the random choices of this call."""


def weighed_reply(
    request: Request, said: str, option: str, chances: Mapping[str, float], *, first: bool = False
) -> Reply:
    """The reply `said`, with the options' probabilities if the request's reply format requires probabilities.

    `option` is the option that the reply names. The probabilities belong to the option's last occurrence in the reply,
    or with `first` to its first occurrence.
    """
    if request.form is None or not request.form.weigh:
        return Reply(said)
    alternatives = tuple([Alternative(name, chance, chance) for name, chance in chances.items() if chance > 0])
    place = said.index(option) if first else said.rindex(option)
    return Reply(said, spots=(Spot(place, option, alternatives),))


def respondent(parameters: type[msgspec.Struct], says: Says) -> Simulated:
    """A value of `Study.simulated`: a simulated model with `parameters`, each field with its `Option`.

    Users set the parameters with --model-arg. Replies depend only on the parameters, the items and each call's seed.
    """

    def made(items: Sequence[Any], name: str, arguments: Mapping[str, str]) -> Answerer:
        called = f"simulated/{name}"
        return _Respondent(called, parameters_of(parameters, called, arguments), items, says)

    return made


def probability(of: str) -> Option:
    """The declaration of a parameter that is a probability."""
    return Option(f"Probability that {of}", least=0, most=1)


class NumbersByKey(NamedTuple):
    """A parameter with a number for each key, written 'NAME.KEY'. If users give a number for any key, the default
    numbers of all keys are dropped."""

    field: str
    keys: Iterable[str]
    least: float | None = None
    most: float | None = None


def parameters_of(
    kind: type[P], name: str, arguments: Mapping[str, str], by_key: Mapping[str, NumbersByKey] | None = None
) -> P:
    """The parameters of a simulated model, from the user's arguments. The struct `kind` has a field for each parameter.

    An `Option` declares each field, except fields that map keys to numbers. Users write the parameters of such a field
    as 'NAME.KEY', and `by_key` declares the field under NAME.

    Raises:
        InputError: an argument is unknown or out of range. `name` is the simulated model's name, for the message.
    """
    by_key = by_key or {}
    numbers = {
        f"{word}.{key}": Field(f"{word}.{key}", Option("", least=own.least, most=own.most), float, False, False, None)
        for word, own in by_key.items()
        for key in own.keys
    }
    fields = fields_of(kind, without=[own.field for own in by_key.values()])
    known = {field.name for field in fields} | numbers.keys()
    problems = [
        Problem(f"{name}, {word}", "", f"no such parameter; known are {_names_like(word, fields, by_key)}")
        for word in arguments
        if word not in known
    ]
    given: dict[str, Any] = {}
    try:
        given = values_of((*fields, *numbers.values()), {word: arguments[word] for word in arguments if word in known})
    except InputError as error:
        problems += error.placed(lambda place: f"{name}, {place.removeprefix(OPTION)}").problems
    if problems:
        raise InputError(problems)
    found = {word: value for word, value in given.items() if word not in numbers}
    for word in (word for word in arguments if word in numbers):
        table, _, key = word.partition(".")
        found.setdefault(by_key[table].field, {})[key] = given[word]
    return kind(**found)


def _names_like(word: str, fields: Iterable[Field], by_key: Mapping[str, NumbersByKey]) -> str:
    """The names of all parameters. If `word` is 'NAME.KEY', only the valid names 'NAME.KEY'."""
    table, dot, _ = word.partition(".")
    if dot and table in by_key:
        return ", ".join(f"{table}.{key}" for key in by_key[table].keys)
    return ", ".join([*(field.name for field in fields), *(f"{table}.KEY" for table in by_key)])


def late_respondent(path: str) -> Simulated:
    """The value of `Study.simulated` that 'MODULE:NAME' names, imported when it is needed."""
    return late(path)


word_judge = late_respondent("overton.studies.texts.simulated:JUDGE")
"""A simulated judge that gives the label whose meaning has the most words in common with the text. Prompts list the
labels one per line, '(label) meaning', and replies are labels in round brackets. A text that shares no word with any
meaning gets the last label in alphabetical order."""


class SeededAnswerer(ABC):
    """An `Answerer` whose replies depend only on its parameters and each call's seed."""

    name: str
    parameters: msgspec.Struct
    holds_form = False
    draws: ClassVar[str] = "answers"
    """The word for random choices that depend on the seed. The error about a request without a seed uses it."""

    @cached_property
    def identity(self) -> str:
        """The name and every parameter."""
        return f"{self.name} {msgspec.json.encode(self.parameters, order='deterministic').decode()}"

    async def answer(self, request: Request) -> Reply:
        """Answer as `reply` says.

        Raises:
            AccessError: the request has no seed, so that the reply could not be repeated.
            RejectedError: the simulated model does not know the prompt.
        """
        if request.seed is None:
            raise AccessError(
                "no seed", f"{self.name} draws its {self.draws} from the request's seed, but the request has none"
            )
        return self.reply(request)

    @abstractmethod
    def reply(self, request: Request) -> Reply:
        """The reply to a request that has a seed."""

    async def close(self) -> None:  # noqa: B027 - it has nothing open, and no respondent has to say so again
        """Nothing to close."""


class _Respondent(SeededAnswerer):
    weighs = True

    def __init__(self, name: str, parameters: msgspec.Struct, items: Sequence[Any], says: Says) -> None:
        self.name = name
        self.parameters = parameters
        self._items = items
        self._says = says

    def reply(self, request: Request) -> Reply:
        """Return the reply's text. Raises `RejectedError` if the simulated model does not know the prompt."""
        said = self._says(self.parameters, self._items, request, lambda purpose: Draw(f"{request.seed}/{purpose}"))
        if said is None:
            raise RejectedError("unknown prompt", f"{self.name} does not know this prompt")
        return said if isinstance(said, Reply) else Reply(said)


Kind = Literal["babbling", "silent", "looping", "refusing", "echoing"]

KINDS: tuple[Kind, ...] = get_args(Kind)
"""The kinds of degenerate respondents, with their reply to every request.

babbling  random words, different in every reply
silent    an empty reply
looping   one sentence, repeated up to the token limit, and marked as truncated ('length')
refusing  a sentence that refuses, flagged as a refusal
echoing   the last message of the user, word for word
"""

_WORDS = (
    "amber anchor barley basket beacon blanket bottle candle canvas carpet cellar clover copper cotton curtain drawer"
    " ember feather fiddle garden ginger hammer harbour hollow island ivory kettle ladder lantern marble meadow mirror"
    " needle orchard paddle pebble pepper pillow pocket ribbon saddle saffron shadow shutter silver spindle sparrow"
    " thimble thunder timber velvet walnut willow window winter"
)
_SENTENCE = "It is as it is and it will be as it will be."
_REFUSAL = "I am sorry, but I cannot help with that."
_LOOP_WORDS = 1_024
"""The number of words in a loop if the request sets no limit."""


class NoParameters(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The parameters of a degenerate respondent."""

    kind: Annotated[Kind, Option("The same behaviour for every prompt")] = "babbling"
    words: Annotated[int, Option("Words in a babbled reply", least=1, most=10_000)] = 60


def degenerate(items: Sequence[Any], name: str, arguments: Mapping[str, str]) -> Answerer:
    """Make the simulated model 'degenerate' or 'degenerate/NAME', for `Study.simulated`; see the module's docstring.

    Raises:
        InputError: an argument is unknown or out of range.
    """
    own, called = name.rpartition("/")[2], f"simulated/{name}"
    given = {**({"kind": own} if own in KINDS else {}), **arguments}
    return Degenerate(called, parameters_of(NoParameters, called, given))


class Degenerate(SeededAnswerer):
    """An `Answerer` that answers every request with a useless reply."""

    parameters: NoParameters

    def __init__(self, name: str = "simulated/degenerate", parameters: NoParameters | None = None) -> None:
        self.name = name
        self.parameters = parameters or NoParameters()

    def reply(self, request: Request) -> Reply:
        """The reply of the respondent's kind, within the request's token limit. One word counts as one token."""
        room = request.settings.max_tokens or _LOOP_WORDS
        return _REPLIES[self.parameters.kind](request, min(self.parameters.words, room), room)


def _babble(request: Request, words: int, room: int) -> Reply:
    drawn = Draw(f"{request.seed}/babble").words(words)
    known = _WORDS.split()
    return Reply(" ".join(known[word % len(known)] for word in drawn))


def _loop(request: Request, words: int, room: int) -> Reply:
    return Reply(" ".join(islice(cycle(_SENTENCE.split()), room)), finish="length")


def _echo(request: Request, words: int, room: int) -> Reply:
    said = (message.content for message in reversed(request.messages) if message.role == "user")
    return Reply(next(said, ""))


_REPLIES: dict[Kind, Callable[[Request, int, int], Reply]] = {
    "babbling": _babble,
    "silent": lambda request, words, room: Reply(""),
    "looping": _loop,
    "refusing": lambda request, words, room: Reply(_REFUSAL, refused=True),
    "echoing": _echo,
}
