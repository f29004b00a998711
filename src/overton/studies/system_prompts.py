"""The user's system prompts, which are conditions of every study that asks models for their views.

With the options `systems` and `no_plain`, Overton repeats all trials under each system prompt, with the same random
choices, and begins the messages to the measured models with it. Nothing else changes. Calls without a system prompt
keep their identity, and judges, search engines and writers never see a system prompt.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Annotated, Any, Protocol, cast

import msgspec

from overton.calls import (
    Answerer,
    Ask,
    Conduct,
    Message,
    Question,
    Reply,
    Request,
    SystemPrompt,
    Trial,
    system,
)
from overton.errors import Problem, quoted
from overton.studies.null_conditions import PREFIX, null_of
from overton.studies.options import Option, StudyOptions, option_place, with_fields

SYSTEMS, NO_PLAIN = "systems", "no_plain"
"""The names of two options: the texts, and whether to leave out the condition without a system prompt."""
SYSTEM = "system"
"""The column of records that names the condition, in a run with system prompts."""
NONE = "none"
"""The name of the condition without a system prompt."""
MOST_CHARACTERS = 100_000
"""The largest number of characters of a system prompt."""
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
"""Control characters and halves of surrogate pairs, which journals and terminals cannot handle."""
_MOST_SHOWN = 60

Systems = Annotated[
    tuple[str, ...],
    Option(
        "System prompt of a deployment, or @FILE with its text. Each system prompt adds a condition; the conditions"
        " are named system-1, system-2, ... in the order given",
        flag="--system",
        extends=True,
        repeats=True,
        texts=True,
    ),
]
"""The type of the option `systems`."""
NoPlain = Annotated[bool, Option("Leave out the condition without a system prompt")]
"""The type of the option `no_plain`."""

Trials = Callable[[Sequence[Any], Any, int], Iterator[Trial]]


class _SystemOptions(Protocol):
    @property
    def systems(self) -> tuple[str, ...]: ...
    @property
    def no_plain(self) -> bool: ...


def with_system_options(options: type[StudyOptions]) -> type[StudyOptions]:
    """A study's options with those for system prompts; unchanged if they already have these options."""

    def problems(self: Any) -> Iterator[Problem]:
        """The study's own problems with options, and problems with system prompts."""
        yield from options.problems(self)
        yield from _problems_of(self)

    fields = [(SYSTEMS, Systems, ()), (NO_PLAIN, NoPlain, False)]
    return with_fields(options, fields, problems=problems)


def _problems_of(options: _SystemOptions) -> Iterator[Problem]:
    place, seen = option_place(SYSTEMS), dict[str, int]()
    if options.no_plain and not options.systems:
        yield Problem(option_place(NO_PLAIN), "", "leaves no condition; also give a system prompt (--system)")
    for number, text in enumerate(options.systems, 1):
        shown = shown_prompt(text)
        if not text.strip():
            yield Problem(place, "", f"number {number} is empty; remove it")
        elif len(text) > MOST_CHARACTERS:
            yield Problem(place, shown, f"has {len(text):,} characters; at most {MOST_CHARACTERS:,} are allowed")
        elif found := _CONTROL.search(text):
            yield Problem(place, shown, f"contains the control character {quoted(found[0])}")
        elif (first := seen.setdefault(text.strip(), number)) != number:
            yield Problem(place, shown, f"is given twice, as number {first} and number {number}")


def shown_prompt(text: str, most: int = _MOST_SHOWN) -> str:
    """A system prompt on one line, truncated to `most` characters."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"


def system_texts(options: Any) -> tuple[str, ...]:
    """The texts of the system prompts in a run's options; empty for a study without this option."""
    return tuple(getattr(options, SYSTEMS, ()))


def conditions_of(options: Any) -> tuple[SystemPrompt | None, ...]:
    """The conditions in order: first None for the condition without a system prompt, unless the options leave it out,
    then each system prompt."""
    plain: tuple[SystemPrompt | None, ...] = () if getattr(options, NO_PLAIN, False) else (None,)
    return (*plain, *(SystemPrompt(f"system-{number}", text) for number, text in enumerate(system_texts(options), 1)))


def name_of(prompt: SystemPrompt | None) -> str:
    """The name of a condition: 'none', or 'system-1', ..."""
    return NONE if prompt is None else prompt.name


@dataclass(frozen=True)
class WithSystemPrompts:
    """A study's trials in every condition, grouped by item: 'NAME', 'system-1/NAME', ...

    With `own` the study itself makes the trials of all conditions and sets their `system_prompt`, because its trial
    names and random choices differ between conditions.
    """

    trials: Trials
    own: bool = False

    def __call__(self, items: Sequence[Any], options: Any, seed: int) -> Iterator[Trial]:
        """All trials, grouped by item."""
        made, conditions = self.trials(items, options, seed), conditions_of(options)
        return made if self.own or conditions == (None,) else _once_each(made, conditions)


