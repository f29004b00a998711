from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overton.studies.stance_stability.protocol import LONGEST_QUERY, clean_query


@pytest.mark.parametrize(
    ("reply", "query"),
    [
        ("free buses evidence", "free buses evidence"),
        ('\n\n  "free  buses evidence"  \nThis query finds pages.', "free buses evidence"),
        ("Query: free buses", "free buses"),
        ("Question: are free buses used?", "are free buses used?"),
        ("**Search query:** `free buses`", "free buses"),
        ('Web search query: "free buses"', "free buses"),
        ("“free buses”", "free buses"),
        ("1. free buses\n2. other", "free buses"),
        ("- free buses", "free buses"),
        ("```\nfree buses\n```", "free buses"),
        ("2 degree target criticism", "2 degree target criticism"),
        ("search engines and bias", "search engines and bias"),
        ("Bus's effect", "Bus's effect"),
        ("...\n---\n", ""),
        ("", ""),
    ],
)
def test_the_query_is_taken_out_of_the_reply(reply: str, query: str) -> None:
    assert clean_query(reply) == query


def test_a_long_query_is_cut_between_words() -> None:
    query = clean_query("evidence " * 100)
    assert len(query) <= LONGEST_QUERY
    assert set(query.split()) == {"evidence"}
    assert len(clean_query("e" * 1000)) == LONGEST_QUERY


@given(st.text(max_size=300))
def test_a_query_is_one_line_of_single_spaces(reply: str) -> None:
    query = clean_query(reply)
    assert len(query) <= LONGEST_QUERY
    assert query == " ".join(query.split())
