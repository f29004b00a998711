"""A person checks the matcher: sheet drawn, filled in, read back, shown."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import msgspec
import pytest

import overton
from overton.errors import InputError
from overton.judging.label_tasks import LabelTask


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> overton.Run:
    return overton.run(
        "pluralism",
        models=["simulated/pluralist"],
        others={"judge": ["simulated/pluralist-judge"]},
        out=tmp_path_factory.mktemp("runs") / "run",
        experiments=["sycophancy"],
        arms=["neutral"],
    )


def filled(sheet: Path, say: Any) -> None:
    """The sheet as a person fills it in: `say(label)` of the judge's label."""
    key = msgspec.json.decode(sheet.with_suffix(".key.json").read_bytes(), type=LabelTask)
    lines = list(csv.DictReader(io.StringIO(sheet.read_text("utf-8-sig"))))
    made = io.StringIO()
    writer = csv.DictWriter(made, list(lines[0]))
    writer.writeheader()
    writer.writerows(
        line | {"person": say(number, row.judged)}
        for number, (line, row) in enumerate(zip(lines, key.rows, strict=True))
    )
    sheet.write_text(made.getvalue(), "utf-8-sig")


def test_a_hundred_pairs_balanced_by_class_are_drawn_by_default(run: overton.Run, tmp_path: Path) -> None:
    sheet, key = overton.judge.sample(run.path, tmp_path / "pairs.csv", stratified=True)
    known = msgspec.json.decode(key.read_bytes(), type=LabelTask)
    labels = [row.judged for row in known.rows]
    assert (labels.count("match"), labels.count("no match")) == (50, 50)
    assert sum(known.population.values()) == sum(
        record["given"] * len(record["viewpoints"]) for record in run.records().iter_rows(named=True)
    )
    assert known.judge == "simulated/pluralist-judge"
    (header, *_) = csv.reader(sheet.read_text("utf-8-sig").splitlines())
    assert header == ["row", "post", "viewpoint", "response", "person", "sheet"]
    assert "no match" not in sheet.read_text("utf-8-sig")


def test_the_report_shows_agreement(run: overton.Run, tmp_path: Path) -> None:
    sheet, _ = overton.judge.sample(run.path, tmp_path / "pairs.csv", size=40, stratified=True)
    filled(sheet, lambda number, label: "no match" if number % 4 == 0 else label)
    found = overton.judge.agreement(sheet, run=run.path)
    assert (found.people.what, found.people.design) == ("match", "stratified")
    assert found.people.judge.by_label["no match"].value == 1.0
    assert found.people.judge.by_label["match"].value < 1.0
    assert found.people.judge.leniency["match"].value == 1.0
    page = overton.report([run.path], out=tmp_path / "report.html").read_text("utf-8")
    assert "People labelled 40 of the judged units (match) and agreed with the judge on" in page


def test_stances_are_checked_on_a_sheet_of_their_own(run: overton.Run, tmp_path: Path) -> None:
    sheet, _ = overton.judge.sample(run.path, tmp_path / "stances.csv", size=10, what="stance")
    filled(sheet, lambda number, label: label)
    found = overton.judge.agreement(sheet)
    assert (found.people.what, found.people.judge.same.value, found.people.asked) == ("stance", 1.0, 10)
    with pytest.raises(InputError, match="must be match or stance"):
        overton.judge.sample(run.path, tmp_path / "other.csv", what="premise_stance")
