"""The groups for which each measure of stance stability is computed, and the study's null conditions.

`declarations` declares the measures; `rows` makes the units and their values. Formulas, options and their reasons are
in docs/stance-stability.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from overton.calls import Trial
from overton.errors import InputError, Problem
from overton.studies.arm_weights import is_weighted
from overton.studies.measures import Grouping, Measure
from overton.studies.null_conditions import Null
from overton.studies.options import fields_of
from overton.studies.results import Results
from overton.studies.self_agreement import of_questions
from overton.studies.stance_stability.declarations import (
    AT_CHANGES,
    BANDS,
    CHAMELEON,
    CHANGES,
    COMPARED,
    CONFIDENCE,
    DRIFT,
    DRIFTED,
    MEASURES,
    RATE,
    RELATED,
    RELATIONS,
    REUSE,
    REUSE_SHARES,
    REVERSALS,
    UNCLEAR,
    VARIANCES,
)
from overton.studies.stance_stability.findings import notes
from overton.studies.stance_stability.items import TOPICS, Topic
from overton.studies.stance_stability.options import StanceHow
from overton.studies.stance_stability.protocol import NullChange, trials
from overton.studies.stance_stability.questions import QUESTIONS
from overton.studies.stance_stability.record import NOTE, STANCES
from overton.studies.study_measures import OtherNumbers, Rows, StudyMeasures, TableRow

if TYPE_CHECKING:
    import polars as pl

    from overton.studies.correction import CorrectionCase
    from overton.studies.frame import Analysis, EstimateRow
    from overton.studies.grouping import Frame
    from overton.studies.measures import By
    from overton.studies.people_labels import People
    from overton.studies.probabilities import JudgeChances
    from overton.studies.self_agreement import SelfAgreement

_FAULTLESS = (CHAMELEON, REUSE, CONFIDENCE, AT_CHANGES, CHANGES, RATE, REVERSALS, DRIFTED, DRIFT)
"""Measures that Overton also computes without malformed answers."""


def _in_every_group(measures: tuple[Measure, ...], *, deviations: bool = False) -> tuple[Grouping, ...]:
    """Groupings for each model and for all models together: overall, by temperature, and by order of questions."""
    conditions: tuple[By, ...] = ({}, {"temperature": "temperature"}, {"ordering": "ordering"})
    return tuple(
        replace(grouping, by=by) for by in conditions for grouping in _all_topics(measures, deviations=deviations)
    )


def _all_topics(measures: tuple[Measure, ...], *, deviations: bool = False) -> tuple[Grouping, ...]:
    """Groupings for each model and for all models together."""
    return tuple(Grouping(measures, together=together, deviations=deviations) for together in (False, True))


def _everywhere(measures: tuple[Measure, ...]) -> tuple[Grouping, ...]:
    """The groupings of `_in_every_group`, and groupings within each value of a facet of topics."""
    of_topics = (grouping.within(facet.name) for facet in TOPICS.facets for grouping in _all_topics(measures))
    return (*_in_every_group(measures), *of_topics)


_BY_BIN = Grouping((CHAMELEON,), {"bin": "bin"})


def _rows() -> Rows[StanceHow]:
    from overton.studies.stance_stability import rows

    return rows


def _other_numbers(results: Results, frame: Frame, how: StanceHow) -> Iterator[EstimateRow | TableRow]:
    from overton.studies.stance_stability import errors, rows, temperature

    yield from errors.steady_models(frame)
    yield from temperature.variances(frame, COMPARED)
    yield from temperature.correlations(frame, RELATED)
    yield from temperature.by_turn(frame)
    yield from temperature.agreement(frame)
    yield TableRow("rules", rows.rules_of(frame, how))


def _case(results: Results, what: str, people: People, how: StanceHow) -> CorrectionCase | None:
    """The data for a correction by human labels of `what` ('stance' or 'premise_stance'); None if the measures use the
    other kind of labels."""
    from overton.studies.stance_stability.errors import ChangeSums

    made = ChangeSums.of(results.records, people, how)
    return made if (made.formulas.labels == "premise") == (what == "premise_stance") else None


def _agreement(results: Results, frame: Frame, how: StanceHow) -> dict[str, SelfAgreement]:
    return of_questions(QUESTIONS, results.records, ("topic", "conversation"), how.level)


def _chances(results: Results, how: StanceHow) -> JudgeChances | None:
    """Token probabilities of each kind of label, summarized over topics; None if no run requested them."""
    from overton.statistics.jackknife import Jackknife
    from overton.studies.probabilities import LabelProbabilityTable, label_probabilities
    from overton.studies.stance_stability.conversations import name_speakers

    records = results.records
    if is_weighted(records) or "shares" not in records.columns or not records["shares"].count():
        return None
    records = name_speakers(records)
    import polars as pl

    item = pl.coalesce(pl.col("topic").replace("", None), "conversation").alias("item")
    labels = {
        what: LabelProbabilityTable(
            STANCES,
            records.select(
                "model",
                item,
                pl.col(what).cast(pl.String).alias("label"),
                pl.col(f"p_{what}").cast(pl.List(pl.Float64)).alias("chances"),
                pl.col(sampled).cast(pl.List(pl.String)).alias("sampled"),
            ),
        )
        for what, sampled in (("stance", "sampled"), ("premise_stance", "sampled_premise"))
        if _has_chances(records, f"p_{what}", sampled)
    }
    if not labels:
        return None
    jackknife = Jackknife(how.level, how.resamples, how.seed, "topics")
    return label_probabilities(labels, records["shares"].unique().to_list(), jackknife)


def _has_chances(records: pl.DataFrame, chances: str, sampled: str) -> bool:
    """Whether the column `chances` has lists of numbers and the column `sampled` has lists of words. In a table made
    outside Overton, these columns may have any type."""
    import polars as pl

    kinds = [records.schema.get(name) for name in (chances, sampled)]
    inner = [kind.inner for kind in kinds if isinstance(kind, pl.List)]
    if len(inner) < 2:
        return False
    numbers, words = inner
    return (numbers.is_numeric() or numbers == pl.Null) and words in {pl.String, pl.Null}


def _notes(results: Results, how: StanceHow, analysis: Analysis) -> Iterator[str]:
    known = results.records[NOTE].first() if NOTE in results.records.columns else ""
    yield from notes(analysis, how, str(known))


_OF_STANCES = ("change_rate", "drift")
"""Measures that depend on stances only. The Chameleon score also depends on source re-use. If all turns have the same
question or pages, nearly all sources are re-used, regardless of the model. Without a search there are no sources."""


def _null_trials(instead: NullChange, topics: Sequence[Topic], options: Any, seed: int) -> Iterator[Trial]:
    """The trials of a null condition: every conversation of the design, with the change `instead`."""
    return (msgspec.structs.replace(trial, instead=instead) for trial in trials(topics, options, seed))


def _null(name: NullChange, help_: str, of: tuple[str, ...] = _OF_STANCES) -> Null:
    return Null(name, help_, of, trials=partial(_null_trials, name), column="conversation")


NULLS = (
    _null("same-question", "the first question in every turn"),
    _null(
        "no-history",
        "every question as if it were the first, without the earlier turns",
        (*_OF_STANCES, "chameleon"),
    ),
    _null("no-search", "no query, no search and no pages"),
    _null("same-pages", "the pages of the first turn in every turn"),
)
"""'same-question' comes first, because changes of stance in this condition cannot come from a new question, or from the
judge's interpretation of a new question."""