def _once_each(made: Iterable[Trial], conditions: Sequence[SystemPrompt | None]) -> Iterator[Trial]:
    for _, some in groupby(made, key=lambda trial: trial.item):
        own = list(some)
        for prompt in conditions:
            yield from own if prompt is None else (_under(trial, prompt) for trial in own)


def _under(trial: Trial, prompt: SystemPrompt) -> Trial:
    """The trial under a system prompt, with the random choices of the trial without it. A null condition's prefix stays
    first in the name."""
    null = f"{PREFIX}{found}/" if (found := null_of(trial.name)) else ""
    name = f"{null}{prompt.name}/{trial.name.removeprefix(null)}"
    return msgspec.structs.replace(trial, name=name, plain_name=trial.name, system_prompt=prompt)


@dataclass(frozen=True)
class WithSystemPrompt:
    """A study's trial protocol, which puts a trial's system prompt before all messages to the models of a `role`."""

    __wrapped__: Conduct
    role: str

    async def __call__(self, trial: Any, ask: Ask) -> list[Any]:
        """Run the trial. The system prompt is removed from it, so that nothing inside adds the system prompt again."""
        if getattr(trial, "system_prompt", None) is None:
            return await self.__wrapped__(trial, ask)
        plain = msgspec.structs.replace(trial, system_prompt=None)
        return await self.__wrapped__(plain, _PromptedAsk(ask, self.role, trial.system_prompt.text))


@dataclass(frozen=True)
class _PromptedAsk:
    """An `Ask` that begins all questions to one role with a system prompt."""

    ask: Ask
    role: str
    text: str

    async def __call__(self, role: str, messages: Sequence[Message], **how: Any) -> Reply:
        """See `Ask`."""
        asked = self._prompted(Question(role, tuple(messages), **how))
        return await self.ask(role, asked.messages, **{**how, **({"head": asked.head} if asked.head else {})})

    async def all(self, questions: Sequence[Question]) -> list[Reply]:
        """See `Ask`."""
        return await self.ask.all([*map(self._prompted, questions)])

    def _prompted(self, question: Question) -> Question:
        if question.role != self.role:
            return question
        messages = with_system_prompt(question.messages, self.text)
        added = len(messages[0].content) - len(question.messages[0].content)
        own = len(messages) == len(question.messages)
        head = 0 if not question.head else question.head + added if own else len(self.text)
        return msgspec.structs.replace(question, messages=messages, head=head)


def with_system_prompt(messages: Sequence[Message], text: str) -> tuple[Message, ...]:
    """Messages that begin with a system prompt. The protocol's own system message follows it unchanged, after an empty
    line."""
    first, *others = messages
    if first.role != "system":
        return (system(text), *messages)
    return (system(f"{text}\n\n{first.content}"), *others)


def without_system_prompt(messages: Sequence[Message], texts: Iterable[str]) -> tuple[tuple[Message, ...], str]:
    """The protocol's own messages, and the system prompt among `texts` that preceded them, '' without one."""
    first, *others = messages
    for text in sorted(texts, key=len, reverse=True) if first.role == "system" else ():
        if first.content == text:
            return tuple(others), text
        if first.content.startswith(f"{text}\n\n"):
            return (system(first.content[len(text) + 2 :]), *others), text
    return tuple(messages), ""


@dataclass
class PromptedAnswerer:
    """A simulated model of a run with system prompts, which ignores system prompts.

    There is one exception. If a system prompt consists of parameters (`lean=2 letter=1`), these replace the simulated
    model's own parameters.
    """

    answerer: Answerer
    variants: Mapping[str, Answerer] = field(default_factory=dict)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.answerer, name)

    async def answer(self, request: Request) -> Reply:
        """See `Answerer`."""
        messages, text = without_system_prompt(request.messages, self.variants)
        following = self.variants.get(text, self.answerer)
        return await following.answer(msgspec.structs.replace(request, messages=messages))


def prompted_answerer(
    make: Callable[[Mapping[str, str]], Answerer], given: Mapping[str, str], texts: Sequence[str]
) -> Answerer:
    """The simulated model that `make` makes from the arguments `given`, for a run with the system prompts `texts`.

    Raises:
        InputError: the simulated model does not accept the arguments, or those in a system prompt.
    """
    answerer = make(given)
    if not texts:
        return answerer
    return cast(
        "Answerer", PromptedAnswerer(answerer, {text: _following(make, given, text, answerer) for text in texts})
    )


def _following(
    make: Callable[[Mapping[str, str]], Answerer], given: Mapping[str, str], text: str, answerer: Answerer
) -> Answerer:
    words = [word.partition("=") for word in text.split()]
    if not all(key and equals and value for key, equals, value in words):
        return answerer
    return make({**given, **{key: value for key, _, value in words}})
