"""The list from which the judge of a run names values: the published 48, or the run's own, and how a judge reads it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from overton.errors import InputError, Problem
from overton.studies.deliberation import prompts
from overton.studies.deliberation.value_lists import (
    Judged,
    Value,
    ValueList,
    difference,
    have_definitions,
    values_in,
)
from overton.studies.results import Results

PUBLISHED: ValueList = tuple(map(Value, prompts.VALUES))
"""The 48 of appendix D, which have no definitions."""


def list_of(judged: Judged) -> ValueList:
    """The list of a run by its option `values`: the very object `PUBLISHED` if it has the published values."""
    return PUBLISHED if isinstance(judged, bool) or judged == PUBLISHED else judged


def list_in(results: Results) -> ValueList:
    """The list from which the judges of some runs named values; of runs without one, and of tables, the published.

    Raises:
        InputError: the runs have different lists, so that their numbers about values mean different things.
    """
    found = [(run.name, _stored_list(run.options)) for run in results.runs if run.options.get("values")]
    if not found:
        return PUBLISHED
    (first, values), *others = found
    for name, other in others:
        if other != values:
            raise InputError([Problem(name, "values", f"are not those of {first}: {difference(values, other)}")])
    return values


def _stored_list(options: Mapping[str, Any]) -> ValueList:
    """The list of a run by its options as its manifest has them."""
    judged = options["values"]
    return list_of(judged if isinstance(judged, bool) else values_in(judged))


def values_prompt(values: Sequence[Value]) -> str:
    """The system prompt of the judge of a run with its own list.

    It is the published one with these values in the order given, and with their definitions if there are any.
    """
    if not have_definitions(values):
        return prompts.values_prompt([each.value for each in values])
    safe = prompts.PROMPTS.safe("values.system")
    lines = [prompts.fill("own_values.line", value=each.value, definition=safe(each.definition)) for each in values]
    return prompts.values_prompt([prompts.fill("own_values.defined", lines="\n".join(lines)).strip()])
