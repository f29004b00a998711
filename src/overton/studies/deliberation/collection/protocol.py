"""The steps of appendix C.

Annotators sort values, and the list is reduced. A judge looks for the values in explanations. Annotators then decide on
the values and merge some.

A step begins when all calls of the step before have an outcome. If one of these calls failed permanently, the pipeline
stops there. So no later result depends on the failed call, and `resume --retry-failed` can continue.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from overton.calls import Ask, Trial, user
from overton.studies.asking import ReadableReply, ReadableRequest, ask_all_until_read, failure_in
from overton.studies.deliberation import prompts
from overton.studies.deliberation.collection.items import Collection
from overton.studies.deliberation.collection.options import CollectionOptions
from overton.studies.deliberation.collection.record import Companion, ValueFate
from overton.studies.deliberation.collection.resolution import (
    coded_fates,
    merged_fates,
    merges_agreed,
    sorted_fates,
    tried_fates,
)
from overton.studies.deliberation.collection.sheets import Step, meanings, pairs_of
from overton.studies.deliberation.questions import ValueLabels, questions_of
from overton.studies.deliberation.value_lists import Value
from overton.studies.orders import OWN, drawn_order
from overton.studies.questions import label_prompts

ATTEMPTS = 3
"""Requests per reply of an annotator: Overton repeats the request up to twice if it cannot read the reply."""


class CollectionTrial(Trial, frozen=True):
    """One collection of values, from beginning to end."""

    collection: Collection
    options: CollectionOptions


def trials(collections: Sequence[Collection], options: CollectionOptions, seed: int) -> Iterator[CollectionTrial]:
    """One trial for each collection.

    The trial's name contains the number of annotators. A different number of annotators may change the questions asked
    after the sorting step, so you cannot add an annotator to an existing run.
    """
    for collection in collections:
        name = f"{collection.id}/{len(options.annotators)}-annotators"
        yield CollectionTrial(name, collection.id, seed, collection, options)


async def conduct(trial: CollectionTrial, ask: Ask) -> list[ValueFate]:
    """Run the steps, and return the fate of each value."""
    fates = await _sort(trial, ask)
    if _goes_on(fates) and trial.collection.texts:
        fates = await _try(trial, ask, fates)
    if _goes_on(fates) and trial.options.deciding == "annotators":
        fates = await _decide(trial, ask, fates)
        if not any(fate.failure for fate in fates):
            fates = await _merge(trial, ask, fates)
    return fates


def _goes_on(fates: Sequence[ValueFate]) -> bool:
    return any(fate.kept for fate in fates) and not any(fate.failure for fate in fates)


def _failed(fates: Sequence[ValueFate], failure: str) -> list[ValueFate]:
    """The fates after a step in which a call failed. Values that are undecided or in the list get the status
    'failed'."""
    return [
        msgspec.structs.replace(fate, status="failed", why=failure, failure=failure)
        if fate.status in ("undecided", "in the list")
        else fate
        for fate in fates
    ]


def shown(each: Value | ValueFate) -> str:
    """The line with a value in an annotator's prompt."""
    if not each.definition:
        return each.value
    return prompts.fill("own_values.line", value=each.value, definition=each.definition)


@dataclass(frozen=True)
class _LabelRequests:
    """Requests to every annotator for a label on each value or pair.

    They are ordered by value or pair, then by annotator.
    """

    step: Step
    annotators: Sequence[str]
    text: str
    things: Sequence[dict[str, str]]

    async def ask(self, ask: Ask) -> list[list[ReadableReply[str]]]:
        """The replies, by value or pair, then by annotator."""
        requests = [
            self._request(number, thing, seat)
            for number, thing in enumerate(self.things, 1)
            for seat in range(1, len(self.annotators) + 1)
        ]
        labels = ", ".join(f"({label})" for label in meanings(self.step))
        replies = await ask_all_until_read(
            ask,
            requests,
            attempts=ATTEMPTS,
            complaint=lambda problem: prompts.fill("collection.complaint", problem=problem, labels=labels),
        )
        width = len(self.annotators)
        return [replies[start : start + width] for start in range(0, len(replies), width)]

    def _request(self, number: int, thing: dict[str, str], seat: int) -> ReadableRequest[str]:
        known, safe = meanings(self.step), prompts.PROMPTS.safe(self.text)
        listed = "\n".join(f"({label}) {meaning}" for label, meaning in known.items())
        content = prompts.fill(self.text, labels=listed, **{name: safe(text) for name, text in thing.items()})
        (prompt,) = label_prompts(tuple(known), lambda material, order: (user(content.strip()),))({}, OWN)
        speaker = f"annotator/{seat}/{self.step}/{number}"
        return ReadableRequest("annotator", prompt.messages, prompt.read, prompt.form, speaker)


