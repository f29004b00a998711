"""Weights of trials in a run that asked some items more often than others: planned over asked trials of each arm.

A run with `--precision` asks an arm (an item in one condition) only as often as needed. A number that counts its trials
alike would lie where answers vary most. With these weights each arm counts as in the whole design, in every number
outside the section 'Precision'. Measures leave out numbers that they cannot weight, with `LEFT_OUT` as the reason.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

    from overton.studies.precision import Blocks


WEIGHT = "arm_weight"
"""The column of `Results.records` with the weights; no run stores it."""
UNEQUAL = "this run asked some items more often than others"
LEFT_OUT = f"left out: {UNEQUAL}; see the section 'Precision'"


def with_weights(records: pl.DataFrame, blocks: Blocks, trials: Iterable[Any], *, together: bool) -> pl.DataFrame:
    """A run's records with the weight of each row's trial in the column `WEIGHT`.

    `trials` is the whole plan. With `together` all models answer in the same trials; otherwise each model's trials are
    counted by themselves.
    """
    import polars as pl

    arms = {trial.name: f"{trial.item}\n{blocks.of(trial)[0]}" for trial in trials}
    planned = Counter(arms.values())
    plan = pl.DataFrame(
        {
            blocks.trial: list(arms),
            "_arm": list(arms.values()),
            "_planned": [float(planned[arm]) for arm in arms.values()],
        },
        schema={blocks.trial: pl.String, "_arm": pl.String, "_planned": pl.Float64},
    )
    arm = ["_arm"] if together else ["model", "_arm"]
    weight = (pl.col("_planned") / pl.col(blocks.trial).n_unique().over(arm)).fill_null(1.0)
    found = records.join(plan, on=blocks.trial, how="left", maintain_order="left")
    return found.with_columns(weight.alias(WEIGHT)).drop("_arm", "_planned")


def is_weighted(records: pl.DataFrame) -> bool:
    """Whether trials of these records have weights."""
    return WEIGHT in records.columns


def weights_of(records: pl.DataFrame, named: pl.DataFrame) -> NDArray[np.float64] | None:
    """The weight of each trial that `named` [N] identifies, with a mean of 1; None if trials have none.

    `named` has some columns of the records, which identify a trial. Trials of runs that asked their whole plan count 1.
    """
    import numpy as np
    import polars as pl

    if not is_weighted(records):
        return None
    key = named.columns
    own = records.group_by(key).agg(pl.col(WEIGHT).first())
    found = named.join(own, on=key, how="left", maintain_order="left", nulls_equal=True)[WEIGHT].fill_null(1.0)
    weight: NDArray[np.float64] = found.to_numpy().astype(float)
    return np.asarray(weight / weight.mean())
