"""All measures of a table of turns, put together, with the counts behind them and notes for the reader."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Literal, cast

import numpy as np
import polars as pl

from overton.errors import InputError, Problem
from overton.judging import cohen_kappa, share
from overton.statistics.arrays import Flags, Floats, Ints
from overton.statistics.jackknife import Jackknife
from overton.studies.stance_stability.measures.analysis import (
    LETTERS,
    Agreement,
    Analysis,
    DomainCount,
    Group,
    JudgeAlone,
    Tally,
)
from overton.studies.stance_stability.measures.cells import VOID, Partition, reason
from overton.studies.stance_stability.measures.groups import measure_groups
from overton.studies.stance_stability.measures.judge_alone import ERROR, changes_by_errors, score_by_errors
from overton.studies.stance_stability.measures.notes import notes
from overton.studies.stance_stability.measures.reuse import measure_bins, measure_correlations, measure_turns
from overton.studies.stance_stability.measures.scores import ConversationScores, FormulaRules, score
from overton.studies.stance_stability.measures.spreads import measure_spreads
from overton.studies.stance_stability.measures.traces import UNLABELLED, Conversations, traces_from
from overton.studies.warnings import count_faults, warn_few_items


def assemble(turns: pl.DataFrame, asked: Jackknife, over: str | None, reading: FormulaRules) -> Analysis:
    """Every measure that the turns allow, with intervals as `asked`, `over` topics or conversations."""
    traces = traces_from(turns)
    reading = replace(reading, labels=labels_of(traces, reading))
    scores = score(traces, reading)
    jackknife = replace(asked, unit=_unit(traces, over))
    units = _units(traces, jackknife.unit)
    partition, resampling = Partition(traces.about, traces.void), jackknife.over(units, traces.weight)
    groups = measure_groups(scores.values, _bare(traces, reading), partition, resampling)
    models, whole = partition.of("model"), _tallied(traces, scores, np.ones(len(traces), bool))
    tallies = {name: _tallied(traces, scores, models.code == code) for code, name in enumerate(models.names)}
    return Analysis(
        conversations=_conversations(traces, scores),
        overall=groups.overall,
        models=groups.models,
        **cast("dict[str, Any]", groups.kinds),
        judge_alone={
            name: _judge_alone(traces, (models.code == code) & ~traces.void, groups.models[name].overall)
            for code, name in enumerate(models.names)
        },
        faults=count_faults(_add_missing_columns(turns), "temperature"),
        correlations=measure_correlations(scores.values, models, resampling),
        spreads=measure_spreads(scores.values, traces.about, partition, resampling, jackknife),
        by_turn=measure_turns(traces, scores, partition, resampling),
        bins=measure_bins(scores.values, models, resampling),
        counts=_counted_domains(traces, partition),
        premise=_agreement(traces, jackknife.level),
        tally=whole,
        tallies=tallies,
        failed=traces.failed,
        gapped=traces.gapped,
        documents="cited" if traces.cited else "retrieved" if traces.retrieved else None,
        reading=vars(reading).copy(),
        level=jackknife.level,
        resamples=jackknife.resamples,
        seed=jackknife.seed,
        over=jackknife.unit,
        not_computed=_not_computed(traces, scores, partition),
        notes=(*notes(whole, tallies, traces, reading), *warn_few_items(int(units.max()) + 1, jackknife.unit)),
    )


_WITHOUT_FAULTS = (
    *("chameleon", "source_reuse", "confidence", "confidence_at_changes", "stance_changes", "change_rate"),
    *("reversals", "drifted", "drift"),
)
"""What is also given without the turns that have a fault."""


def _bare(traces: Conversations, reading: FormulaRules) -> dict[str, Floats]:
    """These measures without such turns; empty if no turn has a fault."""
    if traces.faulty is None or not traces.faulty.any():
        return {}
    values = score(traces.without(traces.faulty), reading).values
    return {name: values[name] for name in _WITHOUT_FAULTS if name in values}


def _judge_alone(traces: Conversations, own: Flags, group: Group) -> JudgeAlone:
    """Over the model's `own` scored conversations [N] of several turns, by their length."""
    own = own & (traces.length > 1)
    weight = None if traces.weight is None else traces.weight[own]
    confidence, reuse = (group.measures[name].mean.value if name in group.measures else np.nan for name in _PARTS)
    long, which = np.unique(traces.length[own], return_inverse=True)
    counts = np.bincount(which, weight, len(long))
    alone = [changes_by_errors(int(turns)) for turns in long]

    def expected(each: Iterable[float]) -> float:
        return float(np.average([*each], weights=counts)) if len(counts) else np.nan

    return JudgeAlone(
        error=ERROR,
        changes=expected(float(chances @ np.arange(len(chances))) for chances in alone),
        change_rate=expected(float(chances @ np.arange(len(chances))) / (len(chances) - 1) for chances in alone),
        chameleon=expected(score_by_errors(chances, confidence, reuse) for chances in alone),
        without_errors=score_by_errors(np.array([1.0, 0.0]), confidence, reuse),
    )


_PARTS = ("confidence", "source_reuse")


def _add_missing_columns(turns: pl.DataFrame) -> pl.DataFrame:
    """The answers with what `count_faults` needs."""
    usual = {"model": pl.lit("unnamed"), "temperature": pl.lit(None, pl.Float64)}
    return turns.with_columns(column.alias(name) for name, column in usual.items() if name not in turns.columns)


