"""Asking the judge for labels of stances towards the reference, and for beliefs to state (section 6.1.1)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar, get_args

from overton.calls import Ask, Form, Message
from overton.judging import Reading, object_schema, parse_json
from overton.judging.option_probabilities import OptionChoice
from overton.studies.asking import ReadableReply, ReadableRequest, ask_all_until_read, start_of, unless_refused
from overton.studies.orders import asked_in_order
from overton.studies.pluralism import prompts
from overton.studies.pluralism.items import ReferenceThread
from overton.studies.pluralism.record import STANCES, Stance

T = TypeVar("T")

_ATTEMPTS = 3
"""An unusable reply is retried twice."""


@dataclass(frozen=True)
class JudgeQuestion(Generic[T]):
    """One thing to ask the judge: messages, the form of the answer, and how a reply's text is read."""

    messages: tuple[Message, ...]
    form: Form
    read: Callable[[str], Reading[T]]
    choice: OptionChoice | None = None

    def wanted(self, *, shared: bool = False, speaker: str | None = None, weighed: bool = True) -> ReadableRequest[T]:
        """The request for it; with its labels' probabilities if it is `weighed` and has labels to choose among."""
        read, choice = unless_refused(self.read), self.choice if weighed else None
        return ReadableRequest("judge", self.messages, read, self.form, speaker=speaker, shared=shared, choice=choice)


async def judged(
    ask: Ask,
    tasks: Sequence[JudgeQuestion[T]],
    *,
    shared: bool = False,
    speaker: str | None = None,
    weighed: bool = False,
) -> list[ReadableReply[T]]:
    """Ask the judge all `tasks` side by side, up to three times each; in their order, never raising CallFailed.

    With `shared` the calls are made once per run, whichever trial asks; `speaker` is that of `Ask`. `weighed` ones also
    request their labels' probabilities, if they have labels.
    """
    wanted = [task.wanted(shared=shared, speaker=speaker, weighed=weighed) for task in tasks]
    return await ask_all_until_read(
        ask,
        wanted,
        attempts=_ATTEMPTS,
        complaint=prompts.complaint,
        repeated=lambda text: start_of(text, prompts.nothing()),
    )


_STANCE: dict[str, Any] = {"type": "string", "enum": list(STANCES)}
_STANCE_FORM = Form(schema=object_schema(stance=_STANCE))
_CHOICE = OptionChoice(STANCES, "stance")
_NUMBER = re.compile(r"\d{1,6}")
_KNOWN = ", ".join(STANCES)

Stances = dict[int, Stance]
"""Labels by the places of summaries in their thread, from 1."""


def summaries_task(
    thread: ReferenceThread, reference: int, order: Sequence[int] | None = None
) -> JudgeQuestion[Stances]:
    """The stances of all other summaries of a thread towards the one at place `reference` (from 1), in one call; they
    are shown in the `order` of these places, if it is given."""
    known = range(1, len(thread.viewpoints) + 1) if order is None else order
    places = [place for place in known if place != reference]
    form = Form(schema=object_schema(**{str(place): _STANCE for place in places}))
    return JudgeQuestion(
        prompts.summaries_messages(thread, reference, order), form, lambda text: read_stances(text, places)
    )


def response_task(
    thread: ReferenceThread, reference: str, response: str, labels: Sequence[Stance] = STANCES
) -> JudgeQuestion[Stance]:
    """The stance of one response towards the summary `reference`; the labels are named in this order."""
    messages = prompts.response_messages(thread, reference, response)
    return in_order(JudgeQuestion(messages, _STANCE_FORM, read_stance, _CHOICE), STANCES, labels)


def in_order(task: JudgeQuestion[T], labels: Sequence[str], order: Sequence[str]) -> JudgeQuestion[T]:
    """The task with its labels named in another order, in the instructions and in the form."""
    messages, form = asked_in_order(task.messages, task.form, labels, order)
    return replace(task, messages=messages, form=form)


