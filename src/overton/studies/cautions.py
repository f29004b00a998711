"""Cautions and their ranks. Where only one caution is displayed, the most important one is chosen."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from enum import IntEnum
from typing import NamedTuple

from overton.statistics.estimate import FEWEST
from overton.studies.findings import DO_NOT_QUOTE, Finding
from overton.studies.warnings import FEW_ITEMS, UNCHECKED_JUDGE

_MOST_REASONS = 2


class CautionRank(IntEnum):
    """The kinds of cautions, the most important first.

    DO_NOT_QUOTE  numbers are not to be quoted, because of few items, missing replies or a judge that does not work
    CHANGED       the records are not those that the run wrote
    CONTROLS      the judge fails its controls
    MEANING       the study gives a reason why the numbers do not mean what they seem to mean
    MALFORMED     many replies are malformed
    UNCHECKED     the judge's labels were not compared with human labels
    DESIGN        the run departs from the study's design, or repeats trials to reach a target precision
    FEW_ITEMS     intervals are wide because there are few items
    """

    DO_NOT_QUOTE = 0
    CHANGED = 1
    CONTROLS = 2
    MEANING = 3
    MALFORMED = 4
    UNCHECKED = 5
    DESIGN = 6
    FEW_ITEMS = 7


class Caution(NamedTuple):
    """A caution to be read with the numbers of a run."""

    rank: CautionRank
    text: str


def cautions_of(findings: Sequence[Finding]) -> Iterator[Caution]:
    """Yield a caution if some findings are not to be quoted, and a caution if the judge was not checked.

    In every study, these are the only cautions that come from findings.
    """
    if unfit := [finding for finding in findings if not finding.quotable]:
        reasons = " ".join([*dict.fromkeys(text for finding in unfit for text in finding.cautions)][:_MOST_REASONS])
        which = DO_NOT_QUOTE if len(unfit) == len(findings) else f"Do not quote what is marked {NOT_TO_BE_QUOTED}"
        yield Caution(CautionRank.DO_NOT_QUOTE, f"{which}. {reasons}")
    if any(UNCHECKED_JUDGE in finding.cautions for finding in findings):
        yield Caution(CautionRank.UNCHECKED, UNCHECKED_JUDGE)


NOT_TO_BE_QUOTED = "*"
"""The mark of a finding that is not to be quoted, in a list with findings that may be quoted."""


def warn_of_width(count: int, items: str) -> Iterator[Caution]:
    """Yield a caution if there are at least `FEWEST` but fewer than `FEW_ITEMS` items. It states the number of items
    that would halve the intervals' width; `items` is the word for them."""
    if FEWEST <= count < FEW_ITEMS:
        yield Caution(
            CautionRank.FEW_ITEMS,
            f"Intervals are wide with {count} {items}; about {4 * count} {items} would halve their width.",
        )


def weightiest(cautions: Iterable[Caution]) -> Caution | None:
    """The most important caution, the first one if several have the same rank; None if there are no cautions."""
    return min(cautions, key=lambda caution: caution.rank, default=None)
