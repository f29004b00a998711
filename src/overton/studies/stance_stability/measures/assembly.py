"""All measures of a table of turns, put together."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from overton.errors import InputError, Problem
from overton.judging import cohen_kappa, share
from overton.statistics.resampling import Bootstrap
from overton.studies.stance_stability.measures.analysis import LETTERS, Agreement, Analysis
from overton.studies.stance_stability.measures.correlations import measure_correlations
from overton.studies.stance_stability.measures.groups import measure_groups
from overton.studies.stance_stability.measures.partition import Partition
from overton.studies.stance_stability.measures.scores import Reading, Scores, score
from overton.studies.stance_stability.measures.spreads import measure_spreads
from overton.studies.stance_stability.measures.tally import counted_domains, notes_on, tallied
from overton.studies.stance_stability.measures.traces import UNLABELLED, Traces, traces_from
from overton.studies.stance_stability.measures.turns import measure_bins, measure_turns

__all__ = ["assemble"]

Ints = NDArray[np.int64]


def assemble(turns: pl.DataFrame, bootstrap: Bootstrap, reading: Reading) -> Analysis:
    """Every measure that the turns allow."""
    traces = traces_from(turns)
    reading = replace(reading, labels=_labels(traces, reading))
    scores = score(traces, reading)
    partition, resampling = Partition(traces.about), bootstrap.over(_units(traces, bootstrap.unit))
    groups = measure_groups(scores.values, partition, resampling)
    models, whole = partition.of("model"), tallied(traces, scores, np.ones(len(traces), bool))
    return Analysis(
        conversations=_conversations(traces, scores),
        overall=groups.overall,
        models=groups.models,
        domains=groups.domains,
        temperatures=groups.temperatures,
        orderings=groups.orderings,
        correlations=measure_correlations(scores.values, models, resampling),
        spreads=measure_spreads(scores.values, traces.about, partition, resampling),
        by_turn=measure_turns(traces, scores, partition, resampling),
        bins=measure_bins(scores.values, models, resampling),
        counts=counted_domains(traces, partition),
        premise=_agreement(traces, bootstrap.level),
        tally=whole,
        tallies={name: tallied(traces, scores, models.code == code) for code, name in enumerate(models.names)},
        failed=traces.failed,
        gapped=traces.gapped,
        documents="cited" if traces.cited else "retrieved" if traces.retrieved else None,
        reading=vars(reading).copy(),
        level=bootstrap.level,
        resamples=bootstrap.resamples,
        seed=bootstrap.seed,
        over=bootstrap.unit,
        not_computed=_not_computed(traces, scores, partition),
        notes=notes_on(whole, traces, reading),
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


def _units(traces: Traces, over: str) -> Ints:
    """What is resampled: conversations, or the topics that they are on."""
    if over == "conversations":
        return np.arange(len(traces))
    if "topic" not in traces.about.columns or traces.about["topic"].null_count():
        raise InputError([Problem("over", "topics", "the table does not tell every conversation's topic")])
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
