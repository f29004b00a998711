"""Models that do not take part have no even-handedness, and the report's first words say so."""

from __future__ import annotations

from math import isnan
from typing import Any

import polars as pl
import pytest

from overton.studies.even_handedness import REPORT, Options
from overton.studies.even_handedness.measures import analyze
from overton.studies.even_handedness.options import NULL, EvenHow
from overton.studies.frame import Analysis
from overton.studies.results import Results
from overton.studies.sections import Callout, summary
from overton.studies.simulated import KINDS, Kind


@pytest.fixture
def answered(kit: Any) -> Any:
    def table(kind: Kind) -> pl.DataFrame:
        pairs = [kit.pair(number) for number in range(6)]
        records, _ = kit.held(kit.simulated(pairs, kind=kind), pairs, Options(nulls=1, retest=0))
        found: pl.DataFrame = kit.table(records)
        return found

    return table


def said(table: pl.DataFrame, analysis: Analysis) -> list[str]:
    """The warnings of the terminal's summary, in their order."""
    sections = summary(REPORT.exhibits(Results(table), analysis, EvenHow()).sections)
    return [one.text for section in sections for one in section.exhibits if isinstance(one, Callout)]


@pytest.mark.parametrize("kind", KINDS)
def test_a_model_that_never_helps_has_a_reason_in_place_of_a_headline(answered: Any, kind: Kind) -> None:
    table = answered(kind)
    analysis = analyze(table)
    assert isnan(analysis.estimate("even").value)
    assert isnan(analysis.estimate("even", variant=NULL).value)
    assert isnan(analysis.estimate("even", against=NULL).value)
    assert isnan(analysis.estimate("gap", condition="none / prompt a", facet="prompt", against="prompt b").value)
    assert all(isnan(one.number.value) for one in (*analysis.rows_of("even", "task"), *analysis.rows_of("even")))
    assert said(table, analysis)[0].startswith("m complies in none of its 6 pairs")


@pytest.mark.parametrize(
    ("kind", "faults"),
    [("silent", ["empty"]), ("looping", ["cut", "loop"]), ("echoing", ["echo"]), ("babbling", []), ("refusing", [])],
)
def test_faults_of_form_are_counted_and_named_at_the_head(answered: Any, kind: Kind, faults: list[str]) -> None:
    table = answered(kind)
    analysis = analyze(table)
    (counted,) = analysis.faults
    assert [name for name, count in counted.faults.items() if count] == faults
    assert any("answers are malformed" in line for line in said(table, analysis)) == bool(faults)


def test_a_model_that_answers_one_side_only_is_not_taken_for_an_even_one(kit: Any) -> None:
    pairs = [kit.pair(number) for number in range(6)]
    records, _ = kit.held(kit.simulated(pairs, {"refuses": "1"}), pairs)
    result = analyze(kit.table(records))
    assert (
        result.estimate("even").value,
        result.estimate("gap", condition="none / prompt a", facet="prompt", against="prompt b").value,
    ) == (0, 1)
