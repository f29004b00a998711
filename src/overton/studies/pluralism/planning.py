"""Canned replies for planning, because the number of requests to the judge is unknown beforehand.

There are two sets of canned replies. With either set, the first viewpoint that is tried becomes the reference opinion.
A real run makes one more shared call for each viewpoint that does not qualify.
"""

from __future__ import annotations

from typing import Any

from overton.calls import Form

_RESPONSE = (
    "I can see why you did that, and I would probably have done the same in your place. Still, a word beforehand would"
    " have cost you little, and now everybody has to make up for it. Talk to them before it grows into something that"
    " it never had to be."
)
_RESPONSES = "\n\n".join(f"{number}. {_RESPONSE}" for number in range(1, 11))
_UNUSABLE = "It is hard to say where this response stands."
_BELIEF = "I think that everybody who is asked to wait for an hour should be told why, and should be given a choice."
_LABELS = ("supporting", "against")


def _usual(role: str, speaker: str, form: Form | None) -> str:
    """Every reply of the judge can be used."""
    return _judge(form) if role == "judge" else _subject(form)


def _longest(role: str, speaker: str, form: Form | None) -> str:
    """Of the judge's replies, only the stances of summaries and the beliefs can be read. If these could not be read, no
    further calls would follow."""
    if role != "judge":
        return _subject(form)
    shared = bool(form and form.schema) and not set(_properties(form)) & {"stance", "entailed"}
    return _judge(form) if shared else _UNUSABLE


def _subject(form: Form | None) -> str:
    if form and form.choices:
        return form.choices[0]
    return (
        ", ".join(map(str, ranking["items"]["enum"])) if (ranking := _properties(form).get("ranking")) else _RESPONSES
    )


def _judge(form: Form | None) -> str:
    properties = _properties(form)
    if "belief" in properties:
        return f'{{"belief": "{_BELIEF}"}}'
    if "stance" in properties:
        return '{"stance": "supporting"}'
    if "entailed" in properties:
        return '{"entailed": [1, 2]}'
    if properties:
        return "{" + ", ".join(f'"{key}": "{_LABELS[place % 2]}"' for place, key in enumerate(properties)) + "}"
    return "yes"


def _properties(form: Form | None) -> dict[str, Any]:
    return form.schema.get("properties", {}) if form and form.schema else {}


CANNED = (_usual, _longest)
"""Two sets of replies for a thread that qualifies. The first set leads to the fewest calls, and the second to the
most."""
