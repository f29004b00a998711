"""People's labels: read from their files, stored in the run, and used to correct its numbers."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner, Result
from damage import damaged
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

import overton
from overton.analysis.analyze import measure_run
from overton.analysis.results import results_of
from overton.cli.main import app
from overton.errors import InputError
from overton.judge.people_labels import PeopleAgreement
from overton.judging.label_tasks import CANNOT_TELL, AdjudicatedLabel, AnnotatorLabels, LabelRequest, LabelTask, task_of
from overton.runs.labels import FOLDER, TASK, read_labels
from overton.studies.judged_rows import rows_of
from overton.studies.label_parts import ALONE
from overton.studies.label_shares import ENOUGH
from overton.studies.sections import Callout

STUDY = "stance-stability"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run, and the task of a plain draw of 120 of its turns."""
    folder = tmp_path_factory.mktemp("labels")
    others = {"judge": ["simulated/stance-judge"], "search": ["starter"]}
    run = overton.run(STUDY, models=["simulated/chameleon"], others=others, out=folder / "run", turns=3)
    assert run.study.questions is not None
    judged = rows_of(run.study.questions, results_of([run]), "stance")
    units = judged.rows.drop_nulls("label")
    population = {label: Counter(units["label"])[label] for label in judged.question.labels}
    chance = 120 / units.height
    rows = tuple(LabelRequest(*row, chance) for row in units.select("id", "label", "group").head(120).iter_rows())
    pages = (tuple(range(75)), tuple(range(45, 120)))
    labels = dict.fromkeys(judged.question.labels, "")
    bare = LabelTask("", STUDY, "stance", judged.judge, "?", labels, 0, "plain", population, 9, rows, pages)
    (folder / TASK).write_bytes(msgspec.json.encode(task_of(bare)))
    return folder


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    """A copy of both."""
    shutil.copytree(made, tmp_path / "f")
    return tmp_path / "f"


def task_in(folder: Path) -> LabelTask:
    return msgspec.json.decode((folder / TASK).read_bytes(), type=LabelTask)


def say(folder: Path, person: str, page: int, *, but: dict[int, str] | None = None, name: str = "") -> Path:
    """The file saved by a person whose labels are the judge's, except for those in `but`."""
    task = task_in(folder)
    labels = {place: task.rows[place].judged for place in task.people[page - 1]} | (but or {})
    file = folder / f"{name or person}.json"
    file.write_bytes(msgspec.json.encode(AnnotatorLabels(task.name, page, person, labels)))
    return file


def overton_(*words: object) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words])


def test_two_peoples_files_become_agreement_and_shares_in_the_run(folder: Path) -> None:
    ada, bo = say(folder, "ada", 1, but={50: "unclear"}), say(folder, "bo", 2)
    done = overton_("judge", "agreement", folder / TASK, ada, bo, "--run", folder / "run", "--json")
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert (found["study"], found["level"]) == (STUDY, 0.95)
    assert (found["people"]["labelled"], found["people"]["shared"], found["people"]["open"]) == (120, 30, 1)
    assert found["people"]["judge"]["same"]["plain"]["estimate"] == pytest.approx(119.5 / 120)
    assert found["shares"]["shares"]["critical"]["leads"] == "corrected"
    (kept,) = read_labels(folder / "run")
    assert [one.person for one in kept.said] == ["ada", "bo"]
    assert kept.task == task_in(folder)


def test_labels_are_in_analysis_schema_report_and_summary(folder: Path) -> None:
    run = folder / "run"
    before = measure_run(STUDY, run)
    assert "labels" not in before.document()
    assert before.summary()[0].exhibits == [Callout(ALONE, "warning", summary=True)]
    overton.judge.agreement([say(folder, "ada", 1), say(folder, "bo", 2)], run=run)
    outcome = measure_run(STUDY, run)
    told = outcome.document()
    assert told["labels"]["stance"]["shares"]["critical"]["leads"] == "corrected"
    assert told["labels"]["stance"]["enough"] == ENOUGH
    schema = overton.schema(STUDY)
    Draft202012Validator({**schema, "required": ["labels"]}).validate({"study": STUDY, "labels": told["labels"]})
    assert schema["additionalProperties"] is False
    assert outcome.summary()[0].title == "Human labels"
    page = overton.report([run]).read_text("utf-8")
    assert ALONE not in page
    assert "People labelled 120 of the judged units (stance) and agreed with the judge on 100.0%" in page


def test_later_labels_join_those_that_the_run_keeps(folder: Path) -> None:
    run = folder / "run"
    overton.judge.agreement(say(folder, "ada", 1, but={50: "unclear"}), run=run)
    say(folder, "bo", 2).rename(folder.parent / "bo.json")
    found = overton.judge.agreement(folder.parent / "bo.json", run=run)  # the run knows the task
    assert isinstance(found, PeopleAgreement)
    assert found.people.open == 1
    settle = folder.parent / "settled.json"
    settle.write_bytes(msgspec.json.encode(AnnotatorLabels(task_in(folder).name, 0, "both", {50: "critical"})))
    found = overton.judge.agreement(settle, run=run)
    assert isinstance(found, PeopleAgreement)
    assert (found.people.open, found.people.settled) == (0, 1)
    overton.judge.agreement(folder / "ada.json", run=run)
    assert read_labels(run)[0].settled == (AdjudicatedLabel(50, "critical", "both"),)


