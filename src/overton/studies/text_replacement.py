"""A study with some texts replaced. The replacements are in force only while one of the study's functions runs. So they
affect only this study in this run, and no other code in the process. Parallel runs in tasks or threads may use
different texts. No module may use a prompt while the module is being imported. Values computed from prompts are
cached with `remembered`.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from overton.calls import Answerer, Message, Reply, Request
from overton.errors import InputError, Problem, RejectedError, StudyError, list_names, quoted, suggestion
from overton.studies.declaration_walk import DeclarationWalk
from overton.studies.prompts import PUBLISHED, OwnText, Replacements, own_texts
from overton.studies.questions import JudgePrompt, Questions
from overton.studies.sections import Exhibits
from overton.studies.study import AnyStudy

MOST_CHARACTERS = 200_000
"""The largest number of characters of a replacement; the longest published prompt has 4,000."""
MOST_TEXTS = 1_000
"""The largest number of replacements."""
_MOST_TOGETHER = 2**22
"""The largest number of characters of all replacements."""
_MOST_TIMES = 20
"""The largest number of times that a text may contain one placeholder. There is a limit because each occurrence may be
filled with a whole post or answer."""
_MOST_SHOWN = 10
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
"""Control characters and halves of surrogate pairs break terminals, tables and journals."""


def with_texts(study: AnyStudy, texts: Mapping[str, str]) -> AnyStudy:
    """The study with replaced `texts`, by their names in `Study.prompts`. The study is unchanged if every text equals
    the study's own.

    Raises:
        InputError: a text cannot replace the study's own. The problems' keys are the names of the texts.
    """
    if study.replaced:
        raise ValueError(f"texts of {study.name} are replaced already")
    own = own_texts(study.prompts)
    texts = {name: text for name, text in texts.items() if name not in own or own[name].value != text}
    if problems := list(problems_with(study, own, texts)):
        raise InputError(problems)
    if not texts:
        return study
    found = [(own[name], text) for name, text in sorted(texts.items())]
    made = _Rewording(Replacements(found)).fill(copy(study), study)
    object.__setattr__(made, "replaced", dict(sorted(texts.items())))
    return made


def problems_with(study: AnyStudy, own: Mapping[str, OwnText], texts: Mapping[str, str]) -> Iterator[Problem]:
    """The reasons why texts cannot replace a study's `own` texts. Each problem has the study as place and the text's
    name as key."""
    if len(texts) > MOST_TEXTS:
        yield Problem(study.name, "", f"{len(texts):,} texts are too many to replace; the maximum is {MOST_TEXTS:,}")
        return
    if (together := sum(map(len, texts.values()))) > _MOST_TOGETHER:
        yield Problem(study.name, "", f"the texts have {together:,} characters; at most {_MOST_TOGETHER:,} are allowed")
        return
    for name, text in texts.items():
        if (reason := _why_unfit(study, own, name, text)) is not None:
            yield Problem(study.name, name, reason)


def _why_unfit(study: AnyStudy, own: Mapping[str, OwnText], name: str, text: str) -> str | None:
    if name not in own:
        return unknown_text(study, own, name)
    known = own[name]
    if not isinstance(known.value, str):
        return "is a list and not a text, and cannot be replaced"
    if len(text) > MOST_CHARACTERS:
        return f"has {len(text):,} characters; at most {MOST_CHARACTERS:,} are allowed"
    if not text.strip():
        return "is empty"
    if found := _CONTROL.search(text):
        return f"contains the control character {quoted(found[0])}"
    return _why_places_differ(known, text)


def unknown_text(study: AnyStudy, own: Iterable[str], name: str) -> str:
    """The message about a name that is not the name of a study's text."""
    names = sorted(own)
    if not names:
        return f"{study.name} has no texts that can be replaced"
    hint = suggestion(name, names)
    known = hint or f"; known are {list_names(names, _MOST_SHOWN)}"
    return f"is not a text that {study.name} sends{known}"


