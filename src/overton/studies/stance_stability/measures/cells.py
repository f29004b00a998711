"""How conversations fall into groups, and the means and standard deviations of their numbers in these."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from overton.statistics import Estimate
from overton.statistics.arrays import Flags, Floats, Ints
from overton.statistics.cluster_sums import Numbers, Sums
from overton.statistics.jackknife import ANYTHING, DIFFERENCE, POSITIVE, SHARE, Range, Resampling
from overton.studies.stance_stability.measures.analysis import TurnMeasure, counts_something, temperature_name


@dataclass(frozen=True)
class ConversationGroups:
    """One way to split conversations: `code` [N] is the index of each one's group in `names`, -1 for none."""

    name: str
    names: tuple[str, ...]
    code: Ints


KINDS = ("temperature", "domain", "ordering", "initial_belief", "debate_strength")
"""What conversations are grouped by, besides models."""


class Partition:
    """Conversations by model and by each of `KINDS`, and by each of these within models; in `void` [N] ones at least
    half of the answers say nothing."""

    def __init__(self, about: pl.DataFrame, void: Flags) -> None:
        self._about, self._void = about, void

    def void_cells(self, split: ConversationGroups) -> Flags:
        """Which groups of a split contain only void conversations."""
        others = split.code[~self._void & (split.code >= 0)]
        return np.asarray(np.bincount(others, minlength=len(split.names)) == 0)

    def names(self, kind: str) -> tuple[str, ...]:
        """The groups of a kind, in order; none if the table does not have it."""
        return self._single[kind].names if kind in self._single else ()

    def of(self, kind: str) -> ConversationGroups:
        """One of the simple splits: 'model', or one of `KINDS`."""
        return self._single[kind]

    def key(self, model: str, name: str) -> str:
        """The name of a group within a model in its split."""
        return f"{self._single['model'].names.index(model)}/{name}"

    @cached_property
    def splits(self) -> list[ConversationGroups]:
        """All splits: 'all', the simple ones, and 'model/KIND'."""
        everything = ConversationGroups("all", ("all",), np.zeros(self._about.height, np.int64))
        inner = [self._within(split) for name, split in self._single.items() if name != "model"]
        return [everything, *self._single.values(), *inner]

    @cached_property
    def within_temperatures(self) -> ConversationGroups:
        """Models by temperature."""
        return self._within(self._single["temperature"])

    @cached_property
    def _single(self) -> dict[str, ConversationGroups]:
        about = self._about
        temperatures = about["temperature"].unique().sort(nulls_last=True).to_list()
        code = _codes(about["temperature"], temperatures)
        made = {
            "model": _named(about, "model"),
            "temperature": ConversationGroups("temperature", tuple(map(temperature_name, temperatures)), code),
        }
        return made | {kind: _named(about, kind) for kind in KINDS[1:] if kind in about.columns}

    def _within(self, split: ConversationGroups) -> ConversationGroups:
        models = self._single["model"]
        names = tuple(self.key(model, name) for model in models.names for name in split.names)
        code = np.where(split.code < 0, -1, models.code * len(split.names) + split.code)
        return ConversationGroups(f"model/{split.name}", names, code)


def _named(about: pl.DataFrame, kind: str) -> ConversationGroups:
    names = about[kind].drop_nulls().unique().sort().to_list()
    return ConversationGroups(kind, tuple(names), _codes(about[kind], names))


def _codes(column: pl.Series, values: list[str] | list[float | None]) -> Ints:
    """The position of each cell in `values`, -1 if it is not there."""
    places = pl.DataFrame({"value": pl.Series(values, dtype=column.dtype), "code": range(len(values))})
    found = column.rename("value").to_frame().join(places, on="value", how="left", nulls_equal=True)
    return found["code"].fill_null(-1).to_numpy().astype(np.int64)


NOTHING = "no conversation has it"
"""Why there is no average, if `reason` has nothing better."""

VOID = "half or more of the answers of each conversation say nothing"
"""Why there is no average of anything if all conversations are void."""

_FEW = "too few conversations"

_DIGITS = 12
"""Digits that double precision leaves."""


