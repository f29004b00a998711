"""The command that combines what all studies found about a model."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from overton.cli import options as opt

if TYPE_CHECKING:
    from overton.studies.sections import Section


def profile(
    runs: Annotated[
        list[str],
        typer.Argument(metavar="RUN...", help="Runs of any studies, or models of runs (RUN#MODEL)."),
    ],
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Write one self-contained HTML page as well.")
    ] = None,
    subjects: Annotated[
        Path | None,
        typer.Option(
            "--subjects", metavar="FILE", help="Table (.csv) of item and subject: which of your items share a subject."
        ),
    ] = None,
    level: opt.LevelOption = 0.95,
    seed: opt.SeedOption = 0,
    json: opt.JsonOption = False,
) -> None:
    """Combine what all studies found about a model. It shows where it stands, what moves it and what it leaves out."""
    from overton.cli.output import print_json, results, say
    from overton.cli.tables import show_sections
    from overton.reports import profile
    from overton.reports.profile_sections import sections, write_page

    made = profile.profile(*runs, level=level, seed=seed, subjects=subjects)
    if json:
        print_json(made.to_json())
    else:
        for text in made.warnings:
            say(f"Warning: {text}")
        show_sections([_drop_methods(section) for section in sections(made)], results())
    if out is not None:
        page = write_page(made, out)
        say(f"Page: {page}") if json else results().print(str(page), soft_wrap=True)


def _drop_methods(section: Section) -> Section:
    """The section as the terminal shows it: methods texts are for the page."""
    from overton.studies.sections import Method

    return replace(section, exhibits=[exhibit for exhibit in section.exhibits if not isinstance(exhibit, Method)])
