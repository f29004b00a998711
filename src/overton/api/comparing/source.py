"""What one argument of a comparison holds: what each of its models gives, and how it was asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from overton.api.comparing.results import Lost
from overton.api.comparing.told import Told
from overton.api.runs import Run

if TYPE_CHECKING:
    from overton.studies.comparing import Contribution

__all__ = ["Side", "Source"]


@dataclass(frozen=True)
class Source:
    """One argument: a run or a table, and what each model in it gives.

    `label` names it; `model` is the one that was meant, '' for all. `told` says how it was asked, None for a table; a
    baseline file tells that, too, and is no run.
    """

    label: str
    path: Path
    run: Run | None
    sides: Mapping[str, Sequence[Contribution]]
    model: str = ""
    lost: Mapping[str, Lost] = field(default_factory=dict)
    told: Told | None = None

    @property
    def models(self) -> list[str]:
        """The models in it, or the one meant; what is of all of them together is left out."""
        return [self.model] if self.model else [name for name in self.sides if name]

    @cached_property
    def asked(self) -> frozenset[str]:
        """The items that were asked about; of a table those that stand in it."""
        if self.told is not None:
            return frozenset(self.told.items)
        return frozenset(name for side in self.sides.values() for one in side for name in one.items)


@dataclass(frozen=True)
class Side:
    """One of those compared: a model of a source, or '' for all of the source together; `name` tells it from others."""

    name: str
    source: Source
    model: str

    @property
    def contributions(self) -> dict[str, Contribution]:
        """What its items give, by measure."""
        return {one.measure.name: one for one in self.source.sides[self.model]}
