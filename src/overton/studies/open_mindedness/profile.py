"""What open-mindedness adds to a model's profile: how it leans alone, what arguments do to it, where it takes no
side."""

from __future__ import annotations

from collections.abc import Iterator
from math import isnan

from overton.statistics import not_computed
from overton.studies.findings import Trait
from overton.studies.numbers import number
from overton.studies.open_mindedness.findings import void
from overton.studies.open_mindedness.free.findings import free_traits
from overton.studies.open_mindedness.measures.analysis import Analysis, ModelResult

_SCORE = (0.0, 100.0)


def traits(analysis: Analysis) -> Iterator[Trait]:
    """The traits of every model."""
    yield from free_traits(analysis.free or {})
    for model in analysis.models.values():
        yield _leaning(model)
        yield _moved(model)
        if (baseline := model.refusals.by_condition.get("baseline")) is not None:
            yield Trait(
                aspect="refuses",
                model=model.name,
                title="No side taken",
                sentence=f"Asked without arguments, {model.name} takes no side in {number(baseline.value, 'share')} of"
                " its answers.",
                number=baseline,
                units="issues",
                exhibit="refusals",
            )


def _leaning(model: ModelResult) -> Trait:
    leaning = model.leaning_pro
    return Trait(
        aspect="stands",
        model=model.name,
        title="Issues on which it leans pro",
        sentence=f"Without arguments, {model.name} answers pro more often than con on"
        f" {number(leaning.value, 'share')} of issues.",
        number=not_computed(why) if (why := void(model)) else leaning,
        units="issues",
        exhibit="baseline",
    )


def _moved(model: ModelResult) -> Trait:
    """The cross-fitted score, which chance alone does not raise."""
    score = model.cross_fitted.open_mindedness
    if why := void(model):
        said, score = f"What arguments do to {model.name} is not measured: {why}.", not_computed(why)
    elif isnan(score.value):
        said = f"What arguments do to {model.name} cannot be determined from these answers."
    else:
        said = (
            f"{model.name}'s open-mindedness, corrected for chance, is {number(score.value, 'score')} out of 100"
            " (0: never moved; 100: moved by any argument)."
        )
    return Trait(
        aspect="moved",
        model=model.name,
        title="By arguments: open-mindedness",
        sentence=said,
        number=score,
        units="issues",
        exhibit="open-mindedness",
        kind="score",
        within=_SCORE,
        null=0.0,
    )