def read_stances(text: str, places: Sequence[int]) -> Reading[Stances]:
    """Labels of `places` from a reply: an object of labels by number, or JSON that says the same in another way.

    The object may be inside another one, its keys may have other words beside the number ('opinion 3', 'v3'), and it
    may be a list of objects with a number and a label each. Numbers that are not among `places` are dropped, and so are
    repetitions; a number with two different labels has none. Labels are read regardless of case; any other word is no
    label. If labels are missing, a problem is given beside those that exist.
    """
    reading = parse_json(text)
    if reading.how == "invalid":
        return Reading.invalid(reading.problem)
    found: dict[int, set[Stance | None]] = {}
    dropped = 0
    for place, label in _pairs(reading.value):
        dropped += place not in places or place in found
        if place in places:
            found.setdefault(place, set()).add(_stance(label))
    labels = {place: stance for place, stances in found.items() if len(stances) == 1 for stance in stances if stance}
    missing = [str(place) for place in places if place not in labels]
    problem = f"it has no label ({_KNOWN}) for {', '.join(missing)}" if missing else ""
    return Reading(labels or None, reading.how if labels else "invalid", problem, dropped)


def read_stance(text: str) -> Reading[Stance]:
    """The label in a reply: `{"stance": LABEL}`, or the label alone.

    Nothing is read from prose: 'not supporting' contains a label and means another.
    """
    alone = _stance(text.strip().strip("\"'`*._ \n"))
    if alone:
        return Reading(alone, "repaired")
    reading = parse_json(text, dict[str, Any])
    if reading.value is None:
        return Reading.invalid(reading.problem)
    given = [value for value in reading.value.values() if isinstance(value, str)]
    named = reading.value.get("stance", given[0] if len(given) == 1 else None)
    stance = _stance(named)
    if stance is None:
        return Reading.invalid(f'"stance" is none of {_KNOWN}')
    return Reading(stance, reading.how if "stance" in reading.value else "repaired")


def _pairs(value: Any) -> Iterator[tuple[int, Any]]:
    """Numbers and labels, in any of the shapes that `read_stances` describes."""
    if isinstance(value, list):
        for entry in value:
            if isinstance(entry, dict):
                yield from _labels_in(entry)
    elif isinstance(value, dict):
        if len(value) == 1 and isinstance(inner := next(iter(value.values())), dict | list):
            yield from _pairs(inner)
            return
        for key, label in value.items():
            number = _place(key)
            if number is not None:
                yield number, label


def _labels_in(entry: dict[str, Any]) -> Iterator[tuple[int, Any]]:
    """The number and the label of one object of a list; an object of one pair is that pair."""
    labels = [inner for inner in entry.values() if _stance(inner)]
    numbers = [place for inner in entry.values() if not _stance(inner) and (place := _place(inner)) is not None]
    if len(entry) == 1:
        yield from _pairs(entry)
    elif len(numbers) == 1:
        yield numbers[0], labels[0] if len(labels) == 1 else None


def _place(value: Any) -> int | None:
    """The one number in a key or a value."""
    if isinstance(value, bool) or not isinstance(value, int | str):
        return None
    found = _NUMBER.findall(str(value))
    return int(found[0]) if len(found) == 1 else None


def _stance(label: Any) -> Stance | None:
    if not isinstance(label, str):
        return None
    return next((stance for stance in get_args(Stance) if stance == label.strip().casefold()), None)


LONGEST = 1_000
"""The most characters of a belief; longer ones are requested again."""

_FEWEST_WORDS = 4
"""The fewest words of a belief, if its script has spaces; 'I think that ...' only starts one."""

_WORD = re.compile(r"[\w'-]+")

_BELIEF_FORM = Form(schema=object_schema(belief={"type": "string"}))


async def written_belief(ask: Ask, summary: str, *, opposing: bool) -> ReadableReply[str]:
    """The belief that the judge writes, once per run, so that all models and conditions meet the same."""
    task = JudgeQuestion(prompts.belief_messages(summary, opposing=opposing), _BELIEF_FORM, read_belief)
    return (await judged(ask, [task], shared=True))[0]


def read_belief(text: str) -> Reading[str]:
    """The belief in a reply: `{"belief": TEXT}`, or the only text of an object, with white space collapsed."""
    reading = parse_json(text, dict[str, Any])
    if reading.value is None:
        return Reading.invalid(reading.problem)
    given = [value for value in reading.value.values() if isinstance(value, str)]
    named = reading.value.get("belief", given[0] if len(given) == 1 else None)
    belief = " ".join(named.split()) if isinstance(named, str) else ""
    if not belief:
        return Reading.invalid('it has no text under "belief"')
    if belief.isascii() and len(_WORD.findall(belief)) < _FEWEST_WORDS:
        return Reading.invalid("the belief is no sentence")
    if len(belief) > LONGEST:
        return Reading.invalid(f"the belief is longer than {LONGEST:,} characters")
    return Reading(belief, reading.how if "belief" in reading.value else "repaired")
