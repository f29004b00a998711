"""The commands that compare models: compare, baseline, gate."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from overton.cli import options as opt
from overton.cli.detecting import sizes

if TYPE_CHECKING:
    from overton.comparison.results import Comparison


def compare(
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="BASE [CANDIDATE...]",
            help="Runs, models of runs (RUN#MODEL), or tables that analyze takes; given one source, all its models.",
        ),
    ],
    measure: Annotated[
        list[str] | None,
        typer.Option(
            "--measure", metavar="NAME", help="Compare this measure in addition to the headlines; repeatable."
        ),
    ] = None,
    margin: Annotated[
        list[str] | None,
        typer.Option(
            "--margin",
            metavar="NAME=X",
            help="Equivalence margin: differences of this measure below X count as none; repeatable.",
        ),
    ] = None,
    level: opt.LevelOption = 0.95,
    study: Annotated[
        str | None, typer.Option("--study", metavar="STUDY", help="The study, for a table that several could read.")
    ] = None,
    although: Annotated[
        str,
        typer.Option(
            "--although",
            metavar="REASON",
            help="Compare although the instruments differ; the reason appears in the output.",
            show_default=False,
        ),
    ] = "",
    seed: opt.SeedOption = 0,
    choices: opt.WithOption = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Write one self-contained HTML page as well.")
    ] = None,
    json: opt.JsonOption = False,
) -> None:
    """Compare models pairwise. Differences are candidate minus base, over the items that both have."""
    from overton.cli.output import print_json, results, say
    from overton.comparison import comparison
    from overton.comparison.sections import write_page

    made = comparison.compare(
        *sources,
        study=study,
        measures=measure or (),
        margins=sizes("--margin", margin),
        level=level,
        seed=seed,
        although=although,
        **opt.computing(choices, ("level", "seed")),
    )
    if json:
        print_json(made.to_json())
    else:
        _show_comparison(made)
    if out is not None:
        page = write_page(made, out)
        say(f"Page: {page}") if json else results().print(str(page), soft_wrap=True)


def baseline(
    run: Annotated[str, typer.Argument(metavar="RUN", help="A run, or a model of one (RUN#MODEL).")],
    out: Annotated[Path, typer.Option("--out", metavar="FILE.json", help="The file to write.")],
    measure: Annotated[
        list[str] | None,
        typer.Option("--measure", metavar="NAME", help="Store this measure in addition to the headlines; repeatable."),
    ] = None,
) -> None:
    """Store what later runs are compared with. The file is small, fits into a repository, and contains no replies."""
    from overton.cli.output import results
    from overton.comparison import gate

    results().print(str(gate.baseline(run, out=out, measures=measure or ())), soft_wrap=True)


def gate(
    base: Annotated[str, typer.Argument(metavar="BASE", help="A baseline file, a run, RUN#MODEL, or a table.")],
    candidate: Annotated[str, typer.Argument(metavar="CANDIDATE", help="A run, RUN#MODEL, or a table.")],
    config: Annotated[
        Path, typer.Option("--config", metavar="GATE.toml", help="What must not change, and by how much.")
    ],
    junit: Annotated[
        Path | None, typer.Option("--junit", metavar="FILE", help="Write JUnit XML, for CI systems.")
    ] = None,
    markdown: Annotated[
        Path | None, typer.Option("--markdown", metavar="FILE", help="Write a summary for pull requests.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Write the comparison as one self-contained HTML page.")
    ] = None,
    although: Annotated[
        str,
        typer.Option(
            "--although", metavar="REASON", help="Compare although the instruments differ.", show_default=False
        ),
    ] = "",
    json: opt.JsonOption = False,
) -> None:
    """Check that a candidate stays within margins. Exit code 0 within, 5 beyond, 6 undecided (0 if that may pass)."""
    from overton.cli.ending import Exit
    from overton.cli.output import print_json, results, say
    from overton.comparison import gate
    from overton.comparison.sections import write_page
    from overton.files.atomic import write_atomic

    made = gate.gate(base, candidate, config, although=although)
    if json:
        print_json(made.to_json())
    else:
        for difference in made.comparison.differing:
            results().print(f"Note: {difference.base} and {difference.candidate}: {difference.said}.")
        for check in made.checks:
            results().print(f"{gate.check_line(check)}.")
        results().print(f"Gate: {made.outcome}{'' if made.passes else ', does not pass'}.")
    if junit is not None:
        write_atomic(junit, [gate.junit(made)])
    if markdown is not None:
        write_atomic(markdown, [gate.markdown(made).encode()])
    if out is not None:
        say(f"Page: {write_page(made.comparison, out)}")
    codes = {"within": Exit.DONE, "beyond": Exit.BEYOND, "undecided": Exit.UNDECIDED}
    raise typer.Exit(Exit.DONE if made.passes else codes[made.outcome])


def _show_comparison(made: Comparison) -> None:
    """Print the differences in how they were asked, then the verdicts, then the tables."""
    from overton.cli.output import results
    from overton.cli.tables import show, show_sections
    from overton.comparison.sections import findings, sections
    from overton.studies.sections import Prose, summary

    found = summary(sections(made))
    same = [section for section in found if section.key == "same"]
    show_sections(same, results())
    if same:
        results().print()
    show([Prose(said) for said in findings(made)], results())
    results().print()
    show_sections([section for section in found if section.key != "same"], results())
