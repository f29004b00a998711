"""One argument of a comparison: what each of its models contributes, and how it was asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from overton.api.comparing.provenance import Provenance, Upstream, upstream_of
from overton.runs.run import Run

if TYPE_CHECKING:
    import polars as pl

    from overton.studies.comparing import Contribution, Sides
    from overton.studies.detecting import Halves

__all__ = ["NOTHING_KNOWN", "Lost", "Side", "Source", "lost_of"]


class Lost(msgspec.Struct, frozen=True):
    """What is missing of one of those compared: of how many records how many failed for good and how many were
    flagged as refusals; and the items that its run left out as incomplete. None if that is unknown.
    """

    records: int | None
    failed: int | None
    refused: int | None
    missing: tuple[str, ...] = ()


NOTHING_KNOWN = Lost(None, None, None)
"""For a table, nothing of this is known."""


def lost_of(records: pl.DataFrame, model: str, missing: Mapping[str, Sequence[str]]) -> Lost:
    """What is missing of a model in a run's records, '' for all of them; `missing` are items left out, by model."""
    import polars as pl

    own = records.filter(pl.col("model") == model) if model else records
    names = {name for lane, items in missing.items() if model in ("", lane) for name in items}
    refused = int(own["refused"].sum()) if "refused" in own.columns else None
    return Lost(
        own.height, int(own["failure"].count()) if "failure" in own.columns else None, refused, tuple(sorted(names))
    )


def _none() -> None:
    return None


def _no_fewer(trials: int) -> Sides:
    return {}


@dataclass(frozen=True)
class Source:
    """One argument: a run or a table, and what each model in it contributes.

    `label` names it; `model` is the one selected, '' for all. `provenance` says how it was asked, None for a table; a
    baseline file has it, too, but no run. `halved` returns its models' contributions by each half of the trials.
    `fewer` returns their contributions to `matched` measures with so many trials. `kept` are the numbers of trials for
    which a baseline has these, None if any will do.
    """

    label: str
    path: Path
    run: Run | None
    sides: Mapping[str, Sequence[Contribution]]
    model: str = ""
    lost: Mapping[str, Lost] = field(default_factory=dict)
    provenance: Provenance | None = None
    halved: Callable[[], Halves | None] = _none
    fewer: Callable[[int], Sides] = _no_fewer
    kept: tuple[int, ...] | None = None

    @property
    def models(self) -> list[str]:
        """The models in it, or the one selected; what is of all of them together is left out."""
        return [self.model] if self.model else [name for name in self.sides if name]

    @property
    def trials(self) -> int | None:
        """How many trials of each item and condition its run was given; None if that is not known."""
        found = None if self.provenance is None else self.provenance.options.get("trials")
        return found if isinstance(found, int) else None

    @property
    def is_baseline(self) -> bool:
        """Whether it is a baseline file: those know how they were asked, and have no run."""
        return self.run is None and self.provenance is not None

    @property
    def is_table(self) -> bool:
        """Whether it is a table made elsewhere: those do not say how they were asked."""
        return self.run is None and self.provenance is None

    @cached_property
    def asked(self) -> frozenset[str]:
        """The items that were asked about; for a table, those in it."""
        if self.provenance is not None:
            return frozenset(self.provenance.items)
        return frozenset(name for side in self.sides.values() for one in side for name in one.items)

    @cached_property
    def halves(self) -> Halves | None:
        """What its models contribute by each half of the trials; None unless a run has several trials of each."""
        return self.halved()

    @cached_property
    def upstream(self) -> Mapping[str, Upstream]:
        """What endpoints reported about themselves, by the answerer's identity: from the journal, or the baseline."""
        if self.run is not None:
            return upstream_of(self.run)
        answering = [one for some in self.provenance.roles.values() for one in some] if self.provenance else []
        return {one.identity: one.upstream for one in answering}


@dataclass(frozen=True)
class Side:
    """One of those compared: a model of a source, or '' for the whole source; `name` distinguishes it from others."""

    name: str
    source: Source
    model: str

    @property
    def contributions(self) -> dict[str, Contribution]:
        """What its items contribute, by measure."""
        return {one.measure.name: one for one in self.source.sides[self.model]}

    def with_trials(self, measure: str, trials: int) -> Contribution | None:
        """The contribution of its items to a measure with so many trials, at most its own; None if it is not known."""
        own = self.contributions[measure]
        if trials == self.source.trials or not own.items:
            return own
        found = self.source.fewer(trials).get(self.model, ())
        return next((one for one in found if one.measure.name == measure), None)
