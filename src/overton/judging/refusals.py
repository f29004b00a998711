"""Refusals in prose, recognised by their first words, because not every endpoint flags refusals."""

from __future__ import annotations

import re

_NOT = r"(?:can(?:no|['’])t|can not|could not|won['’]t|will not|do not|don['’]t|am not able|am unable)"
_REFUSAL = re.compile(
    r"\b(?:I['’]?m sorry|I am sorry|sorry, |I apologi[sz]e|I must decline|I decline"
    rf"|I(?:['’]d| would) (?:rather|prefer) not|I {_NOT}|I['’]m (?:not able|unable)"
    r"|as an AI|as a(?: large)? language model|it (?:is not|isn['’]t) (?:possible|appropriate) for me)",
    re.IGNORECASE,
)
_BEGINNING = 200
"""The number of first characters in which a refusal is recognised."""


def reads_as_refusal(text: str) -> bool:
    """Whether a reply begins like a refusal in English: 'I cannot take a side', 'As an AI, ...'.

    The result distinguishes a model that declines from a model whose replies cannot be read. No measure depends on it.
    """
    return _REFUSAL.search(text[:_BEGINNING]) is not None
