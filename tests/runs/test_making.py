"""A run's folder exists completely or not at all, whenever its process is killed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import msgspec
import pytest

from overton.errors import RunError, RunExists
from overton.files.atomic import new_folder
from overton.runs.folder import Manifest, create_folder, read_manifest, stored_items


class Item(msgspec.Struct):
    id: str


ITEMS = [Item(str(number)) for number in range(3)]
MANIFEST = Manifest("a-study", 0, {}, {}, "", {}, "2026-01-01T00:00:00+00:00", "0")


def made(run: Path) -> None:
    create_folder(run, MANIFEST, ITEMS)


def test_a_folder_killed_at_any_step_is_whole_or_absent_and_remains_are_cleared(processes: Any, tmp_path: Path) -> None:
    run, steps, left = tmp_path / "runs" / "run", 0, 0
    for steps in count():
        if not processes.killed_at(steps, lambda: made(run)):
            break
        if run.exists():
            assert read_manifest(run) == MANIFEST
            assert stored_items(run, Item) == ITEMS
            for path in run.iterdir():
                path.unlink()
            run.rmdir()
        left = max(left, len(list(run.parent.iterdir())) if run.parent.exists() else 0)
    assert steps > 20
    assert 1 <= left <= 2  # a folder and its lock: nothing piles up
    assert [path.name for path in run.parent.iterdir()] == ["run"]
    assert sorted(path.name for path in run.iterdir()) == ["items.jsonl", "manifest.json"]


def test_a_folder_that_another_process_makes_is_left_alone_and_the_second_is_refused(
    processes: Any, tmp_path: Path
) -> None:
    run = tmp_path / "run"

    def slowly() -> None:
        with new_folder(run) as fresh:
            (fresh / "ours").write_bytes(b"")
            assert processes.run(lambda: made(run)) == 0
            assert (fresh / "ours").exists()

    with pytest.raises(RunExists, match="exists already"):
        slowly()
    assert [path.name for path in tmp_path.iterdir()] == ["run"]
    assert stored_items(run, Item) == ITEMS


def test_only_folders_of_ours_are_cleared_and_no_link_is_followed(tmp_path: Path) -> None:
    thesis = tmp_path / "thesis"
    thesis.mkdir()
    (thesis / "thesis.tex").write_text("years of work")
    (tmp_path / ".run.0123456789ab.new").symlink_to(thesis)
    (tmp_path / ".run.0123456789ab.lock").write_bytes(b"")
    (tmp_path / ".run.aaaaaaaaaaaa.lock").symlink_to(thesis / "thesis.tex")
    (tmp_path / ".run.new").mkdir()
    made(tmp_path / "run")
    assert (thesis / "thesis.tex").read_text() == "years of work"
    assert (tmp_path / ".run.new").is_dir()
    assert (tmp_path / ".run.aaaaaaaaaaaa.lock").is_symlink()


def test_a_full_disk_is_reported_and_leaves_nothing_behind(processes: Any, tmp_path: Path) -> None:
    def work() -> int:
        with pytest.raises(RunError, match=r"items\.jsonl cannot be written"):
            create_folder(tmp_path / "run", MANIFEST, [Item("x" * 5_000)] * 10)
        return 3

    assert processes.with_room_for(20_000, work) == 3
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("below", ["file/run", "file/further/run"])
def test_a_folder_that_cannot_be_made_is_reported(tmp_path: Path, below: str) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(RunError, match=r"cannot be created: .*file is not a folder"):
        made(tmp_path / below)


def test_an_interrupted_folder_leaves_nothing(tmp_path: Path) -> None:
    def items() -> Iterator[Any]:
        yield ITEMS[0]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        create_folder(tmp_path / "run", MANIFEST, items())
    assert list(tmp_path.iterdir()) == []


def test_only_a_run_can_be_resumed(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    for name in ("folder", "link"):
        with pytest.raises(RunExists, match=r"exists already: choose another --out$"):
            made(tmp_path / name)
    made(tmp_path / "run")
    with pytest.raises(RunExists, match=r"or resume the run in it: overton resume \S+$"):
        made(tmp_path / "run")
    assert not os.path.lexists(tmp_path / "nowhere")
