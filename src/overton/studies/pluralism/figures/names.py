"""Names of conditions, measures and groups for readers, and the parts that every section and chart uses."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from math import isnan

from overton.statistics import Estimate
from overton.studies.charts import Axis, Dot, dots, series_of
from overton.studies.pluralism.measures.analysis import UNNAMED, Against, Analysis, Contrast, Group, Result
from overton.studies.pluralism.measures.contrasts import in_order, named
from overton.studies.sections import Cell, Drawing, EmptyCell

MEASURES = {
    "global/precision": "Global P",
    "global/recall": "Global R",
    "global/f1": "Global F1",
    "supporting/precision": "Supporting P",
    "supporting/recall": "Supporting R",
    "supporting/f1": "Supporting F1",
    "against/precision": "Against P",
    "against/recall": "Against R",
    "against/f1": "Against F1",
    "redundancy": "Redundancy",
    "ndcg": "NDCG",
    "spearman": "Spearman's rho",
    "kendall": "Kendall's tau",
    "top_1": "Top-1",
    "position_accuracy": "Positions right",
    "mrr_at_10": "MRR@10",
    "accuracy": "Accuracy",
    "accuracy_first": "Popular one first",
    "accuracy_second": "Popular one second",
    "first_pull": "Pull of the first",
}

TITLES = {
    "sycophancy": "Responses",
    "ranking": "Rankings",
    "pairwise": "Pairs with the most popular viewpoint",
    "pairwise_gap": "Random pairs",
}

AGAINST: dict[Against, str] = {
    "neutral": "neutral",
    "matched-neutral": "neutral in the biased wording",
    "twin": "the plain setting",
}

_ARMS = {
    "neutral": "neutral",
    "toward": "biased toward",
    "opposing": "biased opposing",
    "biased": "biased",
    "matched-neutral": "neutral, biased wording",
}
_ALPHA = 0.05
NOT_THERE = EmptyCell("not in this table")


def condition(name: str) -> str:
    """A condition for readers: its arm in words, then what differs from the plain setting."""
    found = named(name)
    arm = _ARMS.get(found.arm, name.partition("+")[0])
    effort = f", effort {found.effort}" if found.effort else ""
    return f"{arm}{effort}{', mitigated' if found.mitigated else ''}"


def conditions(analysis: Analysis, experiment: str) -> list[str]:
    """The conditions of an experiment, in order."""
    return in_order(list(analysis.group().experiments.get(experiment, {})))


def model(name: str | None) -> str:
    """A model for readers."""
    return "all models" if name is None else "the model" if name == UNNAMED else name


def communities(analysis: Analysis) -> list[str | None]:
    """The communities, and all of them together last; only that if there are not several."""
    return [*(analysis.communities if len(analysis.communities) > 1 else ()), None]


def groups(analysis: Analysis, community: str | None) -> list[Group]:
    """The models in a community; after several, all together."""
    own = [analysis.group(name, community) for name in analysis.models]
    return [*own, analysis.group(None, community)] if len(own) > 1 else own


def estimate(result: Result | None, measure: str) -> Cell:
    """A measure's estimate, or why there is none."""
    return NOT_THERE if result is None else result.measures.get(measure, NOT_THERE)


def differs(result: Result, against: Against, measures: Sequence[str]) -> str:
    """Which measures differ, corrected, with the direction: 'Against R lower, Global P lower'; '' if none does."""
    return ", ".join(_differing(result.contrasts.get(against, {}), measures))


def _differing(contrasts: dict[str, Contrast], measures: Sequence[str]) -> Iterator[str]:
    for name in measures:
        contrast = contrasts.get(name)
        if contrast and not isnan(contrast.adjusted) and contrast.adjusted < _ALPHA:
            yield f"{MEASURES[name]} {'higher' if contrast.difference.value > 0 else 'lower'}"


def differs_note(analysis: Analysis, experiment: str, community: str | None) -> str:
    """How a column of differences was computed."""
    every = [
        contrast.of
        for group in groups(analysis, community)
        for result in group.experiments.get(experiment, {}).values()
        for contrast in result.contrasts.get("neutral", {}).values()
    ]
    of = sorted({count for count in every if count})
    times = (
        f", corrected for {' or '.join(f'{count:,}' for count in of)} comparisons of each measure (Holm)" if of else ""
    )
    return f"Differences: Wilcoxon signed-rank over threads, p < {_ALPHA:g}{times}. Intervals are not corrected."


def p_value(contrast: Contrast) -> str:
    """The corrected p value, and the uncorrected one if that differs."""
    if isnan(contrast.p):
        return "–"
    return _p(contrast.p) if contrast.of < 2 else f"{_p(contrast.adjusted)} ({_p(contrast.p)})"


def _p(value: float) -> str:
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


Picked = Callable[[Group, str], Estimate | None]
"""The estimate to draw for a group and a condition; None if there is none."""


def points(analysis: Analysis, conditions: Sequence[str], picked: Picked) -> list[Dot]:
    """A dot for each model, community and condition."""
    several = len(communities(analysis)) > 1
    return [
        Dot(model(group.model), series, found, panel=(community or "all communities") if several else "")
        for community in communities(analysis)
        for group in groups(analysis, community)
        for series, condition in enumerate(conditions)
        if (found := picked(group, condition)) is not None
    ]


def by_model(analysis: Analysis, conditions: Sequence[str], made: Sequence[Dot], axis: Axis) -> Drawing:
    """The dots as a specification."""
    rows = list(dict.fromkeys(dot.row for dot in made))
    panels = list(dict.fromkeys(dot.panel for dot in made if dot.panel))
    return partial(dots, made, rows, series_of([condition(name) for name in conditions]), axis, panels=panels)
