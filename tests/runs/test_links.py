"""The maker of a run folder must not choose what else is read or written: nothing in it may be a link."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import overton
from overton.engine import Limits
from overton.errors import RunError
from overton.runs.folder import check_formats, read_manifest, stored_items
from overton.runs.items import read_items
from overton.studies.open_mindedness import STUDY, Options

OFTEN = ("manifest.json", "journal.db", "records.parts/0", ".records.new")
"""Those tested with every change; the others take a minute."""

NAMES = [
    "manifest.json",
    "items.jsonl",
    "journal.db",
    "journal.db-wal",
    "journal.db-shm",
    "journal.lock",
    "records.parquet",
    "records.parts",
    "records.parts/0",
    "pages.warc.gz",
    "agreement.json",
    "report.html",
    ".manifest.json.new",
    ".records.new",
]


def linked(run: Path, name: str, outside: Path) -> None:
    """Something in the run is a link to the outside, with the same content if there was any."""
    path = run / name
    path.parent.mkdir(exist_ok=True)
    if path.is_file():
        outside.write_bytes(path.read_bytes())
        path.unlink()
    path.symlink_to(outside)


@pytest.mark.parametrize(
    "name", [name if name in OFTEN else pytest.param(name, marks=pytest.mark.long) for name in NAMES]
)
def test_nothing_is_done_with_a_folder_in_which_anything_is_a_link(runs: Any, endpoint: Any, name: str) -> None:
    runs.start(limits=Limits(calls=9))
    run, outside = runs.folder / "run", runs.folder / "outside"
    outside.write_bytes(b"years of work")
    linked(run, name, outside)
    content, before = outside.read_bytes(), len(endpoint.asked)
    ways: list[Callable[[], object]] = [
        lambda: runs.resume(limits=Limits(calls=99)),
        lambda: runs.extend(limits=Limits(calls=99), options=Options(trials=2)),
        lambda: overton.resume(run),
        lambda: overton.extend(run, trials=2),
        lambda: overton.report([run]),
        lambda: overton.analyze("open-mindedness", run),
        lambda: overton.export_run(run, out=runs.folder / "logs"),
        lambda: read_items(STUDY, run),
        lambda: read_manifest(run),
    ]
    for way in ways:
        with pytest.raises(RunError, match="is a symbolic link, which is not followed"):
            way()
    assert outside.read_bytes() == content
    assert len(endpoint.asked) == before


@pytest.mark.parametrize("name", ["manifest.json", "items.jsonl"])
def test_a_link_that_comes_later_is_not_followed_to_read(runs: Any, name: str) -> None:
    runs.start(limits=Limits(calls=9))
    run = runs.folder / "run"
    linked(run, name, runs.folder / "outside")
    with pytest.raises(RunError, match="symbolic link"):
        check_formats(run) if name == "manifest.json" else stored_items(run, STUDY.items.kind)


def test_a_link_that_comes_later_is_not_followed_to_write(runs: Any) -> None:
    runs.start(limits=Limits(calls=9))
    run, outside = runs.folder / "run", runs.folder / "outside"
    outside.write_bytes(b"years of work")

    def later(progress: Any) -> None:
        for name in ("manifest.json", "records.parquet"):
            if not (run / name).is_symlink():
                linked(run, name, outside)
                outside.write_bytes(b"years of work")

    assert runs.resume(limits=Limits(calls=20), watch=later).spent.requests == 20
    assert outside.read_bytes() == b"years of work"
    assert not (run / "manifest.json").is_symlink()
    assert not (run / "records.parquet").is_symlink()


def test_a_pipe_in_a_folder_is_refused_without_waiting_for_it(runs: Any) -> None:
    runs.start(limits=Limits(calls=9))
    os.mkfifo(runs.folder / "run" / "agreement.json")
    with pytest.raises(RunError, match="neither a file nor a folder"):
        runs.resume()


def test_the_folder_itself_may_be_named_by_a_link(runs: Any) -> None:
    runs.start(limits=Limits(calls=9))
    (runs.folder / "latest").symlink_to(runs.folder / "run")
    assert runs.resume("latest", limits=Limits(calls=20)).spent.requests == 20


def test_a_folder_of_items_outside_a_run_may_hold_links(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text('{"name": "some package"}')
    (tmp_path / "link").symlink_to(tmp_path)
    check_formats(tmp_path)


def test_labels_are_not_stored_in_a_folder_with_a_link(runs: Any) -> None:
    runs.start(limits=Limits(calls=9))
    linked(runs.folder / "run", "labels", runs.folder / "outside")
    with pytest.raises(RunError, match="symbolic link"):
        overton.judge.agreement("sheet.csv", run=runs.folder / "run")
    assert not (runs.folder / "outside").exists()
