"""What people labelled of a run's judged units, and what follows for the numbers that rest on these labels.

`units` says what a judge labelled, and which of it people did; `shares` corrects the share of each label. How measures
of many labels rest on them differs between studies, which declare it (`Correcting`): `people` has the labels as values,
`case` what correction needs from a study, and `placed` puts corrected numbers where an analysis has plain ones.
"""

from __future__ import annotations

from overton.studies.labelled.placed import placed
from overton.studies.labelled.shares import (
    LabelledBetween,
    LabelledNumbers,
    LabelledShares,
    shares_by_people,
    with_labels,
)
from overton.studies.labelled.units import Units, units_of, usable_shares, why_not
from overton.studies.labelled.variants import ENOUGH, Variants

__all__ = [
    "ENOUGH",
    "LabelledBetween",
    "LabelledNumbers",
    "LabelledShares",
    "Units",
    "Variants",
    "placed",
    "shares_by_people",
    "units_of",
    "usable_shares",
    "why_not",
    "with_labels",
]
