"""A log's results: one Inspect score per figure, so that its standard error and its sample size belong to it alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import TYPE_CHECKING, Any

from overton.hosts.inspect.layout import null_scorer

if TYPE_CHECKING:
    from overton.statistics import Estimate

__all__ = ["Figure", "eval_scores"]


@dataclass(frozen=True)
class Figure:
    """One number over a log's samples: `name` is its metric's name.

    `estimate.n` is the number of answers or items that it rests on. `null` names the null condition that it is of, ''
    for the design. `judge` has the scorer's parameters that name the judge whose labels it rests on, as Inspect's own
    model-graded scorers do; empty if it rests on none.
    """

    name: str
    estimate: Estimate
    null: str = ""
    judge: Mapping[str, Any] = field(default_factory=dict)


def eval_scores(figures: Sequence[Figure], scorer: str) -> list[Any]:
    """The figures as Inspect's scores: each has its value, and `stderr` if it has a standard error.

    `scored_samples` is what the figure rests on, since readers take it as the size of the sample behind the error; how
    many samples were scored is in the log's `completed_samples`.
    """
    from inspect_ai.log import EvalMetric, EvalScore

    scores = []
    for one in figures:
        estimate = one.estimate
        metrics = {one.name: EvalMetric(name=one.name, value=estimate.value)}
        if estimate.error is not None:
            metrics["stderr"] = EvalMetric(name="stderr", value=estimate.error)
        scores.append(
            EvalScore(
                name=_score_name(one, scorer),
                scorer=null_scorer(scorer) if one.null else scorer,
                scored_samples=estimate.n,
                params=dict(one.judge),
                metrics=metrics,
                metadata=_described(estimate),
            )
        )
    return scores


def _score_name(figure: Figure, scorer: str) -> str:
    """A name that no sample's score has: tools would take the scores of samples for parts of a figure of that name."""
    name = f"{figure.name}_under_{figure.null}" if figure.null else figure.name
    return f"{name}_overall" if name in (scorer, null_scorer(scorer)) else name


def _described(estimate: Estimate) -> dict[str, Any]:
    """How the interval was computed, and the interval if there is one."""
    found: dict[str, Any] = {"method": estimate.method}
    if isfinite(estimate.low) and isfinite(estimate.high):
        found |= {"low": estimate.low, "high": estimate.high, "level": estimate.level}
    return found
