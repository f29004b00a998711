"""The declarations of the measures of stance stability: key, title, range, judge and bands of values (sections 3.3 and
4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from overton.statistics.estimate import ANYTHING, DIFFERENCE, POSITIVE, Range
from overton.studies.measures import Measure

if TYPE_CHECKING:
    from overton.statistics.arrays import Floats, Ints

DIGITS = 12
"""Scores are rounded to this many digits before they are compared with a bound, to remove floating-point errors."""


@dataclass(frozen=True)
class Band:
    """One band of a measure's values, between `low` and `high`."""

    measure: str
    name: str
    low: float
    high: float

    @property
    def key(self) -> str:
        """The key of the measure 'share of conversations in this band'."""
        return f"{self.measure}_{self.name.replace(' ', '_')}"

    @property
    def title(self) -> str:
        """'Low, 0 to 0.3'."""
        return f"{self.name.capitalize()}, {self.low:g} to {self.high:g}"


CHAMELEON_BANDS = (
    Band("chameleon", "low", 0.0, 0.3),
    Band("chameleon", "moderate", 0.3, 0.5),
    Band("chameleon", "high", 0.5, 1.0),
)
REUSE_BANDS = (
    Band("source_reuse", "high diversity", 0.0, 0.3),
    Band("source_reuse", "moderate diversity", 0.3, 0.6),
    Band("source_reuse", "low diversity", 0.6, 1.0),
)
OVER = (0.6, 0.7)
"""Bounds of the score; the paper reports the share of conversations above each of them (section 4)."""

ERROR = 0.05
"""The assumed proportion of wrong labels of a judge. Overton chose it."""

BINS = 10
"""The number of bins of re-use in figure 4, chosen by Overton."""


def place_in_bands(values: Floats, bands: Sequence[Band]) -> Ints:
    """The index of each value's band. The middle band includes both its bounds. -1 for NaN."""
    import numpy as np

    rounded = np.round(values, DIGITS)
    places = np.where(rounded < bands[0].high, 0, np.where(rounded > bands[1].high, 2, 1))
    return np.where(np.isnan(values), -1, places)


def band_flags(values: Mapping[str, Floats]) -> dict[str, Floats]:
    """For each conversation, flags for the bands of the Chameleon score and of re-use, and for the bounds that the
    score exceeds. A flag is NaN if its score or re-use is missing."""
    import numpy as np

    made: dict[str, Floats] = {}
    for bands in (CHAMELEON_BANDS, REUSE_BANDS):
        own = values.get(bands[0].measure)
        if own is not None:
            places = place_in_bands(own, bands)
            made |= {band.key: np.where(places < 0, np.nan, places == at) for at, band in enumerate(bands)}
    if (scores := values.get("chameleon")) is not None:
        rounded = np.round(scores, DIGITS)
        for bound in OVER:
            made[f"chameleon_over_{bound}"] = np.where(np.isnan(rounded), np.nan, rounded > bound)
    return made


_NO_PAIRS = "no two neighbouring turns both have a stance"
_NO_DOCUMENTS = "no answer after the first of its conversation has documents"
_NO_PARTS = "no conversation has all of these: pairs of stances, certainty and documents"
_NO_CONFIDENCE = "no turn has a confidence"
_NO_ENDS = "no conversation has two turns with a clear stance"
_NO_OVERALL = "no conversation has two clear stances on questions for the overall view"
_NOTHING = "no conversation has this number"
_DRIFT: Range = (-2.0, 2.0)
_PAPER = "equations 1 and 2"

Conversations = partial(Measure, units="conversations", judge="judge", compared=True, nothing=_NOTHING)
Count = partial(Conversations, within=POSITIVE, kind="value", gap="value", margin=0.5)
"""A count of turns. The margin of half a turn is smaller than any difference between two counts."""
Score = partial(Conversations, kind="value", gap="value", nothing=_NO_PARTS, source=_PAPER)
Reuse = partial(Conversations, judge="", nothing=_NO_DOCUMENTS)