def test_several_runs_in_one_report_have_their_own_labels(folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    shutil.copytree(folder / "run", other)
    overton.judge.agreement([say(folder, "ada", 1), say(folder, "bo", 2)], run=folder / "run")
    page = overton.report([folder / "run", other], out=tmp_path / "both.html").read_text("utf-8")
    assert "ada, bo labelled 120 of" in page


def test_an_export_of_label_studio_is_read_as_each_persons_labels(folder: Path) -> None:
    task = task_in(folder)
    rows = [
        {
            "data": {"overton_task": task.name, "overton_row": place},
            "annotations": [
                {"result": [{"from_name": "label", "value": {"choices": [row.judged]}}], "completed_by": person}
                for person in (1, 2)
            ],
        }
        for place, row in enumerate(task.rows)
    ]
    (folder / "export.json").write_text(json.dumps(rows))
    found = overton.judge.agreement(folder / "export.json")
    assert isinstance(found, PeopleAgreement)
    assert (found.people.labelled, found.people.shared, found.people.judge.same.value) == (120, 120, 1.0)
    assert [(one.a, one.b, one.n) for one in found.people.pairs] == [("user 1", "user 2", 120)]


def test_a_task_that_is_nowhere_is_asked_for(folder: Path) -> None:
    ada = say(folder, "ada", 1)
    (folder / TASK).rename(folder.parent / "kept-apart.json")
    with pytest.raises(InputError, match=f"there is no {TASK} in the same folder"):
        overton.judge.agreement(ada)
    assert isinstance(overton.judge.agreement(ada, key=folder.parent / "kept-apart.json"), PeopleAgreement)
    with pytest.raises(InputError, match="contains human labels and is not a task"):
        overton.judge.agreement(ada, key=ada)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b'{"person": "\xff"}', "cannot be read: is not UTF-8"),
        (b"[" * 200_000, "[0]: cannot be read: "),
        (b'{"person": ' + b"[" * 200_000, "cannot be read: "),
        (b"[]", "contains no labels; name the files"),
        (b"[1]", "[0]: cannot be read: Expected `object`"),
        (b'[{"data": {}}]', "[0].data: cannot be read: Object missing required field `overton_task`"),
        (b"{}", "contains neither a task nor human labels"),
        (b'{"person": "a", "task": 1}', "task: cannot be read: Expected `str`, got `int`"),
        (b'{"person": "a", "rows": 1}', "rows: cannot be read: "),
        (b'{"person": "a", "task": "t", "page": ' + b"9" * 5000 + b"}", "page: cannot be read: "),
    ],
)
def test_a_file_that_no_page_saved_is_refused_with_its_name(content: bytes, told: str, folder: Path) -> None:
    file = folder / "odd.json"
    file.write_bytes(content)
    with pytest.raises(InputError) as refused:
        overton.judge.agreement(file)
    assert str(refused.value).startswith(f"{file}: {told}")


def test_a_sheet_is_read_with_pages_of_the_same_task_only(folder: Path) -> None:
    sheet, _ = overton.judge.sample(folder / "run", folder / "sheet.csv", size=6)
    lines = sheet.read_text("utf-8-sig").replace(',"","', ',"critical","')
    sheet.write_text(lines, "utf-8")
    task = msgspec.json.decode(sheet.with_suffix(".key.json").read_bytes(), type=LabelTask)
    page = folder / "bo.json"
    page.write_bytes(msgspec.json.encode(AnnotatorLabels(task.name, 1, "bo", {0: CANNOT_TELL})))
    found = overton.judge.agreement([sheet, page], key=sheet.with_suffix(".key.json")).people
    assert [(person.name, person.labelled) for person in found.people] == [("bo", 1), ("sheet", 6)]
    with pytest.raises(InputError, match="task: is "):
        overton.judge.agreement([say(folder, "ada", 1), sheet])


def test_labels_of_another_run_are_not_kept(folder: Path, tmp_path: Path) -> None:
    other = overton.run("open-mindedness", models=["simulated/open-minded"], trials=1, out=tmp_path / "other")
    with pytest.raises(InputError, match="is a run of open-mindedness: name the run"):
        overton.judge.agreement(say(folder, "ada", 1), run=other.path)
    assert not (other.path / FOLDER).exists()


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("t1.json", b"{", "t1.json: cannot be read: "),
        ("other.json", b"", "other.json: cannot be read: "),
        ("moved.json", None, "moved.json: task.name: contains labels of"),
    ],
)
def test_a_damaged_file_of_labels_is_refused_wherever_the_run_is_read(
    name: str, content: bytes | None, told: str, folder: Path
) -> None:
    run = folder / "run"
    overton.judge.agreement(say(folder, "ada", 1), run=run)
    (kept,) = (run / FOLDER).iterdir()
    (run / FOLDER / name).write_bytes(kept.read_bytes() if content is None else content)
    for read in (lambda: measure_run(STUDY, run), lambda: overton.report([run])):
        with pytest.raises(InputError) as refused:
            read()
        assert f"{run / FOLDER}/{told}" in str(refused.value)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(data=st.data())
def test_of_a_damaged_file_there_is_agreement_or_an_input_error(data: st.DataObject, made: Path) -> None:
    whole = say(made, "ada", 1, but={3: "unclear"}).read_bytes()
    file = made / "damaged.json"
    file.write_bytes(data.draw(damaged(whole)))
    try:
        found = overton.judge.agreement(file, key=made / TASK)
    except InputError as refused:
        places = {problem.place for problem in refused.problems}
    else:
        assert isinstance(found, PeopleAgreement)
        places = set()
    assert places <= {str(file)}
