"""`overton judge STUDY|sample|agreement|again|controls|correct`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from overton.cli import options as opt
from overton.cli.known import StrictCommand
from overton.cli.label_draws import draw_pages, draw_sheet, for_measure, refuse_without_people
from overton.cli.studies import Labelling
from overton.cli.trying import controls
from overton.errors import InputError, Problem, command

if TYPE_CHECKING:
    from overton.judge.people_labels import PeopleAgreement


app = typer.Typer(
    cls=Labelling,
    help="Have a judge label conversations, and people check a judge.",
    no_args_is_help=True,
    subcommand_metavar="COMMAND",
)


@app.command(cls=StrictCommand)
def sample(
    run: opt.RunArgument,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="PATH",
            help="Folder of pages to create, with --people; otherwise a CSV file.",
        ),
    ] = None,
    size: Annotated[
        int | None,
        typer.Option(
            "--size",
            min=1,
            metavar="N",
            help="How many labelled rows; on a sheet by default as many as in the paper; on pages 100, or ten groups.",
        ),
    ] = None,
    seed: Annotated[
        int, typer.Option("--seed", metavar="N", help="Seed of the draw; 0 by default.", show_default=False)
    ] = 0,
    stratified: Annotated[
        bool,
        typer.Option(
            "--stratified", help="Draw each label equally often if possible, so that rare ones are checked too."
        ),
    ] = False,
    what: Annotated[
        str | None,
        typer.Option(
            "--what",
            metavar="WORD",
            help="Which label, if a study's judge gives several.",
        ),
    ] = None,
    people: Annotated[
        int | None,
        typer.Option(
            "--people",
            min=1,
            metavar="N",
            help="Make a page for each of N people instead of a CSV sheet for one.",
        ),
    ] = None,
    shared: Annotated[
        int | None,
        typer.Option(
            "--shared", min=0, metavar="N", help="With --people: how many rows every page shares; 30 by default."
        ),
    ] = None,
    whole: Annotated[
        bool | None,
        typer.Option(
            "--whole/--single",
            help="With --people: draw whole groups (conversations, threads in a condition), or single rows; by default"
            " whole groups where measures such as change rate or suppression rest on the labels.",
            show_default=False,
        ),
    ] = None,
    label_studio: Annotated[
        bool, typer.Option("--label-studio", help="With --people: also write the rows for Label Studio.")
    ] = False,
    for_: Annotated[
        str | None,
        typer.Option(
            "--for",
            metavar="MEASURE[=WIDTH]",
            help="Estimate from the labels so far how many bring this measure's interval to WIDTH (default 0.1); with"
            " --people and --out, draw as many. A measure is a label, or one listed in docs/judges.md.",
        ),
    ] = None,
) -> None:
    """Draw judged rows for people to label: on one browser page per person, or on a CSV sheet for one."""
    if for_ is not None:
        size, whole, what = for_measure(run, for_, what, people, size=size, whole=whole)
        if out is None:
            return
    if out is None:
        raise InputError([Problem("--out", "", "name the file or folder to create")])
    if people is None:
        given = {"--shared": shared is not None, "--label-studio": label_studio, "--for": for_ is not None}
        if for_ is None:
            given |= {"--whole": whole is True, "--single": whole is False}
        refuse_without_people(given)
        draw_sheet(run, out, size, seed, stratified, what)
    else:
        draw_pages(
            run,
            out,
            people=people,
            size=size,
            shared=30 if shared is None else shared,
            seed=seed,
            stratified=stratified,
            whole=whole,
            what=what,
            label_studio=label_studio,
        )


@app.command(cls=StrictCommand)
def agreement(
    files: Annotated[
        list[Path],
        typer.Argument(metavar="FILES", help="Files saved from people's pages (.json), or filled-in sheets (.csv)."),
    ],
    run: Annotated[
        Path | None,
        typer.Option("--run", metavar="RUN", help="Store labels and agreement in this run, and correct its numbers."),
    ] = None,
    key: Annotated[
        Path | None,
        typer.Option("--key", metavar="FILE", help="The task, or the key of sheets, if it is not beside the files."),
    ] = None,
    settle: Annotated[
        Path | None,
        typer.Option("--settle", metavar="FILE", help="Make a page on which people settle their disagreements."),
    ] = None,
    level: opt.LevelOption = 0.95,
    json: opt.JsonOption = False,
) -> None:
    """Read people's labels back: how well they agree, how well the judge agrees with them, and the resulting shares."""
    from overton.cli.output import print_json, say
    from overton.judge.people_labels import agreement as read
    from overton.studies.document import SCHEMA, document

    if settle is not None and run is None:
        raise InputError([Problem("--settle", "", "needs --run, which has the texts of the rows")])
    found = read(files, key=key, run=run, level=level)
    if json:
        print_json({**document(found.people.study, SCHEMA, found), "level": level})
    else:
        _show_people(found)
    if not found.people.labelled:
        say("Nothing is labelled yet: nothing was stored.")
    elif run is not None:
        say(f"Stored in {run}; include it in the report with: {command('report', Path(run))}")
    if settle is not None and run is not None:
        _make_settling_page(run, settle, found.people.task)


def _make_settling_page(run: Path, page: Path, task: str) -> None:
    from overton.cli.output import say
    from overton.judge.pages import settling_page

    if settling_page(run, page, task=task) is None:
        say("People have no unsettled disagreements: there is no page to make.")
    else:
        say(f"Settle the rows together on {page}, then read the file it saves with overton judge agreement.")


