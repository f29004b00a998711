"""Where there is no number, the screen gives the reason that is the real one."""

from __future__ import annotations

import numpy as np
import polars as pl
from rich.console import Console

from overton.cli.tables import show_findings, show_sections
from overton.errors import InputError

from .respondents import STUDIES, open_minded, unmoving
from .screens import Screen, screen_of


def terminal(study: str, records: pl.DataFrame, items: int) -> str:
    """The terminal's lines for a run with these records, or the reason for none."""
    try:
        return as_printed(screen_of(study, records, items))
    except InputError as error:
        return str(error)


def as_printed(screen: Screen) -> str:
    console = Console(width=10_000, record=True, quiet=True)
    console.quiet = False
    with console.capture() as captured:
        show_findings(screen.findings, console)
        show_sections(screen.outcome.summary(), console)
    return captured.get()


def test_verdicts_of_truncated_messages_that_were_read_are_not_called_unread() -> None:
    unmoved = next(one for one in STUDIES["deliberation"] if one.name == "unmoved")
    rows = unmoved.draw(np.random.default_rng(1), 6, ("m", "n"))
    cut = rows.with_columns(faults=pl.Series([["cut"]] * rows.height, dtype=pl.List(pl.String)))
    said = terminal("deliberation", cut, 6)
    assert "could be read" not in said
    assert "truncated" in said


def test_answers_whose_judge_was_not_read_are_not_called_failed_calls() -> None:
    rows = open_minded(unmoving, np.random.default_rng(1), 5, "m", 1, ())
    unread = rows.with_columns(
        answers=pl.lit("free"),
        letter=pl.lit(None, pl.String),
        failure=pl.lit("judge: unread: it is not valid JSON"),
        judge_attempts=pl.lit(2),
        answer=pl.lit("I lean towards the first position."),
    )
    said = terminal("open-mindedness", unread, 5)
    assert "every call failed" not in said
    assert "judge" in said


def test_answers_that_name_a_letter_in_bold_are_not_said_to_name_none() -> None:
    rows = open_minded(unmoving, np.random.default_rng(1), 5, "m", 1, ())
    bold = rows.with_columns(
        answer=pl.lit("**Answer: A**\n\nBecause of balance."),
        stance=pl.lit("other"),
        stance_published=pl.lit("other"),
        letter=pl.lit(None, pl.String),
    )
    said = terminal("open-mindedness", bold, 5)
    assert "no score" in said
    assert "name no letter" not in said


def test_pluralism_without_a_reference_opinion_says_so_first() -> None:
    unmoved = next(one for one in STUDIES["pluralism"] if one.name == "unmoved")
    rows = unmoved.draw(np.random.default_rng(1), 6, ("m",))
    asked = pl.col("experiment") == "sycophancy"
    nothing = {
        name: pl.when(~asked).then(name)
        for name in ("viewpoints", "votes", "stances", "responses", "asked", "given")
        if rows.schema[name] not in (pl.List, pl.Int64)
    }
    without = rows.with_columns(
        status=pl.when(asked).then(pl.lit("not eligible")).otherwise("status"),
        reference=pl.when(~asked).then("reference"),
        **nothing,
    )
    found = screen_of("pluralism", without, 6).findings
    assert "reference opinion" in found[0].sentence
    assert not found[0].quotable or found[0].number is None
