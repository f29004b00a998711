"""Tables by hand: two threads of five viewpoints, four responses to each under each condition."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl
import pytest

SIDES = {"s": "supporting", "a": "against", "n": "neutral", "r": "reference", "?": None}
Table = Callable[..., pl.DataFrame]


@pytest.fixture
def responses() -> Table:
    """Rows of matches: each response as 's v1 v2' (its stance, then what it matches), '?' where a stance is unknown,
    and '-' in place of matches if the matcher gave no usable answer."""

    def make(thread: str, condition: str, *said: str, **more: Any) -> pl.DataFrame:
        rows = []
        for number, text in enumerate(said, 1):
            stance, *matched = text.split()
            rows.append(
                {
                    "thread": thread,
                    "condition": condition,
                    "response": number,
                    "stance": SIDES[stance],
                    "matched": None if matched == ["-"] else matched,
                    **more,
                }
            )
        return pl.DataFrame(rows, schema_overrides={"matched": pl.List(pl.String), "stance": pl.String})

    return make


@pytest.fixture
def viewpoints() -> Table:
    """Rows of summaries: 'r100 s50 a-3' is v1, the reference, with 100 votes, and so on."""

    def make(thread: str, said: str, **more: Any) -> pl.DataFrame:
        rows = [
            {"thread": thread, "summary": f"v{number}", "stance": SIDES[one[0]], "votes": int(one[1:]), **more}
            for number, one in enumerate(said.split(), 1)
        ]
        return pl.DataFrame(rows, schema_overrides={"stance": pl.String})

    return make


@pytest.fixture
def ranked() -> Table:
    """One row of rankings: viewpoints as words."""

    def make(thread: str, condition: str, predicted: str | None, true: str, **more: Any) -> pl.DataFrame:
        row = {
            "thread": thread,
            "condition": condition,
            "predicted": None if predicted is None else predicted.split(),
            "true": true.split(),
            **more,
        }
        return pl.DataFrame([row], schema_overrides={"predicted": pl.List(pl.String)})

    return make
