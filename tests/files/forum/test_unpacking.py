from __future__ import annotations

import gzip
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from overton.errors import InputError
from overton.files.forum import BLOCK, Damaged, unpack, whole_lines

Pack = Callable[[bytes], bytes]
DATA = b"".join(b"%d, a line of some length\n" % number for number in range(40_000))

packers = pytest.mark.parametrize("pack", [bytes, zstandard.ZstdCompressor().compress, gzip.compress])


def kept(path: Path) -> tuple[bytes, str]:
    """The data before damage, and the damage, if any."""
    found = b""
    try:
        for block in unpack(path):
            assert len(block) <= BLOCK
            found += block
    except Damaged as damage:
        return found, str(damage)
    return found, ""


@packers
def test_file_is_unpacked_by_its_content_and_not_by_its_name(pack: Pack, plain_dump: Callable[..., Path]) -> None:
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
def test_truncated_file_is_read_as_far_as_possible_and_reported(
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
def test_bytes_after_the_end_are_reported_as_damage(pack: Pack, name: str, plain_dump: Callable[..., Path]) -> None:
    assert kept(plain_dump(pack(DATA) + b"no frame")) == (DATA, f"the {name} data is damaged")


def zstandard_bomb(mebibytes: int) -> bytes:
    packer = zstandard.ZstdCompressor(level=1).compressobj()
    return b"".join(packer.compress(bytes(1 << 20)) for _ in range(mebibytes)) + packer.flush()


def gzip_bomb(mebibytes: int) -> bytes:
    return gzip.compress(bytes(mebibytes << 20), 9)


@pytest.mark.parametrize("bomb", [zstandard_bomb, gzip_bomb])
def test_of_a_bomb_no_more_is_unpacked_than_a_dump_of_its_size_may_hold(
    bomb: Callable[[int], bytes], plain_dump: Callable[..., Path]
) -> None:
    packed = bomb(300)
    path, sizes = plain_dump(packed), []
    tracemalloc.start()
    try:
        with pytest.raises(Damaged, match="grows more than 400-fold"):
            sizes.extend(len(block) for block in unpack(path))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(packed) < 400_000
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


texts = st.lists(st.sampled_from([b"", b"a", b"bb", b"\r", b"a longer line"]), max_size=12).map(b"\n".join)


def cut(text: bytes, size: int) -> list[bytes]:
    return [text[start : start + size] for start in range(0, len(text), size)]


@given(texts, st.integers(1, 20))
def test_blocks_end_with_lines_and_hold_every_byte(text: bytes, size: int) -> None:
    found = list(whole_lines(cut(text, size), 1000, lambda number: None))
    assert b"".join(block for _, block in found) == text
    assert all(block.endswith(b"\n") for _, block in found[:-1])
    for number, block in found:
        before = b"".join(one for first, one in found if first < number)
        assert number == before.count(b"\n") + 1
        assert block


@given(texts, st.integers(1, 20), st.integers(1, 30), st.booleans())
def test_a_line_that_is_too_long_is_left_out_alone(text: bytes, size: int, place: int, last: bool) -> None:
    lines = text.split(b"\n")
    place = len(lines) if last else min(place, len(lines))
    lines.insert(place, b"x" * 200)
    skipped: list[int] = []
    found = b"".join(block for _, block in whole_lines(cut(b"\n".join(lines), size), 100, skipped.append))
    assert skipped == [place + 1]
    rest = [line for line in lines if len(line) < 200]
    assert [line for line in found.split(b"\n") if line] == [line for line in rest if line]


def test_lines_after_one_that_is_too_long_keep_their_numbers() -> None:
    found = list(whole_lines([b"a\n" + b"x" * 50, b"x" * 80, b"x\nb\n", b"c"], 100, lambda number: None))
    assert found == [(1, b"a\n"), (3, b"b\n"), (4, b"c")]