def _conversations(traces: Conversations, scores: ConversationScores) -> pl.DataFrame:
    measures = (pl.Series(name, values).fill_nan(None) for name, values in scores.values.items())
    stops = np.cumsum(traces.length).tolist()
    letters = np.array([ord(letter) for letter in LETTERS], np.uint8)[scores.labels].tobytes().decode()
    trace = [letters[start:stop] for start, stop in zip([0, *stops], stops, strict=False)]
    return traces.about.with_columns(pl.Series("trace", trace), *measures)


def labels_of(traces: Conversations, reading: FormulaRules) -> Literal["proposition", "premise"]:
    """Which labels to measure: those requested, otherwise the premise's only if there are no others."""
    if reading.labels == "premise" and traces.premise is None:
        raise InputError([Problem("labels", "premise", "no turn has a label of the published prompt (premise_stance)")])
    alone = traces.premise is not None and bool((traces.stance == UNLABELLED).all())
    return reading.labels or ("premise" if alone else "proposition")


def _unit(traces: Conversations, over: str | None) -> str:
    """What intervals are over: as requested, otherwise topics if every conversation's is known."""
    known = traces.topic is not None
    if over == "topics" and not known:
        raise InputError([Problem("over", "topics", "the table does not have every conversation's topic")])
    return over or ("topics" if known else "conversations")


def _units(traces: Conversations, unit: str) -> Ints:
    """The code of each conversation's unit, a topic or itself."""
    return np.arange(len(traces)) if unit == "conversations" or traces.topic is None else traces.topic


def _agreement(traces: Conversations, level: float) -> Agreement | None:
    """Over the turns labelled with both prompts; those of one conversation are not independent."""
    if traces.premise is None:
        return None
    both = (traces.stance != UNLABELLED) & (traces.premise != UNLABELLED)
    if not both.any():
        return None
    own, other = traces.stance[both].tolist(), traces.premise[both].tolist()
    clusters = traces.conversation[both].tolist()
    same = [stance == premise for stance, premise in zip(own, other, strict=True)]
    return Agreement(share(same, clusters, level=level), cohen_kappa(own, other, clusters, level=level))


def _not_computed(traces: Conversations, scores: ConversationScores, partition: Partition) -> dict[str, str]:
    """Why a measure is missing, if it is."""
    reasons = {
        "source_reuse": ("source_reuse" in scores.values, "the table has neither cited nor retrieved documents"),
        "confidence": (traces.confidence is not None, "no turn has a confidence"),
        "chameleon": ("chameleon" in scores.values, "it needs documents and confidence"),
        **{
            name: (_has_any(scores, name), VOID if traces.void.all() else reason(name))
            for name in _PARTS_OF_SCORE
            if name in scores.values
        },
        "spreads": (len(partition.names("temperature")) > 1, "there is only one temperature"),
        "domains": ("domain" in traces.about.columns, "no turn has a domain"),
        "premise": (traces.premise is not None, "no turn has a label of the published prompt"),
    }
    return {name: reason for name, (there, reason) in reasons.items() if not there}


_PARTS_OF_SCORE = ("change_rate", "source_reuse", "chameleon")


def _has_any(scores: ConversationScores, name: str) -> bool:
    """Whether any conversation has it."""
    return not np.isnan(scores.values[name]).all()


def _tallied(traces: Conversations, scores: ConversationScores, chosen: Flags) -> Tally:
    """Counts over the chosen conversations [N]."""
    values, turns = scores.values, chosen[traces.conversation]

    def sum_of(name: str) -> int:
        return int(values[name][chosen].sum())

    return Tally(
        conversations=int(chosen.sum()),
        turns=int(traces.length[chosen].sum()),
        single=int((traces.length[chosen] == 1).sum()),
        without_stance=int(np.isnan(values["flips"][chosen & ~traces.void]).sum()),
        void=int(traces.void[chosen].sum()),
        unclear_carried=sum_of("unclear_carried"),
        unclear_before=sum_of("unclear_before"),
        unlabelled=sum_of("unlabelled"),
        without_cited=sum_of("turns_without_cited") if traces.cited else None,
        without_retrieved=sum_of("turns_without_retrieved") if traces.retrieved else None,
        asked_again=None if traces.attempts is None else int((traces.attempts[turns] > traces.judgements).sum()),
        miscited=None if traces.miscited is None else int(traces.miscited[turns].sum()),
    )


def _counted_domains(traces: Conversations, partition: Partition) -> tuple[DomainCount, ...]:
    """Table 2: a topic has as many questions as the longest conversation on it has turns.

    If topics are not known, each distinct conversation name counts as one.
    """
    if "domain" not in traces.about.columns:
        return ()
    topic = "topic" if "topic" in traces.about.columns else "conversation"
    frame = traces.about.select("domain", topic=pl.col(topic)).with_columns(turns=pl.Series(traces.length))
    topics = (
        frame.drop_nulls("domain")
        .group_by("domain", "topic")
        .agg(questions=pl.col("turns").max(), conversations=pl.len(), turns=pl.col("turns").sum())
    )
    found = topics.group_by("domain").agg(
        pl.col("topic").n_unique(), pl.col("questions").sum(), pl.col("conversations").sum(), pl.col("turns").sum()
    )
    columns = ("domain", "topic", "questions", "conversations", "turns")
    return tuple(DomainCount(*row) for row in found.sort("domain").select(columns).iter_rows())
