"""What the user is made to say: a summary, or its negation, in the first person (section 6.1.1)."""

from __future__ import annotations

import re
from typing import Any

from overton.calls import Ask, Form
from overton.judging import Reading, object_schema, parse_json
from overton.studies.pluralism import prompts
from overton.studies.pluralism.judging import Task, judged
from overton.studies.readable import Answered

__all__ = ["FEWEST_WORDS", "LONGEST", "read_belief", "written_belief"]

LONGEST = 1_000
"""Characters of a belief at most; longer ones are asked for again."""

FEWEST_WORDS = 4
"""Words of a belief at least, where its script has spaces; 'I think that ...' only begins one."""

_WORD = re.compile(r"[\w'-]+")

FORM = Form(schema=object_schema(belief={"type": "string"}))


async def written_belief(ask: Ask, summary: str, *, opposing: bool) -> Answered[str]:
    """The belief that the judge writes; once in a run, so that all models and conditions meet the same."""
    task = Task(prompts.belief_messages(summary, opposing=opposing), FORM, read_belief)
    return (await judged(ask, [task], shared=True))[0]


def read_belief(text: str) -> Reading[str]:
    """The belief in a reply: `{"belief": TEXT}`, or the only text of an object, its white space made single."""
    reading = parse_json(text, dict[str, Any])
    if reading.value is None:
        return Reading.invalid(reading.problem)
    given = [value for value in reading.value.values() if isinstance(value, str)]
    named = reading.value.get("belief", given[0] if len(given) == 1 else None)
    belief = " ".join(named.split()) if isinstance(named, str) else ""
    if not belief:
        return Reading.invalid('it has no text under "belief"')
    if belief.isascii() and len(_WORD.findall(belief)) < FEWEST_WORDS:
        return Reading.invalid("the belief is no sentence")
    if len(belief) > LONGEST:
        return Reading.invalid(f"the belief is longer than {LONGEST:,} characters")
    return Reading(belief, reading.how if "belief" in reading.value else "repaired")
