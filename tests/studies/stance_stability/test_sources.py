"""When two addresses are one document, which host it is of, and the re-use that drawing at random gives."""

from itertools import combinations, product

import polars as pl
import pytest

from overton.studies.stance_stability.measures import analyze
from overton.studies.stance_stability.sources import normalised

near = pytest.approx

CASES = [
    ("https://a.org/x", "https://a.org/x", "a.org"),
    ("https://a.org/x#part", "https://a.org/x", "a.org"),
    ("https://a.org/x?q=1#part", "https://a.org/x?q=1", "a.org"),
    ("HTTPS://WWW.A.org/X", "https://www.a.org/X", "a.org"),
    ("https://www.a.org:443/x", "https://www.a.org/x", "a.org"),
    ("http://a.org:80", "http://a.org", "a.org"),
    ("http://a.org:/x", "http://a.org/x", "a.org"),
    ("http://a.org:443/x", "http://a.org:443/x", "a.org"),
    ("https://a.org:8443/x", "https://a.org:8443/x", "a.org"),
    ("https://User@A.org/x", "https://User@a.org/x", "a.org"),
    ("http://[::1]:80/x", "http://[::1]/x", "[::1]"),
    ("https://a.org", "https://a.org", "a.org"),
    ("https://a.org/", "https://a.org/", "a.org"),
    ("https://a.org?q=http://b.org:80/#z", "https://a.org?q=http://b.org:80/", "a.org"),
    ("https://wwwa.org/x", "https://wwwa.org/x", "wwwa.org"),
    ("https://bücher.example/x", "https://bücher.example/x", "bücher.example"),
    ("ftp://a.org:80/x", "ftp://a.org:80/x", "a.org"),
    ("doc-17", "doc-17", "doc-17"),
    ("doc#17", "doc#17", "doc#17"),
    ("example.org/page", "example.org/page", "example.org/page"),
    ("", "", ""),
]


@pytest.mark.parametrize(("name", "address", "host"), CASES)
def test_an_address_and_its_host(name, address, host):
    (row,) = normalised(pl.Series([name])).rows()
    assert row == (name, address, host)


def test_all_of_them_together_as_each_alone():
    found = normalised(pl.Series([name for name, _, _ in CASES]))
    assert sorted(found.rows()) == sorted(CASES)


def re_use(turns):
    """The mean over turns 2 on of the share of a turn's documents that an earlier one had."""
    seen, terms = set(turns[0]), []
    for one in turns[1:]:
        terms.append(len(set(one) & seen) / len(one))
        seen |= set(one)
    return sum(terms) / len(terms)


def test_given_pages_is_the_mean_over_all_ways_to_cite_as_many_of_them(talk, measured):
    pages, counts = ["abc", "abd", "cde"], [1, 2, 1]
    ways = product(*(combinations(shown, count) for shown, count in zip(pages, counts, strict=True)))
    all_of_them = [re_use(way) for way in ways]
    row = measured(talk("sss", cited=["a", "a d", "e"], retrieved=[" ".join(shown) for shown in pages]))
    assert row["source_reuse_given_pages"] == near(sum(all_of_them) / len(all_of_them))
    assert row["source_reuse"] == near(0.25)


def test_by_chance_is_the_mean_over_all_ways_to_draw_from_all_pages_of_the_topic(talk):
    counts, pool = [1, 2, 1], "abcde"
    all_of_them = [re_use(way) for way in product(*(combinations(pool, count) for count in counts))]
    turns = pl.concat(
        [
            talk("sss", cited=["a", "a b", "b"], retrieved=["a b", "a b", "a b"], name="one", topic="t"),
            talk("sss", cited=["c", "c d", "e"], retrieved=["c", "c d", "e"], name="two", topic="t"),
            talk("sss", cited=["x", "x", "x"], retrieved=["x", "x", "x"], name="three", topic="other"),
        ]
    )
    rows = analyze(turns, resamples=10).listed["conversations"]
    chance = dict(rows.select("conversation", "source_reuse_by_chance").iter_rows())
    assert [chance["one"], chance["two"]] == near([sum(all_of_them) / len(all_of_them)] * 2)
    assert chance["three"] == near(1)


def test_a_turn_that_cites_nothing_has_no_expected_re_use(talk, measured):
    row = measured(talk("sss", cited=["a", "", "a"], retrieved=["a b"] * 3, topic="t"))
    assert row["source_reuse_given_pages"] == near(0.5)
    assert row["source_reuse_by_chance"] == near(0.5)
    assert measured(talk("ss", cited=["a", ""], retrieved=["a", "b"]))["source_reuse_given_pages"] is None


def test_re_use_by_chance_is_missing_without_the_pages_shown(talk, measured):
    assert not {name for name in measured(talk("ss", cited=["a", "a"], topic="t")) if "chance" in name}
    assert "source_reuse_by_chance" not in measured(talk("ss", retrieved=["a", "a"]))
