from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overton.studies.stance_stability.protocol import cited_numbers


@pytest.mark.parametrize(
    ("answer", "numbers"),
    [
        ("It is so [1].", [1]),
        ("It is so [3][1], and [3] again.", [3, 1]),
        ("It is so [1, 3].", [1, 3]),
        ("It is so [ 1 ; 2 and 4 ].", [1, 2, 4]),
        ("It is so [2-4] and [6–7].", [2, 3, 4, 6, 7]),
        ("It is so 【1】【2†L5-L9】.", [1, 2]),
        ("It is so [^2] [Source 3] [sources 4, 5] [source 6, source 7].", [2, 3, 4, 5, 6, 7]),
        ("A link [1](https://a.example/1).", [1]),
        ("A range [9-2] that runs backwards.", [9, 2]),
        ("In [2019] and [0xFF], [a], [1a], [], [1,], (3), 4, ].", []),
        ("[1", []),
        ("", []),
    ],
)
def test_numbers_in_brackets_are_citations(answer: str, numbers: list[int]) -> None:
    assert cited_numbers(answer) == numbers


@given(st.text(alphabet="[]【】†, -–;^0123456789ando Source", max_size=300))
def test_any_text_is_read(answer: str) -> None:
    numbers = cited_numbers(answer)
    assert len(set(numbers)) == len(numbers)
    assert all(0 <= number <= 999 for number in numbers)


@pytest.mark.parametrize("answer", ["[1" + ", 1" * 50_000, "[" * 100_000, "[1-" * 50_000, "【1†" * 50_000])
def test_a_hostile_answer_is_read_in_no_time(answer: str) -> None:
    assert cited_numbers(answer) == []