_REASONS = (
    (("chameleon",), "no conversation has pairs of stances, certainty and documents together"),
    (("source_reuse",), "no answer after the first of its conversation has documents"),
    (("stance_changes", "change_rate", "confidence_at", "reversals"), "no two neighbouring turns hold a stance"),
    (("balanced_moves", "unclear_moves", "flips", "turn_of_flip"), "no two neighbouring turns hold a stance"),
    (("drift",), "no conversation has two turns with a clear stance"),
    (("overall_view",), "no conversation takes a clear stance twice where it is asked for the overall view"),
    (("confidence",), "no turn has a confidence"),
)


def reason(measure: str) -> str:
    """Why no conversation has a measure, by the start of its name."""
    return next((why for names, why in _REASONS if measure.startswith(names)), NOTHING)


def range_of(measure: str) -> Range:
    """The range of a conversation's measure."""
    if counts_something(measure):
        return POSITIVE
    if measure == "drift":
        return (-2.0, 2.0)
    return DIFFERENCE if measure == "premise_excess" else SHARE


@dataclass(frozen=True)
class GroupedValues:
    """Numbers to be averaged in cells: V of them, each of a conversation and in a cell (-1 for none).

    NaN is left out. A conversation has at most one number in a cell. `within` is the range of a number, `why` says why
    there is none.
    """

    values: Floats
    conversation: Ints
    cell: Ints
    cells: int
    within: Range = ANYTHING
    why: str = NOTHING


def means(parts: Sequence[GroupedValues], resampling: Resampling) -> list[list[Estimate]]:
    """The mean of every cell of each part; `n` counts numbers."""
    return [resampling.ratios([averaged(part, resampling)], part.why, part.within)[0] for part in parts]


def measures(parts: Sequence[GroupedValues], resampling: Resampling) -> list[list[TurnMeasure]]:
    """The mean and the standard deviation (n - 1) of every cell of each part; `n` counts numbers."""
    made = [resampling.moments([_moments(part, resampling)], part.why, _FEW, part.within)[0] for part in parts]
    return [[TurnMeasure(*both) for both in zip(*estimates, strict=True)] for estimates in made]


def averaged(of: GroupedValues, resampling: Resampling) -> Sums:
    """The sums behind the means of every cell, by group of conversations."""
    return _moments(of, resampling)[0]


def _moments(of: GroupedValues, resampling: Resampling) -> tuple[Sums, Floats]:
    """Sums for means, and sums of squares about the means [groups, cells]."""
    use = np.isfinite(of.values) & (of.cell >= 0)
    kept, cell, conversation = of.values, of.cell, of.conversation
    if not use.all():
        kept, cell, conversation = kept[use], cell[use], conversation[use]
    weight = None if resampling.weight is None else resampling.weight[conversation]

    def weighted(values: Floats | None) -> Floats | None:
        return values if weight is None else weight if values is None else weight * values

    with np.errstate(invalid="ignore"):
        mean = np.bincount(cell, weighted(kept), of.cells) / np.bincount(cell, weight, minlength=of.cells)
    kept = kept - mean[cell]
    shape = (resampling.groups, of.cells)
    flat = resampling.group[conversation] * of.cells + cell
    sums = (np.bincount(flat, weighted(part), shape[0] * shape[1]).reshape(shape) for part in (None, kept, kept**2))
    count, total, square = (np.asarray(part, float) for part in sums)
    many = count.sum(0) if weight is None else np.bincount(cell, minlength=of.cells).astype(float)
    behind = many if resampling.apart else how_many_different(resampling.cluster[conversation], cell, of.cells)
    numbers = Numbers(np.round(mean, _DIGITS), many, np.asarray(behind, float))
    return Sums(total, count, np.arange(of.cells), numbers), square


def how_many_different(numbers: NDArray[np.integer], cell: Ints, cells: int) -> Ints:
    """How many different numbers, from 0 on, each cell has."""
    widest = int(numbers.max(initial=0)) + 1
    pairs = np.sort(cell * widest + numbers)  # np.unique hashes, which is many times slower here
    first = np.r_[True, np.diff(pairs) > 0][: len(pairs)]
    return np.bincount(pairs[first] // widest, minlength=cells)
