"""All measures of a table of turns, put together, with what is behind them: counts, and notes for the reader."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from overton.errors import InputError, Problem
from overton.judging import cohen_kappa, share
from overton.statistics.resampling import Jackknife
from overton.studies.cautions import few
from overton.studies.stance_stability.measures.analysis import LETTERS, Agreement, Analysis, DomainCount, Tally
from overton.studies.stance_stability.measures.cells import Partition
from overton.studies.stance_stability.measures.groups import measure_groups
from overton.studies.stance_stability.measures.reuse import measure_bins, measure_correlations, measure_turns
from overton.studies.stance_stability.measures.scores import Reading, Scores, score
from overton.studies.stance_stability.measures.spreads import measure_spreads
from overton.studies.stance_stability.measures.traces import UNLABELLED, Traces, traces_from

__all__ = ["assemble"]

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]


def assemble(turns: pl.DataFrame, asked: Jackknife, over: str | None, reading: Reading) -> Analysis:
    """Every measure that the turns allow, with intervals as `asked`, `over` topics or conversations."""
    traces = traces_from(turns)
    reading = replace(reading, labels=_labels(traces, reading))
    scores = score(traces, reading)
    jackknife = replace(asked, unit=_unit(traces, over))
    units = _units(traces, jackknife.unit)
    partition, resampling = Partition(traces.about), jackknife.over(units)
    groups = measure_groups(scores.values, partition, resampling)
    models, whole = partition.of("model"), _tallied(traces, scores, np.ones(len(traces), bool))
    return Analysis(
        conversations=_conversations(traces, scores),
        overall=groups.overall,
        models=groups.models,
        domains=groups.domains,
        temperatures=groups.temperatures,
        orderings=groups.orderings,
        correlations=measure_correlations(scores.values, models, resampling),
        spreads=measure_spreads(scores.values, traces.about, partition, resampling, jackknife),
        by_turn=measure_turns(traces, scores, partition, resampling),
        bins=measure_bins(scores.values, models, resampling),
        counts=_counted_domains(traces, partition),
        premise=_agreement(traces, jackknife.level),
        tally=whole,
        tallies={name: _tallied(traces, scores, models.code == code) for code, name in enumerate(models.names)},
        failed=traces.failed,
        gapped=traces.gapped,
        documents="cited" if traces.cited else "retrieved" if traces.retrieved else None,
        reading=vars(reading).copy(),
        level=jackknife.level,
        resamples=jackknife.resamples,
        seed=jackknife.seed,
        over=jackknife.unit,
        not_computed=_not_computed(traces, scores, partition),
        notes=(*_notes(whole, traces, reading), *few(int(units.max()) + 1, jackknife.unit)),
    )


def _conversations(traces: Traces, scores: Scores) -> pl.DataFrame:
    measures = (pl.Series(name, values).fill_nan(None) for name, values in scores.values.items())
    stops = np.cumsum(traces.length).tolist()
    letters = np.array([ord(letter) for letter in LETTERS], np.uint8)[scores.labels].tobytes().decode()
    trace = [letters[start:stop] for start, stop in zip([0, *stops], stops, strict=False)]
    return traces.about.with_columns(pl.Series("trace", trace), *measures)


def _labels(traces: Traces, reading: Reading) -> Literal["proposition", "premise"]:
    """Which labels to measure: those asked for, else the premise's only where there are no others."""
    if reading.labels == "premise" and traces.premise is None:
        raise InputError([Problem("labels", "premise", "no turn has a label of the published prompt (premise_stance)")])
    alone = traces.premise is not None and bool((traces.stance == UNLABELLED).all())
    return reading.labels or ("premise" if alone else "proposition")


def _unit(traces: Traces, over: str | None) -> str:
    """What intervals are over: as asked, else topics where every conversation's is known."""
    told = "topic" in traces.about.columns and not traces.about["topic"].null_count()
    if over == "topics" and not told:
        raise InputError([Problem("over", "topics", "the table does not tell every conversation's topic")])
    return over or ("topics" if told else "conversations")


def _units(traces: Traces, unit: str) -> Ints:
    """The number of each conversation's own unit, a topic or itself."""
    if unit == "conversations":
        return np.arange(len(traces))
    return (traces.about["topic"].rank("dense").cast(pl.Int64) - 1).to_numpy()


def _agreement(traces: Traces, level: float) -> Agreement | None:
    """Over the turns that both prompts label; those of a conversation are not independent."""
    if traces.premise is None:
        return None
    both = (traces.stance != UNLABELLED) & (traces.premise != UNLABELLED)
    if not both.any():
        return None
    own, other = traces.stance[both].tolist(), traces.premise[both].tolist()
    clusters = traces.conversation[both].tolist()
    same = [one == two for one, two in zip(own, other, strict=True)]
    return Agreement(share(same, clusters, level=level), cohen_kappa(own, other, clusters, level=level))


def _not_computed(traces: Traces, scores: Scores, partition: Partition) -> dict[str, str]:
    """Why a measure is missing, where it is."""
    reasons = {
        "source_reuse": ("source_reuse" in scores.values, "the table has neither cited nor retrieved documents"),
        "confidence": (traces.confidence is not None, "no turn has a confidence"),
        "chameleon": ("chameleon" in scores.values, "it needs documents and confidence"),
        "spreads": (len(partition.names("temperature")) > 1, "there is only one temperature"),
        "domains": ("domain" in traces.about.columns, "no turn has a domain"),
        "premise": (traces.premise is not None, "no turn has a label of the published prompt"),
    }
    return {name: reason for name, (there, reason) in reasons.items() if not there}


def _tallied(traces: Traces, scores: Scores, chosen: Flags) -> Tally:
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


def _counted_domains(traces: Traces, partition: Partition) -> tuple[DomainCount, ...]:
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


def _notes(whole: Tally, traces: Traces, reading: Reading) -> Iterator[str]:
    """Warnings, each a sentence."""
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


def _some(count: int) -> str:
    return f"{count:,} conversation{' was' if count == 1 else 's were'}"