def _show_people(found: PeopleAgreement) -> None:
    from overton.cli.output import results, say
    from overton.cli.tables import show, show_sections
    from overton.studies.label_parts import labelled_section, people_tables

    show(people_tables(found.people), results())
    if found.shares is not None:
        show_sections([labelled_section([found.shares])], results())
    if found.people.open:
        say(f"People disagree on {found.people.open} rows. Until these are settled, all labels given count equally.")


@app.command(cls=StrictCommand)
def again(
    runs: Annotated[
        list[Path],
        typer.Argument(
            metavar="RUN...", help="A run's folder; give two of one study to see whether their judges differ."
        ),
    ],
    judge: Annotated[
        list[str] | None,
        typer.Option("--judge", metavar="MODEL", help="Another judge; the run's own by default. Repeatable."),
    ] = None,
    what: Annotated[
        str | None, typer.Option("--what", metavar="WORD", help="Which label, if a study's judge gives several.")
    ] = None,
    size: Annotated[
        int,
        typer.Option("--size", min=1, metavar="N", help="Maximum units per run; 100 by default.", show_default=False),
    ] = 100,
    seed: opt.SeedOption = 0,
    model_arg: opt.ModelArgOption = None,
    price: opt.PriceOption = None,
    max_cost: opt.MaxCostOption = None,
    max_calls: opt.MaxCallsOption = None,
    out: opt.OutOption = None,
    trust: opt.TrustOption = False,
    plan: Annotated[bool, typer.Option("--plan", help="Ask nothing; only count and price the calls.")] = False,
    json: opt.JsonOption = False,
) -> None:
    """Is the judge consistent? Ask it or another one again about the same units, as before and in another order."""
    from overton.cli.confirming import confirmation
    from overton.cli.ending import conclude, show_plan
    from overton.cli.progress import watching
    from overton.judge.rejudging import again as ask_again
    from overton.judge.rejudging import plan_again

    given: dict[str, Any] = {"judge": judge, "what": what, "size": size, "seed": seed, "trust": trust}
    given |= {"model_args": opt.model_arguments(model_arg), "prices": opt.prices(price), "confirm": confirmation()}
    if plan:
        show_plan(plan_again(runs, **given), max_cost, max_calls, json=json)
        return
    with watching("again") as watch:
        done = ask_again(runs, out=out, max_cost=max_cost, max_calls=max_calls, watch=watch, **given)
    raise typer.Exit(conclude(done, json=json))


app.command(cls=StrictCommand)(controls)


@app.command(cls=StrictCommand)
def correct(
    table: Annotated[Path, typer.Argument(metavar="TABLE", help="Judged rows (.csv, .parquet, .jsonl).")],
    label: Annotated[
        str,
        typer.Option("--label", metavar="COLUMN", help="Column of people's labels, empty if nobody labelled the row."),
    ],
    judge: Annotated[
        str, typer.Option("--judge", metavar="COLUMN", help="Column of the judge's labels; an empty one is 'unread'.")
    ],
    by: Annotated[
        str | None, typer.Option("--by", metavar="COLUMN", help="Column of groups, compared pairwise.")
    ] = None,
    cluster: Annotated[
        str | None,
        typer.Option(
            "--cluster",
            metavar="COLUMN",
            help="Column of the cluster that each row belongs to: rows that are alike or were drawn together.",
        ),
    ] = None,
    chance: Annotated[
        str | None,
        typer.Option(
            "--chance",
            metavar="COLUMN",
            help="Column of each row's probability of being labelled; a plain draw by default.",
        ),
    ] = None,
    group: Annotated[
        list[str] | None,
        typer.Option("--group", metavar="NAME=LABEL,LABEL", help="Labels pooled under a name; repeatable."),
    ] = None,
    value: Annotated[
        list[str] | None,
        typer.Option("--value", metavar="LABEL=NUMBER", help="A label's numeric value, for the mean; repeatable."),
    ] = None,
    population: Annotated[
        str,
        typer.Option(
            "--population",
            metavar="WHICH",
            help="Infer about rows like these (like-these, the default) or about exactly these (these).",
            show_default=False,
        ),
    ] = "like-these",
    level: opt.LevelOption = 0.95,
    json: opt.JsonOption = False,
) -> None:
    """Correct a judge's labels of all rows by people's labels of some: shares of labels, means, differences."""
    from overton.cli.output import print_json, results, say
    from overton.cli.tables import show
    from overton.judge.correction import correct as corrected
    from overton.judge.correction import correction_document
    from overton.key_values import by_key
    from overton.studies.label_parts import correction_tables

    found = corrected(
        table,
        label=label,
        judge=judge,
        by=by,
        cluster=cluster,
        chance=chance,
        group={
            name: [word.strip() for words in lists for word in words.split(",")]
            for name, lists in by_key(group or (), "--group", "NAME=LABEL,LABEL").items()
        },
        value={key: given[-1] for key, given in by_key(value or (), "--value", "LABEL=NUMBER").items()},
        population=population,
        level=level,
    )
    if json:
        print_json(correction_document(found, level))
        return
    show(correction_tables(found), results())
    for warning in found.warnings:
        say(f"Warning: {warning}")
