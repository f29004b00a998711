"""Weights of trials, for a run that asked some items more often than others.

A run with `--precision` repeats an arm (an item in one condition) only as often as needed. If all trials had the same
weight, the arms whose answers vary most would dominate a mean. So the weight of a trial is the number of planned trials
in its arm, divided by the number of completed trials in the arm. With these weights, each arm counts as much as in the
whole plan. Measures leave out numbers that they cannot weight, and give `LEFT_OUT` as the reason.
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
    """Add the weight of each row's trial to a run's records, in the column `WEIGHT`.

    `trials` is the whole plan. With `together` all models answer in the same trials; otherwise trials are counted
    separately for each model.
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
    """The weights of the trials that `named` [N] identifies, scaled to a mean of 1; None if the records have no
    weights.

    `named` has the columns that identify a trial in the records. In runs that completed their whole plan, each trial
    has the weight 1.
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
