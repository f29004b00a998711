"""Zip archives from anyone: a member comes out as it went in, or is refused with its name, within little memory."""

from __future__ import annotations

import io
import struct
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard
from damage import damaged
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from overton.errors import Unreadable
from overton.untrusted import Limit, Zip

LIMIT = Limit(1_000_000)
MEMBERS = {"a/head.json": b'{"a": 1}' * 40, "b": b"", "c": bytes(range(256)) * 20}


def packed(members: dict[str, bytes], how: int = zipfile.ZIP_DEFLATED) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", how) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return made.getvalue()


def by_zstandard(content: bytes) -> bytes:
    """An archive as Inspect writes it: one member, method 93, in two frames."""
    frames = b"".join(map(zstandard.ZstdCompressor().compress, (content[:9], content[9:])))
    made = bytearray(packed({"x": frames}, zipfile.ZIP_STORED))
    whole = packed({"x": content}, zipfile.ZIP_STORED)
    check, size = whole[14:18], struct.pack("<I", len(content))
    begin = made.index(b"PK\x01\x02")
    made[8:10] = made[begin + 10 : begin + 12] = struct.pack("<H", 93)
    made[begin + 16 : begin + 20], made[begin + 24 : begin + 28] = check, size
    return bytes(made)


@pytest.mark.parametrize("how", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_members_come_out_as_they_went_in(how: int, tmp_path: Path) -> None:
    (tmp_path / "z").write_bytes(packed(MEMBERS, how))
    with Zip(tmp_path / "z", LIMIT) as archive:
        assert {name: archive.read(name) for name in archive.names()} == MEMBERS
        assert archive.read("other") is None


def test_zstandard_is_read(tmp_path: Path) -> None:
    (tmp_path / "z").write_bytes(by_zstandard(MEMBERS["c"]))
    with Zip(tmp_path / "z", LIMIT) as archive:
        assert archive.read("x") == MEMBERS["c"]


def test_of_members_with_one_name_the_last_counts(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "z", "w") as archive:
        archive.writestr("x", "first")
        with pytest.warns(UserWarning, match="Duplicate name"):
            archive.writestr("x", "second")
    with Zip(tmp_path / "z", LIMIT) as read:
        assert read.read("x") == b"second"


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_damaged_archive_gives_the_original_or_unreadable(data: st.DataObject, tmp_path: Path) -> None:
    real = data.draw(st.sampled_from([packed(MEMBERS), packed(MEMBERS, zipfile.ZIP_STORED), by_zstandard(b"x" * 99)]))
    (tmp_path / "z").write_bytes(data.draw(damaged(real)))
    try:
        with Zip(tmp_path / "z", LIMIT) as archive:
            for name in archive.names():
                archive.read(name)
    except (Unreadable, OSError):
        return


def bomb(members: dict[str, bytes]) -> bytes:
    return packed({"x": bytes(50_000_000)})


def liar(members: dict[str, bytes]) -> bytes:
    """The directory says that the member is short."""
    made = bytearray(bomb(members))
    begin = made.index(b"PK\x01\x02")
    made[begin + 24 : begin + 28] = struct.pack("<I", 100)
    return bytes(made)


def encrypted(members: dict[str, bytes]) -> bytes:
    made = bytearray(packed({"x": b"secret"}))
    begin = made.index(b"PK\x01\x02")
    made[6] |= 1
    made[begin + 8] |= 1
    return bytes(made)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (bomb, "x: is larger than 1,000,000 bytes once decompressed"),
        (liar, "x: does not match the archive's directory"),
        (encrypted, "x: is encrypted"),
        (lambda members: packed({"x": b"x" * 99}, zipfile.ZIP_LZMA), "x: is compressed by the unsupported method 14"),
        (lambda members: b"no archive", "is not a complete zip archive"),
    ],
    ids=["bomb", "liar", "encrypted", "lzma", "text"],
)
def test_refusing_an_archive_takes_little_memory_and_gives_the_reason(
    make: Callable[[dict[str, bytes]], bytes], said: str, tmp_path: Path
) -> None:
    (tmp_path / "z").write_bytes(make(MEMBERS))
    tracemalloc.start()
    try:
        with pytest.raises(Unreadable) as refused, Zip(tmp_path / "z", LIMIT) as archive:
            archive.read("x")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert str(refused.value).startswith(said)
    assert peak < 4 << 20


def test_a_directory_without_end_is_not_read(tmp_path: Path) -> None:
    body = bytes(1 << 25)
    end = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 1, 1, len(body), 0, 0)
    (tmp_path / "z").write_bytes(body + end)
    with pytest.raises(Unreadable, match="has a directory of more than"), Zip(tmp_path / "z", LIMIT):
        pass
