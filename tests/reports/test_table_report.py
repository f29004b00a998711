"""Reports of tables made elsewhere."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import overton
from overton.errors import InputError

STUDY = "open-mindedness"
MODELS = ["one=simulated/open-minded", "two=simulated/open-minded"]


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = overton.run(STUDY, models=MODELS, trials=1, out=tmp_path_factory.mktemp("runs") / "first")
    return run.records_file.rename(run.path.parent / "answers.parquet")


def test_a_table_is_reported_in_the_current_folder_with_its_findings_and_models(
    records: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    written = overton.report(records)
    assert written == Path("answers-report.html")
    page = written.read_text("utf-8")
    (first, *_) = overton.analyze(STUDY, records).models
    assert first == "one"
    for said in ("answers.parquet", "Models compared", "Without arguments"):
        assert said in page


def test_the_numbers_of_a_tables_report_are_those_of_its_analysis(records: Path, tmp_path: Path) -> None:
    sparse, whole = (
        overton.report(records, out=tmp_path / f"{level}.html", study=STUDY, level=level).read_text("utf-8")
        for level in (0.5, 0.95)
    )
    assert "50% intervals" in sparse
    assert "95% intervals" in whole


def test_a_table_that_several_studies_could_read_or_none_is_refused(tmp_path: Path) -> None:
    table = tmp_path / "other.csv"
    pl.DataFrame({"a": [1]}).write_csv(table)
    with pytest.raises(InputError, match=r"is a table that no study can read: name its study \(--study\)"):
        overton.report(table)
    with pytest.raises(InputError, match=r"is neither a run nor a table: name the study"):
        overton.report(tmp_path)
    assert not list(Path().glob("other-report.html"))
