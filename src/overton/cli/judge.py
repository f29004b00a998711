"""`overton judge stance-stability|sample|agreement`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from overton.cli import options as opt
from overton.cli import options_stance as stance

if TYPE_CHECKING:
    from rich.table import Table

    from overton.judging.sheet_agreement import SheetAgreement

__all__ = ["app"]

app = typer.Typer(
    help="Have a judge label conversations that exist already, and have a person check a judge.", no_args_is_help=True
)


@app.command("stance-stability")
def stance_stability(
    transcripts: Annotated[
        Path,
        typer.Argument(
            metavar="TRANSCRIPTS", help="Table (.csv, .parquet, .jsonl) with a row a turn or a conversation; or a run."
        ),
    ],
    judge: stance.JudgeOption,
    propositions: Annotated[
        Path | None, typer.Option("--propositions", help="Text file: what stances are towards, a line a conversation.")
    ] = None,
    judge_prompt: stance.JudgePromptOption = None,
    judged_characters: stance.JudgedCharactersOption = None,
    seed: opt.SeedOption = 0,
    model_arg: opt.ModelArgOption = None,
    price: opt.PriceOption = None,
    max_cost: opt.MaxCostOption = None,
    max_calls: opt.MaxCallsOption = None,
    out: opt.OutOption = None,
) -> None:
    """Label every turn's stance, as a run of stance stability does, in a new run folder with a report."""
    from overton.api import transcripts as api
    from overton.cli.ending import conclude
    from overton.cli.progress import watching

    with watching("judge") as watch:
        done = api.judge(
            transcripts,
            judge=judge,
            out=out,
            propositions=propositions,
            seed=seed,
            model_args=opt.model_arguments(model_arg),
            prices=opt.prices(price),
            max_cost=max_cost,
            max_calls=max_calls,
            watch=watch,
            judge_prompts=judge_prompt,
            judged_characters=judged_characters,
        )
    raise typer.Exit(conclude(done))


@app.command()
def sample(
    run: opt.RunArgument,
    out: Annotated[Path, typer.Option("--out", help="CSV file to make; its key is written beside it.")],
    size: Annotated[
        int | None, typer.Option("--size", min=1, help="How many labelled rows; the paper's 500 turns or 100 pairs.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the draw.")] = 0,
    stratified: Annotated[
        bool, typer.Option("--stratified", help="As many of each label as can be, so that rare ones are checked too.")
    ] = False,
    what: Annotated[
        str | None,
        typer.Option(
            "--what",
            help="The label, where there are several: stance or premise_stance; for pluralism match or stance.",
        ),
    ] = None,
) -> None:
    """Draw labelled turns or matched pairs onto a sheet for a person, with the judge's labels in a key apart."""
    from overton.api.sheets import draw_sheet
    from overton.cli.output import results, say

    sheet, key = draw_sheet(run, out, size=size, seed=seed, stratified=stratified, what=what)
    say(f"Fill in the column 'person'. The judge's labels are in {key}, which is not for that person.")
    say(f"Then: overton judge agreement {sheet} --run {run}")
    results().print(str(sheet), markup=False, soft_wrap=True)


@app.command()
def agreement(
    sheet: Annotated[Path, typer.Argument(metavar="SHEET", help="The sheet as the person sent it back.")],
    run: Annotated[Path | None, typer.Option("--run", help="Keep the agreement in this run, for its report.")] = None,
    key: Annotated[Path | None, typer.Option("--key", help="The sheet's key, where it is not beside it.")] = None,
    level: Annotated[float, typer.Option("--level", min=0.5, max=0.999, help="Coverage of the intervals.")] = 0.95,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Read a sheet back: how often person and judge agree, and Cohen's kappa, with intervals."""
    from overton.api.sheets import read_agreement
    from overton.cli.output import print_json, results, say
    from overton.studies.plain import SCHEMA, document

    found = read_agreement(sheet, key=key, run=run, level=level)
    if json:
        print_json({**document(found.study, SCHEMA, found), "level": level})
    else:
        results().print(_table(found))
    if found.blank == found.drawn:
        say("No row of the column 'person' is filled in yet.")
    elif run is not None:
        say(f"Kept with {run}; put it into the report with: overton report {run}")


def _table(found: SheetAgreement) -> Table:
    from rich.markup import escape
    from rich.table import Table

    from overton.cli.summary import interval
    from overton.judging.sheet_agreement import leniency

    rows = found.drawn - found.blank
    table = Table(title=escape(f"{found.judge} and a person: {found.what}, {rows} rows ({found.blank} left empty)"))
    table.add_column("")
    table.add_column("agreement", justify="right")
    table.add_row("same label", interval(found.same, 100, "%"))
    table.add_row("Cohen's kappa", interval(found.kappa, digits=2))
    for label, confirmed in found.by_label.items():
        table.add_row(escape(f"judged {label}, confirmed"), interval(confirmed, 100, "%"))
    if found.what == "match":
        table.add_row("where they differ, judged match", interval(leniency(found, "match"), 100, "%"))
    return table
