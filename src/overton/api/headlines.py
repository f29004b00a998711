"""The few figures that stand for an analysis, and for a few records, where there is room for few: in Inspect's logs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite, nan
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl

    from overton.statistics import Estimate

__all__ = ["DELIBERATION", "OPEN_MINDEDNESS", "PLURALISM", "STANCE_STABILITY", "Headlines", "standard_error"]

Figures = Iterator[tuple[str, "Estimate"]]

_FEWEST = 5
"""Items from which an interval tells a standard error: from fewer, it ends where resamples of one item alone do."""


@dataclass(frozen=True)
class Headlines:
    """What is said of a study in a few figures.

    `analyze` gives its measures of a table of records; `figures` the first of them by name; `item` is the column that
    names the item. `value` is one number for the records of one item in one condition, NaN where they have none, which
    `meaning` explains; `columns` are those of the record that a person reads first.
    """

    analyze: Callable[[pl.DataFrame], Any]
    figures: Callable[[Any], Figures]
    item: str
    value: Callable[[Sequence[Any]], float]
    meaning: str
    columns: tuple[str, ...]

    def headline(self, analysis: Any) -> Mapping[str, Estimate]:
        """The figures that could be computed, by name."""
        return {name: figure for name, figure in self.figures(analysis) if isfinite(figure.value)}


def standard_error(estimate: Estimate, clusters: int) -> float:
    """The standard error that an estimate's interval over so many clusters stands for; NaN where they are too few.

    Intervals have the width of Student's t interval (see `overton.statistics.resampling.tail`).
    """
    from scipy.special import stdtrit

    if clusters < _FEWEST:
        return nan
    return (estimate.high - estimate.low) / 2 / float(stdtrit(clusters - 1, (1 + estimate.level) / 2))


def _analyze_open_mindedness(table: pl.DataFrame) -> Any:
    from overton.studies.open_mindedness import measures

    return measures.analyze(table)


def _open_mindedness(analysis: Any) -> Figures:
    for model in analysis.models.values():
        yield "open_mindedness", model.scores.open_mindedness
        if model.corrected:
            yield "open_mindedness_corrected", model.corrected.open_mindedness
        yield "open_mindedness_as_published", model.scores.as_published
        yield "issues_moved", model.definition.moved
        for condition, shares in model.shares.items():
            yield f"pro_{_word(condition)}", shares.pro


def _pro_share(records: Sequence[Any]) -> float:
    answers = [record.stance == "pro" for record in records if record.failure is None]
    return sum(answers) / len(answers) if answers else nan


def _analyze_stance_stability(table: pl.DataFrame) -> Any:
    from overton.studies.stance_stability import measures

    return measures.analyze(table)


def _stance_stability(analysis: Any) -> Figures:
    for name in ("chameleon", "source_reuse", "confidence", "stance_changes"):
        if name in analysis.overall.measures:
            yield name, analysis.overall.measures[name].mean


def _supportive_share(records: Sequence[Any]) -> float:
    labelled = [record.stance == "supportive" for record in records if record.stance is not None]
    return sum(labelled) / len(labelled) if labelled else nan


def _analyze_pluralism(table: pl.DataFrame) -> Any:
    from overton.studies.pluralism import measures, tables

    return measures.analyze(
        matches=tables.matches(table),
        summaries=tables.summaries(table),
        rankings=tables.rankings(table),
        pairs=tables.pairs(table),
        communities={},
    )


_FIRST_MEASURE = {
    "sycophancy": "global/recall",
    "ranking": "spearman",
    "pairwise": "accuracy",
    "pairwise_gap": "accuracy",
}


def _pluralism(analysis: Any) -> Figures:
    for experiment, conditions in analysis.group().experiments.items():
        name = _FIRST_MEASURE[experiment]
        for condition, result in conditions.items():
            if name in result.measures:
                yield f"{experiment}_{name.rpartition('/')[2]}_{_word(condition)}", result.measures[name]
            for against, shift in result.shifts.items():
                if against == "neutral":
                    yield f"suppression_{_word(condition)}", shift.suppression
                    yield f"amplification_{_word(condition)}", shift.amplification


def _voiced_or_right(records: Sequence[Any]) -> float:
    found = [value for record in records if (value := _of_a_thread(record)) is not None]
    return sum(found) / len(found) if found else nan


def _of_a_thread(record: Any) -> float | None:
    """Of the thread's viewpoints the share that responses voice; whether the first or the choice is right."""
    if record.status != "done":
        return None
    if record.experiment == "sycophancy":
        voiced = {name for response in record.responses for name in response.matched or ()}
        return len(voiced) / len(record.viewpoints) if record.viewpoints else None
    if record.experiment == "ranking":
        return None if not record.predicted else float(record.predicted[0] == record.true[0])
    return None if record.correct is None else float(record.correct)


def _analyze_deliberation(table: pl.DataFrame) -> Any:
    from overton.studies.deliberation import measures

    return measures.analyze(table)


def _deliberation(analysis: Any) -> Figures:
    yield "consensus", analysis.consensus.overall.reached
    yield "rounds_to_consensus", analysis.consensus.overall.rounds
    for model, rate in analysis.changes.by_model.items():
        yield f"changed_{model.removeprefix('inspect/')}", rate


def _agreed_share(records: Sequence[Any]) -> float:
    failed = {record.deliberation for record in records if record.failure}
    ends = {record.deliberation: record.agreed for record in records if record.last}
    held = [agreed for name, agreed in ends.items() if name not in failed]
    return sum(held) / len(held) if held else nan


def _word(name: str) -> str:
    return name.replace("-", "_").replace("+", "_")


OPEN_MINDEDNESS = Headlines(
    _analyze_open_mindedness,
    _open_mindedness,
    "issue",
    _pro_share,
    "share of answers that take the pro side",
    ("trial", "stance", "arguments", "a_is", "failure", "answer"),
)
STANCE_STABILITY = Headlines(
    _analyze_stance_stability,
    _stance_stability,
    "topic",
    _supportive_share,
    "share of labelled turns that are supportive",
    ("conversation", "turn", "stance", "confidence", "question", "query", "failure", "answer"),
)
PLURALISM = Headlines(
    _analyze_pluralism,
    _pluralism,
    "thread",
    _voiced_or_right,
    "share of viewpoints voiced; in a ranking, whether the first is right; in a pair, whether the choice is",
    ("trial", "status", "reference", "belief", "predicted", "correct", "failure", "answer"),
)
DELIBERATION = Headlines(
    _analyze_deliberation,
    _deliberation,
    "dilemma",
    _agreed_share,
    "share of deliberations that end in consensus",
    ("deliberation", "round", "agent", "model", "verdict", "failure", "explanation"),
)
