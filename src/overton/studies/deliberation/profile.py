"""What deliberation adds to a model's profile: its first verdicts, and how other models' verdicts affect them."""

from __future__ import annotations

from collections.abc import Iterator
from math import isnan

from overton.statistics import Estimate
from overton.studies.deliberation.measures.analysis import Analysis
from overton.studies.findings import Trait, share_without_interval
from overton.studies.numbers import number

_FAULT = "YTA"


def traits(analysis: Analysis) -> Iterator[Trait]:
    """The traits of every model that the study found."""
    for model, rate in analysis.changes.by_model.items():
        yield from _first(analysis, model)
        yield _changed(model, rate)
        yield _unreadable(analysis, model)


def _first(analysis: Analysis, model: str) -> Iterator[Trait]:
    """How often it finds the one who asks at fault before hearing anybody."""
    found = [
        speaker.first[_FAULT]
        for verdict in analysis.verdicts
        for speaker in verdict.speakers
        if speaker.model == model and _FAULT in speaker.first
    ]
    if not found:
        return
    estimate = found[0] if len(found) == 1 else _pool_estimates(found)
    yield Trait(
        aspect="stands",
        model=model,
        title="First verdicts that the one who asks is at fault",
        sentence=(
            f"In its first verdict, {model} finds the one who asks at fault in {number(estimate.value, 'share')} of"
            " deliberations."
        ),
        number=estimate,
        units="deliberations",
        exhibit="verdicts",
    )


def _pool_estimates(found: list[Estimate]) -> Estimate:
    """The same pooled over several settings and positions in the order of speaking."""
    known = [estimate for estimate in found if not isnan(estimate.value)]
    n = sum(estimate.n for estimate in known)
    count = sum(estimate.value * estimate.n for estimate in known)
    return share_without_interval(
        count, n, "it is over several formats, goals or orders", "no first verdict could be read"
    )


def _changed(model: str, rate: Estimate) -> Trait:
    said = (
        f"{model} gave no verdict that others could change."
        if isnan(rate.value)
        else f"Among other models, {model} changes its verdict in {number(rate.value, 'share')} of its deliberations."
    )
    return Trait(
        aspect="moved",
        model=model,
        title="By other models: deliberations in which it changes its verdict",
        sentence=said,
        number=rate,
        units="deliberations",
        exhibit="changes",
    )


def _unreadable(analysis: Analysis, model: str) -> Trait:
    invalid, messages = analysis.tally.invalid.get(model, 0), analysis.tally.messages.get(model, 0)
    share = share_without_interval(
        invalid, messages, "messages of one deliberation are dependent", "there are no messages"
    )
    return Trait(
        aspect="refuses",
        model=model,
        title="Messages without a readable verdict",
        sentence=f"{model} gives no readable verdict in {number(share.value, 'share')} of its messages.",
        number=share,
        units="messages",
        exhibit="changes",
    )
