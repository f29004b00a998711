"""How many labels a measure needs: estimated from a pilot, and drawn."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner, Result

import overton
from overton.cli.main import app
from overton.errors import InputError
from overton.judging.label_tasks import AnnotatorLabels, LabelTask

TALKS = {"model_args": {"simulated/stance-judge": {"wrong": "0.1"}}, "turns": 8, "trials": 16}
"""Sixty-four conversations of eight turns, by a judge that errs in a tenth of its labels."""


@pytest.fixture(scope="module")
def pilot(run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run with a pilot of forty labels by a person who disagrees with the judge on four."""
    pages = overton.judge.draw_labels(run, tmp_path_factory.mktemp("labels") / "pilot", people=1, size=40, whole=False)
    task = msgspec.json.decode(pages[0].with_name("task.json").read_bytes(), type=LabelTask)
    labels = {place: row.judged for place, row in enumerate(task.rows)}
    labels |= dict.fromkeys(range(0, 40, 10), "unclear")
    file = pages[0].with_suffix(".json")
    file.write_bytes(msgspec.json.encode(AnnotatorLabels(task.name, 1, "ada", labels)))
    overton.judge.agreement(file, run=run)
    return run


def called(*words: object) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words])


def test_without_labels_a_pilot_of_thirty_is_asked_for_and_drawn(run: Path, tmp_path: Path) -> None:
    said = called("judge", "sample", run, "--for", "change_rate=0.2")
    assert (said.exit_code, said.stdout) == (0, "")
    assert "There are no labels yet: a pilot of 30 shows how many are needed." in said.stderr
    drawn = called("judge", "sample", run, "--for", "change_rate", "--people", 2, "--out", tmp_path / "pilot")
    assert drawn.exit_code == 0, drawn.output
    assert len(msgspec.json.decode((tmp_path / "pilot" / "task.json").read_bytes(), type=LabelTask).rows) == 30


def test_a_narrower_share_takes_more_labels_and_too_narrow_a_one_more_items(pilot: Path) -> None:
    wide, narrow, never = (overton.judge.labels_for(pilot, "supportive", width) for width in (0.2, 0.14, 0.001))
    assert (wide.what, wide.labelled, [one.unit for one in wide.plans]) == ("stance", 40, ["rows"])
    assert wide.least is not None
    assert narrow.least is not None
    assert 50 <= wide.least.labels < narrow.least.labels
    assert narrow.least.width <= 0.14
    assert never.least is None
    assert never.plans[0].why == "items vary too much: more items are needed, not more labels"


def test_a_measure_of_many_labels_has_plans_of_rows_and_of_whole_groups_and_these_are_drawn(
    pilot: Path, tmp_path: Path
) -> None:
    found = overton.judge.labels_for(pilot, "change_rate", 0.5)
    assert [one.unit for one in found.plans] == ["rows", "units"]
    assert found.chosen is found.plans[1]
    done = called("judge", "sample", pilot, "--for", "change_rate=0.5", "--people", 2, "--out", tmp_path / "more")
    assert done.exit_code == 0, done.output
    assert "Labels for change_rate, an interval 0.5 wide" in done.stdout
    task = msgspec.json.decode((tmp_path / "more" / "task.json").read_bytes(), type=LabelTask)
    assert task.design == "whole"
    assert len(task.rows) == pytest.approx(found.chosen.labels, abs=8)
    only_rows = msgspec.structs.replace(
        found, plans=(found.plans[0], msgspec.structs.replace(found.plans[1], why="no"))
    )
    assert only_rows.chosen is found.plans[0]


@pytest.mark.parametrize(
    ("wanted", "told"),
    [
        ("change_rate=x", "must be MEASURE=WIDTH"),
        ("change_rate=0", "must be a width above 0"),
        ("tone", "must be supportive, critical, balanced, unclear, change_rate"),
    ],
)
def test_an_unknown_measure_or_an_invalid_width_is_refused(wanted: str, told: str, pilot: Path) -> None:
    refused = called("judge", "sample", pilot, "--for", wanted)
    assert told in str(refused.exception)


def test_a_plan_is_drawn_for_pages_only(pilot: Path, tmp_path: Path) -> None:
    refused = called("judge", "sample", pilot, "--for", "change_rate=0.5", "--out", tmp_path / "sheet.csv")
    assert "--for: needs --people" in str(refused.exception)


def test_a_size_follows_from_the_measure(pilot: Path) -> None:
    refused = called("judge", "sample", pilot, "--for", "change_rate", "--size", 9)
    assert "--size: is set by --for" in str(refused.exception)
    with pytest.raises(InputError, match="must be stance or premise_stance"):
        overton.judge.labels_for(pilot, "supportive", what="match")
