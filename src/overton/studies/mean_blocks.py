"""Blocks of trials of a study whose headlines are means over units. With blocks, a run can stop at its target
precision.

A trial's value is the mean over its units. A headline's precision follows from the values of each arm (an item in a
condition), as described in `overton.studies.precision`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from overton.statistics.estimate import SHARE
from overton.studies.measures import Measure
from overton.studies.precision import (
    AnsweredTrial,
    Arm,
    Blocks,
    Goal,
    InterimResult,
    Mean,
    PrecisionState,
    check_trials,
    judged_by_means,
    twice,
)
from overton.studies.study_measures import StudyMeasures, table_of

if TYPE_CHECKING:
    import polars as pl

_ARM = "number of the arm"


def blocks_of(measures: StudyMeasures[Any], of: Callable[[Any], tuple[str, int]]) -> Blocks:
    """The blocks of a study whose headlines are means over units.

    `of(trial)` gives the name of the trial's condition and the number of the trial's block in that condition, as in
    `Blocks`. Records need the column `trial`. With `RecordUnits`, each unit has the weight of its record.
    """
    headlines = [measure for measure in measures.headlines[0].measures if not measure.weight]
    return Blocks(
        of=of,
        goals={
            measure.name: Goal(_title(measures, measure), (measure.within[1] - measure.within[0]) / 2)
            for measure in headlines
        },
        judge=partial(_judge, measures, headlines),
        first=twice,
        check=check_trials,
        like=partial(_like, measures.items.noun),
        weighted=True,
    )


def _title(measures: StudyMeasures[Any], measure: Measure) -> str:
    return f"{measure.title}, mean over these {measures.items.plural}"


def _like(item: str, record: Any, trial: Any) -> Any:
    """The record, with its trial's name and item replaced by those of the given trial."""
    known = {"trial": trial.name, item: trial.item}
    return msgspec.structs.replace(
        record, **{name: value for name, value in known.items() if name in record.__struct_fields__}
    )


def _judge(
    measures: StudyMeasures[Any], headlines: Sequence[Measure], looked: InterimResult, wanted: Mapping[str, float]
) -> PrecisionState:
    """The precision of the headlines so far."""
    arms = sorted(looked.records)
    sizes = {arm: float(looked.sizes.get(arm, 1)) for arm in arms}
    records = [(place, record) for place, arm in enumerate(arms) for record in looked.records[arm]]
    units = _units(measures, {measure.units for measure in headlines}, records) if records else {}
    means = [
        Mean(
            measure.name,
            _title(measures, measure),
            {arm: AnsweredTrial() for arm in arms} | _answers(arms, units, measure),
            sizes,
            *measure.within,
            numbers=measure.within != SHARE,
        )
        for measure in headlines
    ]
    return judged_by_means(looked, wanted, means, {}, "")


def _units(
    measures: StudyMeasures[Any], kinds: set[str], records: Sequence[tuple[int, Any]]
) -> dict[str, pl.DataFrame]:
    """The units of these records, each with its trial and the number of its arm."""
    import polars as pl

    table = table_of([record for _, record in records]).with_columns(pl.Series(_ARM, [place for place, _ in records]))
    made = measures.rows().units_of(table, measures.how(), (_ARM, "trial"), kinds, weighed=False)
    return {kind: units.table for kind, units in made.items()}


def _answers(arms: Sequence[Arm], units: Mapping[str, pl.DataFrame], measure: Measure) -> dict[Arm, AnsweredTrial]:
    """The answers of each arm's trials, on [0, 1]."""
    import polars as pl

    if measure.units not in units:
        return {}
    low, high = measure.within
    value = (pl.col(measure.column).cast(pl.Float64) - low) / (high - low)
    found = (
        units[measure.units]
        .select(_ARM, "trial", value=value)
        .drop_nulls()
        .sort(_ARM, "trial", "value")
        .group_by(_ARM, "trial", maintain_order=True)
        .agg(pl.col("value").mean())
        .group_by(_ARM, maintain_order=True)
        .agg(total=pl.col("value").sum(), many=pl.len(), within=((pl.col("value") - pl.col("value").mean()) ** 2).sum())
    )
    return {arms[place]: AnsweredTrial(total, many, within) for place, total, many, within in found.iter_rows()}
