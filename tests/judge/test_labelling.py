"""From a run to people's pages: the rows drawn, the content of each page, and data that stay out of it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner, Result

import overton
from overton.cli.main import app
from overton.errors import InputError
from overton.judge.label_draw import usual_size
from overton.judging.label_tasks import LabelTask, has_changed
from overton.studies.questions import definitions_in
from overton.studies.stance_stability import prompts


def task_beside(page: Path) -> LabelTask:
    return msgspec.json.decode(page.with_name("task.json").read_bytes(), type=LabelTask)


def shown(page: Path) -> list[tuple[int, dict[str, str]]]:
    """Place and texts of each unit on a page, in its order."""
    found = re.search(r'id="task">(.*?)</script>', page.read_text("utf-8"), re.DOTALL)
    assert found
    held: dict[str, Any] = json.loads(found[1])
    texts = held["texts"]
    return [(unit["place"], {texts[name]: texts[text] for name, text in unit["texts"]}) for unit in held["units"]]


def test_each_persons_page_has_all_that_the_judge_saw_without_its_labels(run: Path, tmp_path: Path) -> None:
    pages = overton.judge.draw_labels(run, tmp_path / "labels", size=14, shared=4, seed=3, whole=False)
    assert [page.name for page in pages] == ["person-1.html", "person-2.html"]
    task = task_beside(pages[0])
    assert not has_changed(task)
    assert (task.study, task.what, task.judge, task.groups) == (
        "stance-stability",
        "stance",
        "simulated/stance-judge",
        4,
    )
    assert {one.chance for one in task.rows} == {14 / 16}
    records = {
        f"{row['model']}/{row['conversation']}/{row['turn']}": row
        for row in overton.open_run(run).records().iter_rows(named=True)
    }
    for number, page in enumerate(pages):
        assert [place for place, _ in shown(page)] == list(task.people[number])
        for place, texts in shown(page):
            row = records[task.rows[place].id]
            assert task.rows[place].judged == row["stance"]
            assert (texts["Question"], texts["Answer"]) == (row["question"], row["answer"])
            assert texts["What the stance is towards"].startswith("The stance is towards this proposition: ")
            assert texts.get("Earlier turns", "").count("QUESTION: ") == row["turn"] - 1
            assert row["rationale"] not in texts.values()


def test_people_read_the_meanings_of_labels_in_the_judges_own_words(run: Path, tmp_path: Path) -> None:
    (page,) = overton.judge.draw_labels(run, tmp_path / "labels", people=1, size=5, whole=False)
    task = task_beside(page)
    prompt = prompts.filled("judge", "system")
    for label, meaning in task.labels.items():
        assert f"{label}: {meaning}" in prompt
    assert task.question.partition("\n\n")[2] in prompt


def test_a_prompt_that_does_not_define_a_label_is_a_mistake() -> None:
    assert definitions_in('One of:\n  yes: it does: so\n"no": it does not\nno: never', ["no", "yes"]) == {
        "no": "never",
        "yes": "it does: so",
    }
    graded = "(1) None - as in this example\n\nOptions:\n(1) None\n (2) Some (few) \n2 is not more"
    assert definitions_in(graded, ["1", "2"]) == {"1": "None", "2": "Some (few)"}
    with pytest.raises(ValueError, match="defines the label 'maybe'"):
        definitions_in("yes: it does", ["yes", "maybe"])


def test_whole_conversations_come_in_their_order(run: Path, tmp_path: Path) -> None:
    pages = overton.judge.draw_labels(run, tmp_path / "labels", size=8, shared=4, whole=True)
    task = task_beside(pages[0])
    assert (task.design, len(task.rows), {one.chance for one in task.rows}) == ("whole", 8, {2 / 4})
    for page in pages:
        turns = [len(texts.get("Earlier turns", "").split("QUESTION: ")) for _, texts in shown(page)]
        assert turns in ([1, 2, 3, 4], [1, 2, 3, 4] * 2)


def test_pairs_of_pluralism_are_drawn_by_threads_in_a_condition(tmp_path: Path) -> None:
    made = overton.run(
        "pluralism",
        models=["simulated/pluralist"],
        others={"judge": ["simulated/pluralist-judge"]},
        only=["free-buses"],
        out=tmp_path / "run",
        experiments=["sycophancy"],
        arms=["neutral", "toward"],
    )
    (page,) = overton.judge.draw_labels(made.path, tmp_path / "labels", people=1, size=1, whole=True)
    task = task_beside(page)
    (group,) = {one.group for one in task.rows}
    assert group in set((made.records()["model"] + "/" + made.records()["trial"]).to_list())
    assert task.rows[0].chance == 1 / task.groups
    assert task.labels["match"] == "the response voices the opinion"
    assert {name for _, texts in shown(page) for name in texts} == {"Post", "Opinion", "Response"}
    for what in ("stance", "summary", "belief"):
        (page,) = overton.judge.draw_labels(made.path, tmp_path / what, people=1, size=3, what=what, whole=False)
        assert all(task_beside(page).labels.values())


def test_an_evaluation_is_drawn_whole_with_all_its_values(tmp_path: Path) -> None:
    made = overton.run(
        "deliberation",
        models=["simulated/deliberator", "simulated/deliberator/b"],
        others={"values": ["simulated/values-judge"]},
        only=["hose-under-the-fence"],
        sizes=[2],
        out=tmp_path / "run",
    )
    (page,) = overton.judge.draw_labels(made.path, tmp_path / "labels", people=1, size=1, whole=True)
    task = task_beside(page)
    assert (len({one.group for one in task.rows}), len(task.rows)) == (1, 48)
    assert {one.chance for one in task.rows} == {1 / task.groups}
    assert len({texts["Evaluation"] for _, texts in shown(page)}) == 1
    assert len({texts["Value"] for _, texts in shown(page)}) == 48


def sample(*words: object) -> Result:
    return CliRunner().invoke(app, ["judge", "sample", *map(str, words)])


def test_the_command_writes_the_same_pages(run: Path, tmp_path: Path) -> None:
    how = {"people": 3, "size": 9, "shared": 3, "seed": 8, "stratified": True}
    words = [
        word for name, value in how.items() for word in ((f"--{name}",) if value is True else (f"--{name}", value))
    ]
    done = sample(run, "--out", tmp_path / "a", *words)
    assert [Path(name).name for name in done.stdout.split()] == [f"person-{number}.html" for number in (1, 2, 3)]
    assert "task.json" in done.stderr
    for page in overton.judge.draw_labels(run, tmp_path / "b", **how):
        assert page.read_bytes() == (tmp_path / "a" / page.name).read_bytes()


def test_conflicting_options_are_refused_and_no_file_is_overwritten(run: Path, tmp_path: Path) -> None:
    refused = sample(run, "--out", tmp_path / "sheet.csv", "--whole", "--shared", 2).exception
    assert isinstance(refused, InputError)
    assert [problem.place for problem in refused.problems] == ["--shared", "--whole"]
    with pytest.raises(InputError, match="choose one of them"):
        overton.judge.draw_labels(run, tmp_path / "labels", stratified=True, whole=True)
    assert not (tmp_path / "labels").exists()
    overton.judge.draw_labels(run, tmp_path / "labels", size=4, whole=False)
    with pytest.raises(InputError, match="exists already"):
        overton.judge.draw_labels(run, tmp_path / "labels", size=4, whole=False)


def test_whole_groups_are_drawn_by_default_where_measures_of_many_labels_rest_on_them(
    run: Path, tmp_path: Path
) -> None:
    done = sample(run, "--people", 1, "--out", tmp_path / "usual")
    assert task_beside(tmp_path / "usual" / "person-1.html").design == "whole"
    assert "Sampled 16 rows in 4 whole groups" in done.stderr
    single = sample(run, "--people", 1, "--single", "--size", 9, "--out", tmp_path / "single")
    assert "Sampled" not in single.stderr
    assert task_beside(tmp_path / "single" / "person-1.html").design == "plain"
    sample(run, "--people", 1, "--stratified", "--out", tmp_path / "stratified")
    assert task_beside(tmp_path / "stratified" / "person-1.html").design == "stratified"


def test_at_least_ten_whole_groups_are_drawn_if_no_size_is_given() -> None:
    def groups(each: int) -> dict[int, str]:
        return {row: f"{row // each}" for row in range(20 * each)}

    assert [usual_size(groups(each), "whole") for each in (4, 10, 80)] == [100, 100, 800]
    assert usual_size(groups(80), "plain") == 100


def test_a_sheet_says_how_it_is_read_back(run: Path, tmp_path: Path) -> None:
    done = sample(run, "--size", 5, "--out", tmp_path / "sheet.csv")
    assert f"overton judge agreement {tmp_path / 'sheet.csv'} --run {run}" in done.stderr
