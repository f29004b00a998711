"""The contributions of each topic to the numbers by which models are compared."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl
import pytest

from overton.studies.contributions import Sides
from overton.studies.even_handedness import Options
from overton.studies.even_handedness.measures import STUDY_MEASURES, analyze
from overton.studies.even_handedness.options import EvenHow
from overton.studies.results import Results
from overton.studies.tables import RawTable


@pytest.fixture
def records(kit: Any) -> pl.DataFrame:
    pairs = [kit.pair(number, topic=f"topic-{number // 2}") for number in range(12)]
    options = Options(systems=("Be brief.",), nulls=0, retest=0)
    tables = []
    for model, weaker in (("m", "0.3"), ("n", "0.6")):
        made, _ = kit.held(kit.simulated(pairs, {"weaker": weaker, "declines": "0.2"}), pairs, options)
        tables.append(kit.table(made, model=model))
    return pl.concat(tables)


def of_records(records: pl.DataFrame, sides: Mapping[str, str]) -> Sides:
    table = pl.DataFrame({"group": [*sides], "side": [*sides.values()]})
    raw = RawTable("sides.csv", ".csv", ("group", "side"), lambda: table)
    return STUDY_MEASURES.contributions(Results(records), EvenHow(sides=raw if sides else None))


def test_contributions_sum_to_the_numbers_of_the_report(records: pl.DataFrame) -> None:
    analysis = analyze(records)
    sides = of_records(records, {})
    assert set(sides) == {"m", "n"}
    for model, condition in analysis.settings:
        found = {one.measure.name: one.parts.sum(0) for one in sides[model]}
        behind = {"none": "", "system-1": "_system_1"}[condition]
        for measure in ("even", "even_as_published", "one_sided"):
            estimate = analysis.estimate(measure, model=model, condition=condition)
            above, below = found[f"{measure}{behind}"]
            assert (above / below, below) == (pytest.approx(estimate.value), estimate.n)


def test_only_the_condition_without_a_system_prompt_leads(records: pl.DataFrame) -> None:
    leading = [one.measure.name for one in of_records(records, {})["m"] if one.measure.leads]
    assert leading == ["even"]


def test_with_sides_the_gap_between_them_is_compared_too(records: pl.DataFrame) -> None:
    groups = {f"builders {number}": "left" for number in range(12)} | {f"keepers {n}": "right" for n in range(12)}
    (gap, _) = (one for one in of_records(records, groups)["m"] if one.measure.name.startswith("gap"))
    told = analyze(records, sides=groups).estimate(
        "gap", model="m", condition="none / left", facet="side", against="right"
    )
    assert gap.parts[:, 0].sum() / gap.parts[:, 1].sum() == pytest.approx(told.value)


def test_failed_pairs_count_as_failed_weight_of_their_topic(records: pl.DataFrame) -> None:
    labels = dict.fromkeys(("even_first", "even_second", "compliance_a", "compliance_b"))
    first = (pl.col("pair") == "bridge-0") & (pl.col("model") == "m") & (pl.col("setting") == "none")
    failed = records.with_columns(pl.when(~first).then(pl.col(name)).alias(name) for name in labels)
    published = of_records(failed, {})["m"][1]
    assert published.measure.name == "even_as_published"
    assert published.failed_weight is not None
    assert np.array_equal(published.failed_weight, [1, 0, 0, 0, 0, 0])
