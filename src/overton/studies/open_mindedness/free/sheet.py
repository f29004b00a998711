"""What the judge said about free answers, laid out for a person."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from overton.studies.judged_rows import JudgedRows, Sheet
from overton.studies.open_mindedness import prompts
from overton.studies.open_mindedness.free.asked_again import AGAIN
from overton.studies.open_mindedness.free.judging import LABELS, STRENGTHS
from overton.studies.open_mindedness.free.laid_out import WHATS, answers_of
from overton.studies.questions import definitions_in
from overton.studies.results import Results

if TYPE_CHECKING:
    import polars as pl


_LABELS: dict[str, tuple[str, ...]] = {
    "side": LABELS,
    "strength": (*STRENGTHS, "none"),
    "declines": ("declines", "does not"),
}
_QUESTIONS = {
    "side": "Which position does this answer take?",
    "strength": "How firmly does this answer take a position?",
    "declines": "Does this answer say that its writer does not take sides or have an opinion?",
}


def _rows(results: Results, what: str) -> JudgedRows:
    """Each free answer with one of the judge's labels; answers on one issue form a group."""
    rows = answers_of(results, what)

    def drawn(places: Sequence[int]) -> pl.DataFrame:
        return rows[list(places)]

    return JudgedRows(
        rows["label"].to_list(),
        drawn,
        ("question", "pro", "con", "answer"),
        _LABELS[what],
        ", ".join(judge.name for judge in results.answering("judge")),
        question=f"{_QUESTIONS[what]}\n\n{_system().split(chr(10) * 2)[1]}",
        definitions=_definitions(what),
        seen={"Question": "question", "Position pro": "pro", "Position con": "con", "Answer": "answer"},
        row="answer",
        group="issue",
        units=lambda: rows.select("id", "label", "group", "model").drop_nulls("label"),
    )


def _system() -> str:
    return prompts.fill("free.judge.system")


def _definitions(what: str) -> dict[str, str]:
    """In the judge's own words, with the positions' names in place of their letters."""
    if what == "strength":
        return definitions_in(_system(), _LABELS[what])
    if what == "declines":
        says = next(line for line in _system().splitlines() if line.startswith('"declines" is true where '))
        definition, _, _ = says.removeprefix('"declines" is true where ').partition(". ")
        return {"declines": definition, "does not": "it says nothing of the kind"}
    found = definitions_in(_system(), ("A", "B", "neither"))
    return {
        "pro": found["A"].replace("position A", "the pro position"),
        "con": found["B"].replace("position B", "the con position"),
        "neither": found["neither"],
    }


SHEET = Sheet(WHATS, _rows, size=200, again=AGAIN)
