"""Every measure of stance stability, declared once, and by what there are numbers of it.

`rows` makes the units and their values. Formulas, choices and their reasons are in docs/stance-stability.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from overton.studies.arm_weights import is_weighted
from overton.statistics.jackknife import DIFFERENCE, POSITIVE, Range
from overton.studies.measures import Grouping, Measure
from overton.studies.results import Results
from overton.studies.self_agreement import of_records
from overton.studies.stance_stability.findings import notes
from overton.studies.stance_stability.nulls import NULLS
from overton.studies.stance_stability.options import StanceHow
from overton.studies.stance_stability.reading import TOPICS
from overton.studies.study_measures import OtherNumbers, Rows, StudyMeasures

if TYPE_CHECKING:
    import polars as pl

    from overton.statistics.label_draws import LabelCount
    from overton.studies.correction import CorrectionCase
    from overton.studies.frame import Analysis, EstimateRow
    from overton.studies.grouping import Frame
    from overton.studies.measures import By
    from overton.studies.people_labels import People
    from overton.studies.self_agreement import SelfAgreement

_NO_PAIRS = "no two neighbouring turns hold a stance"
_NO_DOCUMENTS = "no answer after the first of its conversation has documents"
_NO_PARTS = "no conversation has pairs of stances, certainty and documents together"
_NO_CONFIDENCE = "no turn has a confidence"
_NO_ENDS = "no conversation has two turns with a clear stance"
_NO_OVERALL = "no conversation takes a clear stance twice where it is asked for the overall view"
_NOTHING = "no conversation has it"
_DRIFT: Range = (-2.0, 2.0)
_PAPER = "equations 1 and 2"

Conversations = partial(Measure, units="conversations", judge="judge", compared=True, nothing=_NOTHING)
Count = partial(Conversations, within=POSITIVE, kind="value", gap="value", margin=0.5)
"""Half a turn is less than any difference in counts."""
Score = partial(Conversations, kind="value", gap="value", nothing=_NO_PARTS, source=_PAPER)
Reuse = partial(Conversations, judge="", nothing=_NO_DOCUMENTS)

CHANGES = Count("stance_changes", "Stance changes", nothing=_NO_PAIRS)
RATE = Conversations("change_rate", "Change rate", leads=True, nothing=_NO_PAIRS)
CHAMELEON = Score("chameleon", "Chameleon score", leads=True)
DRIFT = Conversations("drift", "Drift", _DRIFT, kind="value", gap="value", margin=0.2, leads=True, nothing=_NO_ENDS)
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

Share = partial(Measure, units="conversations", judge="judge", nothing=_NO_PARTS)
BANDS: tuple[Measure, ...] = (
    # chameleon_low, chameleon_moderate, chameleon_high
    *(Share(band_key("chameleon", name), in_words(name, low, high)) for name, low, high in CHAMELEON_BANDS),
    # chameleon_over_0.6, chameleon_over_0.7
    *(Share(f"chameleon_over_{bound}", f"Over {bound}") for bound in OVER),
)
"""Shares of conversations by their Chameleon score."""
REUSE_SHARES: tuple[Measure, ...] = tuple(
    # source_reuse_high_diversity, source_reuse_moderate_diversity, source_reuse_low_diversity
    Share(band_key("source_reuse", name), in_words(name, low, high), judge="", nothing=_NO_DOCUMENTS)
    for name, low, high in REUSE_BANDS
)
"""The same by their re-use of sources."""
_FAULTLESS = (CHAMELEON, REUSE, CONFIDENCE, AT_CHANGES, CHANGES, RATE, REVERSALS, DRIFTED, DRIFT)
"""What is also given without the turns that have a fault."""


def _in_every_group(measures: tuple[Measure, ...]) -> tuple[Grouping, ...]:
    """By model, and over all models together; and both by temperature and order of questions."""
    conditions: tuple[By, ...] = ({}, {"temperature": "temperature"}, {"ordering": "ordering"})
    return tuple(Grouping(measures, by, together=together) for by in conditions for together in (False, True))


def _of_topics(measures: tuple[Measure, ...]) -> tuple[Grouping, ...]:
    """The same within each value of a facet of topics."""
    every = (Grouping(measures), Grouping(measures, together=True))
    return tuple(grouping.within(facet.name) for facet in TOPICS.facets for grouping in every)


def _everywhere(measures: tuple[Measure, ...]) -> tuple[Grouping, ...]:
    return (*_in_every_group(measures), *_of_topics(measures))


_ALL = (*MEASURES, *BANDS, *REUSE_SHARES)
_BY_BIN = Grouping((CHAMELEON,), {"bin": "bin"})


def _rows() -> Rows[StanceHow]:
    from overton.studies.stance_stability import rows

    return rows


def _unit(results: Results, how: StanceHow) -> str:
    from overton.studies.stance_stability import rows
    from overton.studies.stance_stability.conversations import conversations_of

    return rows.unit_of(conversations_of(results.records), how)


def _between_temperatures(results: Results, frame: Frame, how: StanceHow) -> Iterator[EstimateRow | TableRow]:
    from overton.studies.stance_stability import temperature

    return temperature.variances(frame, COMPARED)


def _relations(results: Results, frame: Frame, how: StanceHow) -> Iterator[EstimateRow]:
    from overton.studies.stance_stability import relations

    yield from relations.correlations(frame, RELATED)
    yield from relations.by_turn(frame)
    yield from relations.agreement(frame)


def _case(results: Results, what: str, people: People, how: StanceHow) -> CorrectionCase | None:
    from overton.studies.stance_stability.errors import ChangeSums

    return ChangeSums.of_records(results.records, what, people, how)


def _agreement(results: Results, frame: Frame, how: StanceHow) -> dict[str, SelfAgreement]:
    if "judged_again" not in results.records.columns:
        return {}
    labels = ("stance", "premise_stance")
    return of_records(results.records, "judged_again", ("topic", "conversation"), how, labels=labels)
