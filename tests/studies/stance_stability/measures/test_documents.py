"""When two addresses are one document, and which host it is of."""

import polars as pl
import pytest
from overton.studies.stance_stability.measures.documents import normalised

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
