"""The steps of appendix C that make a list of values: collect, sort by several annotators, reduce, test, decide,
merge."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from overton.studies.deliberation.collection.items import COLLECTIONS, Collection
from overton.studies.deliberation.collection.options import CollectionOptions
from overton.studies.deliberation.collection.planning import CANNED
from overton.studies.deliberation.collection.protocol import conduct, trials
from overton.studies.deliberation.collection.record import Fate, ValueFate
from overton.studies.deliberation.collection.resolution import is_decided, list_from
from overton.studies.deliberation.prompts import PROMPTS
from overton.studies.deliberation.value_lists import Value
from overton.studies.simulated import late_respondent
from overton.studies.study import Dataset, Role, Study

__all__ = ["STUDY", "Collection", "CollectionOptions", "ValueFate"]


def _made(
    collections: Sequence[Collection], records: Sequence[ValueFate], options: Mapping[str, Any]
) -> list[Value] | None:
    """The finished list. None as long as a value is undecided, or if no value is left."""
    return (list_from(records) or None) if is_decided(records) else None


def summary(records: Sequence[ValueFate]) -> Iterator[str]:
    """The number of values left after each step, and the next step, if there is one."""
    counts: Counter[Fate] = Counter(record.status for record in records)
    kept, tried = sum(record.kept for record in records), max((record.texts for record in records), default=0)
    sorting = max((len(record.annotators) for record in records), default=0)
    yield f"{len(records)} values collected and sorted by {sorting} annotators; {kept} kept."
    if tried:
        found = sum(record.consistent > 0 for record in records)
        yield f"Of these, {found} consistently found in {tried:,} explanations."
    yield ", ".join(f"{count} {status}" for status, count in counts.items()) + "."
    if counts["undecided"]:
        yield "Some values are undecided. 'overton items values-sheet RUN' writes a sheet for these decisions."
    for failure in sorted({record.failure for record in records if record.failure}):
        yield f"A call failed ({failure}). 'overton resume RUN --retry-failed' continues."


_annotator = late_respondent("overton.studies.deliberation.collection.simulated:annotator")

STUDY: Study[Collection, CollectionOptions, ValueFate, None] = Study(
    name="values",
    title="A list of values",
    question="Make the list of values that a deliberation's judge chooses from (deliberation, appendix C).",
    roles=(
        Role("annotator", "Model that sorts, decides on and merges values (several models vote)", together=True),
        Role("judge", "Model that looks for the values in explanations, to test them", optional=True),
    ),
    items=COLLECTIONS,
    dataset=Dataset("values.jsonl", _made, summary, lambda records: sum(bool(record.failure) for record in records)),
    options=CollectionOptions,
    record=ValueFate,
    kind="makes",
    trials=trials,
    conduct=conduct,
    prompts=partial(PROMPTS.texts, "collection", "values", "own_values"),
    simulated={
        "value-annotator": _annotator,
        "value-annotator/NAME": _annotator,
        "values-judge": late_respondent("overton.studies.deliberation.simulated:values_judge"),
    },
    planning=CANNED,
)
"""The study that makes a list of values. Each trial is one collection; its records have the fate of every value."""