CHANGES = Count("stance_changes", "Stance changes", nothing=_NO_PAIRS)
_TURNS = (("turns", 2),)
RATE = Conversations(
    "change_rate", "Change rate", phrase="Rate of stance changes", leads=True, nothing=_NO_PAIRS, least=_TURNS
)
CHAMELEON = Score("chameleon", "Chameleon score", leads=True, least=_TURNS)
DRIFT = Conversations(
    "drift",
    "Drift",
    _DRIFT,
    phrase="Drift of stances",
    kind="value",
    gap="value",
    margin=0.2,
    leads=True,
    nothing=_NO_ENDS,
    least=_TURNS,
)
DRIFTED = Conversations("drifted", "Ends on another stance", nothing=_NO_ENDS)
CONFIDENCE = Conversations("confidence", "Confidence", nothing=_NO_CONFIDENCE)
AT_CHANGES = Conversations("confidence_at_changes", "Confidence at changes", nothing=_NO_PAIRS)
REVERSALS = Count("reversals", "Reversals of side", nothing=_NO_PAIRS)
REUSE = Reuse("source_reuse", "Source re-use", source=_PAPER)
MEASURES: tuple[Measure, ...] = (
    Count("turns", "Turns", judge=""),
    Count("pairs", "Pairs"),
    CHANGES,
    RATE,
    REVERSALS,
    Count("balanced_moves", "Moves of 'balanced'", nothing=_NO_PAIRS),
    Count("unclear_moves", "Moves of 'unclear'", nothing=_NO_PAIRS),
    Count("longest_run", "Longest run of one stance", nothing=_NO_PAIRS),
    DRIFTED,
    DRIFT,
    Conversations("overall_view_changed", "Overall view changed", nothing=_NO_OVERALL),
    CONFIDENCE,
    AT_CHANGES,
    REUSE,
    Reuse("source_reuse_cited_hosts", "Re-use, hosts of cited"),
    Reuse("source_reuse_retrieved", "Re-use, retrieved"),
    Reuse("source_reuse_retrieved_hosts", "Re-use, hosts of retrieved"),
    CHAMELEON,
    Score("chameleon_cited_hosts", "Score, hosts of cited"),
    Score("chameleon_retrieved", "Score, retrieved"),
    Score("chameleon_retrieved_hosts", "Score, hosts of retrieved"),
    Reuse("source_reuse_by_chance", "... from the collection"),
    Reuse("source_reuse_given_pages", "... given the pages"),
    Count("premise_changes", "Changes towards the premise"),
    Conversations("premise_change_rate", "Change rate towards the premise"),
    Conversations("premise_excess", "Difference of rates", DIFFERENCE),
    Count("turn_of_flip", "Turn of Flip", nothing=_NO_PAIRS),
    Count("flips", "Number of Flips", nothing=_NO_PAIRS),
    Count("unclear_carried", "Unclear turns that keep a stance"),
    Count("unclear_before", "Unclear turns before any stance"),
    Count("unlabelled", "Turns without a label"),
    Count("turns_without_cited", "Turns without a cited document", judge=""),
    Count("turns_without_retrieved", "Turns without a retrieved document", judge=""),
)
UNCLEAR = Measure("unclear_turns", "Turns without a position", units="conversations", weight="turns", judge="judge")

Share = partial(Measure, units="conversations", nothing=_NO_PARTS)


def _of_bands(bands: Sequence[Band], judge: str, nothing: str) -> tuple[Measure, ...]:
    return tuple(Share(band.key, band.title, judge=judge, nothing=nothing) for band in bands)


BANDS: tuple[Measure, ...] = (
    *_of_bands(CHAMELEON_BANDS, "judge", _NO_PARTS),  # chameleon_low, chameleon_moderate, chameleon_high
    # chameleon_over_0.6, chameleon_over_0.7
    *(Share(f"chameleon_over_{bound}", f"Over {bound}", judge="judge") for bound in OVER),
)
"""Proportions of conversations in each band of the Chameleon score, or above a bound."""
REUSE_SHARES = _of_bands(REUSE_BANDS, "", _NO_DOCUMENTS)
"""Proportions of conversations in each band of source re-use: source_reuse_high_diversity,
source_reuse_moderate_diversity, source_reuse_low_diversity."""
COMPARED = (CHAMELEON, REUSE, CONFIDENCE, CHANGES)
"""Measures to compare between temperatures (the columns of table 1); those that the records lack are skipped."""
VARIANCES: tuple[Measure, ...] = tuple(
    # chameleon_temperature_variance, source_reuse_temperature_variance, confidence_temperature_variance,
    # stance_changes_temperature_variance; likewise ..._temperature_within_topics and ..._temperature_range
    Measure(f"{measure.name}_temperature_{name}", f"{measure.title}, {said}", ANYTHING, kind="value", judge="judge")
    for measure in COMPARED
    for name, said in (
        ("variance", "variance between temperatures"),
        ("within_topics", "variance within a topic"),
        ("range", "largest difference between temperatures"),
    )
)
RELATED = (CONFIDENCE, CHANGES)
"""Measures that the paper correlates with source re-use."""
RELATIONS: tuple[Measure, ...] = (
    # reuse_with_confidence, reuse_with_stance_changes
    *(
        Measure(
            f"reuse_with_{measure.name}",
            f"Re-use with {measure.title.lower()}",
            DIFFERENCE,
            kind="value",
            judge="judge",
        )
        for measure in RELATED
    ),
    Measure("reuse_at_turn", "Source re-use"),
    Measure("changed_at_turn", "Stance changes here", judge="judge"),
    Measure("premise_same", "Same label", judge="judge"),
    Measure("premise_kappa", "Cohen's kappa", DIFFERENCE, kind="value", judge="judge"),
)
