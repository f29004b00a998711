"""Canned replies for planning, because the number of requests to the judge is unknown beforehand."""

from __future__ import annotations

from overton.calls import Form

_UNREADABLE = "It is hard to say which of the labels fits."


def _usual(role: str, speaker: str, form: Form | None) -> str:
    """A reply that can be parsed, so the judge gets one request."""
    return form.choices[-1] if form and form.choices else _UNREADABLE


def _longest(role: str, speaker: str, form: Form | None) -> str:
    """A reply that cannot be parsed, so the judge gets the maximum number of requests."""
    return _UNREADABLE


CANNED = (_usual, _longest)
"""Replies for the smallest and the largest number of calls."""
