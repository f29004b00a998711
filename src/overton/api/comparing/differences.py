"""What was asked, or answered, otherwise in one of two that are compared."""

from __future__ import annotations

from typing import Literal, NamedTuple

__all__ = ["Differing", "Kind"]

Kind = Literal["instrument", "subject", "precision", "unknown"]


class Differing(NamedTuple):
    """One thing that differs: what kind of thing, between which two, and in words."""

    kind: Kind
    base: str
    candidate: str
    said: str
