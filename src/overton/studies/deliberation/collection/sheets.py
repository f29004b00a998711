"""Sheets for people who sort values, decide on each value, and merge some. Annotating models do the same.

A sheet's task depends only on the values that the sheet is about, so Overton recognises a filled sheet by its values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, get_args

from overton.errors import InputError, Problem
from overton.judging.label_tasks import LabelRequest, LabelTask, task_of
from overton.judging.sheets import read_sheet
from overton.studies.deliberation import prompts
from overton.studies.deliberation.collection.record import Companion, ValueFate
from overton.studies.deliberation.value_lists import Value

Category = Literal["moral", "epistemic", "aesthetic", "instrumental"]
CATEGORIES: tuple[Category, ...] = get_args(Category)
"""The four categories of appendix C."""

INCLUDED, OMITTED = ("1", "2", "3"), ("4", "5", "6")
CODES = (*INCLUDED, *OMITTED)
"""The six decisions on a value (appendix C, step 4)."""
MERGE, APART = "merge", "apart"

Step = Literal["categories", "codes", "merges"]
"""The steps in which people can take part."""

Sheet = tuple[LabelTask, list[dict[str, str]]]
"""A task, and the cells of each row that a person sees."""


def meanings(step: Step) -> dict[str, str]:
    """The labels of a step with their meanings, as annotators read them."""
    return {str(label): str(meaning) for label, meaning in prompts.load("collection")[step].items()}


def category_sheet(values: Sequence[Value]) -> Sheet:
    """A sheet on which a person puts each collected value into a category."""
    rows = [{"value": each.value, "definition": each.definition} for each in values]
    return _task("categories", "Which category fits this value best?", [each.value for each in values]), rows


def code_sheet(fates: Sequence[ValueFate]) -> Sheet:
    """A sheet that lists the kept values. A person decides on each value."""
    kept = [fate for fate in fates if fate.kept]
    rows = [
        {
            "value": fate.value,
            "definition": fate.definition,
            "texts": str(fate.texts),
            "consistently in": str(fate.consistent),
            "occurs with": "; ".join(f"{pair.value} ({pair.both} of {pair.either})" for pair in fate.companions),
        }
        for fate in kept
    ]
    return _task("codes", "Which decision is right for this value?", [fate.value for fate in kept]), rows


def merge_sheet(fates: Sequence[ValueFate]) -> Sheet:
    """A sheet that lists the pairs of values that often occur together. A person decides whether to merge each pair."""
    pairs = pairs_of(fates)
    meant = {fate.value: fate.definition for fate in fates}
    rows = [
        {
            "first": first,
            "first means": meant[first],
            "second": pair.value,
            "second means": meant[pair.value],
            "both": str(pair.both),
            "either": str(pair.either),
        }
        for first, pair in pairs
    ]
    return _task(
        "merges", "Should the two become one value?", [f"{first} + {pair.value}" for first, pair in pairs]
    ), rows


def pairs_of(fates: Sequence[ValueFate]) -> list[tuple[str, Companion]]:
    """The pairs of values that often occur together.

    Each pair is listed once. The value that is earlier in the collection comes first.
    """
    return [(fate.value, pair) for fate in fates for pair in fate.companions]


SHEETS = {"codes": code_sheet, "merges": merge_sheet}
"""The functions that make sheets from a run's records, by step."""


def _task(step: Step, question: str, names: Sequence[str]) -> LabelTask:
    if not names:
        raise InputError([Problem("sheet", step, "there is nothing to decide on")])
    return task_of(
        LabelTask(
            name="",
            study="values",
            what=step,
            judge="",
            question=question,
            labels=meanings(step),
            seed=0,
            design="plain",
            population={},
            groups=len(names),
            rows=tuple([LabelRequest(name, "", name, 1.0) for name in names]),
            people=(tuple(range(len(names))),),
        )
    )


def read_labels(text: str, task: LabelTask, place: str) -> Mapping[int, str]:
    """The labels on a filled sheet of this task, by row from 0. Empty rows are left out of the result.

    Raises:
        InputError: the sheet is about other values, or has errors; the message lists them by line.
    """
    return read_sheet(text.removeprefix("\ufeff"), task.name, len(task.rows), tuple(task.labels), place)
