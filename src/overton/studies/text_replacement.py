"""A study some of whose texts are replaced: each of its functions runs with the replacements in force.

So the texts belong to the study of an experiment, and to nothing else in the process. Two runs side by side may have
different ones, in tasks and in threads.
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
"""Most characters of a text that replaces another; the longest published prompt has 4,000."""
MOST_TEXTS = 1_000
"""Most texts that are replaced."""
_MOST_TOGETHER = 2**22
"""Most characters of all of them."""
_MOST_TIMES = 20
"""Most times that a text may have one place: each is filled with a whole post or answer."""
_MOST_SHOWN = 10
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
"""Control characters and halves of surrogate pairs break terminals, tables and journals."""


def with_texts(study: AnyStudy, texts: Mapping[str, str]) -> AnyStudy:
    """The study with these texts, by their names in `Study.prompts`, in place of its own; itself if it has them.

    Raises:
        InputError: a text cannot replace another; the problems' keys are the names.
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
    """Why texts cannot replace a study's `own`; place and key of each problem are the study and the text's name."""
    if len(texts) > MOST_TEXTS:
        yield Problem(study.name, "", f"{len(texts):,} texts are too many to replace; {MOST_TEXTS:,} are the most")
        return
    if (together := sum(map(len, texts.values()))) > _MOST_TOGETHER:
        yield Problem(study.name, "", f"the texts have {together:,} characters; {_MOST_TOGETHER:,} are the most")
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
        return f"has {len(text):,} characters; {MOST_CHARACTERS:,} are the most"
    if not text.strip():
        return "is empty"
    if found := _CONTROL.search(text):
        return f"contains the control character {quoted(found[0])}"
    return _why_places_differ(known, text)


def unknown_text(study: AnyStudy, own: Iterable[str], name: str) -> str:
    """Why a name is none of a study's texts."""
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
        filled = f"known are {', '.join(spelled[name] for name in sorted(wanted))}" if wanted else "it has no places"
        reasons.append(f"has {spelled[place]}, which nothing fills{suggestion(place, wanted) or f'; {filled}'}")
    if often := sorted({place for place in places if named.count(place) > _MOST_TIMES}):
        reasons.append(f"has {spelled[often[0]]} more than {_MOST_TIMES} times")
    return "; ".join(reasons) or None


_BY_ANY_WORDS = ("Question.meanings",)
"""Functions that look for words in a text, and look in the study's own if other words have taken their place."""


@dataclass(frozen=True)
class _Rewording(DeclarationWalk):
    """Puts replacements in force in each function of a declaration."""

    replacements: Replacements

    def function(self, function: Callable[..., Any], place: str) -> Any:
        if place == "Study.simulated":
            return _RewordedSimulated(self.replacements, function)
        return (_RewordedMeanings if place in _BY_ANY_WORDS else _RewordedCall)(self, function)


@dataclass(frozen=True)
class _RewordedCall:
    """A function of a study, called with replacements in force, at each step if it has several."""

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
        """The result of a function, with the functions in it reworded."""
        if isinstance(found, Exhibits) and (trials := found.trials) is not None:
            shown = replace(trials, prompts=self._inner(trials.prompts), answers=self._inner(trials.answers))
            return replace(found, trials=shown)
        several = isinstance(found, tuple | list) and found and all(isinstance(inner, JudgePrompt) for inner in found)
        return self.walk.walked(found, "") if several or isinstance(found, Questions) else found

    def _inner(self, function: Callable[..., Any]) -> Any:
        return _RewordedCall(self.walk, function)


@dataclass(frozen=True)
class _RewordedMeanings(_RewordedCall):
    """The meanings of labels in a judge's words; if those do not define the labels, in the study's own words."""

    def __call__(self, *given: Any, **named: Any) -> Any:
        try:
            return super().__call__(*given, **named)
        except (ValueError, StudyError):
            with PUBLISHED.in_force():
                return self.__wrapped__(*given, **named)


@dataclass(frozen=True)
class _RewordedSimulated:
    """Makes a simulated answerer of a study. This knows the study's own words, so requests are restored to them."""

    replacements: Replacements
    __wrapped__: Callable[..., Answerer]

    def __call__(self, *given: Any) -> Answerer:
        with PUBLISHED.in_force():
            return _RewordedAnswerer(self.replacements, self.__wrapped__(*given))


class _RewordedAnswerer:
    """A simulated answerer that is given its requests in its study's own words."""

    def __init__(self, replacements: Replacements, made: Answerer) -> None:
        self._replacements = replacements
        self._answerer: Any = made

    def __getattr__(self, name: str) -> Any:
        return getattr(self._answerer, name)

    async def answer(self, request: Request) -> Reply:
        """See `Answerer`.

        Raises:
            RejectedError: it does not recognise the request; says that texts were replaced.
        """
        messages = tuple(map(self._restored, request.messages))
        with PUBLISHED.in_force():
            try:
                reply: Reply = await self._answerer.answer(msgspec.structs.replace(request, messages=messages))
            except RejectedError as error:
                reason = f"{error} (it knows the study's own texts, and cannot follow what the run has in their place)"
                raise RejectedError(error.kind, reason) from error
        return reply

    def _restored(self, message: Message) -> Message:
        if message.role == "assistant":
            return message  # what somebody answered, which no text of the study precedes
        return Message(message.role, self._replacements.restored(message.content))