def _why_places_differ(known: OwnText, text: str) -> str | None:
    wanted, places = ({*known.prompts.cut(known.key, some)[1::2]} for some in (known.value, text))
    spelled = {place: known.prompts.spelled(known.key, ("", place, "")) for place in wanted | places}
    named = [*known.prompts.cut(known.key, text)[1::2]]
    reasons = []
    if missing := sorted(wanted - places):
        reasons.append(f"lacks {' and '.join(spelled[place] for place in missing)}")
    for place in sorted(places - wanted):
        filled = (
            f"known are {', '.join(spelled[name] for name in sorted(wanted))}"
            if wanted
            else "the text has no placeholders"
        )
        reasons.append(f"has {spelled[place]}, which nothing fills{suggestion(place, wanted) or f'; {filled}'}")
    if often := sorted({place for place in places if named.count(place) > _MOST_TIMES}):
        reasons.append(f"has {spelled[often[0]]} more than {_MOST_TIMES} times")
    return "; ".join(reasons) or None


_BY_ANY_WORDS = ("Question.meanings",)
"""Functions that search a text for words. They search the study's own text if the replacement lacks the words."""


@dataclass(frozen=True)
class _Rewording(DeclarationWalk):
    """A walk through a declaration that wraps each function, so that it runs with the replacements in force."""

    replacements: Replacements

    def function(self, function: Callable[..., Any], place: str) -> Any:
        if place == "Study.simulated":
            return _RewordedSimulated(self.replacements, function)
        return (_RewordedMeanings if place in _BY_ANY_WORDS else _RewordedCall)(self, function)


@dataclass(frozen=True)
class _RewordedCall:
    """A function of a study that runs with replacements in force. For a coroutine or an iterator they are in force at
    each step."""

    walk: _Rewording
    __wrapped__: Callable[..., Any]

    def __call__(self, *given: Any, **named: Any) -> Any:
        with self.walk.replacements.in_force():
            found = self.__wrapped__(*given, **named)
        if inspect.isawaitable(found):
            return self._await(found)
        return self._iterate(found) if isinstance(found, Iterator) else self._returned(found)

    async def _await(self, started: Any) -> Any:
        with self.walk.replacements.in_force():
            return await started

    def _iterate(self, values: Iterator[Any]) -> Iterator[Any]:
        end = object()
        while True:
            with self.walk.replacements.in_force():
                value = next(values, end)
            if value is end:
                return
            yield value

    def _returned(self, found: Any) -> Any:
        """The result of a function. Functions in it are wrapped as well."""
        if isinstance(found, Exhibits) and (trials := found.trials) is not None:
            shown = replace(trials, prompts=self._inner(trials.prompts), answers=self._inner(trials.answers))
            return replace(found, trials=shown)
        several = isinstance(found, tuple | list) and found and all(isinstance(inner, JudgePrompt) for inner in found)
        return self.walk.walked(found, "") if several or isinstance(found, Questions) else found

    def _inner(self, function: Callable[..., Any]) -> Any:
        return _RewordedCall(self.walk, function)


@dataclass(frozen=True)
class _RewordedMeanings(_RewordedCall):
    """The meanings of labels in the words of the replaced prompt. If that prompt does not define the labels, the
    study's own words are used."""

    def __call__(self, *given: Any, **named: Any) -> Any:
        try:
            return super().__call__(*given, **named)
        except (ValueError, StudyError):
            with PUBLISHED.in_force():
                return self.__wrapped__(*given, **named)


@dataclass(frozen=True)
class _RewordedSimulated:
    """Makes a simulated model of a study. The simulated model knows only the study's own words, so requests are
    converted back to these words."""

    replacements: Replacements
    __wrapped__: Callable[..., Answerer]

    def __call__(self, *given: Any) -> Answerer:
        with PUBLISHED.in_force():
            return _RewordedAnswerer(self.replacements, self.__wrapped__(*given))


class _RewordedAnswerer:
    """A simulated model that receives its requests in its study's own words."""

    def __init__(self, replacements: Replacements, made: Answerer) -> None:
        self._replacements = replacements
        self._answerer: Any = made

    def __getattr__(self, name: str) -> Any:
        return getattr(self._answerer, name)

    async def answer(self, request: Request) -> Reply:
        """See `Answerer`.

        Raises:
            RejectedError: the simulated model does not recognise the request. The message states that texts were
                replaced.
        """
        messages = tuple(map(self._restored, request.messages))
        with PUBLISHED.in_force():
            try:
                reply: Reply = await self._answerer.answer(msgspec.structs.replace(request, messages=messages))
            except RejectedError as error:
                reason = f"{error} (the simulated model knows only the study's own texts, not this run's replacements)"
                raise RejectedError(error.kind, reason) from error
        return reply

    def _restored(self, message: Message) -> Message:
        if message.role == "assistant":
            return message  # an answer, which contains no text of the study
        return Message(message.role, self._replacements.restored(message.content))
