"""The command that compares models: compare."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from overton.cli import options as opt
from overton.errors import InputError, Problem
from overton.pairs import pair_of

if TYPE_CHECKING:
    from overton.api.comparing import Comparison

__all__ = ["compare"]


def compare(
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="BASE [CANDIDATE...]",
            help="Runs, models of runs (RUN#MODEL), or tables that analyze takes; a single one: all its models.",
        ),
    ],
    measure: Annotated[
        list[str] | None,
        typer.Option("--measure", metavar="NAME", help="Compare this measure besides the headlines; repeat for more."),
    ] = None,
    margin: Annotated[
        list[str] | None,
        typer.Option(
            "--margin", metavar="NAME=X", help="A difference of X in this measure counts as none; repeat for more."
        ),
    ] = None,
    level: opt.LevelOption = 0.95,
    study: Annotated[
        str | None, typer.Option("--study", metavar="STUDY", help="The study of tables that several could read.")
    ] = None,
    although: Annotated[
        str,
        typer.Option(
            "--although",
            metavar="REASON",
            help="Compare although the instruments differ; the reason stands in the output.",
            show_default=False,
        ),
    ] = "",
    seed: opt.SeedOption = 0,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Write one self-contained HTML page as well.")
    ] = None,
    json: opt.JsonOption = False,
) -> None:
    """Compare models in pairs, candidate minus base, over the items that both have."""
    from overton.api import comparing
    from overton.api.comparing.page import write_page
    from overton.cli.output import print_json, results, say

    made = comparing.compare(
        *sources,
        study=study,
        measures=measure or (),
        margins=_margins(margin),
        level=level,
        seed=seed,
        although=although,
    )
    if json:
        print_json(made.to_json())
    else:
        _show(made)
    if out is not None:
        page = write_page(made, out)
        say(f"Page: {page}") if json else results().print(str(page), soft_wrap=True)


def _show(made: Comparison) -> None:
    """What is not the same, then the verdicts in words, then the tables."""
    from overton.api.comparing.shown import findings, sections
    from overton.cli.output import results
    from overton.cli.tables import show, show_sections
    from overton.studies.exhibits import Prose, summary

    found = summary(sections(made))
    same = [one for one in found if one.key == "same"]
    show_sections(same, results())
    if same:
        results().print()
    show([Prose(said) for said in findings(made)], results())
    results().print()
    show_sections([one for one in found if one.key != "same"], results())


def _margins(given: list[str] | None) -> dict[str, float]:
    """Margins by measure from NAME=X words.

    Raises:
        InputError: a word is not NAME=X.
    """
    made = {}
    for word in given or ():
        name, value = pair_of(word, "--margin", "NAME=X, as in score=5")
        try:
            made[name] = float(value)
        except ValueError:
            raise InputError([Problem("--margin", word, "must be NAME=X, X a number above 0")]) from None
    return made
