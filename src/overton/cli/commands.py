"""The one-word commands that are the same for every study, except those that compare."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from overton.cli import options as opt


def resume(
    run: opt.RunArgument,
    retry_failed: Annotated[bool, typer.Option("--retry-failed", help="Ask failed calls again.")] = False,
    max_cost: opt.MaxCostOption = None,
    max_calls: opt.MaxCallsOption = None,
    batch: Annotated[
        bool | None,
        typer.Option("--batch/--no-batch", help="Ask the rest in batches, or not; by default as the run started."),
    ] = None,
    model: Annotated[
        list[str] | None,
        typer.Option("--model", metavar="SPEC", help="A model of the run, reached in a different way from now on."),
    ] = None,
    model_arg: opt.ModelArgOption = None,
    trust: opt.TrustOption = False,
) -> None:
    """Resume a run; nothing that was answered is asked again."""
    from overton.cli.confirming import confirmation
    from overton.cli.ending import conclude
    from overton.cli.progress import watching
    from overton.runs import run as runs

    with watching("resume") as watch:
        done = runs.resume(
            run,
            retry_failed=retry_failed,
            max_cost=max_cost,
            max_calls=max_calls,
            batch=batch,
            models=model or (),
            model_args=opt.model_arguments(model_arg),
            trust=trust,
            confirm=confirmation(),
            watch=watch,
        )
    raise typer.Exit(conclude(done))


def merge(
    shards: Annotated[list[Path], typer.Argument(metavar="SHARD...", help="The folders of all shards of one split.")],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Folder to create; an existing one is refused.")],
    unfinished: Annotated[
        bool, typer.Option("--unfinished", help="Merge even if some is missing; 'overton resume' then asks the rest.")
    ] = False,
) -> None:
    """Merge all shards of a split into one run. Nothing is asked."""
    from overton.cli.ending import conclude, show_unfinished
    from overton.runs import shards as api

    done = api.merge(shards, out, unfinished=unfinished)
    raise typer.Exit(conclude(done) if done.finished else show_unfinished(done))


def batches(
    run: opt.RunArgument,
    cancel: Annotated[
        bool, typer.Option("--cancel", help="Cancel calls not yet started; those answered are paid for and read.")
    ] = False,
    trust: opt.TrustOption = False,
) -> None:
    """Show a run's batches in progress, or cancel them."""
    from overton.cli.confirming import confirmation
    from overton.cli.output import results, say
    from overton.runs.batch_status import batches as listed

    found = listed(run, cancel=cancel, trust=trust, confirm=confirmation())
    for batch in found:
        results().print(str(batch), soft_wrap=True)
    if not found:
        say("This run has no batches in progress.")


def report(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Folders of one or more runs of one study.")],
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="HTML file; a single run's own report.html by default.")
    ] = None,
    figures: Annotated[
        Path | None, typer.Option("--figures", metavar="DIR", help="Folder for all charts, as PNG and SVG.")
    ] = None,
    choices: opt.WithOption = None,
) -> None:
    """Write one self-contained HTML report of runs. Several models are shown side by side."""
    from overton.cli.output import results
    from overton.reports import run_report

    results().print(str(run_report.report(runs, out=out, figures=figures, **opt.computing(choices))), soft_wrap=True)


def reproduce(
    publication: Annotated[
        str, typer.Argument(metavar="PUBLICATION", help="Whose numbers; an unknown name lists the known ones.")
    ],
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="The tables as published.")],
    out: Annotated[Path | None, typer.Option("--out", metavar="FILE.md", help="Write a page in Markdown.")] = None,
    json: opt.JsonOption = False,
) -> None:
    """Recompute published numbers from published tables. Exit code 0 if all are the same, 5 if any is not."""
    from overton.analysis import reproductions
    from overton.cli.ending import Exit
    from overton.cli.output import print_json, results, write

    found = reproductions.reproduce(publication, *files)
    if json:
        print_json(found.to_json())
    elif out is None:
        write(found.markdown())
    if out is not None:
        results().print(str(found.write(out)), soft_wrap=True)
    raise typer.Exit(Exit.DONE if found.same else Exit.BEYOND)


class LogFormat(StrEnum):
    """A format to which a run can be exported."""

    INSPECT = "inspect"


def export(
    run: opt.RunArgument,
    to: Annotated[
        LogFormat,
        typer.Option("--to", metavar="inspect", help="Inspect AI logs, which 'inspect view' opens; one per model."),
    ],
    out: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="Folder for the logs; logs by default.", show_default=False)
    ] = Path("logs"),
) -> None:
    """Write a run in another tool's format. Nothing is asked; whole items only."""
    from overton.cli.output import results, say
    from overton.inspect.logs import export_run

    for log in export_run(run, out=out):
        results().print(str(log.path), soft_wrap=True)
        if lacking := log.planned - log.samples:
            say(f"{log.lane}: {lacking} of {log.planned} samples are left out, since their items are incomplete.")


def import_logs(
    logs: Annotated[list[Path], typer.Argument(metavar="LOG...", help="Logs of an Overton task, or folders of them.")],
    out: opt.OutOption = None,
) -> None:
    """Turn Inspect AI logs into a run. It can be reported, analyzed, resumed and extended like any other."""
    from overton.cli.ending import conclude
    from overton.inspect import logs as inspect_logs

    raise typer.Exit(conclude(inspect_logs.import_logs(logs, out=out)))


def describe(study: Annotated[str, typer.Argument(metavar="STUDY", help="A study's name.")]) -> None:
    """Print a study's options, records and tables as Markdown."""
    from overton.cli.output import write
    from overton.studies import documentation

    write(documentation.describe(study))


def demo(
    full: Annotated[
        bool, typer.Option("--full", help="Run the whole design: twelve issues, 990 calls each. Takes hours.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Folder to create; by default one below runs/.")
    ] = None,
) -> None:
    """Run a small model on starter issues, in this process. It is asked in all eleven configurations."""
    from overton.cli.ending import conclude
    from overton.cli.output import say
    from overton.cli.progress import watching
    from overton.runs import demonstration

    say(demonstration.describe(full=full))
    demonstration.prepare(progress=say)
    with watching("demo") as watch:
        run = demonstration.demo(full=full, out=out, watch=watch)
    say(
        f"{demonstration.MODEL}'s answers are held to their form by a grammar. It is small: this shows the tool, not"
        " what capable models think."
    )
    raise typer.Exit(conclude(run))
