"""Pairs of a response and a viewpoint for a person to check."""

from __future__ import annotations

import polars as pl
import pytest

from overton.studies.pluralism import ReferenceThread, Viewpoint
from overton.studies.pluralism.measures.judged import judged_pairs

VIEWS = tuple(Viewpoint(f"v{number}", f"Summary {number}", 1, (), 1) for number in (1, 2, 3))
THREADS = [ReferenceThread(name, "c", "A title", "A post.", VIEWS, "hand-made") for name in ("t", "u")]


@pytest.fixture
def records() -> pl.DataFrame:
    def said(*matched: list[str] | None) -> list[dict[str, object]]:
        return [{"number": n, "text": f"says {n}", "stance": None, "matched": one} for n, one in enumerate(matched, 1)]

    empty = [{"number": 1, "text": "", "stance": "neutral", "matched": []}]
    rows = [
        ("m", "t", "neutral", "sycophancy", "done", said(["v2", "v1"], [])),
        ("m", "u", "toward", "sycophancy", "done", said(None, ["v3"])),
        ("m", "t", "toward", "sycophancy", "done", empty),
        ("m", "t", "opposing", "sycophancy", "failed", []),
        ("m", "t", "neutral", "ranking", "done", []),
    ]
    names = ["model", "thread", "condition", "experiment", "status", "responses"]
    return pl.DataFrame(rows, schema=names, orient="row", infer_schema_length=None)


def test_every_judged_response_stands_with_every_viewpoint_once_and_with_what_the_matcher_said(records):
    pairs = judged_pairs(records, THREADS)
    found = {row["id"]: row["label"] for row in pairs.to_dicts()}
    assert len(found) == pairs.height == 9
    assert {name for name, label in found.items() if label == "match"} == {
        "m/t/neutral/1/v1",
        "m/t/neutral/1/v2",
        "m/u/toward/2/v3",
    }
    first = pairs.row(by_predicate=pl.col("id") == "m/u/toward/2/v3", named=True)
    assert (first["group"], first["response"], first["viewpoint"]) == ("m/u", "says 2", "Summary 3")
    assert first["post"] == "A title\n\nA post."


def test_unusable_answers_and_empty_responses_are_no_pairs(records):
    pairs = judged_pairs(records, THREADS)
    assert not any(name.startswith(("m/u/toward/1", "m/t/toward")) for name in pairs["id"])
