"""What a sample's solver hands to its scorer.

Not by way of the sample's store: whatever passes through it is logged, and records stand in the score already.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from weakref import WeakKeyDictionary

__all__ = ["hand_over", "handed_over"]

_RECORDS: WeakKeyDictionary[Any, Sequence[Any]] = WeakKeyDictionary()


def hand_over(state: Any, records: Sequence[Any]) -> None:
    """Leave the records of the trials that a sample has held, for its scorer."""
    _RECORDS[state] = records


def handed_over(state: Any) -> Sequence[Any] | None:
    """What the solver left; None where the sample was not conducted just now, as when a log is scored again."""
    return _RECORDS.pop(state, None)
