from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from overton.cli.main import app
from overton.errors import InputError

GOOD = {"url": "https://a.test/", "title": "Buses", "text": "Night buses are full."}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "pages"
    made.mkdir()
    (made / "a.jsonl").write_text(json.dumps(GOOD) + "\n")
    (made / "scan.pdf").write_bytes(b"%PDF-")
    return made


def test_a_folder_is_indexed_and_searched(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "index"
    indexed = CliRunner().invoke(app, ["corpus", "index", str(folder), "--out", str(out)])
    assert indexed.exit_code == 0
    assert indexed.stdout.strip() == str(out)
    assert "skipped: 1 files of other kinds (.pdf)" in indexed.stderr
    assert f"1 pages; use them with --search index/{out}" in indexed.stderr
    found = CliRunner().invoke(app, ["corpus", "search", str(out), "buses", "--json"])
    assert [(hit["url"], hit["title"]) for hit in json.loads(found.stdout)] == [("https://a.test/", "Buses")]
    shown = CliRunner().invoke(app, ["corpus", "search", str(out), "buses"])
    assert shown.stdout.splitlines()[:2] == ["1. Buses", "   https://a.test/"]


def test_the_starter_pages_can_be_searched() -> None:
    found = CliRunner().invoke(app, ["corpus", "search", "starter", "schools", "--top", "2", "--json"])
    assert len(json.loads(found.stdout)) == 2


def test_nothing_is_written_where_a_page_cannot_be_read(folder: Path, tmp_path: Path) -> None:
    (folder / "b.jsonl").write_text("{\n" + json.dumps({"url": "u:1"}) + "\n")
    out = tmp_path / "index"
    refused = CliRunner().invoke(app, ["corpus", "index", str(folder), "--out", str(out)])
    assert isinstance(refused.exception, InputError)
    assert "b.jsonl: line 1: is not JSON" in str(refused.exception)
    assert "b.jsonl: line 2, text: is missing" in str(refused.exception)
    assert [path.name for path in tmp_path.iterdir()] == ["pages"]


def test_lenient_indexing_lists_unreadable_pages_and_skips_them(folder: Path, tmp_path: Path) -> None:
    (folder / "b.txt").write_text("")
    done = CliRunner().invoke(app, ["corpus", "index", str(folder), "--out", str(tmp_path / "index"), "--lenient"])
    assert done.exit_code == 0
    assert "left out: b.txt: contains no text" in done.stderr


def test_an_existing_out_and_a_folder_without_pages_are_refused(folder: Path, tmp_path: Path) -> None:
    taken = CliRunner().invoke(app, ["corpus", "index", str(folder), "--out", str(folder)])
    assert "exists already" in str(taken.exception)
    (folder / "a.jsonl").unlink()
    empty = CliRunner().invoke(app, ["corpus", "index", str(folder), "--out", str(tmp_path / "index")])
    assert "contains no readable page" in str(empty.exception)
    assert [path.name for path in tmp_path.iterdir()] == ["pages"]
