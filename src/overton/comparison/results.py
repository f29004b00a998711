"""A comparison: a table with a row for each measure of each pair of models, and further results."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import isnan
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from overton.comparison.differences import Difference
from overton.comparison.sources import MissingCounts
from overton.errors import InputError, Problem
from overton.statistics import Estimate
from overton.statistics.comparison import POWER, Gap, PossibleRanks, Verdict
from overton.studies.document import TABLE_SCHEMA, Shape, document, plain
from overton.studies.frame import Cells, DeclaredMeasure, as_frame, number_cells
from overton.studies.measures import Measure

if TYPE_CHECKING:
    import polars as pl

COLUMNS: dict[str, type] = {
    "study": str,
    "measure": str,
    "base": str,
    "candidate": str,
    "variant": str,
    "estimate": float,
    "low": float,
    "high": float,
    "n": int,
    "method": str,
    "why": str,
    "margin": float,
    "verdict": str,
    "equivalence_level": float,
    "equivalence_low": float,
    "equivalence_high": float,
    "joint_level": float,
    "joint_low": float,
    "joint_high": float,
    "joint_equivalence_level": float,
    "joint_equivalence_low": float,
    "joint_equivalence_high": float,
    "joint_method": str,
    "worst_low": float,
    "worst_high": float,
    "with_trials": int,
}
"""The columns of a row.

`estimate` is the candidate's number minus the base's over the `n` items that both have, with its interval. If both
models have human labels, there are three variants: 'corrected', 'plain' (the judge alone) and 'labelled' (human labels
alone). The preferred variant comes first, and only this variant has a margin and values in the columns after it. The
`equivalence` interval has to lie within the margin. The `joint` intervals hold for all pairs of the measure at once,
and are null for a single pair. The difference could be from `worst_low` to `worst_high`, for any values of the missing
parts. `with_trials` is the number of trials that both numbers are for. It is null if each number is for its own run's
trials.
"""

BONFERRONI = "Bonferroni"
MAX_T = "max-t over shared items"
"""The methods that make joint intervals."""


class NeededData(NamedTuple):
    """The data that would decide an undecided difference.

    `items` is the total number of items that the `verdict` needs. `more` is the number of items to add, and `cost` is
    the cost of these items in US dollars (None if unknown). Alternatively, the verdict needs `trials` trials of the
    same items. `more_trials` is then the number of trials to add, and `trials_cost` is the cost of these trials. If
    no number of trials is given, `why` is the reason.
    """

    items: int
    more: int
    verdict: Verdict
    power: float = POWER
    cost: float | None = None
    trials: int | None = None
    more_trials: int | None = None
    trials_cost: float | None = None
    why: str | None = None


class Variant(NamedTuple):
    """One way to compute two models' numbers and their difference."""

    difference: Estimate
    base: Estimate
    candidate: Estimate


@dataclass(frozen=True, kw_only=True)
class ComparisonRow:
    """One measure of a pair of models, over the items that both have; see `COLUMNS`.

    `difference` has the intervals of the difference between the models. `joint` has its simultaneous intervals for all
    pairs of the measure (None if there is one pair). `refused` is the reason why the two models are not compared, '' if
    they are compared. With human labels for both models, `variants` has the numbers of each variant. `preferred` names
    the base's preferred variant, then the candidate's. `variant` is 'corrected' if the corrected variant is preferred
    in every pair, otherwise 'plain'. All other fields are about this variant.
    """

    measure: Measure
    base: str
    candidate: str
    base_number: Estimate
    candidate_number: Estimate
    difference: Gap
    joint: Gap | None
    joint_method: str
    margin: float
    verdict: Verdict
    worst: tuple[float, float] | None
    needed: NeededData | None
    refused: str
    with_trials: int | None
    variant: str = "plain"
    variants: Mapping[str, Variant] = field(default_factory=dict)
    preferred: tuple[str, str] = ("plain", "plain")

    @property
    def why(self) -> str | None:
        """The reason why the verdict can only be 'undecided'; None if another verdict was possible."""
        own = self.difference.own
        return own.method if isnan(own.value) or isnan(own.low) else None

    @property
    def key(self) -> Cells:
        """The columns that identify a row. Only the variants of one row share them."""
        return {"measure": self.measure.name, "base": self.base, "candidate": self.candidate}

    def by_variant(self) -> Iterator[tuple[Cells, Variant]]:
        """The columns that identify each number of the row, and the numbers; the preferred variant comes first."""
        leading = Variant(self.difference.own, self.base_number, self.candidate_number)
        for name, variant in {self.variant: leading, **self.variants}.items():
            yield {**self.key, "variant": name}, leading if name == self.variant else variant

    def cells(self) -> Iterator[Cells]:
        """The row's variants as mappings of cells, without the column for the study."""
        empty: Cells = dict.fromkeys(list(COLUMNS)[1:])
        for key, variant in self.by_variant():
            own = self._verdict_cells() if key["variant"] == self.variant else {}
            yield {**empty, **key, **number_cells(variant.difference), **own}

    def value_cells(self) -> Iterator[Cells]:
        """The numbers of both models over the items that both have."""
        for key, variant in self.by_variant():
            yield {**key, "model": self.base, **number_cells(variant.base)}
            yield {**key, "model": self.candidate, **number_cells(variant.candidate)}

    def _verdict_cells(self) -> Cells:
        intervals = {"equivalence": self.difference.equivalence}
        if self.joint is not None:
            intervals |= {"joint": self.joint.own, "joint_equivalence": self.joint.equivalence}
        limits = {
            f"{name}_{limit}": plain(getattr(interval, limit))
            for name, interval in intervals.items()
            for limit in ("level", "low", "high")
        }
        worst_low, worst_high = map(plain, self.worst or (None, None))
        return {
            "margin": self.margin,
            "verdict": self.verdict,
            **limits,
            "joint_method": self.joint_method or None,
            "worst_low": worst_low,
            "worst_high": worst_high,
            "with_trials": self.with_trials,
        }


