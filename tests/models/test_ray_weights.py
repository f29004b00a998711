"""Weights on a node: used if present, sent once if not, and never mistaken for others."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from overton.errors import OvertonError
from overton.models import ray_weights
from overton.models.ray_weights import Shelf, Sought

CONTENT = bytes(range(256)) * 40


def sought(path: Path, content: bytes = CONTENT) -> Sought:
    return Sought(hashlib.sha256(content).hexdigest(), len(content), str(path))


def bring(to: Shelf, content: bytes = CONTENT, step: int = 3000) -> Path:
    for start in range(0, len(content), step):
        to.take(start, content[start : start + step])
    return to.finish()


def test_weights_come_in_pieces_and_are_found_from_then_on(tmp_path: Path) -> None:
    wanted = sought(tmp_path / "elsewhere")
    assert Shelf(wanted, tmp_path / "cache").found() is None
    path = bring(Shelf(wanted, tmp_path / "cache"))
    assert path.read_bytes() == CONTENT
    assert Shelf(wanted, tmp_path / "cache").found() == path
    assert sorted(one.suffix for one in path.parent.iterdir()) == [".gguf", ".json"]


def test_a_file_that_the_node_has_at_the_same_place_is_used_there(tmp_path: Path) -> None:
    shared = tmp_path / "shared.gguf"
    shared.write_bytes(CONTENT)
    assert Shelf(sought(shared), tmp_path / "cache").found() == shared


def test_it_is_read_through_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shared = tmp_path / "shared.gguf"
    shared.write_bytes(CONTENT)
    assert Shelf(sought(shared), tmp_path / "cache").found() == shared
    monkeypatch.setattr(ray_weights, "sha256_of", lambda path: pytest.fail("it was read again"))
    assert Shelf(sought(shared), tmp_path / "cache").found() == shared


def test_another_file_of_the_same_size_is_not_used(tmp_path: Path) -> None:
    shared = tmp_path / "shared.gguf"
    shared.write_bytes(CONTENT)
    assert Shelf(sought(shared), tmp_path / "cache").found() == shared
    shared.write_bytes(CONTENT[::-1])
    os.utime(shared, ns=(0, 0))
    assert Shelf(sought(shared), tmp_path / "cache").found() is None


def test_weights_with_another_hash_are_discarded(tmp_path: Path) -> None:
    wanted = sought(tmp_path / "elsewhere")
    with pytest.raises(OvertonError, match="their hash differs"):
        bring(Shelf(wanted, tmp_path / "cache"), CONTENT[::-1])
    assert not list((tmp_path / "cache").iterdir())


@pytest.mark.parametrize(("start", "piece"), [(1, b"ab"), (3, b"c"), (2, CONTENT)])
def test_pieces_that_do_not_follow_each_other_are_refused(tmp_path: Path, start: int, piece: bytes) -> None:
    node = Shelf(sought(tmp_path / "elsewhere"), tmp_path / "cache")
    node.take(0, b"ab")
    with pytest.raises(OvertonError, match="in pieces out of order"):
        node.take(start, piece)


def test_unusable_cache_folder_is_reported(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file is in the folder's place")
    with pytest.raises(OvertonError, match="weights cannot be stored in"):
        Shelf(sought(tmp_path / "elsewhere"), tmp_path / "cache").take(0, CONTENT)
