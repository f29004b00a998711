"""The list of values for a run's judge, which is the published list or the run's own, and the prompt that contains
it."""

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
"""The 48 published values of appendix D, which have no definitions."""


def list_of(judged: Judged) -> ValueList:
    """The list of a run whose option `values` is `judged`.

    For the published values, it is the object `PUBLISHED` itself.
    """
    return PUBLISHED if isinstance(judged, bool) or judged == PUBLISHED else judged


def list_in(results: Results) -> ValueList:
    """The list of values that the judges of these runs share.

    For runs without a list, and for tables, it is the published list.

    Raises:
        InputError: the runs have different lists, so their numbers about values are not comparable.
    """
    found = [(run.name, _stored_list(run.options)) for run in results.runs if run.options.get("values")]
    if not found:
        return PUBLISHED
    (first, values), *others = found
    for name, other in others:
        if other != values:
            raise InputError([Problem(name, "values", f"differ from those of {first}: {difference(values, other)}")])
    return values


def _stored_list(options: Mapping[str, Any]) -> ValueList:
    """The list of a run, from the options in its manifest."""
    judged = options["values"]
    return list_of(judged if isinstance(judged, bool) else values_in(judged))


def values_prompt(values: Sequence[Value]) -> str:
    """The system prompt of the judge of a run with its own list.

    The prompt is the published one, with these values in the given order and with their definitions, if there are any.
    """
    if not have_definitions(values):
        return prompts.values_prompt([each.value for each in values])
    safe = prompts.PROMPTS.safe("values.system")
    lines = [prompts.fill("own_values.line", value=each.value, definition=safe(each.definition)) for each in values]
    return prompts.values_prompt([prompts.fill("own_values.defined", lines="\n".join(lines)).strip()])
