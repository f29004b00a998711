"""Facets: properties of items, as columns of records."""

from __future__ import annotations

import msgspec
import polars as pl

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


def test_records_that_have_a_facets_column_keep_its_values() -> None:
    table = pl.DataFrame({"item": ["a", "b"], "language": ["fr", "en"], "formal": [None, True]})
    made = with_facets(table, FACETS, ITEMS, "item")
    assert made.select("language", "formal").rows() == [("fr", None), ("en", "formal")]


def test_without_items_nothing_is_known_of_a_facet() -> None:
    made = with_facets(pl.DataFrame({"item": ["a"]}), FACETS, [], "item")
    assert made.select("language", "formal").rows() == [(None, None)]
    empty = with_facets(pl.DataFrame({"item": ["a"], "formal": [None]}), FACETS, [], "item")
    assert dict(made.schema) == dict(empty.schema) == dict.fromkeys(("item", "language", "formal"), pl.String)
