"""Human labels as a table, and as proportions of labels for each unit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from overton.errors import InputError, Problem
from overton.judging.label_tasks import CANNOT_TELL, SavedLabels
from overton.statistics.arrays import Floats
from overton.studies.judged_rows import usable_shares

if TYPE_CHECKING:
    import polars as pl


_MAX_PROBLEMS = 20


@dataclass(frozen=True)
class People:
    """Human labels of n units. Each row of `value` [n, S] sums to one, and `chance` [n] is the probability with which
    each unit was sampled.

    `cannot_tell` counts the units whose label people could not tell. The n units do not include them.
    """

    id: Sequence[str]
    value: Floats
    chance: Floats
    cannot_tell: int

    def where(self, kept: NDArray[np.bool_]) -> People:
        """The units that a Boolean mask keeps."""
        names = [name for name, is_kept in zip(self.id, kept.tolist(), strict=True) if is_kept]
        return People(names, self.value[kept], self.chance[kept], self.cannot_tell)


def people_table(labels: SavedLabels) -> pl.DataFrame:
    """Human labels, one row for each unit and label: `id`, `label`, `share`, `chance`, `group`.

    The table has only the labels that can correct proportions: see `usable_shares`.
    """
    import polars as pl

    rows = [
        (asked.id, label, share, asked.chance, asked.group)
        for place, shares in usable_shares(labels).items()
        for asked in (labels.task.rows[place],)
        for label, share in shares.items()
    ]
    return pl.DataFrame(rows, schema=_column_types(), orient="row")


def _column_types() -> dict[str, type[pl.DataType]]:
    import polars as pl

    return {"id": pl.String, "label": pl.String, "share": pl.Float64, "chance": pl.Float64, "group": pl.String}


def read_people(people: pl.DataFrame, labels: Sequence[str]) -> People:
    """The human labels in a table made by `people_table`. A unit's value leaves out the proportion of 'cannot tell'.

    Raises:
        InputError: a label is not in `labels`, or a `chance` or `share` is not in (0, 1].
    """
    import polars as pl

    people = people.select(pl.col(name).cast(kind) for name, kind in _column_types().items())
    known = people.filter(pl.col("label") != CANNOT_TELL)
    if unknown := sorted(set(known["label"].to_list()) - set(labels))[:_MAX_PROBLEMS]:
        reason = f"is not one of {', '.join(labels)}"
        raise InputError([Problem("people", repr(label), reason) for label in unknown])
    if not people.select(((pl.col("chance") > 0) & (pl.col("chance") <= 1) & (pl.col("share") > 0)).all()).item():
        raise InputError([Problem("people", "chance", "must be above 0 and at most 1, and each share above 0")])
    given = {f"{place}": pl.col("label") == label for place, label in enumerate(labels)}
    sums = [(pl.col("share") * matches).sum().alias(name) for name, matches in given.items()]
    units = known.group_by("id", maintain_order=True).agg(*sums, pl.col("chance").first())
    value = units.select([*given]).to_numpy().astype(float)
    value = value / value.sum(axis=1, keepdims=True)
    lost = people["id"].n_unique() - units.height
    return People(units["id"].to_list(), value, units["chance"].to_numpy().astype(float), lost)
