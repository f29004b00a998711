"""What there is to measure, and what a reader has to know about it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl
from numpy.typing import NDArray

from overton.studies.stance_stability.measures.analysis import DomainCount, Tally
from overton.studies.stance_stability.measures.partition import Partition
from overton.studies.stance_stability.measures.scores import Reading, Scores
from overton.studies.stance_stability.measures.traces import Traces

__all__ = ["counted_domains", "notes_on", "tallied"]

Flags = NDArray[np.bool_]

_FEW = 20


def tallied(traces: Traces, scores: Scores, chosen: Flags) -> Tally:
    """Counts over the chosen conversations [N]."""
    values, turns = scores.values, chosen[traces.conversation]

    def sum_of(name: str) -> int:
        return int(values[name][chosen].sum())

    return Tally(
        conversations=int(chosen.sum()),
        turns=int(traces.length[chosen].sum()),
        single=int((traces.length[chosen] == 1).sum()),
        without_stance=int(np.isnan(values["flips"][chosen]).sum()),
        unclear_carried=sum_of("unclear_carried"),
        unclear_before=sum_of("unclear_before"),
        unlabelled=sum_of("unlabelled"),
        without_cited=sum_of("turns_without_cited") if traces.cited else None,
        without_retrieved=sum_of("turns_without_retrieved") if traces.retrieved else None,
        asked_again=None if traces.attempts is None else int((traces.attempts[turns] > traces.judgements).sum()),
        miscited=None if traces.miscited is None else int(traces.miscited[turns].sum()),
    )


def counted_domains(traces: Traces, partition: Partition) -> tuple[DomainCount, ...]:
    """Table 2: a topic has as many questions as the longest conversation on it has turns.

    Where topics are not known, each different name of a conversation stands for one.
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


def notes_on(whole: Tally, traces: Traces, reading: Reading) -> tuple[str, ...]:
    """Warnings, each a sentence."""
    return tuple(_notes(whole, traces, reading))


def _notes(whole: Tally, traces: Traces, reading: Reading) -> Iterator[str]:
    if traces.failed:
        yield f"{_some(traces.failed)} left out whole, since a call failed for good."
    if reading.labels == "premise":
        yield "Stances are those towards each question's premise, which may turn although the model's view does not."
    if whole.unlabelled:
        yield (
            f"The judge gave no usable label for {whole.unlabelled:,} of {whole.turns:,} turns; they hold the last "
            "clear stance before them."
        )
    if whole.without_stance:
        yield f"In {whole.without_stance:,} conversations no turn ever holds a stance; they count as without change."
    if traces.gapped:
        yield f"{traces.gapped:,} conversations lack turns; neighbours are the turns that are there."
    if whole.single:
        yield f"{_some(whole.single)} of a single turn and without rates or scores."
    if traces.confidence is None:
        yield "No turn has a confidence, so there is no confidence at changes and no Chameleon score."
    if whole.conversations < _FEW:
        yield (
            f"There are {whole.conversations} conversations. Intervals over so few are rough, and say little about "
            "others."
        )


def _some(count: int) -> str:
    return f"{count:,} conversation{' was' if count == 1 else 's were'}"
