"""What a reader must know before any number of stance stability."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from overton.studies.numbers import number
from overton.studies.stance_stability.measures.analysis import Tally
from overton.studies.stance_stability.measures.scores import FormulaRules
from overton.studies.stance_stability.measures.traces import Conversations

_MANY = 0.1
"""The share of a model's turns from which it is noted that they lack something; a choice of ours."""


def notes(whole: Tally, tallies: Mapping[str, Tally], traces: Conversations, reading: FormulaRules) -> Iterator[str]:
    """Warnings, each a sentence."""
    if traces.failed:
        yield f"{_some(traces.failed)} left out entirely because a call failed for good."
    yield from _about_labels(traces, reading)
    for name, tally in tallies.items():
        yield from _lacking(name, tally)
    if whole.unlabelled:
        carried = "keep the last clear stance before them" if reading.unlabelled == "carry" else "make no pairs"
        yield (f"The judge gave no usable label for {whole.unlabelled:,} of {whole.turns:,} turns; they {carried}.")
    if whole.without_stance:
        counted = "they count as without change" if reading.unlabelled == "carry" else "they have no score"
        yield f"In {whole.without_stance:,} conversations no turn takes a stance; {counted}."
    if traces.gapped:
        yield f"{traces.gapped:,} conversations lack turns; the turns that exist count as neighbours."
    if whole.single:
        yield f"{_some(whole.single)} of a single turn and have no rates or scores."


def _about_labels(traces: Conversations, reading: FormulaRules) -> Iterator[str]:
    if reading.labels == "premise":
        yield "Stances are towards each question's premise, and may change although the model's view does not."
    if traces.confidence is None:
        published = " (the published judge prompt asks for none)" if reading.labels == "premise" else ""
        yield f"No turn has a confidence{published}, so there is no confidence at changes and no Chameleon score."
    elif reading.labels == "premise":
        yield "The published judge prompt gives no certainty: confidence is that of the answer towards the proposition."


def _lacking(model: str, tally: Tally) -> Iterator[str]:
    """What a model's turns lack, if many do: a lack of data must not look like a good score."""
    unclear = tally.unclear_carried + tally.unclear_before
    lacks = (
        (tally.unlabelled, _MANY, "have no usable label"),
        (unclear, 0.5, "take no position"),
        (tally.without_cited or 0, _MANY, "cite no document"),
    )
    lacking = [
        f"{number(count / tally.turns, 'share')} {what}" for count, least, what in lacks if count >= least * tally.turns
    ]
    if lacking:
        yield f"{model}: of its {tally.turns:,} turns, {', '.join(lacking)}. The measures are of the others."
    if tally.void:
        yield (
            f"{model}: {_some(tally.void)} left without any score because at least half of the answers are empty,"
            " echoed, looping or refused."
        )


def _some(count: int) -> str:
    return f"{count:,} conversation{' was' if count == 1 else 's were'}"