class Standing(NamedTuple):
    """A model's number by a measure, over the model's own items, and the ranks that the model could have."""

    model: str
    number: Estimate
    places: PossibleRanks


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """Models compared by one study; see `overton.compare`.

    `pairs` are the names of the compared models, the base first. `rows` are in the order of pairs and, within a pair,
    of measures. `lost` has the missing values by model name, and `ranks` the ranks by measure. `differing` lists
    differences in how models were asked, and `although` is the user's reason for comparing them anyway.
    """

    study: str
    title: str
    unit: str
    level: float
    seed: int
    although: str | None
    pairs: Sequence[tuple[str, str]]
    rows: Sequence[ComparisonRow]
    ranks: Mapping[str, Sequence[Standing]]
    lost: Mapping[str, MissingCounts]
    differing: Sequence[Difference]

    SHAPE = Shape(
        without=("title", "unit", "pairs", "ranks", "lost", "differing"),
        also={"warnings": "warnings", "measures": "measures", "rows": "row_cells", "tables": "cells"},
    )

    @property
    def warnings(self) -> list[str]:
        """Sentences to read before any number."""
        return [difference.sentence for difference in self.differing if difference.kind == "instrument"]

    @property
    def measures(self) -> dict[str, DeclaredMeasure]:
        """The declaration of each measure, by its key."""
        return {row.measure.name: DeclaredMeasure.of(row.measure) for row in self.rows}

    @property
    def row_cells(self) -> list[Cells]:
        """The rows as mappings of cells, one for each variant of a difference."""
        return [cells for row in self.rows for cells in row.cells()]

    @property
    def cells(self) -> dict[str, list[Cells]]:
        """Other results as mappings of cells, by the names of their tables.

        values    both models' numbers over the items that both have
        needed    the data that would decide undecided differences
        places    each model's number over its own items, and the best and the worst rank that it could have
        missing   how many of a model's records failed, and how many were flagged as refusals; null if unknown
        left_out  the items that a model's run left out as incomplete
        differing differences in how the models were asked
        """
        return {
            "values": [cells for row in self.rows for cells in row.value_cells()],
            "needed": [{**row.key, **row.needed._asdict()} for row in self.rows if row.needed is not None],
            "places": [
                {"measure": measure, "model": model, **places._asdict(), **number_cells(number)}
                for measure, standings in self.ranks.items()
                for model, number, places in standings
            ],
            "missing": [
                {"model": model, "records": lost.records, "failed": lost.failed, "refused": lost.refused}
                for model, lost in self.lost.items()
            ],
            "left_out": [{"model": model, "item": item} for model, lost in self.lost.items() for item in lost.missing],
            "differing": [difference._asdict() for difference in self.differing],
        }

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """Other results, by name: see `cells`."""
        import polars as pl

        return {name: pl.DataFrame(rows, infer_schema_length=None) for name, rows in self.cells.items()}

    def row(self, measure: str, base: str | None = None, candidate: str | None = None) -> ComparisonRow:
        """The row of one measure and one pair; `base` and `candidate` may be left out if only one pair is possible.

        Raises:
            InputError: there is no such row, or more than one.
        """
        found = [
            row
            for row in self.rows
            if row.measure.name == measure and base in {None, row.base} and candidate in {None, row.candidate}
        ]
        if len(found) != 1:
            pairs = "; ".join(f"{row.candidate} and {row.base}" for row in found)
            reason = (
                f"is of several pairs: {pairs}" if found else f"no such row; measures are {', '.join(self.measures)}"
            )
            raise InputError([Problem("row", measure, reason)])
        return found[0]

    def estimates(self) -> pl.DataFrame:
        """A table with one row per difference. The columns are the same for every study: `COLUMNS`."""
        return as_frame([(self.study, *cells.values()) for cells in self.row_cells], COLUMNS)

    def to_json(self) -> dict[str, Any]:
        """The comparison as values that JSON can hold: `warnings`, `measures`, `rows` and `tables`."""
        return document(self.study, TABLE_SCHEMA, self)


def rows_by_measure(rows: Iterable[ComparisonRow]) -> dict[str, list[ComparisonRow]]:
    """The rows of all pairs, by the key of their measure."""
    found: dict[str, list[ComparisonRow]] = {}
    for row in rows:
        found.setdefault(row.measure.name, []).append(row)
    return found
