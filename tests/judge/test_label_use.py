"""Announced uses of labels when they are drawn match their uses once people gave them, in each study with a judge."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

import overton
from overton.analysis.analyze import measure_run
from overton.errors import InputError
from overton.judge.label_use import SHARES, LabelUse, describe_use, use_of_labels
from overton.studies.label_shares import ENOUGH

RUNS: dict[str, dict[str, Any]] = {
    "open-mindedness": {
        "models": "simulated/open-minded", "others": {"judge": "simulated/side-judge"}, "answers": "free", "trials": 1
    },
    "stance-stability": {"models": "simulated/chameleon", "others": {"judge": "simulated/stance-judge"}},
    "pluralism": {"models": "simulated/pluralist", "others": {"judge": "simulated/pluralist-judge"}},
    "deliberation": {
        "models": ["a=simulated/deliberator", "b=simulated/deliberator"],
        "others": {"values": "simulated/values-judge"},
    },
    "even-handedness": {"models": "simulated/advocate", "others": {"judge": "simulated/even-judge"}},
}  # fmt: skip


@pytest.fixture(scope="module", params=RUNS)
def judged(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of each study with a judge."""
    folder = tmp_path_factory.mktemp("judged") / "run"
    overton.run(request.param, **RUNS[request.param], out=folder, watch=lambda progress: None)
    return folder


def fill(sheet: Path) -> None:
    """Fill in a sheet with the judge's labels, but for every seventh row."""
    key = json.loads(sheet.with_suffix(".key.json").read_text())
    rows = list(csv.reader(sheet.read_text("utf-8-sig").splitlines(keepends=True)))
    place = rows[0].index("person")
    for number, (row, asked) in enumerate(zip(rows[1:], key["rows"], strict=True)):
        row[place] = asked["judged"] if number % 7 else next(iter(key["labels"]))
    with sheet.open("w", newline="") as file:
        csv.writer(file).writerows(rows)


def leading(labels: dict[str, Any]) -> set[str]:
    """The numbers whose corrected value leads in the JSON of an analysis' labels."""
    measures = (labels["measures"] or {"groups": {}})["groups"]
    found = {name.partition(", ")[0] for group in measures.values() for name, each in group.items()
             if each["leads"] == "corrected"}  # fmt: skip
    return found | ({SHARES} if any(each["leads"] == "corrected" for each in labels["shares"].values()) else set())


@pytest.mark.parametrize("size", [20, 120])
def test_filled_sheet_corrects_the_numbers_announced_when_it_was_drawn(judged: Path, size: int, tmp_path: Path) -> None:
    sheet, key = overton.judge.sample(judged, tmp_path / "sheet.csv", size=size)
    use = use_of_labels(judged, key)
    assert (use.people, use.enough, use.why) == (1, ENOUGH, "")
    assert use.labels == min(size, use.units)
    assert bool(use.corrected) == (use.labels + use.earlier >= ENOUGH)
    fill(sheet)
    overton.judge.agreement(sheet, run=judged)
    study = json.loads((judged / "manifest.json").read_text())["study"]
    document = measure_run(study, judged).document()["labels"]
    of_task = next(one for one in document.values() if json.loads(key.read_text())["name"] in one["task"])
    assert leading(of_task) <= set(use.corrected)  # more disagreement than the judge's own labels have may leave less
    assert (SHARES in leading(of_task)) == (SHARES in use.corrected)
    assert of_task["labelled"] == use.labels + use.earlier


SAID = LabelUse(labels=20, people=1, units=500, enough=100)


def test_sentences_name_the_people_the_rows_and_the_remedy() -> None:
    few = [*describe_use(SAID)]
    assert "20 rows" in few[0]
    assert "--size 100" in few[1]
    small = [*describe_use(LabelUse(labels=20, people=2, units=30, enough=100, beside=("even",)))]
    assert "2 people" in small[0]
    assert "even" in small[0]
    assert "--size" not in small[1]
    enough = LabelUse(120, 1, 500, 100, corrected=(SHARES,), uncorrected={"a": "too few threads", "b": "too few"})
    first, second = describe_use(enough)
    assert SHARES in first
    assert "a, b (too few threads)" in second
    assert "because there are no labels yet" in next(
        describe_use(LabelUse(1, 1, 5, 100, why="there are no labels yet"))
    )


def test_command_says_it_for_sheets_and_pages(command_line: Any, tmp_path: Path) -> None:
    run = tmp_path / "run"
    overton.run("even-handedness", **RUNS["even-handedness"], out=run, watch=lambda progress: None)
    sheet = command_line("judge", "sample", str(run), "--size", "20", "--out", "sheet.csv", folder=tmp_path)
    pages = command_line("judge", "sample", str(run), "--people", "2", "--out", "pages", folder=tmp_path)
    for done, task in ((sheet, "sheet.key.json"), (pages, "pages/task.json")):
        for sentence in describe_use(overton.judge.use_of_labels(run, tmp_path / task)):
            assert sentence in " ".join(done.stderr.split())
    (tmp_path / "labels.json").write_text('{"task": "t", "page": 1, "person": "a", "labels": {}}')
    with pytest.raises(InputError, match="not the task"):
        use_of_labels(run, tmp_path / "labels.json")


def test_sentence_announces_corrected_numbers_without_intervals(tmp_path: Path) -> None:
    run = tmp_path / "run"
    overton.run("stance-stability", **RUNS["stance-stability"], out=run, watch=lambda progress: None)
    sheet, key = overton.judge.sample(run, tmp_path / "sheet.csv", size=30)
    use = use_of_labels(run, key)
    assert SHARES in use.beside
    assert "but without intervals: too few labels (30; 50 are needed)" in next(describe_use(use))
    fill(sheet)
    overton.judge.agreement(sheet, run=run)
    shares = measure_run("stance-stability", run).document()["labels"]["stance"]["shares"]
    assert {str(each["corrected"]["interval"]) for each in shares.values()} == {"[None, None]"}
    assert any(each["corrected"]["estimate"] is not None for each in shares.values())


def test_later_sheets_count_the_rows_labelled_before(tmp_path: Path) -> None:
    run = tmp_path / "run"
    overton.run("stance-stability", **RUNS["stance-stability"], out=run, watch=lambda progress: None)
    first, _ = overton.judge.sample(run, tmp_path / "ada.csv", size=60, seed=1)
    fill(first)
    overton.judge.agreement(first, run=run)
    second, key = overton.judge.sample(run, tmp_path / "bo.csv", size=60, seed=2)
    use = use_of_labels(run, key)
    assert use.corrected
    assert use.earlier > 40
    assert f"these and the {use.earlier} earlier labels" in next(describe_use(use))
    fill(second)
    found = overton.judge.agreement(second, run=run).shares
    assert found is not None
    assert found.labelled == use.labels + use.earlier
    document = measure_run("stance-stability", run).document()["labels"]
    assert (document.keys(), document["stance"]["labelled"]) == ({"stance"}, found.labelled)
