from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from overton.errors import InputError
from overton.retrieval.index import StoredPage
from overton.retrieval.page_files import FolderOfPages


def lines(*entries: Any) -> str:
    return "".join((entry if isinstance(entry, str) else json.dumps(entry)) + "\n" for entry in entries)


def read(folder: Path) -> tuple[list[StoredPage], list[str], FolderOfPages]:
    source = FolderOfPages(folder)
    return list(source.pages()), [str(problem) for problem in source.problems], source


def test_text_html_and_lines_are_pages(tmp_path: Path, pages: Any) -> None:
    (tmp_path / "sub dir").mkdir()
    (tmp_path / "sub dir" / "note.txt").write_text("A note.\r\n\r\n\r\nIts end.")
    (tmp_path / "page.html").write_text(pages.article())
    (tmp_path / "some.jsonl").write_text(
        lines({"url": "https://a.test/", "text": "One.", "title": "A\x1b b", "date": "2020-01-02", "more": 1}, "")
    )
    found, problems, _ = read(tmp_path)
    assert problems == []
    assert [page.url for page in found] == ["file:///page.html", "https://a.test/", "file:///sub%20dir/note.txt"]
    assert (found[0].title, found[0].date) == ("Night buses", "2021-03-04")
    assert found[1] == StoredPage("https://a.test/", "One.", "A b", "2020-01-02")
    assert found[2] == StoredPage("file:///sub%20dir/note.txt", "A note.\n\nIts end.", "note")


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("{", "line 2: is not JSON"),
        ("[1]", "line 2: is not an object"),
        ("[" * 100_000, "line 2: is not JSON: is nested too deeply"),
        ({"text": "x"}, "line 2, url: is missing"),
        ({"url": "u:1"}, "line 2, text: is missing"),
        ({"url": "u:1", "text": " "}, "line 2, text: is not text, or is empty"),
        ({"url": 7, "text": "x"}, "line 2, url: is not text, or is empty"),
        ({"url": "a b", "text": "x"}, "line 2, url: has spaces"),
        ({"url": "u:1", "text": "x", "date": "May 2020"}, "line 2, date: 'May 2020' is not written YYYY-MM-DD"),
        ({"url": "u:1", "text": "x", "title": 5}, "line 2, title: is not text"),
        ({"url": "https://a.test/", "text": "x"}, "line 2, url: is also the address of some.jsonl, line 1"),
    ],
)
def test_a_line_that_cannot_be_read_is_reported_and_left_out(line: Any, problem: str, tmp_path: Path) -> None:
    good = {"url": "https://a.test/", "text": "One."}
    (tmp_path / "some.jsonl").write_text(lines(good, line, {"url": "https://b.test/", "text": "Two."}))
    found, problems, _ = read(tmp_path)
    assert [page.url for page in found] == ["https://a.test/", "https://b.test/"]
    assert len(problems) == 1
    assert problems[0].startswith(f"some.jsonl: {problem}")


def test_a_line_that_is_not_utf_8_is_reported(tmp_path: Path) -> None:
    (tmp_path / "some.jsonl").write_bytes(b'{"url": "u:1", "text": "\xff"}\n')
    assert read(tmp_path)[1] == ["some.jsonl: line 1: is not JSON: is not UTF-8 (at byte 0)"]


def test_other_files_are_counted_and_hidden_ones_passed_over(tmp_path: Path) -> None:
    for name in ("a.pdf", "b.PDF", "Makefile", ".hidden.txt", "empty.txt"):
        (tmp_path / name).write_bytes(b"")
    found, problems, source = read(tmp_path)
    assert found == []
    assert source.skipped == {".pdf": 2, "no suffix": 1}
    assert problems == ["empty.txt: contains no text"]


def test_a_folder_that_is_not_there_says_so(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no such folder"):
        read(tmp_path / "nowhere")


def test_oversized_files_and_lines_are_skipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("overton.retrieval.page_files._FILE_LIMIT", 2**20)
    monkeypatch.setattr("overton.retrieval.page_files._LINE_LIMIT", 2**20)
    (tmp_path / "a.txt").write_text("a" * (2**20 + 1))
    (tmp_path / "b.jsonl").write_text(lines({"url": "u:1", "text": "x"}, {"url": "u:2", "text": "x" * 2**20}))
    found, problems, _ = read(tmp_path)
    assert [page.url for page in found] == ["u:1"]
    assert [problem.split(" is l")[0] for problem in problems] == ["a.txt:", "b.jsonl: line 2:"]
