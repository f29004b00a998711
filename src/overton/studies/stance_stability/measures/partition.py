"""How conversations fall into groups."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from overton.studies.stance_stability.measures.analysis import temperature_name

__all__ = ["Partition", "Split"]

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Split:
    """One way to part conversations: `code` [N] is the number of each one's group in `names`, -1 for none."""

    name: str
    names: tuple[str, ...]
    code: Ints


class Partition:
    """Conversations by model, temperature, domain and order of questions, and each of these within models."""

    def __init__(self, about: pl.DataFrame) -> None:
        self._about = about

    def names(self, kind: str) -> tuple[str, ...]:
        """The groups of a kind, in order; none where the table does not tell it."""
        return self._single[kind].names if kind in self._single else ()

    def of(self, kind: str) -> Split:
        """One of the simple splits: 'model', 'temperature', 'domain', 'ordering'."""
        return self._single[kind]

    def key(self, model: str, name: str) -> str:
        """How a group within a model is called in its split."""
        return f"{self._single['model'].names.index(model)}/{name}"

    @cached_property
    def splits(self) -> list[Split]:
        """All of them: 'all', the simple ones, and 'model/KIND'."""
        everything = Split("all", ("all",), np.zeros(self._about.height, np.int64))
        inner = [self._within(split) for name, split in self._single.items() if name != "model"]
        return [everything, *self._single.values(), *inner]

    @cached_property
    def within_temperatures(self) -> Split:
        """Models by temperature."""
        return self._within(self._single["temperature"])

    @cached_property
    def _single(self) -> dict[str, Split]:
        about = self._about
        temperatures = about["temperature"].unique().sort(nulls_last=True).to_list()
        code = _codes(about["temperature"], temperatures)
        made = {
            "model": _named(about, "model"),
            "temperature": Split("temperature", tuple(map(temperature_name, temperatures)), code),
        }
        return made | {kind: _named(about, kind) for kind in ("domain", "ordering") if kind in about.columns}

    def _within(self, split: Split) -> Split:
        models = self._single["model"]
        names = tuple(self.key(model, name) for model in models.names for name in split.names)
        code = np.where(split.code < 0, -1, models.code * len(split.names) + split.code)
        return Split(f"model/{split.name}", names, code)


def _named(about: pl.DataFrame, kind: str) -> Split:
    names = about[kind].drop_nulls().unique().sort().to_list()
    return Split(kind, tuple(names), _codes(about[kind], names))


def _codes(column: pl.Series, values: list[str] | list[float | None]) -> Ints:
    """The place of each cell in `values`, -1 where it is not there."""
    places = pl.DataFrame({"value": pl.Series(values, dtype=column.dtype), "code": range(len(values))})
    found = column.rename("value").to_frame().join(places, on="value", how="left", nulls_equal=True)
    return found["code"].fill_null(-1).to_numpy().astype(np.int64)
