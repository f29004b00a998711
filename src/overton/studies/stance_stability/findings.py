"""What to say about stances over conversations: how often they change, where they end, and what goes with that."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from math import isnan
from typing import TypedDict

from overton.statistics import Estimate, not_computed
from overton.studies.findings import EITHER, VOID, CandidateFinding, Finding, Said, either, level_finding, most
from overton.studies.numbers import number
from overton.studies.stance_stability.measures.analysis import Analysis, ModelResult, TemperatureSpread

_JUDGE = "judge"


def findings(analysis: Analysis) -> list[Said]:
    """Where each model stands; what may be beyond chance and a judge's errors."""
    models = list(analysis.models.values())
    stand = [finding for model in models for finding in _standing(analysis, model)]
    return [*stand, *chain.from_iterable(_candidates(analysis, model) for model in models)]


def _standing(analysis: Analysis, model: ModelResult) -> Iterator[Finding]:
    means, (n, units) = model.overall.means, _clusters(analysis, model)
    changes, turns = means.get("stance_changes"), means.get("turns")
    if changes is None or isnan(changes.value):
        tally = analysis.tallies.get(model.name)
        nothing = tally is not None and tally.void == tally.conversations
        said = "its answers say nothing" if nothing else "no two turns in any of its conversations have a stance"
        said = f"{model.name} has no stance to keep: {said}."
        yield level_finding(model.name, said, n, units, "scores", judge=_JUDGE, void=VOID, measure="stance_changes")
        return
    length = f" of {number(turns.value, 'value').removesuffix('.00')} turns" if turns is not None else ""
    times = (
        "never changed its stance"
        if changes.value == 0
        else f"changed its stance {number(changes.value, 'value')} times"
    )
    said = f"{model.name} {times} in a conversation{length}{'' if changes.value == 0 else ', on average'}."
    yield level_finding(model.name, said, n, units, "scores", number=changes, judge=_JUDGE, measure="stance_changes")
    ended = means.get("drifted")
    if ended is not None and not isnan(ended.value):
        said = (
            f"{model.name} ended {number(ended.value, 'share')} of its conversations on another stance than its first."
        )
        yield level_finding(
            model.name, said, n, units, "scores", number=ended, kind="share", judge=_JUDGE, measure="drifted"
        )


def _candidates(analysis: Analysis, model: ModelResult) -> Iterator[CandidateFinding]:
    yield from _changes(analysis, model)
    yield from _drift(analysis, model)
    yield from _temperature(analysis, model)
    yield from _reuse(analysis, model)


class _ModelContext(TypedDict):
    """What all candidates of a model have."""

    model: str
    number: Estimate
    clusters: int
    n: int
    units: str
    exhibit: str
    judge: str


def _of(analysis: Analysis, model: ModelResult, number: Estimate, exhibit: str) -> _ModelContext:
    n, units = _clusters(analysis, model)
    return _ModelContext(
        model=model.name,
        number=number,
        clusters=n,
        n=n,
        units=units,
        exhibit=exhibit,
        judge=_JUDGE,
    )


def _clusters(analysis: Analysis, model: ModelResult) -> tuple[int, str]:
    """How many topics, or conversations if those are not known, the model's intervals are over, and which of both."""
    own = analysis.conversations.filter(analysis.conversations["model"] == model.name)
    over_topics = analysis.over == "topics" and "topic" in own.columns
    return (own["topic"].n_unique(), "topics") if over_topics else (own.height, "conversations")


def _changes(analysis: Analysis, model: ModelResult) -> Iterator[CandidateFinding]:
    """Against the changes that a judge's errors alone would make."""
    rate, alone = model.overall.means.get("change_rate"), analysis.judge_alone.get(model.name)
    if rate is None or alone is None or isnan(alone.change_rate):
        return
    own, errors = number(rate.value, "share"), number(alone.change_rate, "share")
    wrong = number(alone.error, "share").replace(".0", "")
    yield CandidateFinding(
        **_of(analysis, model, rate, "scores"),
        measure="change_rate",
        about="conversation",
        null=alone.change_rate,
        small=0.1,
        telling=0.33,
        kind="share",
        above=(
            f"{model.name} changed its stance at {own} of turns, more than the {errors} that a judge with "
            f"{wrong} wrong labels would find in a steady model."
        ),
        within=lambda found: (
            f"{model.name} changed its stance at no more than {number(found.high, 'share')} of turns, about as often"
            " as a judge's errors would suggest for a steady model."
        ),
        unclear=(
            f"Whether {model.name} changed its stance more often than a judge's errors would suggest for a steady"
            " model could not be told."
        ),
    )


def _drift(analysis: Analysis, model: ModelResult) -> Iterator[CandidateFinding]:
    drift = model.overall.means.get("drift")
    if drift is None:
        return
    by = number(abs(drift.value), "value")
    said = f"{model.name} moved towards {EITHER} the proposition over a conversation, by {by} {_SCALE}."
    above, below = either(said, "supporting", "criticising")
    yield CandidateFinding(
        **_of(analysis, model, drift, "scores"),
        measure="drift",
        about="conversation",
        small=0.2,
        telling=0.67,
        above=above,
        below=below,
        within=lambda found: (
            f"{model.name} moved to neither side by more than {most(found, 'value')} over a conversation, {_SCALE}."
        ),
        unclear=f"Whether {model.name} moved to one side over a conversation could not be told.",
    )


_SCALE = "on the scale from −1 (critical) to 1 (supportive)"
_MEASURES = {"stance_changes": "changed its stance", "confidence": "was"}


def _temperature(analysis: Analysis, model: ModelResult) -> Iterator[CandidateFinding]:
    for spread in analysis.spreads:
        if spread.model == model.name and spread.measure in _MEASURES:
            yield CandidateFinding(
                **_of(analysis, model, _between(spread), "temperatures"),
                measure=f"{spread.measure}_by_temperature",
                about="temperature",
                p=spread.p,
                above=(
                    f"How {_HOW[spread.measure]} {model.name} {_MEASURES[spread.measure]} depends on the temperature: "
                    f"{_means_by_temperature(spread)}."
                ),
            )


_HOW = {"stance_changes": "often", "confidence": "certain"}


def _between(spread: TemperatureSpread) -> Estimate:
    """The largest difference between temperatures; it has no interval: a permutation test decides."""
    values = [mean.value for mean in spread.means.values() if not isnan(mean.value)]
    if not values:
        return not_computed("no temperature has a value")
    nothing = float("nan")
    n = sum(mean.n for mean in spread.means.values())
    return Estimate(max(values) - min(values), nothing, nothing, n, "no interval: a permutation test")


def _means_by_temperature(spread: TemperatureSpread) -> str:
    return ", ".join(f"{number(mean.value, 'value')} at {name}" for name, mean in spread.means.items())


def _reuse(analysis: Analysis, model: ModelResult) -> Iterator[CandidateFinding]:
    """Correlations of re-use, between conversations of this model."""
    for correlation in analysis.correlations:
        found = correlation.models.get(model.name)
        if found is None or correlation.measure not in _MORE:
            continue
        rho = number(found.value, "value")
        yield CandidateFinding(
            **_of(analysis, model, found, "relations"),
            measure=f"reuse_with_{correlation.measure}",
            about="re-use",
            above=f"The more {model.name} re-used its sources, the {_MORE[correlation.measure]} (correlation {rho}).",
            below=f"The less {model.name} re-used its sources, the {_MORE[correlation.measure]} (correlation {rho}).",
        )


_MORE = {"confidence": "more certain it was", "stance_changes": "more often it changed its stance"}
