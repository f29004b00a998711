"""Files exist completely or not at all, and nothing is left next to them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from overton.errors import RunError
from overton.files.atomic import replacing, write_atomic


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_file_takes_the_place_of_an_earlier_one(tmp_path: Path) -> None:
    assert write_atomic(tmp_path / "file", [b"one"]) == tmp_path / "file"
    write_atomic(tmp_path / "file", iter([b"t", b"wo"]))
    assert contents(tmp_path) == {"file": b"two"}


def test_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    def pieces() -> Iterator[bytes]:
        yield b"new"
        raise LookupError

    write_atomic(tmp_path / "file", [b"old"])
    with pytest.raises(LookupError):
        write_atomic(tmp_path / "file", pieces())
    assert contents(tmp_path) == {"file": b"old"}


def test_a_link_in_its_place_is_replaced_and_not_followed(tmp_path: Path) -> None:
    (tmp_path / "outside").write_bytes(b"kept")
    (tmp_path / "file").symlink_to(tmp_path / "outside")
    write_atomic(tmp_path / "file", [b"new"])
    assert contents(tmp_path) == {"outside": b"kept", "file": b"new"}
    assert not (tmp_path / "file").is_symlink()


@pytest.mark.parametrize("mode", [0o600, 0o666])
def test_it_has_the_mode_asked_for_but_for_the_users_mask(tmp_path: Path, mode: int) -> None:
    before = os.umask(0o027)
    try:
        write_atomic(tmp_path / "file", [b""], mode=mode)
    finally:
        os.umask(before)
    assert (tmp_path / "file").stat().st_mode & 0o777 == mode & ~0o027


def test_unwritable_file_is_reported_with_its_path(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"kept")
    (tmp_path / "folder").mkdir()
    for path, why in (
        (tmp_path / "file" / "below", "Not a directory"),
        (tmp_path / "missing" / "file", "No such file or directory"),
        (tmp_path / "folder", "is not a file"),
        (tmp_path / ("long" * 100), "File name too long"),
        (Path("/dev/full"), "is not a file"),
    ):
        with pytest.raises(RunError, match=f"{path} cannot be written: .*{why}"):
            write_atomic(path, [b"new"])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder"]


def test_a_full_disk_is_reported_and_leaves_nothing_behind(processes: Any, tmp_path: Path) -> None:
    write_atomic(tmp_path / "file", [b"old"])

    def work() -> int:
        with pytest.raises(RunError, match="file cannot be written: File too large"):
            write_atomic(tmp_path / "file", [b"x" * 1_000] * 100)
        return 3

    assert processes.with_room_for(50_000, work) == 3
    assert contents(tmp_path) == {"file": b"old"}


def test_killed_write_leaves_a_whole_file_and_the_next_removes_leftovers(processes: Any, tmp_path: Path) -> None:
    file, steps = tmp_path / "file", 0
    for steps in count():
        write_atomic(file, [b"old"])
        assert contents(tmp_path) == {"file": b"old"}
        if not processes.killed_at(steps, lambda: write_atomic(file, [b"new"])):
            break
        assert file.read_bytes() in (b"old", b"new")
    assert steps > 5
    assert contents(tmp_path) == {"file": b"new"}


def test_files_of_living_processes_and_other_names_are_kept(processes: Any, tmp_path: Path) -> None:
    theirs = [".file.new", ".file.0123456789ab.old", ".file.0123456789AB.new", ".other.0123456789ab.new"]
    for name in theirs:
        (tmp_path / name).write_bytes(b"")
    (tmp_path / ".file.0123456789ab.new").symlink_to(tmp_path / ".file.new")
    with replacing(tmp_path / "file") as (fresh, file):
        file.write(b"slow")
        assert processes.run(lambda: write_atomic(tmp_path / "file", [b"quick"])) == 0
        assert fresh.exists()
    assert contents(tmp_path).pop("file") == b"slow"
    assert {path.name for path in tmp_path.iterdir()} == {"file", ".file.0123456789ab.new", *theirs}
