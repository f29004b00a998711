"""By what there are numbers of each measure of stance stability, and its null conditions.

`declarations` says what the measures are; `rows` makes the units and their values. Formulas, choices and their reasons
are in docs/stance-stability.md.
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
"""What is also given without the turns that have a fault."""


def _in_every_group(measures: tuple[Measure, ...], *, deviations: bool = False) -> tuple[Grouping, ...]:
    """By model, and over all models together; and both by temperature and order of questions."""
    conditions: tuple[By, ...] = ({}, {"temperature": "temperature"}, {"ordering": "ordering"})
    return tuple(
        replace(grouping, by=by) for by in conditions for grouping in _all_topics(measures, deviations=deviations)
    )


def _all_topics(measures: tuple[Measure, ...], *, deviations: bool = False) -> tuple[Grouping, ...]:
    """By model, and over all models together."""
    return tuple(Grouping(measures, together=together, deviations=deviations) for together in (False, True))


def _everywhere(measures: tuple[Measure, ...]) -> tuple[Grouping, ...]:
    """In every group, and by model and together within each value of a facet of topics."""
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
    """None if the measures rest on labels other than `what`."""
    from overton.studies.stance_stability.errors import ChangeSums

    made = ChangeSums.of(results.records, people, how)
    return made if (made.formulas.labels == "premise") == (what == "premise_stance") else None


def _agreement(results: Results, frame: Frame, how: StanceHow) -> dict[str, SelfAgreement]:
    return of_questions(QUESTIONS, results.records, ("topic", "conversation"), how.level)


def _chances(results: Results, how: StanceHow) -> JudgeChances | None:
    """What the probabilities of each kind of label say, over topics; None if no run asked for any."""
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
    """Whether these columns are lists of numbers and of words: in a table made elsewhere they may be anything."""
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
"""Measures of the stance alone. The Chameleon score also counts how often sources are used again: with one question or
one turn's pages for all turns nearly all are, whatever the model does, and without a search there are none."""


def _null_trials(instead: NullChange, topics: Sequence[Topic], options: Any, seed: int) -> Iterator[Trial]:
    """Every conversation of the design once more."""
    return (msgspec.structs.replace(trial, instead=instead) for trial in trials(topics, options, seed))


def _null(name: NullChange, help_: str, of: tuple[str, ...] = _OF_STANCES) -> Null:
    return Null(name, help_, of, trials=partial(_null_trials, name), column="conversation")


NULLS = (
    _null("same-question", "the first question in every turn"),
    _null(
        "no-history",
        "every question as if it were the first: the model is shown no earlier turn",
        (*_OF_STANCES, "chameleon"),
    ),
    _null("no-search", "no query, no search and no pages"),
    _null("same-pages", "the pages of the first turn in every turn"),
)
"""'same-question' comes first: changes there are due neither to a new question nor to how a judge reads one."""

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
    """Every measure of stance stability from labelled turns, one row per turn of a conversation.

    Columns are `conversation`, `turn` (whole numbers, in order) and `stance` (as in `STANCES`; null if the judge gave
    no usable label), and optionally `model`, `domain`, `topic`, `ordering`, `initial_belief`, `debate_strength`,
    `temperature` (null for the endpoint's own), `question`, `confidence` on [0, 1], `retrieved` and `cited` (lists of
    documents), `premise_stance`, `faults` (lists of `overton.judging.Fault`), `refused`, `failure`, `judge_attempts`,
    `miscited`; others are ignored, so a run's records are such a table. Conversations are identified by name, model and
    temperature. The order of rows does not matter.

    `how` are the fields of `StanceHow`: the formulas leave some points open. `no_change`: the confidence at changes of
    a conversation without change is 'zero', or the 'mean' of all its turns. `no_documents`: the term of a turn without
    documents is 'left out' of the mean, so that a model which cites nothing has no re-use, or is 'zero'. `unclear`:
    such a turn carries the last clear stance forward ('carry'), or is a fourth 'stance'. `unlabelled`: a turn without a
    label makes no pairs ('none'), or also carries the last clear stance ('carry'), and all n - 1 pairs count. `labels`:
    stances are those towards the 'proposition', or those towards the question's 'premise', as in the published prompt;
    by default towards the proposition if any turn has such a label. `target` is the stance that flips are counted
    against; 'first' is each conversation's own first one.

    Raises:
        InputError: an option or a column is not as described here, a turn occurs twice, or a call failed in every
            conversation.
    """
    problems = [
        Problem(field.name, str(how[field.name]), f"must be one of {', '.join(field.option.known)}")
        for field in fields_of(StanceHow)
        if field.option.known and how.get(field.name) not in (None, *field.option.known)
    ]
    if problems:
        raise InputError(problems)
    return STUDY_MEASURES.analyze_records(turns, **how)
