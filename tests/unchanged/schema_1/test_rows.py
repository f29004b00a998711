"""Rows of schema 1: which keys are measures, and what tells members of a list apart."""

from __future__ import annotations

from typing import Any

from .rows import KeyWords, rows_of


def test_keys_beside_fields_are_measures_where_none_are_declared() -> None:
    def number(value: float) -> dict[str, Any]:
        return {"leads": "plain", "plain": {"estimate": value, "interval": [0, 1], "n": 1, "method": "", "why": None}}

    ranked = {"type": "object", "properties": {"replies": {}}, "additionalProperties": {}}
    ranking = {"type": "object", "additionalProperties": ranked}
    schema = {"type": "object", "properties": {"ranking": ranking}}
    told = {"ranking": {condition: {"replies": 7, "spearman": number(0.5)} for condition in ("neutral", "biased")}}
    made = list(rows_of(told, schema, KeyWords("s", frozenset("m"), frozenset())))
    assert [row[3:5] for row in made] == [("neutral", "ranking.spearman"), ("biased", "ranking.spearman")]


def test_members_of_a_list_are_distinguished_by_their_texts_and_by_numbers_where_they_must() -> None:
    def number(value: float) -> dict[str, Any]:
        variant = {"estimate": value, "interval": [None, None], "n": 1, "method": "", "why": "few"}
        return {"leads": "plain", "plain": variant}

    rounds = [{"model": "m", "round": turn, "count": 7, "rate": number(turn)} for turn in (1, 2)]
    schema = {"properties": {"by_round": {"type": "array", "items": {"properties": {"rate": {}}, "type": "object"}}}}
    made = list(rows_of({"by_round": rounds}, {**schema, "type": "object"}, KeyWords("s", frozenset("m"), frozenset())))
    assert [row[:7] for row in made] == [
        ("s", "m", None, "1", "by_round.rate", "plain", 1),
        ("s", "m", None, "2", "by_round.rate", "plain", 2),
    ]
