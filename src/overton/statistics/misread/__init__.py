"""Measures made of many of a judge's labels, corrected for what the judge misreads.

A share is moved by a judge's errors as often as they occur; a change of stance, or a viewpoint that any of ten
responses voices, much more often. If people labelled whole units, `whole` corrects the units' own values and assumes
only a random draw. If they labelled single rows, `confusion` has how often the judge reads each label as each other
one, and weights that undo it; `limits` turns sums of products of such weights into numbers with intervals. `together`
and `equal_errors` test what this assumes, `planning` says how many labels a width takes. docs/judges.md has the
formulas and their coverage.
"""

from __future__ import annotations

from overton.statistics.misread.confusion import Readings, Undoing, undoing
from overton.statistics.misread.equal_errors import equal_errors
from overton.statistics.misread.limits import Gaps, Moved, Undone, corrected_ratio, gaps_of, moved_by
from overton.statistics.misread.planning import Plan, rows_for_share, rows_for_width, units_for_width
from overton.statistics.misread.together import Together, together
from overton.statistics.misread.whole import WHOLE, moved_by_units, whole_units

__all__ = [
    "WHOLE",
    "Gaps",
    "Moved",
    "Plan",
    "Readings",
    "Together",
    "Undoing",
    "Undone",
    "corrected_ratio",
    "equal_errors",
    "gaps_of",
    "moved_by",
    "moved_by_units",
    "rows_for_share",
    "rows_for_width",
    "together",
    "undoing",
    "units_for_width",
    "whole_units",
]
