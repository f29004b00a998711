"""Replies for planning: how often the judge must be asked is not known beforehand."""

from __future__ import annotations

from overton.calls import Form

_UNREADABLE = "It is hard to say which of the labels fits."


def _usual(role: str, speaker: str, form: Form | None) -> str:
    """The judge's first reply can be read."""
    return form.choices[-1] if form and form.choices else _UNREADABLE


def _longest(role: str, speaker: str, form: Form | None) -> str:
    """No reply of the judge can be read."""
    return _UNREADABLE


CANNED = (_usual, _longest)
"""The fewest and the most calls."""