def _failure(replies: Sequence[Sequence[ReadableReply[Any]]], role: str = "annotator") -> str | None:
    return failure_in(role, [reply for some in replies for reply in some])


async def _sort(trial: CollectionTrial, ask: Ask) -> list[ValueFate]:
    """Step 2: each annotator puts each value into a category.

    People's categories come from sheets filled in before the run.
    """
    collection, options = trial.collection, trial.options
    models = options.annotators if options.sorting == "all" else ()
    things = [{"value": shown(each)} for each in collection.values]
    replies = await _LabelRequests("categories", models, "collection.category", things).ask(ask) if models else []
    categories = {
        each.value: [
            *(reply.value for reply in (replies[place] if replies else ())),
            *(collection.people.get(person, {}).get(each.value) for person in options.people),
        ]
        for place, each in enumerate(collection.values)
    }
    fates = sorted_fates(
        trial.name, collection.values, (*models, *options.people), categories, options.category, options.agree
    )
    if (failure := _failure(replies)) is None:
        return fates
    return [msgspec.structs.replace(fate, status="failed", why=failure, failure=failure, kept=False) for fate in fates]


async def _try(trial: CollectionTrial, ask: Ask, fates: Sequence[ValueFate]) -> list[ValueFate]:
    """Step 3: the judge, or without a judge the first annotator, names the values in each explanation several times.

    The first repetition lists the values in their own order. Each later repetition has another order, the same for all
    explanations, so that consistently found values do not depend on the order. The paper gives no temperature, so the
    judge uses the endpoint's default.
    """
    values = tuple([Value(fate.value, fate.definition) for fate in fates if fate.kept])
    question, texts = questions_of(values).first, trial.collection.texts
    orders = [OWN, *(drawn_order(trial.draw(f"order/{number}")) for number in range(2, trial.options.repeats + 1))]
    role, reader = ("judge", "judge") if trial.options.judged else ("annotator", "annotator/1/trial")
    requests = []
    for number, text in enumerate(texts, 1):
        material = {"verdict": text.verdict, "explanation": text.explanation}
        for repetition, order in enumerate(orders, 1):
            (prompt,) = question.prompts_about(material, order)
            speaker = f"{reader}/{number}/{repetition}"
            requests.append(ReadableRequest(role, prompt.messages, prompt.read, prompt.form, speaker))
    replies = await ask_all_until_read(ask, requests, attempts=1, complaint=str)
    if (failure := failure_in(role, replies)) is not None:
        return _failed(fates, failure)
    width = len(orders)
    named = [[_named(reply) for reply in replies[start : start + width]] for start in range(0, len(replies), width)]
    return tried_fates(fates, named, trial.options.together)


def _named(reply: ReadableReply[ValueLabels]) -> tuple[str, ...] | None:
    return None if reply.value is None else reply.value.values


async def _decide(trial: CollectionTrial, ask: Ask, fates: Sequence[ValueFate]) -> list[ValueFate]:
    """Step 4: the annotators decide on each value that is kept."""
    kept = [fate for fate in fates if fate.kept]
    candidates = "\n".join(map(shown, kept))
    things = [{"candidates": candidates, "value": shown(fate), "trial": _on_trial(fate)} for fate in kept]
    replies = await _LabelRequests("codes", trial.options.annotators, "collection.code", things).ask(ask)
    if (failure := _failure(replies)) is not None:
        return _failed(fates, failure)
    codes = {fate.value: [reply.value for reply in some] for fate, some in zip(kept, replies, strict=True)}
    return coded_fates(fates, trial.options.annotators, codes)


def _on_trial(fate: ValueFate) -> str:
    if not fate.texts:
        return prompts.fill("collection.untried")
    counts = {"texts": fate.texts, "repeats": len(fate.times), "consistent": fate.consistent}
    return prompts.fill("collection.tried", **counts)


async def _merge(trial: CollectionTrial, ask: Ask, fates: Sequence[ValueFate]) -> list[ValueFate]:
    """Step 5: the annotators merge values of the list that often occur together."""
    inside = {fate.value: fate for fate in fates if fate.status == "in the list"}
    pairs = [(first, pair) for first, pair in pairs_of(fates) if first in inside and pair.value in inside]
    if not pairs:
        return list(fates)
    things = [_pair_shown(inside[first], inside[pair.value], pair) for first, pair in pairs]
    replies = await _LabelRequests("merges", trial.options.annotators, "collection.merge", things).ask(ask)
    if (failure := _failure(replies)) is not None:
        return _failed(fates, failure)
    said = {
        (first, pair.value): [reply.value for reply in some] for (first, pair), some in zip(pairs, replies, strict=True)
    }
    return merged_fates(fates, merges_agreed(said))


def _pair_shown(first: ValueFate, second: ValueFate, pair: Companion) -> dict[str, str]:
    return {"first": shown(first), "second": shown(second), "both": str(pair.both), "either": str(pair.either)}
