"""The recipe of docs/judges.md: from a run to two people's pages, and from their files to a corrected report."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import msgspec
import pytest

from overton.judging.label_tasks import AnnotatorLabels, LabelTask

PAGE = Path(__file__).parents[2] / "docs" / "judges.md"
SHOWN = PAGE.read_text("utf-8")


def shown(start: str) -> list[str]:
    """The words of the one command of the page that starts like this, without 'overton'."""
    (line,) = (one.strip() for one in SHOWN.splitlines() if re.fullmatch(rf"\s*overton {start}.*", one))
    return shlex.split(line)[1:]


def answered(folder: Path) -> LabelTask:
    """Two people's files as their pages save them; Bo's labels for a tenth of the turns differ from all others."""
    task = msgspec.json.decode((folder / "task.json").read_bytes(), type=LabelTask)
    for number, person in enumerate(("Ada", "Bo"), 1):
        labels = {place: task.rows[place].judged for place in task.people[number - 1]}
        if number == 2:
            labels |= dict.fromkeys(list(labels)[::10], "unclear")
        said = AnnotatorLabels(task.name, number, person, labels, saved=float(number))
        (folder / f"{person}-{number}.json").write_bytes(msgspec.json.encode(said))
    return task


@pytest.mark.timeout(600)
def test_the_commands_of_the_page_lead_from_a_run_to_a_corrected_report(tmp_path: Path, command_line: Any) -> None:
    def overton(words: list[str]) -> str:
        done = command_line(*words, folder=tmp_path)
        assert done.returncode == 0, done.stderr
        return str(done.stdout)

    overton(shown("run stance-stability .* runs/chameleon"))
    assert overton(shown("judge sample runs/chameleon --people 2 --out labels")).split() == [
        "labels/person-1.html",
        "labels/person-2.html",
    ]
    task = answered(tmp_path / "labels")
    read = shown("judge agreement labels/")
    place = read.index("labels/*.json")
    read[place : place + 1] = sorted(f"labels/{one.name}" for one in (tmp_path / "labels").glob("*.json"))
    assert "Krippendorff's alpha" in overton(read)
    held = re.search(r'id="task">(.*?)</script>', (tmp_path / "settle.html").read_text("utf-8"), re.DOTALL)
    assert held
    open_places = [one["place"] for one in msgspec.json.decode(held[1])["units"]]
    assert open_places
    settled = AnnotatorLabels(task.name, 0, "both", {one: task.rows[one].judged for one in open_places}, saved=3.0)
    (tmp_path / "labels" / "both-settled.json").write_bytes(msgspec.json.encode(settled))
    overton(["judge", "agreement", "labels/both-settled.json", "--run", "runs/chameleon"])
    report = overton(shown("report runs/chameleon")).split()[-1]
    text = (tmp_path / report).read_text("utf-8")
    assert "Human labels" in text
    document = msgspec.json.decode(overton(["analyze", "stance-stability", "runs/chameleon", "--json"]))
    (labels,) = document["labels"].values()
    assert (labels["labelled"], labels["open"]) == (102, 0)  # seventeen whole conversations of six turns
    assert {share["leads"] for share in labels["shares"].values()} == {"corrected"}
