from __future__ import annotations

import gzip
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from overton.corpora.forum.unpacking import BLOCK, Damaged, unpack
from overton.errors import InputError

Pack = Callable[[bytes], bytes]
DATA = b"".join(b"%d, a line of some length\n" % number for number in range(40_000))

packers = pytest.mark.parametrize("pack", [bytes, zstandard.ZstdCompressor().compress, gzip.compress])


def kept(path: Path) -> tuple[bytes, str]:
    """What is read before damage, and what the damage is, if any."""
    found = b""
    try:
        for block in unpack(path):
            assert len(block) <= BLOCK
            found += block
    except Damaged as damage:
        return found, str(damage)
    return found, ""


@packers
def test_a_file_is_unpacked_by_what_it_is_not_by_its_name(pack: Pack, plain_dump: Callable[..., Path]) -> None:
    assert kept(plain_dump(pack(DATA), "dump.txt")) == (DATA, "")


@packers
def test_an_empty_file_has_no_bytes(pack: Pack, plain_dump: Callable[..., Path]) -> None:
    assert kept(plain_dump(pack(b""))) == (b"", "")


@pytest.mark.parametrize("pack", [zstandard.ZstdCompressor().compress, gzip.compress])
def test_frames_that_follow_each_other_are_read_as_one(pack: Pack, plain_dump: Callable[..., Path]) -> None:
    assert kept(plain_dump(pack(DATA[:1000]) + pack(b"") + pack(DATA[1000:]))) == (DATA, "")


def test_a_window_of_two_gibibytes_is_unpacked(long_window: Pack, plain_dump: Callable[..., Path]) -> None:
    with pytest.raises(zstandard.ZstdError):
        zstandard.ZstdDecompressor().decompressobj().decompress(long_window(DATA))
    assert kept(plain_dump(long_window(DATA))) == (DATA, "")


def test_frames_to_be_skipped_are_skipped(plain_dump: Callable[..., Path]) -> None:
    skippable = b"\x5a\x2a\x4d\x18" + (5).to_bytes(4, "little") + b"other"
    assert kept(plain_dump(skippable + zstandard.compress(DATA))) == (DATA, "")


@pytest.mark.parametrize(
    ("pack", "name"), [(zstandard.ZstdCompressor().compress, "zstandard"), (gzip.compress, "gzip")]
)
def test_what_a_cut_file_still_holds_is_read_and_the_cut_is_told(
    pack: Pack, name: str, plain_dump: Callable[..., Path]
) -> None:
    packed = pack(DATA)
    found, damage = kept(plain_dump(packed[: len(packed) // 2]))
    assert damage == f"the {name} data ends early"
    assert DATA.startswith(found)
    assert len(found) > len(DATA) // 8


@pytest.mark.parametrize(
    ("pack", "name"), [(zstandard.ZstdCompressor().compress, "zstandard"), (gzip.compress, "gzip")]
)
def test_bytes_after_the_end_are_told_as_damage(pack: Pack, name: str, plain_dump: Callable[..., Path]) -> None:
    assert kept(plain_dump(pack(DATA) + b"no frame")) == (DATA, f"the {name} data is damaged")


def test_a_bomb_is_unpacked_a_little_at_a_time(plain_dump: Callable[..., Path]) -> None:
    packer = zstandard.ZstdCompressor(level=1).compressobj()
    bomb = b"".join(packer.compress(bytes(1 << 20)) for _ in range(300)) + packer.flush()
    path = plain_dump(bomb)
    tracemalloc.start()
    try:
        size = sum(len(block) for block in unpack(path))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert size == 300 << 20
    assert len(bomb) < 50_000
    assert peak < 150 << 20


def test_a_byte_order_mark_is_left_out(plain_dump: Callable[..., Path]) -> None:
    assert kept(plain_dump(b"\xef\xbb\xbf" + DATA))[0] == DATA


@pytest.mark.parametrize(("begin", "name"), [(b"BZh91AY", "bzip2"), (b"\xfd7zXZ\x00", "xz"), (b"PK\x03\x04aa", "zip")])
def test_other_packings_are_named(begin: bytes, name: str, plain_dump: Callable[..., Path]) -> None:
    with pytest.raises(InputError, match=f"packed with {name}.*unpack it first"):
        kept(plain_dump(begin + DATA))


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"missing\.zst: cannot be read: No such file"):
        kept(tmp_path / "missing.zst")
