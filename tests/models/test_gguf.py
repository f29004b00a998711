"""Headers of GGUF files from anyone: read in little memory and time, or refused with a sentence."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from damage import damaged
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from overton.errors import InputError
from overton.models.gguf import check_gguf


def text(content: bytes) -> bytes:
    return struct.pack("<Q", len(content)) + content


def header(tensors: int, entries: int) -> bytes:
    return b"GGUF" + struct.pack("<IQQ", 3, tensors, entries)


def words(count: int, *content: bytes) -> bytes:
    return text(b"tokens") + struct.pack("<IIQ", 9, 8, count) + b"".join(map(text, content))


TENSOR = text(b"t") + struct.pack("<IQQIQ", 2, 4, 4, 0, 0)
REAL = header(1, 2) + text(b"a") + struct.pack("<If", 6, 1.0) + words(2, b"x", b"y") + TENSOR + bytes(64)


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_damaged_header_raises_only_input_errors(data: st.DataObject, tmp_path: Path) -> None:
    (tmp_path / "m.gguf").write_bytes(data.draw(damaged(REAL)))
    try:
        check_gguf(tmp_path / "m.gguf")
    except InputError as refused:
        found = {problem.place for problem in refused.problems}
    else:
        found = set()
    assert found <= {str(tmp_path / "m.gguf")}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (header(2**63, 0), "it claims to contain 9,223,372,036,854,775,808 tensors"),
        (header(0, 2**64 - 1), "its metadata claims 18,446,744,073,709,551,615 elements"),
        (header(0, 1) + words(2**60), "its metadata claims 1,152,921,504,606,846,976 elements"),
        (header(0, 1) + struct.pack("<Q", 2**62), "the file ends too early"),
        (header(0, 1) + text(b"a") + struct.pack("<IIQ", 9, 4, 2**62), "the file ends too early"),
    ],
    ids=["tensors", "entries", "words", "text", "array"],
)
def test_lengths_and_counts_that_lie_are_refused(content: bytes, said: str, tmp_path: Path) -> None:
    check_it = tmp_path / "m.gguf"
    check_it.write_bytes(content + bytes(100))
    with pytest.raises(InputError, match=said):
        check_gguf(check_it)


def test_whole_gguf_file_passes_the_check(tmp_path: Path) -> None:
    (tmp_path / "m.gguf").write_bytes(REAL)
    check_gguf(tmp_path / "m.gguf")
