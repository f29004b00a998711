"""The values behind an explanation: up to five of the published 48, named by a judge (section 3.3)."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import msgspec

from overton.calls import Ask, Form, Reply, system, user
from overton.errors import CallFailed
from overton.judging import asked, parse_json, schema_of
from overton.studies.deliberation import prompts
from overton.studies.deliberation.items import Verdict

__all__ = ["MOST", "NOT_VALUED", "Valued", "schema", "valued"]

MOST = 5
"""Values that one explanation may be given."""


class Valued(NamedTuple):
    """What the judge found: values of the list, and how many others it named; None where its answer was unusable."""

    values: tuple[str, ...] | None
    dropped: int | None


NOT_VALUED = Valued(None, None)
"""No judge was asked, or its answer could not be used."""


class _Answer(msgspec.Struct):
    answers: Annotated[list[Annotated[str, asked(enum=prompts.VALUES)]], asked(maxItems=MOST)]


def schema() -> dict[str, Any]:
    """The judge's output: a list of at most five values of the list."""
    return schema_of(_Answer)


async def valued(ask: Ask, verdict: Verdict | None, explanation: str) -> Valued:
    """Ask the judge about one evaluation; where there is nothing to judge, or the call fails, there are no values."""
    if not explanation.strip():
        return NOT_VALUED
    messages = (system(prompts.values_prompt()), user(prompts.evaluation_message(verdict, explanation)))
    try:
        return _read(await ask("values", messages, form=_FORM))
    except CallFailed:
        return NOT_VALUED


def _read(reply: Reply) -> Valued:
    """Values exactly as written in the list, each once, the first five; those outside it are dropped and counted."""
    reading = parse_json(reply.text, _Answer)
    if reading.value is None:
        return NOT_VALUED
    named = reading.value.answers
    kept = [value for value in dict.fromkeys(named) if value in _LISTED][:MOST]
    return Valued(tuple(kept), sum(value not in _LISTED for value in named))


_LISTED = frozenset(prompts.VALUES)
_FORM = Form(schema=schema())
