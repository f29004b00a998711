"""Simulated annotators that know the truth: each value's category, the right decision on it, and which values are the
same.

The truth about a value follows from its name and a seed. Two values are the same if their names end in the same word
('Care for guests' and 'Kindness to guests'). Every answer is wrong with the probability `error`, and all wrong labels
are equally likely. The randomness follows from the request's seed, so annotators err independently.

A moral value is kept if at least four of five annotators recognise it. If each annotator errs with the probability 0.2,
the value is kept with the probability 0.737.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any

import msgspec

from overton.calls import Draw, Reply, Request
from overton.errors import RejectedError
from overton.studies.deliberation import prompts
from overton.studies.deliberation.collection.sheets import APART, CATEGORIES, CODES, MERGE, Category
from overton.studies.options import Option
from overton.studies.simulated import SeededAnswerer, parameters_of, probability


class AnnotatorParameters(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A simulated annotator; with `error` 0 it knows the truth."""

    error: Annotated[float, probability("an answer is wrong")] = 0.0
    seed: Annotated[int, Option("Seed of the truth; annotators with the same seed share it")] = 0


class ValueTruth(msgspec.Struct, frozen=True):
    """The truth about a value."""

    category: Category
    code: str


def truth_of(value: str, seed: int = 0) -> ValueTruth:
    """The truth about the value with this name."""
    category, code = (Draw(f"{seed}/{what}/{value}") for what in ("category", "code"))
    # Half of all values are moral, and half of these belong in the list.
    moral, *others = CATEGORIES
    return ValueTruth(category.sample((moral, moral, moral, *others), 1)[0], code.sample(CODES, 1)[0])


def are_same(first: str, second: str) -> bool:
    """Whether two values are the same: their names end in the same word."""
    return first.rpartition(" ")[2].casefold() == second.rpartition(" ")[2].casefold()


def same_as(value: str, values: Iterable[str]) -> set[str]:
    """The members of `values` that are the same as `value`, including `value` itself if it is a member."""
    return {other for other in values if are_same(value, other)}


_ASKED = {step: prompts.PROMPTS.pattern(f"collection.{step}") for step in ("category", "code", "merge")}


class Annotator(SeededAnswerer):
    """An `Answerer` that sorts, codes and merges values by the known truth, with errors."""

    parameters: AnnotatorParameters
    draws = "errors"

    def __init__(self, name: str = "simulated/value-annotator", parameters: AnnotatorParameters | None = None) -> None:
        self.name = name
        self.parameters = parameters or AnnotatorParameters()

    def reply(self, request: Request) -> Reply:
        """The label in round brackets.

        Raises:
            RejectedError: it is not asked about values.
        """
        right, labels = self._right(request.messages[0].content)
        wrong, which = Draw(f"{request.seed}/errors").words(2)
        others = [label for label in labels if label != right]
        said = others[which % len(others)] if wrong / 2**64 < self.parameters.error else right
        return Reply(f"({said})")

    def _right(self, prompt: str) -> tuple[str, Sequence[str]]:
        found = {step: pattern.fullmatch(prompt.strip()) for step, pattern in _ASKED.items()}
        if (asked := found["category"]) is not None:
            return self._truth(asked["value"]).category, CATEGORIES
        if (asked := found["code"]) is not None:
            return self._truth(asked["value"]).code, CODES
        if (asked := found["merge"]) is not None:
            same = are_same(_name_in(asked["first"]), _name_in(asked["second"]))
            return MERGE if same else APART, (MERGE, APART)
        raise RejectedError("unknown prompt", f"{self.name} answers only the requests that annotators of values get")

    def _truth(self, shown: str) -> ValueTruth:
        return truth_of(_name_in(shown), self.parameters.seed)


def _name_in(shown: str) -> str:
    """The name of a value from a line with its definition."""
    return shown.partition(": ")[0]


def annotator(items: Sequence[Any], name: str, arguments: Mapping[str, str]) -> Annotator:
    """Make an annotator from parameters given as text."""
    called = f"simulated/{name}"
    return Annotator(called, parameters_of(AnnotatorParameters, called, arguments))