STUDY_MEASURES: StudyMeasures[StanceHow] = StudyMeasures(
    study="stance-stability",
    how=StanceHow,
    rows=_rows,
    items=TOPICS,
    groupings=(
        *_in_every_group(MEASURES, deviations=True),
        *_in_every_group(BANDS),
        *_in_every_group(REUSE_SHARES),
        _BY_BIN,
        Grouping((UNCLEAR,)),
    ),
    by_facet=(*_all_topics(MEASURES, deviations=True), *_all_topics(BANDS), *_all_topics(REUSE_SHARES)),
    faultless=_everywhere(_FAULTLESS),
    others=(OtherNumbers((*VARIANCES, *RELATIONS), _other_numbers),),
    questions=QUESTIONS,
    case=_case,
    agreement=_agreement,
    chances=_chances,
    between=False,
    nulls=NULLS,
    notes=_notes,
)


def analyze(turns: pl.DataFrame, **how: Any) -> Analysis:
    """Compute every measure of stance stability from labelled turns, one row per turn of a conversation.

    Columns are `conversation`, `turn` (whole numbers, in order) and `stance` (as in `STANCES`; null if the judge gave
    no usable label). Optional ones are `model`, `domain`, `topic`, `ordering`, `initial_belief`, `debate_strength`,
    `temperature` (null for the endpoint's own), `question`, `confidence` on [0, 1], `retrieved` and `cited` (lists of
    documents), `premise_stance`, `faults` (lists of `overton.judging.Fault`), `refused`, `failure`, `judge_attempts`,
    `miscited`. Other columns are ignored, so a run's records can be used as they are. Conversations are identified by
    name, model and temperature. The order of rows does not matter.

    `how` are the fields of `StanceHow`, which decide points that the formulas leave open. `no_change`: in a
    conversation without changes, the confidence at changes is 'zero', or the 'mean' confidence over all turns.
    `no_documents`: a turn without documents is 'left out' of mean source re-use, or counts as 'zero'. `unclear`: an
    unclear turn carries the last clear stance forward ('carry'), or is a fourth 'stance'. `unlabelled`: a turn without
    a label is left out of pairs ('none'), or also carries the last clear stance forward, so that all n - 1 pairs count
    ('carry'). `labels`: stances are towards the 'proposition', or towards the question's 'premise', as in the published
    prompt. The default is 'proposition' if any turn has such a label. `target`: flips are counted away from this
    stance, and 'first' is each conversation's own first stance.

    Raises:
        InputError: an option or a column is invalid, a turn occurs twice, or every conversation has a failed call.
    """
    problems = [
        Problem(field.name, str(how[field.name]), f"must be one of {', '.join(field.option.known)}")
        for field in fields_of(StanceHow)
        if field.option.known and how.get(field.name) not in (None, *field.option.known)
    ]
    if problems:
        raise InputError(problems)
    return STUDY_MEASURES.analyze_records(turns, **how)
