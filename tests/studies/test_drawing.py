"""Labels fit, and different names stay different."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from overton.studies.charts.drawing import label_height, shortened, wrapped

NAMES = st.lists(st.text("ab/→ ", min_size=1, max_size=200), unique_by=lambda name: " ".join(name.split()))


@given(NAMES)
def test_different_names_stay_different(names: list[str]) -> None:
    for shown in (shortened(names), wrapped(names)):
        assert len(set(shown.values())) == len(names)


@given(NAMES)
def test_lines_are_no_longer_than_the_limit_unless_two_names_would_look_alike(names: list[str]) -> None:
    for name, shown in wrapped(names, 40).items():
        assert max(map(len, shown.split("\n"))) <= 40 or shown.replace("\n", " ") == " ".join(name.split())


def test_a_name_is_broken_where_it_has_spaces_and_cut_where_it_has_none() -> None:
    order = "claude-3-7-sonnet-20250219 → gpt-4.1-2025-04-14 → gemini-2.0-flash-001"
    assert wrapped([order])[order].split("\n") == [
        "claude-3-7-sonnet-20250219 →",
        "gpt-4.1-2025-04-14 →",
        "gemini-2.0-flash-001",
    ]
    word = "x" * 30 + "y" * 30
    assert wrapped([word]) == {word: "x" * 16 + "…" + "y" * 23}
    assert label_height(["one", "two\nlines"]) == 2 * label_height(["one"])
