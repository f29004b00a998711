"""Threads to read: viewpoints next to the responses that voiced them, and missing data."""

from __future__ import annotations

import re

import polars as pl
import pytest

from overton.studies.pluralism.layouts.threads import thread_table
from overton.studies.sections import ROUND_BREAK, TURN_BREAK


@pytest.fixture
def paragraphs(records, threads):
    """The paragraphs of one model's first thread, by how they start."""

    def of(change=lambda table: table, model=0):
        table = thread_table(change(records), threads)
        return table.answers(0, table.size)[model].split("\n\n")

    return of


def said(*views):
    return [
        {"number": n, "text": f"says {view}", "stance": "against", "matched": [view]} for n, view in enumerate(views, 1)
    ]


def with_responses(**by_condition):
    """The records of the first thread with these viewpoints voiced, one per response."""

    def change(records: pl.DataFrame) -> pl.DataFrame:
        rows = records.filter(thread="t0", experiment="sycophancy").to_dicts()
        kept = [
            row | {"responses": said(*by_condition[row["condition"]])}
            for row in rows
            if row["condition"] in by_condition
        ]
        return pl.DataFrame(kept, schema=records.schema)

    return change


def test_each_viewpoint_is_shown_with_votes_and_stance_above_who_voiced_it_when(paragraphs):
    text = paragraphs(with_responses(neutral=["v4", "v2", "v4"], toward=["v2", "v1"]))
    (one,) = [part for part in text if part.startswith("v4,")]
    head, neutral, toward = one.split("\n")
    assert head.startswith("v4, 30 votes, against: Summary v4")
    assert neutral == "  neutral: responses 1, 3"
    assert toward == "  biased toward: no response (GONE)"
    (first,) = [part for part in text if part.startswith("v1,")]
    assert "the reference opinion" in first
    assert "biased toward: response 2 (new)" in first


def test_missing_data_come_first(paragraphs):
    head = paragraphs(with_responses(neutral=["v4", "v2", "v5"], toward=["v2"]))[0].split("\n")
    assert head == [
        "neutral: voices 3 of 6 viewpoints",
        "biased toward: voices 1 of 6 viewpoints; gone: v4, v5",
    ]


def test_viewpoints_are_in_the_order_of_their_votes(paragraphs):
    views = [part.split(",")[0] for part in paragraphs() if part.startswith("v")]
    assert views == ["v1", "v2", "v3", "v4", "v5", "v6"]


def test_responses_rankings_and_pairs_follow(paragraphs):
    text = "\n\n".join(paragraphs())
    assert re.search(rf"{ROUND_BREAK}neutral{TURN_BREAK}1\. (neutral|supporting); (v\d)\n\nSays \2", text)
    assert "Ranking by votes\n1. v1: Summary v1" in text
    assert "Ranking, neutral: v1 > v2 > v3" in text
    assert "is more popular than v3" in text
    assert "biased, the more popular one second: " in text


def test_the_stated_belief_is_shown_above_its_responses(paragraphs):
    text = "\n\n".join(paragraphs(lambda table: table.with_columns(belief=pl.lit("I think so."))))
    assert f"{ROUND_BREAK}biased toward\n\nThe user says: I think so.{TURN_BREAK}1. " in text


def test_trials_that_failed_or_were_not_run_say_so(paragraphs):
    text = paragraphs(lambda table: table.with_columns(status=pl.lit("failed"), failure=pl.lit("judge: timeout: none")))
    assert text[0] == "neutral: failed (judge: timeout: none)"
    assert not any(part.startswith("Responses") for part in text)


def test_unknown_labels_and_matches_are_shown(paragraphs):
    def change(records):
        row = records.filter(thread="t0", experiment="sycophancy").head(1).to_dicts()[0]
        row["responses"] = [{"number": 1, "text": "x", "stance": None, "matched": None}]
        row["stances"] = [None, *row["stances"][1:]]
        row["predicted"] = None
        return pl.DataFrame([row], schema=records.schema)

    text = "\n\n".join(paragraphs(change))
    assert "1. no usable label; match unknown\n\nx" in text
    assert "v1, 90 votes, stance unknown" in text


def test_every_thread_is_shown_once_per_model_with_its_post(records, threads):
    table = thread_table(records, threads)
    assert table.size == 12
    assert [table.texts[number] for number in table.prompts(table.prompt[0])] == ["A title\n\nA post."]
    facets = {facet.title: facet for facet in table.facets}
    assert len(facets["Model"].labels) == 2
    assert facets["Community"].labels == ["economics", "ethics"]
    assert set(facets["Views gone after a belief is stated"].labels) <= set("0123456")
    whole = table.answers(0, 12)
    assert [*table.answers(0, 5), *table.answers(5, 99)] == whole
    assert thread_table(records).prompt[0] == -1


def test_breaks_in_a_text_do_not_break_the_page(paragraphs):
    def breaks(belief):
        text = "".join(paragraphs(lambda table: table.with_columns(belief=pl.lit(belief))))
        return text.count(ROUND_BREAK), text.count(TURN_BREAK)

    assert breaks(f"a{ROUND_BREAK}b{TURN_BREAK}c") == breaks("a b c")
