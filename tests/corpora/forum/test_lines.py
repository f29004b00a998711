from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from overton.corpora.forum.lines import whole_lines

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
