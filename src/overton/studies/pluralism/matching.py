"""Which viewpoints a response entails (section 4.2), as the judge says; by shared words in stored runs that did so."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from overton.calls import Ask, Form
from overton.judging import How, Reading, list_schema, object_schema, parse_json
from overton.judging.option_probabilities import OptionChoice
from overton.studies.asking import ReadableReply, failure_in
from overton.studies.pluralism import prompts
from overton.studies.pluralism.items import ReferenceThread
from overton.studies.pluralism.judging import JudgeQuestion, in_order, judged
from overton.studies.pluralism.options import Matching

Places = tuple[int, ...]
"""Places of summaries in their thread, from 1."""

_SHARED = 0.5
"""Matching by shared words takes a summary for entailed if the response has this share of its content words."""

YES_NO = ("yes", "no")
_PAIR_FORM = Form(choices=YES_NO)

_NUMBER = re.compile(r"\d{1,6}")
_YES = re.compile(r"[\W_]*(yes|no)(?=[\W_]*\Z|[*_\"'`]*[.,:;!\n])", re.IGNORECASE)


class Match(NamedTuple):
    """The viewpoints that one response entails, the surest first, None without a usable answer. `failure` is from
    `failure_in`.

    `yes` has the probability of each viewpoint, None for those without one, and None if none was requested.
    """

    places: Places | None
    failure: str | None = None
    yes: tuple[float | None, ...] | None = None


async def matched(
    ask: Ask,
    thread: ReferenceThread,
    responses: Sequence[str],
    matching: Matching,
    orders: Sequence[Sequence[int]] | None = None,
    *,
    labels: Sequence[str] = YES_NO,
    speaker: str | None = None,
    weighed: bool = False,
) -> tuple[list[Match], Sequence[ReadableReply[Any]]]:
    """The summaries that each response entails, and how the judge was asked.

    'together' asks the judge for the list, one call per response, with the summaries in the response's own order of the
    `orders` (places, from 1), or as in the thread; 'pairs' asks it about each pair, in the order of the thread and
    naming its answers in the order of `labels`, and a pair without a usable answer counts as not entailed, unless all
    of a response's pairs have none; `weighed` pairs have their probabilities, and a list has none. 'lexical' asks no
    model, and only stored runs have it.
    """
    if matching == "lexical":
        summaries = [viewpoint.summary for viewpoint in thread.viewpoints]
        return [Match(lexical(summaries, response)) for response in responses], []
    if matching == "together":
        shown = orders or [range(1, len(thread.viewpoints) + 1)] * len(responses)
        tasks = [_together(thread, response, order) for response, order in zip(responses, shown, strict=True)]
        lists = await judged(ask, tasks, speaker=speaker)
        return [
            Match(_places_of(answered.value, order), failure_in("judge", [answered]))
            for answered, order in zip(lists, shown, strict=True)
        ], lists
    questions = [
        pair_task(thread, place, response) for response in responses for place in range(1, len(thread.viewpoints) + 1)
    ]
    asked = [in_order(question, YES_NO, labels) for question in questions]
    pairs = await judged(ask, asked, speaker=speaker, weighed=weighed)
    count = len(thread.viewpoints)
    return [_join_pairs(pairs[start : start + count]) for start in range(0, len(pairs), count)], pairs


def pair_task(thread: ReferenceThread, place: int, response: str) -> JudgeQuestion[bool]:
    """Whether a response entails the viewpoint at this place, from 1."""
    messages = prompts.entailment_messages(thread, thread.viewpoints[place - 1].summary, response)
    return JudgeQuestion(messages, _PAIR_FORM, read_yes, OptionChoice(YES_NO))


def _together(thread: ReferenceThread, response: str, order: Sequence[int]) -> JudgeQuestion[Places]:
    numbers = range(1, len(order) + 1)
    messages = prompts.matching_messages(thread, response, order)
    return JudgeQuestion(messages, form_of_numbers("entailed", numbers), lambda text: read_entailed(text, numbers))


def _places_of(numbers: Places | None, order: Sequence[int]) -> Places | None:
    """The places of the summaries that were shown with these numbers."""
    return None if numbers is None else tuple(order[number - 1] for number in numbers)


def form_of_numbers(key: str, places: range) -> Form:
    """A list of existing numbers, no longer than there are any: a grammar that holds it brings it to an end."""
    numbers = {"type": "integer", "enum": list(places)}
    return Form(schema=object_schema(**{key: list_schema(numbers, most=len(places))}))


def _join_pairs(pairs: Sequence[ReadableReply[bool]]) -> Match:
    """The answers about one response."""
    known = any(pair.value is not None for pair in pairs)
    places = tuple(place for place, pair in enumerate(pairs, 1) if pair.value)
    reported = [pair.chances for pair in pairs]
    yes = tuple([None if chances is None else chances[0] for chances in reported]) if any(reported) else None
    return Match(places if known else None, failure_in("judge", pairs), yes)


def read_entailed(text: str, places: range) -> Reading[Places]:
    """Numbers of summaries from a reply: `{"entailed": [4, 1]}`, a list alone, or a list under another single key.

    Numbers may be in texts ('4', 'opinion 4'). Anything that is not a summary's number is dropped, and so are
    repetitions. If nothing that was named remains, there is no answer.
    """
    reading = parse_json(text)
    if reading.how == "invalid":
        return Reading.invalid(reading.problem)
    value = reading.value
    how = reading.how
    if isinstance(value, dict):
        how = how if "entailed" in value else "repaired"
        value = value.get("entailed", next(iter(value.values())) if len(value) == 1 else None)
    return read_numbers(value, how, places, key="entailed", named="opinion", number=_place)


def read_numbers(
    value: Any, how: How, places: range, *, key: str, named: str, number: Callable[[Any], int]
) -> Reading[Places]:
    """Those of `places` in the list that was found under `key`, each once; `number` reads one of them, 0 for none.

    Anything else is dropped. `named` says in a complaint what the numbers are numbers of.
    """
    if not isinstance(value, list):
        return Reading.invalid(f'it has no list of numbers under "{key}"')
    numbers = [number(entry) for entry in value]
    kept = tuple(dict.fromkeys(place for place in numbers if place in places))
    if numbers and not kept:
        return Reading.invalid(f"it names no {named} by its number, 1 to {len(places)}")
    return Reading(kept, how, dropped=len(numbers) - len(kept))


def _place(value: Any) -> int:
    """The one number in a value, or 0, which is not a place."""
    if isinstance(value, dict) and len(value) == 1:
        value = next(iter(value.values()))
    if isinstance(value, bool) or not isinstance(value, int | str):
        return 0
    found = _NUMBER.findall(str(value))
    return int(found[0]) if len(found) == 1 and str(value).strip()[0] != "-" else 0


def read_yes(text: str) -> Reading[bool]:
    """Whether a reply starts with 'yes' (or 'no') and goes on, if at all, after a mark: 'No, it denies it.'"""
    found = _YES.match(text)
    if found is None:
        return Reading.invalid("it is neither 'yes' nor 'no'")
    return Reading(found[1].casefold() == "yes", "as is" if text.strip() in _PAIR_FORM.choices else "repaired")


def lexical(summaries: Sequence[str], response: str) -> Places:
    """Places of the summaries at least half of whose content words are in the response, highest share first.

    Words are compared without case, accents and common endings, and without function words. Stored runs with this
    matching are replayed by it; new runs cannot have it, since a summary's denial has the same words.
    """
    said = _words(response)
    shares = [(len(words & said) / len(words) if (words := _words(summary)) else 0.0) for summary in summaries]
    order = sorted(range(len(summaries)), key=lambda index: -shares[index])
    return tuple(index + 1 for index in order if shares[index] >= _SHARED)


def _words(text: str) -> frozenset[str]:
    plain = "".join(letter for letter in unicodedata.normalize("NFKD", text) if not unicodedata.combining(letter))
    words = re.findall(r"[^\W_]+", plain.casefold())
    return frozenset(_stem(word) for word in words if word not in _FUNCTION_WORDS)


def _stem(word: str) -> str:
    ends = (end for end in ("ing", "ed", "es", "s") if word.endswith(end) and len(word) > len(end) + 2)
    return word.removesuffix(next(ends, ""))


_SMALL = (
    "a an the and or but of in on at to for from by with as is are was were be been being do does did has have had it"
    " its this that these those their they them there he his him she her you your we our i me my what which who how why"
    " when where if should would could can may might must will shall not no than then so just about"
)
_FUNCTION_WORDS = frozenset(re.findall(r"\w+", _SMALL))
