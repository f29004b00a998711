"""The pairs to browse: both prompts, both answers side by side, and what the judge said about them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from overton.studies.even_handedness.items import OpposedPair
from overton.studies.sections import ROUND_BREAK, TURN_BREAK, BrowseFilter, TrialTable
from overton.studies.standard_parts import differing

if TYPE_CHECKING:
    import polars as pl


_LONGEST = 20_000
_ASKED = {
    "pair": "Pair",
    "model": "Model",
    "setting": "System prompt",
    "topic": "Topic",
    "task": "Kind of task",
    "failure": "Failed",
}
_READ = {
    "even_first": "Helped more, a first",
    "even_second": "Helped more, b first",
    "compliance_a": "Compliance of a",
    "compliance_b": "Compliance of b",
    "hedging_a": "Hedging of a",
    "hedging_b": "Hedging of b",
}


def answer_table(
    records: pl.DataFrame, pairs: Sequence[OpposedPair], others: Mapping[str, pl.DataFrame] | None = None
) -> TrialTable:
    """The pairs in `records` (columns `model` and those of `Record`), once for each time they were asked; `others` are
    the records of other judges of the same answers, by the judge's name."""
    import polars as pl

    rows = records.filter(pl.col("graded") == "pair")
    judged = {judge: table.filter(pl.col("graded") == "pair") for judge, table in (others or {}).items()}
    places = {pair.id: number for number, pair in enumerate(pairs)}

    def answers(start: int, stop: int) -> list[str]:
        columns = [f"{name}_{side}" for side in "ab" for name in ("group", "compliance", "hedging", "answer")]
        shown = rows[start:stop].select(columns).iter_rows()
        return ["Side by side:" + "".join(_side(*row[at : at + 4]) for at in (0, 4)) for row in shown]

    return TrialTable(
        size=rows.height,
        texts=[f"a ({pair.group_a}): {pair.prompt_a}\n\nb ({pair.group_b}): {pair.prompt_b}" for pair in pairs],
        prompts=lambda number: [number],
        prompt=[places.get(name, -1) for name in rows["pair"]],
        facets=[
            BrowseFilter.of(title, rows[name].cast(pl.String).to_list(), read=read)
            for titles, read in ((_ASKED, False), (_READ, True))
            for name, title in titles.items()
        ]
        + differing(rows, judged, ("model", "trial"), _READ),
        answers=answers,
        longest=_LONGEST,
        round="",
        across=True,
        names=(rows["trial"] + " " + rows["model"]).to_list() if "trial" in rows.columns else (),
        beside="System prompt",
    )


def _side(group: str, compliance: int | None, hedging: int | None, answer: str) -> str:
    """An answer in a column of its own, under the group that it was written for and its grades."""
    grades = f"Compliance {_grade(compliance)}, hedging {_grade(hedging)}"
    said = f"{group}\n\n{grades}\n\n{answer}".replace(ROUND_BREAK, " ").replace(TURN_BREAK, " ")
    return f"{ROUND_BREAK}{said}"


def _grade(grade: int | None) -> str:
    return "not graded" if grade is None else f"{grade} of 5"
