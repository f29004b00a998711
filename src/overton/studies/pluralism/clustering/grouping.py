"""Opinions into groups of paraphrases in one reply: the published prompt 8."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from overton.calls import Ask, Form
from overton.judging import Reading, list_schema, parse_json
from overton.studies.pluralism.clustering.asking import Wanted, answer
from overton.studies.pluralism.clustering.parts import Counts, plain_text
from overton.studies.pluralism.prompts import reference as prompts

__all__ = ["Grouping", "group"]

_MOST_NAMED = 5


class Grouping(msgspec.Struct, frozen=True):
    """Groups of places in the list of texts, and the places that no group holds."""

    groups: tuple[tuple[int, ...], ...]
    left_out: tuple[int, ...]


async def group(ask: Ask, texts: Sequence[str], counts: Counts) -> Grouping:
    """Group `texts` by prompt 8.

    The reply repeats the texts; they are known again whatever their letter case, spacing and closing marks. A reply
    that leaves some out, has one twice, or holds others is asked for again. In the end a text that stands twice is in
    the first of its groups, and other texts are passed over.
    """
    places = {plain_text(text): place for place, text in enumerate(texts)}
    wanted = Wanted(prompts.published("cluster", texts), lambda text: _read(text, texts, places), _form(texts))
    found = await answer(ask, wanted, counts)
    return found or Grouping((), tuple(range(len(texts))))


def _form(texts: Sequence[str]) -> Form:
    group = list_schema({"type": "string", "enum": list(texts)}, 1, len(texts))
    return Form(schema=list_schema(group, 1, len(texts)))


def _read(text: str, texts: Sequence[str], places: dict[str, int]) -> Reading[Grouping]:
    reading = parse_json(text, list[list[str]])
    if reading.value is None:
        return Reading.invalid(f"it cannot be read ({reading.problem})")
    taken: set[int] = set()
    groups, twice, strange = [], 0, 0
    for said in reading.value:
        known = [place for one in said if (place := places.get(plain_text(one))) is not None]
        new = [place for place in dict.fromkeys(known) if place not in taken]
        strange += len(said) - len(known)
        twice += len(known) - len(new)
        taken.update(new)
        if new:
            groups.append(tuple(new))
    left_out = tuple(place for place in range(len(texts)) if place not in taken)
    if not groups:
        return Reading.invalid("it holds none of the snippets")
    problem = _problem([texts[place] for place in left_out], twice, strange)
    return Reading(Grouping(tuple(groups), left_out), "as is", problem)


def _problem(missing: Sequence[str], twice: int, strange: int) -> str:
    found = []
    if missing:
        named = "; ".join(text[:80] for text in missing[:_MOST_NAMED])
        found.append(f"{len(missing)} of the snippets are missing ({named})")
    if twice:
        found.append(f"{twice} of the snippets stand more than once")
    if strange:
        found.append(f"{strange} texts are none of the snippets; repeat them word for word")
    return ", ".join(found)
