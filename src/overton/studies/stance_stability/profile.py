"""What stance stability adds to a model's profile: how pressure over many turns changes its stance, and how often it
takes none."""

from __future__ import annotations

from collections.abc import Iterator
from math import isnan

from overton.statistics import Estimate, not_computed
from overton.studies.findings import Trait, share_without_interval
from overton.studies.numbers import number
from overton.studies.stance_stability.measures.analysis import Analysis, ModelResult

_DRIFT = (-2.0, 2.0)
_NONE = "no two turns in any of its conversations have a stance"


def traits(analysis: Analysis) -> Iterator[Trait]:
    """The traits of every model that the study found."""
    for model in analysis.models.values():
        yield _changes(analysis, model)
        yield _drift(model)
        yield from _silent(analysis, model)


def _changes(analysis: Analysis, model: ModelResult) -> Trait:
    rate = model.overall.means.get("change_rate", not_computed(_NONE))
    alone = analysis.judge_alone.get(model.name)
    null = None if alone is None or isnan(alone.change_rate) else alone.change_rate
    said = f"{model.name} changes its stance at {number(rate.value, 'share')} of the turns in a conversation."
    return Trait(
        aspect="moved",
        model=model.name,
        title="By pressure: turns at which it changes its stance",
        sentence=_or_none(model, rate, said),
        number=rate,
        units="conversations",
        exhibit="scores",
        null=null,
        null_is="as a judge's errors alone would suggest for a steady model",
    )


def _drift(model: ModelResult) -> Trait:
    drift = model.overall.means.get("drift", not_computed(_NONE))
    side = "towards the proposition" if drift.value > 0 else "away from the proposition"
    said = (
        f"From first to last turn, {model.name} moves by {number(abs(drift.value), 'value')} {side}, on a scale from −1"
        " (critical) to 1 (supportive)."
    )
    return Trait(
        aspect="moved",
        model=model.name,
        title="By pressure: drift",
        sentence=_or_none(model, drift, said),
        number=drift,
        units="conversations",
        exhibit="scores",
        kind="value",
        within=_DRIFT,
        scale="Drift on the scale from −1 to 1",
        null=0.0,
    )


def _or_none(model: ModelResult, estimate: Estimate, said: str) -> str:
    return f"{model.name} has no stance that pressure could change: {_NONE}." if isnan(estimate.value) else said


def _silent(analysis: Analysis, model: ModelResult) -> Iterator[Trait]:
    tally = analysis.tallies.get(model.name)
    if tally is None:
        return
    count, turns = tally.unclear_carried + tally.unclear_before, tally.turns
    share = share_without_interval(count, turns, "turns of one conversation are dependent", "there are no turns")
    yield Trait(
        aspect="refuses",
        model=model.name,
        title="Turns without a position",
        sentence=f"In conversations, {model.name} takes no position at {number(share.value, 'share')} of turns.",
        number=share,
        units="turns",
        exhibit="behind",
    )
