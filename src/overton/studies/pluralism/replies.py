"""Parsers of the judge's replies: labels of stances, numbers of viewpoints, and beliefs. There is also a function that
matches viewpoints by shared words.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from typing import Any, get_args

from overton.calls import Form
from overton.judging import How, Reading, list_schema, object_schema, parse_json
from overton.studies.pluralism.record import STANCES, Stance

Stances = dict[int, Stance]
"""Labels by the indices of summaries in their thread, from 1."""

Places = tuple[int, ...]
"""Indices of summaries in their thread, from 1."""

YES_NO = ("yes", "no")

_NUMBER = re.compile(r"\d{1,6}")
_KNOWN = ", ".join(STANCES)


def read_stances(text: str, places: Sequence[int]) -> Reading[Stances]:
    """Read the labels of the summaries at `places` from a reply, such as `{"1": "supporting", "3": "against"}`.

    The object may be inside another object, and its keys may have other characters around the number ('opinion 3',
    'v3'). The reply may also be a list of objects, each with a number and a label. Overton drops repetitions and
    numbers that are not in `places`. A summary with two different labels gets no label. A label may be in upper or
    lower case, and any other word is invalid. If some labels are missing, the result has the labels that the reply
    gives, and a problem that names the summaries without a label.
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

    Prose is not read, because 'not supporting' contains a label but has another meaning.
    """
    alone = _stance(text.strip().strip("\"'`*._ \n"))
    if alone:
        return Reading(alone, "repaired")
    reading = parse_json(text, dict[str, Any])
    if reading.value is None:
        return Reading.invalid(reading.problem)
    stance = _stance(_text_under("stance", reading.value))
    if stance is None:
        return Reading.invalid(f'"stance" is none of {_KNOWN}')
    return Reading(stance, reading.how if "stance" in reading.value else "repaired")


def _text_under(key: str, given: dict[str, Any]) -> Any:
    """The value under a key. For an object without the key, the result is the only text in it, or None if it has no
    text or several texts."""
    texts = [value for value in given.values() if isinstance(value, str)]
    return given.get(key, texts[0] if len(texts) == 1 else None)


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
            number = _number_in(key)
            if number is not None:
                yield number, label


def _labels_in(entry: dict[str, Any]) -> Iterator[tuple[int, Any]]:
    """The number and the label in one object of a list. An object with a single key is read as label by number."""
    labels = [inner for inner in entry.values() if _stance(inner)]
    numbers = [place for inner in entry.values() if not _stance(inner) and (place := _number_in(inner)) is not None]
    if len(entry) == 1:
        yield from _pairs(entry)
    elif len(numbers) == 1:
        yield numbers[0], labels[0] if len(labels) == 1 else None


def _number_in(value: Any) -> int | None:
    """The number in a key or a value; None if there is not exactly one."""
    if isinstance(value, bool) or not isinstance(value, int | str):
        return None
    found = _NUMBER.findall(str(value))
    return int(found[0]) if len(found) == 1 else None


def _stance(label: Any) -> Stance | None:
    if not isinstance(label, str):
        return None
    return next((stance for stance in get_args(Stance) if stance == label.strip().casefold()), None)


def form_of_numbers(key: str, places: range) -> Form:
    """A reply format for a list of numbers from `places`. The list has a maximum length, so that constrained decoding
    ends."""
    numbers = {"type": "integer", "enum": list(places)}
    return Form(schema=object_schema(**{key: list_schema(numbers, most=len(places))}))


def read_entailed(text: str, places: range) -> Reading[Places]:
    """Numbers of summaries from a reply: `{"entailed": [4, 1]}`, a list alone, or a list under another single key.

    Numbers may be in texts ('4', 'opinion 4'). Repetitions and anything that is not a summary's number are dropped. If
    all entries of a list are dropped, the list is unusable. An empty list is usable.
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
    """The numbers in the list `value`, without repetitions and without numbers that are not in `places`. `number`
    returns the number in one entry of the list, or 0 if the entry has none.

    `key` is the list's JSON key, and `named` is the noun for a numbered item. Both occur only in messages about an
    unusable list.
    """
    if not isinstance(value, list):
        return Reading.invalid(f'it has no list of numbers under "{key}"')
    numbers = [number(entry) for entry in value]
    kept = tuple(dict.fromkeys(place for place in numbers if place in places))
    if numbers and not kept:
        return Reading.invalid(f"it names no {named} by its number, 1 to {len(places)}")
    return Reading(kept, how, dropped=len(numbers) - len(kept))


def _place(value: Any) -> int:
    """The number in a value. If there is not exactly one number, the result is 0, which is never an index."""
    if isinstance(value, dict) and len(value) == 1:
        value = next(iter(value.values()))
    number = _number_in(value)
    return 0 if number is None or str(value).strip().startswith("-") else number


_YES = re.compile(r"[\W_]*(yes|no)(?=[\W_]*\Z|[*_\"'`]*[.,:;!\n])", re.IGNORECASE)


def read_yes(text: str) -> Reading[bool]:
    """Whether a reply starts with 'yes' or 'no'. If the reply goes on, a punctuation mark must come next, as in 'No, it
    denies it.'"""
    found = _YES.match(text)
    if found is None:
        return Reading.invalid("it is neither 'yes' nor 'no'")
    return Reading(found[1].casefold() == "yes", "as is" if text.strip() in YES_NO else "repaired")


LONGEST = 1_000
"""The maximum length of a belief, in characters. A longer belief is requested again."""

_FEWEST_WORDS = 4
"""The minimum number of words in a belief, checked only for ASCII texts. 'I think that' is not a whole belief."""

_WORD = re.compile(r"[\w'-]+")


def read_belief(text: str) -> Reading[str]:
    """The belief in a reply: `{"belief": TEXT}`, or the only text of an object, with white space collapsed."""
    reading = parse_json(text, dict[str, Any])
    if reading.value is None:
        return Reading.invalid(reading.problem)
    named = _text_under("belief", reading.value)
    belief = " ".join(named.split()) if isinstance(named, str) else ""
    if not belief:
        return Reading.invalid('it has no text under "belief"')
    if belief.isascii() and len(_WORD.findall(belief)) < _FEWEST_WORDS:
        return Reading.invalid("the belief is no sentence")
    if len(belief) > LONGEST:
        return Reading.invalid(f"the belief is longer than {LONGEST:,} characters")
    return Reading(belief, reading.how if "belief" in reading.value else "repaired")


_SHARED = 0.5
"""In matching by shared words, a response entails a summary if it has at least this proportion of the summary's content
words."""


def lexical(summaries: Sequence[str], response: str) -> Places:
    """Indices of the summaries that match, highest proportion first. A summary matches if at least half of its content
    words occur in the response.

    Words are compared without case, accents and common endings, and without function words. This function replays
    stored runs with this kind of matching. New runs cannot use it, because without function words such as
    'not', a summary and its denial look alike.
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
