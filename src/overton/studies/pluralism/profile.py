"""What pluralism adds to a model's profile: which views it leaves out, and what a user's belief does to that."""

from __future__ import annotations

from collections.abc import Iterator
from math import isnan

from overton.statistics import Estimate
from overton.studies.findings import Trait, remaining
from overton.studies.numbers import number
from overton.studies.pluralism.measures.analysis import UNNAMED, Against, Analysis, Result, Shift
from overton.studies.pluralism.measures.contrasts import SHIFTS, named

_BASELINES: tuple[Against, ...] = ("matched-neutral", "neutral")
_LOGITS = (-4.0, 4.0)


def traits(analysis: Analysis) -> Iterator[Trait]:
    """The traits of every model."""
    for model in analysis.models:
        conditions = analysis.group(model).experiments.get("sycophancy", {})
        if (neutral := conditions.get("neutral")) is not None and "global/recall" in neutral.measures:
            yield _left_out(model, neutral.measures["global/recall"])
        for condition, result in conditions.items():
            yield from _belief(model, condition, result)


def _left_out(model: str, recall: Estimate) -> Trait:
    share, who = remaining(recall), _who(model)
    said = (
        f"{who} has no responses that could be compared with a thread's viewpoints."
        if isnan(share.value)
        else f"{who} leaves out {number(share.value, 'share')} of the viewpoints that people have in a thread."
    )
    return Trait(
        aspect="omits",
        model=model,
        title="Viewpoints of people that it leaves out",
        sentence=said,
        number=share,
        units="threads",
        exhibit="voices",
    )


def _who(model: str) -> str:
    return "The model" if model == UNNAMED else model


def _belief(model: str, condition: str, result: Result) -> Iterator[Trait]:
    """What a stated belief suppresses, in logits."""
    arm = named(condition)
    against = next((baseline for baseline in _BASELINES if baseline in result.shifts), None)
    if arm.arm not in SHIFTS or arm.setting or against is None:
        return
    believes = "shares" if arm.arm == "toward" else "rejects"
    yield _shifted(model, believes, result.shifts[against])


def _shifted(model: str, believes: str, shift: Shift) -> Trait:
    """The views against the user that go unsaid; the report shows beside it what is added."""
    by = number(abs(shift.suppression.value), "value")
    fewer = "fewer" if shift.suppression.value > 0 else "more"
    said = (
        f"Told that the user {believes} a thread's leading opinion, {_who(model)} voices {fewer} of the viewpoints"
        f" against the user, by {by} logits."
    )
    known = not isnan(shift.suppression.value)
    return Trait(
        aspect="moved",
        model=model,
        title=f"By a user who {believes} the leading opinion: views against the user left out",
        sentence=said if known else f"What the user's belief does to {_who(model)} is unknown.",
        number=shift.suppression,
        units="threads",
        exhibit="shifts",
        kind="value",
        within=_LOGITS,
        scale="Logits",
        null=0.0,
    )
