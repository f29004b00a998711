"""A run's records and estimates as tables for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import overton
from overton.errors import InputError, RunExists
from overton.runs.run import Run

STUDY = "open-mindedness"
TWO = ["cashless-shops", "congestion-charge"]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("runs") / "first"
    return overton.run(STUDY, models=["simulated/open-minded"], trials=1, only=TWO, out=folder)


def test_parquet_has_the_records_and_every_estimate(run: Run, tmp_path: Path) -> None:
    records, estimates = overton.export_tables(run.path, to="parquet", out=tmp_path / "out")
    assert (records.name, estimates.name) == ("records.parquet", "estimates.parquet")
    assert pl.read_parquet(records).equals(pl.read_parquet(run.records_file))
    assert pl.read_parquet(estimates).equals(overton.analyze(STUDY, run.path).estimates())


def test_csv_has_a_line_for_each_record_and_estimate(run: Run, tmp_path: Path) -> None:
    records, estimates = overton.export_tables(run, to="csv", out=tmp_path / "out")
    whole = pl.read_parquet(run.records_file)
    read = pl.read_csv(records, infer_schema_length=None)
    assert read.columns == whole.columns
    assert read["stance"].to_list() == whole["stance"].to_list()
    numbers = overton.analyze(STUDY, run.path).estimates()
    shown = pl.read_csv(estimates, infer_schema_length=None)
    for name in ("measure", "item", "estimate", "low", "high", "n"):
        assert shown[name].to_list() == numbers[name].to_list()


def test_records_written_as_csv_are_analyzed_as_the_run_is(run: Run, tmp_path: Path) -> None:
    records, _ = overton.export_tables(run.path, to="csv", out=tmp_path / "out")
    of_run, of_records = (
        overton.analyze(STUDY, place).estimates().filter(measure="open_mindedness", variant="plain")
        for place in (run.path, records)
    )
    assert of_run.height == 5
    assert of_records["estimate"].to_list() == of_run["estimate"].to_list()


def test_choices_of_how_measures_are_computed_are_followed(run: Run, tmp_path: Path) -> None:
    _, estimates = overton.export_tables(run.path, to="parquet", out=tmp_path / "out", level=0.8)
    wanted = overton.analyze(STUDY, run.path, level=0.8).estimates()
    assert pl.read_parquet(estimates).equals(wanted)
    assert not wanted.equals(overton.analyze(STUDY, run.path).estimates())
    with pytest.raises(InputError, match="sideways: no such option"):
        overton.export_tables(run.path, to="csv", out=tmp_path / "other", sideways=3)
    assert not (tmp_path / "other").exists()


def test_a_run_of_a_study_without_measures_has_records_only(tmp_path: Path) -> None:
    (tmp_path / "values.csv").write_text("value,definition\nFairness,What fairness asks of us.\nCare,What care asks.\n")
    (tmp_path / "texts.csv").write_text("dilemma,verdict,explanation\nd1,NTA,What weighs most here: Fairness; Care.\n")
    given: dict[str, Any] = {"texts": tmp_path / "texts.csv", "judge": "simulated/values-judge"}
    models = [f"simulated/value-annotator/{letter}" for letter in "abc"]
    made = overton.run("values", models=models, items=tmp_path / "values.csv", out=tmp_path / "run", **given)
    (records,) = overton.export_tables(made, to="csv", out=tmp_path / "out")
    assert pl.read_csv(records)["value"].to_list() == ["Fairness", "Care"]
    with pytest.raises(InputError, match="level: values has no measures"):
        overton.export_tables(made, to="csv", out=tmp_path / "other", level=0.9)


def test_the_command_names_its_files_and_overwrites_none(run: Run, tmp_path: Path, command_line: Any) -> None:
    done = command_line("export", str(run.path), "--to", "csv", folder=tmp_path)
    assert (done.returncode, done.stdout.split()) == (0, ["tables/records.csv", "tables/estimates.csv"])
    again = command_line("export", str(run.path), "--to", "parquet", folder=tmp_path)
    assert (again.returncode, again.stdout) == (2, "")
    assert "tables exists already: choose another --out" in again.stderr
    with pytest.raises(RunExists):
        overton.export_tables(run, to="csv", out=tmp_path / "tables")
