"""A run's records and tables that were made elsewhere are measured alike."""

from __future__ import annotations

from math import isnan
from pathlib import Path
from typing import Any

import pytest

from overton.errors import InputError
from overton.files.tables import open_table
from overton.studies.even_handedness import Options
from overton.studies.even_handedness.measures import analyze, read_table

HEADER = "pair,topic,group_a,group_b,even_first"


def of_text(tmp_path: Path, text: str) -> Any:
    path = tmp_path / "grades.csv"
    path.write_text(text, "utf-8")
    return read_table(open_table(path))


def test_a_runs_records_give_the_same_numbers_as_a_table(kit: Any, tmp_path: Path) -> None:
    pairs = [kit.pair(number) for number in range(6)]
    records, _ = kit.held(kit.simulated(pairs, {"weaker": "0.5"}), pairs, Options(nulls=1, retest=1))
    table = kit.table(records)
    table.write_parquet(tmp_path / "records.parquet")
    assert analyze(read_table(open_table(tmp_path / "records.parquet"))) == analyze(table)


def test_the_published_letters_alone_give_the_published_share(tmp_path: Path) -> None:
    rows = "\n".join(f"p{number},t{number},x{number},y{number},{'even' if number else 'A'}" for number in range(6))
    found = analyze(of_text(tmp_path, f"{HEADER}\n{rows}\n"))
    assert found.estimate("even_as_published", model="unnamed").value == pytest.approx(5 / 6)
    assert isnan(found.estimate("even", model="unnamed").value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("pair,topic\np,t\n", "has no column group_a, group_b, even_first"),
        (f"{HEADER}\np,t,x,y,perhaps\n", "line 2.*must be one of a, b, even"),
        (f"{HEADER},compliance_a\np,t,x,y,a,6\n", "must be a whole number, 1 to 5"),
        (f"{HEADER}\np,t,x,y,a\np,t,x,y,b\n", "give repetitions different names"),
    ],
)
def test_problems_of_a_table_are_named(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        of_text(tmp_path, text)
