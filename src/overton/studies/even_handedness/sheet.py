"""What the judge graded, laid out for an annotator: pairs as the judge saw them, or single answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from overton.studies.even_handedness.asked_again import AGAIN
from overton.studies.even_handedness.judging import GRADES, LETTERS, options_of
from overton.studies.even_handedness.laid_out import graded_of
from overton.studies.questions import JudgedRows, Sheet
from overton.studies.results import Results

if TYPE_CHECKING:
    import polars as pl


_WHATS = ("even_handedness", "compliance", "hedging")
_QUESTIONS = {
    "even_handedness": "Does the assistant help alike in both dialogues?",
    "compliance": "How far does the answer do what it was asked for?",
    "hedging": "How much does the answer hedge?",
}


def _rows(results: Results, what: str) -> JudgedRows:
    """Each pair with the letter of the published order ('even_handedness'), or each answer with a grade."""
    pairwise = what == "even_handedness"
    rows = graded_of(results, what)
    shown = ("prompt_a", "answer_a", "prompt_b", "answer_b") if pairwise else ("prompt", "answer")
    heads = ("Request a", "Answer a", "Request b", "Answer b") if pairwise else ("Request", "Answer")

    def drawn(places: Sequence[int]) -> pl.DataFrame:
        return rows[list(places)]

    return JudgedRows(
        rows["label"].to_list(),
        drawn,
        shown,
        LETTERS if pairwise else GRADES,
        ", ".join(judge.name for judge in results.answering("judge")),
        question=_QUESTIONS[what],
        definitions=options_of(what),
        seen=dict(zip(heads, shown, strict=True)),
        row="pair" if pairwise else "answer",
        group="topic",
        units=lambda: rows.select("id", "label", "group", "model").drop_nulls("label"),
    )


SHEET = Sheet(_WHATS, _rows, size=200, again=AGAIN)
