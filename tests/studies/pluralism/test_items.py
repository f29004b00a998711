"""Threads and reference viewpoints from JSON lines: all problems at once, each with its place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from overton.errors import InputError
from overton.runs.items import check_items, read_items, write_items
from overton.studies.pluralism import STUDY
from overton.studies.pluralism.references import REFERENCING

COMMENT = {"id": "c1", "text": "Yes.", "votes": -3}
THREAD = {"id": "t-1", "community": "AskEconomics", "title": "Free buses?", "text": "", "comments": [COMMENT]}
VIEW = {"id": "v1", "summary": "Buses should be free.", "votes": 4, "comments": ["c1"], "opinions": 2}
REFERENCE = {key: THREAD[key] for key in ("id", "community", "title", "text")} | {
    "viewpoints": [VIEW],
    "method": "hand-made",
}


def written(path: Path, *lines: Any) -> Path:
    path.write_text("".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines), "utf-8")
    return path


def test_threads_are_read_as_they_were_written(tmp_path: Path) -> None:
    file = written(tmp_path / "x.jsonl", THREAD, "", {**THREAD, "id": "t-2"})
    threads = read_items(REFERENCING, file)
    assert [thread.id for thread in threads] == ["t-1", "t-2"]
    assert (threads[0].text, threads[0].comments[0].votes) == ("", -3)
    assert read_items(REFERENCING, write_items(REFERENCING, threads, tmp_path / "made")) == threads
    assert read_items(REFERENCING, tmp_path / "made") == threads  # the folder, by its dataset's name


def test_references_are_read_as_they_were_written(tmp_path: Path) -> None:
    (reference,) = read_items(STUDY, written(tmp_path / "x.jsonl", REFERENCE))
    assert (reference.method, reference.viewpoints[0].comments) == ("hand-made", ("c1",))
    assert read_items(STUDY, write_items(STUDY, [reference], tmp_path / "made")) == [reference]


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    threads = read_items(REFERENCING, written(tmp_path / "x.jsonl", THREAD))
    with pytest.raises(InputError, match="exists already"):
        write_items(REFERENCING, threads, tmp_path / "x.jsonl")
    write_items(REFERENCING, threads, tmp_path / "x.jsonl", replace=True)
    assert not list(tmp_path.glob(".*"))


def test_all_problems_are_named_at_once_with_line_and_key(tmp_path: Path) -> None:
    bad = {**THREAD, "id": "a b", "title": " ", "karma": 1, "comments": [{**COMMENT, "votes": 1.5}, {"id": "c1"}, 3]}
    file = written(tmp_path / "x.jsonl", bad, "{", THREAD, THREAD, "[]")
    with pytest.raises(InputError) as error:
        read_items(REFERENCING, file)
    found = {(problem.key, problem.reason) for problem in error.value.problems}
    keys = {key for key, _ in found}
    assert {
        "line 1, id",
        "line 1, title",
        "line 1, 'karma'",
        "line 1, comments[0].votes",
        "line 1, comments[1].text",
        "line 1, comments[1].votes",
        "line 1, comments[2]",
        "line 2, column 2",
        "line 4, id",
        "line 5",
    } == keys
    assert ("line 4, id", "'t-1' is already used in line 3") in found
    assert ("line 1, comments[0].votes", "is 1.5, not a whole number below a million millions") in found


@pytest.mark.parametrize(
    ("change", "key", "reason"),
    [
        ({"comments": []}, "comments", "is empty"),
        ({"comments": None}, "comments", "is null, not a list"),
        ({"comments": [COMMENT, COMMENT]}, "comments[1].id", "'c1' is already in this thread"),
        ({"comments": [{**COMMENT, "votes": True}]}, "comments[0].votes", "is true or false, not a whole number"),
        ({"comments": [{**COMMENT, "votes": 10**13}]}, "comments[0].votes", "is 10000000000000, not a whole"),
        ({"comments": [{**COMMENT, "author": "x"}]}, "comments[0].'author'", "is not a key of this layout"),
        ({"text": None}, "text", "is null, not a text"),
        ({"text": "a\u0000b"}, "text", "contains the control character U+0000"),
        ({"id": "../x"}, "id", "may contain only the letters"),
        ({"id": ".x"}, "id", "may contain only the letters"),
    ],
)
def test_problems_of_a_thread_are_reported(tmp_path: Path, change: Any, key: str, reason: str) -> None:
    (finding,) = check_items(REFERENCING, written(tmp_path / "x.jsonl", {**THREAD, **change}))
    assert finding.key == f"line 1, {key}"
    assert reason in finding.reason


@pytest.mark.parametrize(
    ("change", "key", "reason"),
    [
        ({"viewpoints": []}, "viewpoints", "is empty"),
        ({"method": ""}, "method", "is empty"),
        ({"viewpoints": [{**VIEW, "opinions": 0}]}, "viewpoints[0].opinions", "must be 1 or more"),
        ({"viewpoints": [{**VIEW, "comments": ["c1", "c1"]}]}, "viewpoints[0].comments", "names a comment twice"),
        ({"viewpoints": [{**VIEW, "comments": [1]}]}, "viewpoints[0].comments[0]", "is a number, not a text"),
        ({"viewpoints": [VIEW, VIEW]}, "viewpoints[1].id", "is already"),
        ({"viewpoints": [{**VIEW, "summary": None}]}, "viewpoints[0].summary", "is null"),
    ],
)
def test_problems_of_a_reference_set_are_reported(tmp_path: Path, change: Any, key: str, reason: str) -> None:
    (finding,) = check_items(STUDY, written(tmp_path / "x.jsonl", {**REFERENCE, **change}))
    assert finding.key == f"line 1, {key}"
    assert reason in finding.reason


def test_threads_without_viewpoints_are_distinguished_from_broken_ones(tmp_path: Path) -> None:
    (finding,) = check_items(STUDY, written(tmp_path / "x.jsonl", THREAD))
    assert "items references" in finding.reason


def test_a_hand_made_viewpoint_may_name_no_comment(tmp_path: Path) -> None:
    line = {**REFERENCE, "viewpoints": [{**VIEW, "comments": []}]}
    assert read_items(STUDY, written(tmp_path / "x.jsonl", line))[0].viewpoints[0].comments == ()


def test_empty_paths_are_errors(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "journal.db").touch()
    (tmp_path / "run" / "items.jsonl").write_text("{}")
    for path, reason in (
        (tmp_path / "none.jsonl", "cannot be read"),
        (written(tmp_path / "empty.jsonl"), "contains no threads"),
        (tmp_path / "run", "is a run folder without threads.jsonl"),
    ):
        with pytest.raises(InputError, match=reason):
            read_items(REFERENCING, path)


def test_several_files_of_a_folder_are_read_together(tmp_path: Path) -> None:
    written(tmp_path / "b.jsonl", THREAD)
    written(tmp_path / "a.jsonl", {**THREAD, "id": "t-0"})
    assert [thread.id for thread in read_items(REFERENCING, tmp_path)] == ["t-0", "t-1"]
    written(tmp_path / "c.jsonl", THREAD)
    with pytest.raises(InputError, match=r"is already used in .*b.jsonl, line 1"):
        read_items(REFERENCING, tmp_path)


def test_a_line_without_end_is_not_read_whole(tmp_path: Path) -> None:
    file = tmp_path / "x.jsonl"
    file.write_bytes(b'{"id": "' + b"x" * 5_000_001 + b'"}\n')
    with pytest.raises(InputError, match="is longer than"):
        read_items(REFERENCING, file)
