"""From two people's files to a page on which they adjudicate their disagreements, and back."""

from __future__ import annotations

import json
import re
from pathlib import Path
from threading import Thread
from typing import Any
from xml.etree import ElementTree

import msgspec
import pytest
from click.testing import CliRunner, Result

import overton
from overton.cli.main import app
from overton.errors import InputError
from overton.judge.people_labels import PeopleAgreement
from overton.judging.label_tasks import CANNOT_TELL, AdjudicatedLabel, AnnotatorLabels, LabelTask, gather_labels
from overton.runs.labels import labels_locked, read_labels, write_labels


def called(*words: object) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words])


def answered(pages: list[Path], run: Path) -> tuple[LabelTask, list[Path]]:
    """Two people whose labels are the judge's except for the first row that both have."""
    task = msgspec.json.decode(pages[0].with_name("task.json").read_bytes(), type=LabelTask)
    both = min(set(task.people[0]) & set(task.people[1]))
    files = []
    for number, person in enumerate(("ada", "bo"), 1):
        labels = {place: task.rows[place].judged for place in task.people[number - 1]}
        labels[both] = "unclear" if number == 1 else CANNOT_TELL
        said = AnnotatorLabels(task.name, number, person, labels, {both: "it dodges"} if number == 1 else {})
        files.append(pages[0].with_name(f"{person}.json"))
        files[-1].write_bytes(msgspec.json.encode(said))
    return task, files


def test_disagreements_are_shown_with_each_persons_label_and_adjudicated(run: Path, tmp_path: Path) -> None:
    task, files = answered(
        overton.judge.draw_labels(run, tmp_path / "labels", size=14, shared=4, seed=3, whole=False), run
    )
    page = tmp_path / "settle.html"
    done = called("judge", "agreement", *files, "--run", run, "--settle", page)
    assert done.exit_code == 0, done.output
    assert "People disagree on 1 row." in done.stderr
    found = re.search(r'id="task">(.*?)</script>', page.read_text("utf-8"), re.DOTALL)
    assert found
    held: dict[str, Any] = json.loads(found[1])
    (unit,) = held["units"]
    place = min(set(task.people[0]) & set(task.people[1]))
    assert (held["page"], unit["place"]) == (0, place)
    texts = {held["texts"][head]: held["texts"][text] for head, text in unit["texts"]}
    assert texts["Labels that people gave"] == f"ada: unclear (it dodges)\nbo: {CANNOT_TELL}"
    assert texts["Answer"]
    saved = tmp_path / "both.json"
    saved.write_bytes(msgspec.json.encode(AnnotatorLabels(task.name, 0, "both", {place: "unclear"})))
    settled = overton.judge.agreement(saved, run=run)
    assert isinstance(settled, PeopleAgreement)
    assert (settled.people.open, settled.people.settled) == (0, 1)
    assert read_labels(run)[0].settled == (AdjudicatedLabel(place, "unclear", "both"),)
    again = called("judge", "agreement", saved, "--run", run, "--settle", tmp_path / "more.html")
    assert "There are no open disagreements" in again.stderr
    assert not (tmp_path / "more.html").exists()


def test_concurrent_readers_of_labels_lose_no_labels(run: Path, tmp_path: Path) -> None:
    task, files = answered(
        overton.judge.draw_labels(run, tmp_path / "labels", size=14, shared=4, seed=9, whole=False), run
    )
    with labels_locked(run):
        other = Thread(target=overton.judge.agreement, args=([files[1]],), kwargs={"run": run})
        other.start()
        other.join(0.3)
        assert other.is_alive()  # it waits, and reads what the first has kept
        write_labels(
            run, gather_labels(task, [("ada.json", msgspec.json.decode(files[0].read_bytes(), type=AnnotatorLabels))])
        )
    other.join(60)
    (labels,) = [one for one in read_labels(run) if one.task.name == task.name]
    assert [one.person for one in labels.said] == ["ada", "bo"]


def test_a_page_to_settle_needs_the_run_and_a_new_file(run: Path, tmp_path: Path) -> None:
    _, files = answered(
        overton.judge.draw_labels(run, tmp_path / "labels", size=14, shared=4, seed=4, whole=False), run
    )
    without = called("judge", "agreement", *files, "--settle", tmp_path / "settle.html")
    assert "--settle: needs --run" in str(without.exception)
    found = overton.judge.agreement(files, run=run)
    assert isinstance(found, PeopleAgreement)
    (tmp_path / "there.html").write_text("mine")
    with pytest.raises(InputError, match="exists already"):
        overton.judge.settling_page(run, tmp_path / "there.html", task=found.people.task)
    with pytest.raises(InputError, match="name one of the tasks that the run has labels for: none"):
        overton.judge.settling_page(run, tmp_path / "x.html", task="t0")


def test_sample_writes_the_same_rows_for_label_studio(run: Path, tmp_path: Path) -> None:
    out = tmp_path / "labels"
    done = called("judge", "sample", run, "--people", 2, "--size", 6, "--out", out, "--label-studio", "--single")
    assert done.exit_code == 0, done.output
    task = msgspec.json.decode((out / "task.json").read_bytes(), type=LabelTask)
    rows = json.loads((out / "label-studio.json").read_bytes())
    assert [row["data"]["overton_row"] for row in rows] == list(range(6))
    made = ElementTree.fromstring((out / "label-studio.xml").read_text("utf-8"))
    assert [one.get("value") for one in made.iter("Choice")] == [*task.labels, CANNOT_TELL]
    refused = called("judge", "sample", run, "--out", tmp_path / "s.csv", "--label-studio")
    assert "--label-studio: needs --people" in str(refused.exception)
