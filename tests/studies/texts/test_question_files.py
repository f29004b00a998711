"""A question of the user's own is checked before anything is asked, and faults are named by file, line and key."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from overton.errors import InputError
from overton.files.texts import ItemFile
from overton.studies.texts.question_files import TableQuestion, faults_of, named_questions, read_question
from overton.studies.texts.questions import columns_of, material_from, question_of


def read(folder: Path, text: str) -> TableQuestion:
    file = folder / "q.toml"
    file.write_text(text)
    return read_question(ItemFile(file))


def faults(folder: Path, text: str) -> list[tuple[str, str]]:
    with pytest.raises(InputError) as refused:
        read(folder, text)
    assert {problem.place for problem in refused.value.problems} == {str(folder / "q.toml")}
    return [(problem.key, problem.reason) for problem in refused.value.problems]


def test_a_file_has_words_labels_and_texts_beyond_doubt(kit: Any) -> None:
    question = read_question(ItemFile(kit.question))
    assert (question.key, question.row, question.group, question.study) == ("stance", "letter", "proposal", "")
    assert question.places == ("proposal", "text")
    assert list(question.labels) == ["supports", "opposes", "neither"]
    assert [control.label for control in question.controls] == ["supports", "opposes", "neither"]
    assert question.controls[0].columns.keys() == {"proposal", "text"}


def test_a_place_is_filled_once_for_any_text() -> None:
    question = TableQuestion("k", prompt='{"form": 1} {text} and {labels}', labels={"a": "", "b": ""})
    assert question.fill({"text": "{labels} {other}", "labels": "(a)"}) == '{"form": 1} {labels} {other} and (a)'


@pytest.mark.parametrize(
    ("old", "new", "key"),
    [
        ('key = "stance"', 'key = "two words"', "line 2, key"),
        ("{labels}", "", "line 9, prompt"),
        ("{text}", "{labels}", "line 9, prompt"),
        ("{text}", "{model}", "line 9, prompt"),
        ("{text}", "{label}", "line 9, prompt"),
        ('group = "proposal"', 'groups = "proposal"', "line 8, groups"),
        ("neither =", '"cannot tell" =', "line 27, labels.cannot tell"),
        ("neither =", "Supports =", "line 27, labels.Supports"),
        ("neither =", '"(c)" =', "line 27, labels.(c)"),
        (
            'neither = "It asks a question or reports facts, and takes no side."',
            "neither = 3",
            "line 27, labels.neither",
        ),
        ('label = "opposes"', 'label = "oposes"', "line 34, controls[1].label"),
        ('label = "neither"', 'label = "neither"\nother = "x"', "line 39, controls[2].other"),
    ],
)
def test_each_fault_is_named_by_its_line_and_key(kit: Any, tmp_path: Path, old: str, new: str, key: str) -> None:
    text = kit.question.read_text()
    head, found, rest = text.rpartition(old) if old.startswith("{") else text.partition(old)
    assert found
    assert key in [named for named, _ in faults(tmp_path, head + new + rest)]


def test_everything_that_is_missing_is_named(tmp_path: Path) -> None:
    assert [key for key, _ in faults(tmp_path, "")] == ["key", "prompt", "asks", "labels"]


def test_one_label_or_very_many_are_refused() -> None:
    for many in (1, 31):
        labels = {f"l{number}": "m" for number in range(many)}
        question = TableQuestion("k", prompt="{text} {labels}", labels=labels)
        assert [key for key, _ in faults_of(question)] == ["labels"]


def test_an_invalid_toml_file_is_refused_with_its_line(tmp_path: Path) -> None:
    ((key, reason),) = faults(tmp_path, 'key = "a"\nasks = "b\n')
    assert key == "line 2"
    assert "not valid TOML" in reason


def test_a_study_cannot_be_named_inside_a_file(kit: Any, tmp_path: Path) -> None:
    assert [key for key, _ in faults(tmp_path, f'study = "x"\n{kit.question.read_text()}')] == ["line 1, study"]


def test_questions_about_single_texts_go_by_study_and_key() -> None:
    known = named_questions()
    assert {"even-handedness/compliance", "even-handedness/hedging"} <= known.keys()
    assert "even-handedness/even_handedness" not in known
    assert read_question(ItemFile(Path("even-handedness/hedging"))) == TableQuestion("hedging", study="even-handedness")
    with pytest.raises(InputError, match="even-handedness/compliance"):
        read_question(ItemFile(Path("even-handedness/even_handedness")))


@pytest.mark.parametrize("name", sorted(named_questions()))
def test_every_named_question_can_be_asked_about_texts_alone(name: str) -> None:
    asked = TableQuestion(name.partition("/")[2], study=name.partition("/")[0])
    material = material_from(asked).of(dict.fromkeys(columns_of(asked), "A text."))
    (prompt,) = question_of(asked).prompts_about(material)
    assert prompt.messages
    assert prompt.choice is not None


def test_a_question_that_a_run_stored_is_read_back(kit: Any) -> None:
    question = read_question(ItemFile(kit.question))
    assert read_question(msgspec.to_builtins(question)) == question
    with pytest.raises(InputError, match="row"):
        read_question({"study": "", "key": "k", "row": 1})
