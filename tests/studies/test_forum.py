from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overton.studies.forum import Comment, plain, seconds


def comment(parent_id: str | int | None) -> Comment:
    return Comment("c1", "t3_p1", parent_id, "NTA", 1735689600)


@pytest.mark.parametrize(("parent", "top"), [("t3_p1", True), (None, True), ("t1_c0", False), (123456, False)])
def test_a_comment_is_top_level_where_it_answers_the_post(parent: str | int | None, top: bool) -> None:
    assert comment(parent).top_level is top
    assert comment(parent).post == "p1"


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("Tom &amp; I, &lt;3 &gt; all", "Tom & I, <3 > all"),
        ("&amp;lt; stays escaped once", "&lt; stays escaped once"),
        ("&amp;nbsp;a&nbsp;b&amp;#x200B;\n\n", "a b"),
        ("one\r\ntwo\rthree\u2028four", "one\ntwo\nthree\nfour"),
        ("a\x00b\x1bc\td", "abc\td"),
        ("\ufeff\u200b text \xa0", "text"),
        ("plain", "plain"),
        ("", ""),
        (None, ""),
    ],
)
def test_a_text_is_shown_as_its_readers_saw_it(raw: str | None, shown: str) -> None:
    assert plain(raw) == shown


@given(st.text())
def test_any_text_can_be_shown_and_contains_no_control_characters(text: str) -> None:
    assert not set(plain(text)) & set("\r\x00\x1b\x7f\u200b")


@pytest.mark.parametrize(
    ("created", "value"),
    [(1, 1.0), (1.5, 1.5), ("1293840000", 1293840000.0), ("yesterday", None), ("nan", None), (10**400, None)],
)
def test_times_of_any_type_become_seconds(created: int | float | str, value: float | None) -> None:
    assert seconds(created) == value
