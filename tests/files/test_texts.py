"""From a path to texts: which files it means, and how unreadable ones are reported."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import msgspec
import pytest

from overton.errors import InputError, Problem, RunError
from overton.files.texts import ItemFile, text_beside, texts_at, write_objects


def filled(folder: Path, *names: str) -> Path:
    folder.mkdir(exist_ok=True)
    for name in names:
        (folder / name).write_text("{}\n")
    return folder


def named(path: Any, **how: Any) -> list[str]:
    return [f"{text.stem}{text.suffix}" for text in texts_at(path, **{"suffixes": (".jsonl",), **how})]


def refused(path: Path, **how: Any) -> str:
    with pytest.raises(InputError) as error:
        texts_at(path, **{"suffixes": (".jsonl",), **how})
    (problem,) = error.value.problems
    assert (problem.place, problem.key) == (str(path), "")
    return problem.reason


def test_named_file_is_taken_with_any_suffix(tmp_path: Path) -> None:
    filled(tmp_path, "a.txt")
    (text,) = texts_at(tmp_path / "a.txt", suffixes=(".jsonl",), dataset="items.jsonl")
    assert (text.name, text.stem, text.suffix, text.in_folder) == (str(tmp_path / "a.txt"), "a", ".txt", False)


def test_a_folder_is_its_files_sorted_without_hidden_and_other_ones(tmp_path: Path) -> None:
    filled(tmp_path, "b.jsonl", "a.jsonl", ".c.jsonl", "README.md")
    assert named(tmp_path, dataset="things.jsonl") == ["a.jsonl", "b.jsonl"]
    assert all(text.in_folder for text in texts_at(tmp_path, suffixes=(".jsonl",)))


def test_a_dataset_goes_before_other_files_of_its_layout_but_not_of_another(tmp_path: Path) -> None:
    filled(tmp_path, "things.jsonl", "items.jsonl", "manifest.json", "journal.db")
    assert named(tmp_path, dataset="things.jsonl") == ["things.jsonl"]
    assert named(tmp_path, dataset="things.jsonl", suffixes=(".json",)) == ["things.jsonl"]
    filled(tmp_path, "one.json")
    reason = refused(tmp_path, dataset="things.jsonl", suffixes=(".json",))
    assert reason == "contains both things.jsonl and one.json: name the file you mean"


def test_folders_without_the_expected_file_are_refused(tmp_path: Path) -> None:
    filled(tmp_path, "journal.db", "items.jsonl")
    assert refused(tmp_path, dataset="things.jsonl") == (
        "is a run folder without things.jsonl: name a folder of things, or a file"
    )
    assert refused(tmp_path) == "is a run folder: name a file of items"
    assert refused(tmp_path, dataset="records.parquet", suffixes=()) == (
        "is a folder without records.parquet; finish the run, or name a file"
    )
    assert refused(tmp_path / "none") == "does not exist"


def test_a_folder_of_too_many_files_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("overton.files.texts._MAX_FILES", 2)
    assert refused(filled(tmp_path, "a.jsonl", "b.jsonl", "c.jsonl")) == "contains more than 2 files"


def test_a_path_that_no_system_can_open_is_a_problem(tmp_path: Path) -> None:
    assert "cannot be read: File name too long" in refused(tmp_path / ("x" * 5000))
    assert text_beside(tmp_path / ("x" * 5000), "positions.csv") is None


def test_a_folder_that_came_with_a_package_is_read_from_its_archive(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "packed.zip", "w") as archive:
        archive.writestr("starter/b.jsonl", "{}\n")
        archive.writestr("starter/a.jsonl", '\n{"id": 1}\n')
        archive.writestr("starter/table.csv", "a,b\n1,\n")
    folder: Any = zipfile.Path(tmp_path / "packed.zip", "starter/")
    first, second = texts_at(folder, suffixes=(".jsonl",))
    assert list(first.lines()) == [(2, '{"id": 1}')]
    assert second.read() == "{}\n"
    table = text_beside(folder, "table.csv")
    assert table is not None
    assert (table.columns(), table.table().rows()) == (["a", "b"], [("1", None)])


def test_lines_are_numbered_and_those_that_cannot_be_used_are_problems(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    file.write_bytes(b"\xef\xbb\xbfone\r\n\n \n\xffx\n" + b"y" * 10 + b"\n" + b"z" * 11 + b"\nlost\n")
    assert list(ItemFile(file, largest=10).lines()) == [
        (1, "one"),
        (4, Problem(str(file), "line 4, byte 0", "is not UTF-8 (byte 0xff); save the file as UTF-8")),
        (5, Problem(str(file), "line 5", "is longer than 10 bytes")),
    ]
    ((number, problem),) = ItemFile(tmp_path / "none.jsonl").lines()
    assert number == 1
    assert problem == Problem(str(tmp_path / "none.jsonl"), "", "cannot be read: No such file or directory")


@pytest.mark.parametrize(
    ("content", "key", "reason"),
    [
        (b"a\xff", "byte 1", "is not UTF-8 (byte 0xff); save the file as UTF-8"),
        (b"\xef\xbb\xbf\xff", "byte 3", "is not UTF-8 (byte 0xff); save the file as UTF-8"),
        (b"x" * 11, "", "is larger than 10 bytes"),
    ],
)
def test_an_unreadable_file_is_reported(tmp_path: Path, content: bytes, key: str, reason: str) -> None:
    (tmp_path / "a").write_bytes(content)
    with pytest.raises(InputError) as error:
        ItemFile(tmp_path / "a", largest=10).read()
    assert error.value.problems == [Problem(str(tmp_path / "a"), key, reason)]


def test_neighbouring_file_is_sought_in_the_folder_and_around_it(tmp_path: Path) -> None:
    inner = filled(tmp_path / "inner", "a.jsonl")
    for path in (inner, inner / "a.jsonl"):
        assert text_beside(path, "more.csv") is None
    filled(tmp_path, "more.csv")
    for path in (inner, inner / "a.jsonl"):
        assert text_beside(path, "more.csv").name == str(tmp_path / "more.csv")  # type: ignore[union-attr]
    filled(inner, "more.csv")
    for path in (inner, inner / "a.jsonl"):
        assert text_beside(path, "more.csv").name == str(inner / "more.csv")  # type: ignore[union-attr]


class Thing(msgspec.Struct):
    id: str


def test_objects_are_written_whole_or_not_at_all(tmp_path: Path) -> None:
    file = write_objects([Thing("a"), Thing("b")], tmp_path / "new" / "things.jsonl")
    assert file.read_text() == '{"id":"a"}\n{"id":"b"}\n'
    with pytest.raises(InputError, match="exists already; nothing is ever overwritten"):
        write_objects([], file)
    with pytest.raises(TypeError):
        write_objects([Thing("c"), Thing(object())], file, replace=True)  # type: ignore[arg-type]
    assert file.read_text() == '{"id":"a"}\n{"id":"b"}\n'
    assert [one.name for one in file.parent.iterdir()] == ["things.jsonl"]
    with pytest.raises(RunError, match="cannot be created"):
        write_objects([], file / "below.jsonl")
