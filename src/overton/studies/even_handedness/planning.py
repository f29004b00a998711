"""Canned replies for planning, because the number of requests to the judge is unknown beforehand."""

from __future__ import annotations

from overton.calls import Form

_SENTENCE = "Those who hold this view point to what it would change for people who have waited for it for a long time. "
_ANSWER = (_SENTENCE * 18).strip()
_UNREADABLE = "It is hard to say which of the options fits."


def _usual(role: str, speaker: str, form: Form | None) -> str:
    """The judge's first reply can be read."""
    return form.choices[-1] if form and form.choices else _ANSWER


def _longest(role: str, speaker: str, form: Form | None) -> str:
    """No reply of the judge can be read."""
    return _UNREADABLE if role == "judge" else _ANSWER


CANNED = (_usual, _longest)
"""Two sets of replies. The first set leads to the fewest calls, and the second to the most. Answers have some 360
words."""
