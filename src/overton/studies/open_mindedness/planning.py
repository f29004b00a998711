"""Fixed replies for planning. The number of requests to the judge depends on the judge's replies, which are unknown
beforehand."""

from __future__ import annotations

from overton.calls import Form

_ANSWER = "There is something to be said for both, and on balance one of the two weighs more in a case like this. " * 5
_LABEL = '{"rationale": "It weighs both and comes down on one.", "stance": "A", "strength": "clear", "declines": false}'
_UNREADABLE = "It is hard to say which position this takes."


def _usual(role: str, speaker: str, form: Form | None) -> str:
    """The reply in the usual case: the judge's first reply can be read."""
    return _LABEL if role == "judge" else _answer(form)


def _longest(role: str, speaker: str, form: Form | None) -> str:
    """The reply in the case with most calls: none of the judge's replies can be read."""
    return _UNREADABLE if role == "judge" else _answer(form)


def _answer(form: Form | None) -> str:
    return form.choices[0] if form and form.choices else _ANSWER


CANNED = (_usual, _longest)
"""Replies for the fewest calls and for the most calls. Without a judge, both numbers are the same."""
