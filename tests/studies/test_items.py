"""Facets: properties of items, as columns of records."""

from __future__ import annotations

import msgspec
import polars as pl
import pytest

from overton.studies.items import Facet, with_facets


class Asked(msgspec.Struct):
    id: str
    language: str | None
    formal: bool


FACETS = (Facet("language", "Language"), Facet("formal", "Register", {True: "formal", False: "informal"}))
ITEMS = [Asked("a", "de", formal=True), Asked("b", None, formal=False)]


def test_a_facet_is_joined_from_the_items_in_words() -> None:
    made = with_facets(pl.DataFrame({"item": ["a", "b", "c", "a"]}), FACETS, ITEMS, "item")
    assert made["language"].to_list() == ["de", None, None, "de"]
    assert made["formal"].to_list() == ["formal", "informal", None, "formal"]


@pytest.mark.parametrize(
    ("languages", "known"),
    [(["de", "de", "fr"], False), (["de", "fr", "fr"], True), ([f"language {n}" for n in range(101)], False)],
)
def test_a_facet_within_another_is_known_if_it_divides_it_into_few_groups(languages: list[str], known: bool) -> None:
    items = [Asked(str(n), language, formal=n < 2) for n, language in enumerate(languages)]
    made = with_facets(pl.DataFrame({"item": ["0"]}), [Facet("language", "Language", within="formal")], items, "item")
    assert made["language"].to_list() == [languages[0] if known else None]


def test_records_that_have_a_facets_column_keep_its_values() -> None:
    table = pl.DataFrame({"item": ["a", "b"], "language": ["fr", "en"], "formal": [None, True]})
    made = with_facets(table, FACETS, ITEMS, "item")
    assert made.select("language", "formal").rows() == [("fr", None), ("en", "formal")]


def test_without_items_nothing_is_known_of_a_facet() -> None:
    made = with_facets(pl.DataFrame({"item": ["a"]}), FACETS, [], "item")
    assert made.select("language", "formal").rows() == [(None, None)]
    empty = with_facets(pl.DataFrame({"item": ["a"], "formal": [None]}), FACETS, [], "item")
    assert dict(made.schema) == dict(empty.schema) == dict.fromkeys(("item", "language", "formal"), pl.String)
