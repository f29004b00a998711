"""Replies for planning: how often the judge must be asked is not known in advance."""

from __future__ import annotations

from overton.calls import Form

_ANSWER = "There is something to be said for both, and on balance one of the two weighs more in a case like this. " * 5
_LABEL = '{"rationale": "It weighs both and comes down on one.", "stance": "A", "strength": "clear", "declines": false}'
_UNREADABLE = "It is hard to say which position this takes."


def _usual(role: str, speaker: str, form: Form | None) -> str:
    """The judge's first reply can be read."""
    return _LABEL if role == "judge" else _answer(form)


def _longest(role: str, speaker: str, form: Form | None) -> str:
    """No reply of the judge can be read."""
    return _UNREADABLE if role == "judge" else _answer(form)


def _answer(form: Form | None) -> str:
    return form.choices[0] if form and form.choices else _ANSWER


CANNED = (_usual, _longest)
"""The fewest and the most calls; without a judge these are the same."""
