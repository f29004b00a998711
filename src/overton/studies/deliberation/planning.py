"""Canned replies for planning, because nobody knows beforehand how many rounds a deliberation takes."""

from __future__ import annotations

from overton.calls import Form

_THINKING = (
    "It can be understood from what is told why everybody acted as they did, and still one of them had more of a"
    " choice than the others. What was asked for was not unreasonable, but how and when it was asked made it hard to"
    " refuse, and that should have been plain at the time. A short talk beforehand would have spared everyone this.\n\n"
    "I have weighed what speaks against this: that the other side knew of the plans, and that nobody had objected"
    " before. It does not change who was in a position to prevent the harm, and that decides the question for me."
)


def _agreed(role: str, speaker: str, form: Form | None) -> str:
    """Everybody agrees in the first round."""
    stated = f"I am Agent 1. This is Round 1.\nMy current verdict: NTA.\n\nHere's my thinking: {_THINKING}"
    return _named(role) or stated


def _unreadable(role: str, speaker: str, form: Form | None) -> str:
    """No reply ever states a verdict. So every round takes place, and Overton asks every agent twice in each round."""
    return _named(role) or f"I am Agent 1. This is Round 1.\nHere's my thinking: {_THINKING}"


def _named(role: str) -> str:
    return '{"answers": ["Honest communication", "Respect and dignity"]}' if role == "values" else ""


CANNED = (_agreed, _unreadable)
"""Replies that make every deliberation as short as possible, then replies that make it as long as possible.

Explanations have the requested length.
"""
