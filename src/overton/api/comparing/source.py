"""What one argument of a comparison holds: what each of its models gives, and how it was asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from overton.api.comparing.results import Lost
from overton.api.comparing.told import Told, Upstream, upstream_of
from overton.api.runs import Run

if TYPE_CHECKING:
    from overton.studies.comparing import Contribution
    from overton.studies.detecting import Halves

__all__ = ["Side", "Source"]


def _none() -> None:
    return None


@dataclass(frozen=True)
class Source:
    """One argument: a run or a table, and what each model in it gives.

    `label` names it; `model` is the one that was meant, '' for all. `told` says how it was asked, None for a table; a
    baseline file tells that, too, and is no run. `halved` gives what its models give by either half of the trials.
    """

    label: str
    path: Path
    run: Run | None
    sides: Mapping[str, Sequence[Contribution]]
    model: str = ""
    lost: Mapping[str, Lost] = field(default_factory=dict)
    told: Told | None = None
    halved: Callable[[], Halves | None] = _none

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

    @cached_property
    def halves(self) -> Halves | None:
        """What its models give by either half of the trials; None of what is no run, or has one trial of each."""
        return self.halved()

    @cached_property
    def upstream(self) -> Mapping[str, Upstream]:
        """What endpoints said of themselves, by the answerer's identity: from the journal, or as a baseline kept it."""
        if self.run is not None:
            return upstream_of(self.run)
        answering = [one for held in self.told.roles.values() for one in held] if self.told else []
        return {one.identity: one.upstream for one in answering}


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
