"""Limits of kappas and alphas that changed on purpose since they were recorded, one by one, with the reason.

`limits.csv` has them by case and kind: a recorded path, its old value, and its value today, both as JSON, or nothing
for a missing value. Every value of a kappa or an alpha is as it was.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

REASONS = {
    "large-sample": "The interval was that of Fleiss, Cohen and Everitt for many rows, which is too narrow for few.",
    "jackknife": "The interval was by leaving groups out alone. No limit is now nearer than Wilson's.",
    "never differ": "Two who never differ had no interval, or one that assumed labels to be equally common.",
    "no spread": "One of the two gave one label only, so kappa is 0 whichever group is left out: now Wilson's limits.",
    "one group": "One group has the only other label, so leaving groups out gives no interval: now Wilson's limits.",
    "few groups": "Below five groups there is no interval, as for all other numbers.",
    "wording": "One sentence says that only one label occurs, and that of the other implementation is gone.",
}
FILE = Path(__file__).with_suffix(".csv")


class Limit(NamedTuple):
    """One place in the recorded JSON, with the values as JSON; '' for none."""

    reason: str
    case: str
    kind: str
    path: str
    was: str
    now: str


@cache
def limits() -> tuple[Limit, ...]:
    """All that are listed."""
    with FILE.open(encoding="utf-8", newline="") as file:
        _, *rows = csv.reader(file)
    return tuple(Limit(*row) for row in rows)


def listed(case: str, kind: str, added: bool = False) -> Iterator[str]:
    """The paths that are new today, or else those that are gone."""
    for limit in limits():
        if (limit.case, limit.kind) == (case, kind) and not (limit.was if added else limit.now):
            yield limit.path


def reworded(case: str, kind: str) -> Iterator[tuple[str, Any, Any]]:
    """The paths whose values changed, with both."""
    for limit in limits():
        if (limit.case, limit.kind) == (case, kind) and limit.was and limit.now:
            yield limit.path, json.loads(limit.was), json.loads(limit.now)
