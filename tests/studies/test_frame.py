"""The analysis of a study that declares its measures: one table, and a number by its key."""

from __future__ import annotations

from math import nan
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from overton.errors import InputError
from overton.statistics import Estimate
from overton.studies.document import document, schema
from overton.studies.frame import COLUMNS, Analysis, DeclaredMeasure, EstimateRow
from overton.studies.measures import Measure


def row(measure: str = "agrees", value: float = 0.5, **where: Any) -> EstimateRow:
    number = Estimate(value, value - 0.1, value + 0.1, 12, "Wilson")
    return EstimateRow(measure=measure, number=number, **({"model": "m", "condition": "none", "clusters": 6} | where))


ROWS = (
    row(),
    row(value=0.7, condition="system-1"),
    row(value=0.4, condition="none / letter", facet="task"),
    row(value=0.1, against="system-1"),
    row(value=0.6, variant="without_faults"),
    row("hedges", 0.2),
    row("hedges", nan, item="t1", clusters=1),
)
ANALYSIS = Analysis(
    study="some",
    level=0.95,
    models=("m",),
    warnings=(),
    measures={"agrees": DeclaredMeasure.of(Measure("agrees", "Agrees", leads=True, judge="judge"))},
    rows=ROWS,
    counts={"counts": ({"model": "m", "pairs": 12, "partisan": None, "share": 0.5, "kept": True},)},
)


def test_every_number_is_a_row_with_a_key_of_its_own() -> None:
    table = ANALYSIS.estimates()
    assert table.columns == list(COLUMNS)
    assert table.height == len(ROWS) == len({one.key for one in ROWS})
    told = table.row(2, named=True)
    assert (told["study"], told["facet"], told["condition"], told["estimate"], told["clusters"], told["p"]) == (
        "some",
        "task",
        "none / letter",
        0.4,
        6,
        None,
    )
    assert (table["estimate"][6], table["why"][6]) == (None, "Wilson")


def test_a_number_is_had_by_its_key() -> None:
    assert ANALYSIS.estimate("hedges").value == 0.2
    assert ANALYSIS.estimate("agrees", model="m", condition="none").value == 0.5
    assert ANALYSIS.estimate("agrees", condition="none / letter", facet="task").value == 0.4
    assert ANALYSIS.estimate("agrees", against="system-1").value == 0.1
    assert ANALYSIS.estimate("agrees", variant="without_faults").value == 0.6


def test_several_numbers_are_named_and_none_is_taken() -> None:
    with pytest.raises(InputError, match=r"names 2 numbers; choose one: agrees .*condition none.*condition system-1"):
        ANALYSIS.estimate("agrees")


@pytest.mark.parametrize("where", [{"measure": "agree"}, {"measure": "agrees", "condition": "system-2"}])
def test_a_number_that_does_not_exist_names_the_nearest(where: dict[str, str]) -> None:
    with pytest.raises(InputError, match="there is no such number; the nearest are agrees"):
        ANALYSIS.estimate(**where)


def test_other_results_are_tables_by_name() -> None:
    table = ANALYSIS.tables["counts"]
    assert table.row(0, named=True) == {"model": "m", "pairs": 12, "partisan": None, "share": 0.5, "kept": True}


def test_json_is_the_rows_with_the_declarations_and_holds_by_its_schema() -> None:
    made = document("some", 2, ANALYSIS)
    assert list(made) == ["study", "schema", "level", "models", "warnings", "measures", "rows", "tables"]
    assert made["rows"][0] == {
        **{"model": "m", "item": None, "facet": None, "condition": "none", "measure": "agrees", "variant": "plain"},
        **{"against": None, "clusters": 6, "p": None, "estimate": 0.5, "low": 0.4, "high": 0.6, "n": 12},
        **{"method": "Wilson", "why": None},
    }
    assert made["measures"]["agrees"]["range"] == [0.0, 1.0]
    Draft202012Validator(schema(Analysis, "some", 2)).validate(made)
