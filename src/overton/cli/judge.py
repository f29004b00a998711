"""`overton judge STUDY|sample|agreement|again|controls|correct`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import typer

from overton.cli import options as opt
from overton.cli.known import StrictCommand
from overton.cli.studies import Labelling
from overton.cli.trying import controls
from overton.errors import InputError, Problem, command

if TYPE_CHECKING:
    from overton.api.labels import Agreed
    from overton.judging.agreement import SheetAgreement

__all__ = ["app"]

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
            help="Folder of pages to create, with --people; otherwise a CSV file, which checks the judge but corrects"
            " nothing.",
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
            help="Make a page for each of N people, whose labels correct the run's numbers, instead of a CSV sheet.",
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
        size, whole, what = _for_measure(run, for_, what, people, size=size, whole=whole)
        if out is None:
            return
    if out is None:
        raise InputError([Problem("--out", "", "name the file or folder to create")])
    if people is None:
        given = {"--shared": shared is not None, "--label-studio": label_studio, "--for": for_ is not None}
        if for_ is None:
            given |= {"--whole": whole is True, "--single": whole is False}
        _refuse_without_people(given)
        _draw_sheet(run, out, size, seed, stratified, what)
    else:
        _draw_pages(
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


def _for_measure(
    run: Path, wanted: str, what: str | None, people: int | None, *, size: int | None, whole: bool | None
) -> tuple[int | None, bool | None, str]:
    """Show how many labels a measure needs; returns how many to draw, whether in whole groups, and which label.

    Raises:
        InputError: see `labels_for`; or a size is given, too.
    """
    from overton.api.planning_labels import PILOT, WIDTH, labels_for
    from overton.cli.output import results, say
    from overton.cli.tables import show
    from overton.studies.sheet import plans_table

    _refuse_beside_for({"--size": size is not None, "--whole": whole is True, "--single": whole is False})
    measure, equals, width = wanted.partition("=")
    found = labels_for(run, measure, _width(width) if equals else WIDTH, what=what)
    if found.labelled < PILOT:
        so_far = f"{found.labelled} labels so far are too few" if found.labelled else "There are no labels yet"
        say(f"{so_far}: a pilot of {PILOT} shows how many are needed.")
        return PILOT, False, found.what
    show([plans_table(found.measure, found.width, found.labelled, (found.row, found.group), found.plans)], results())
    chosen = found.chosen
    if chosen is None:
        raise InputError([Problem("--for", wanted, found.plans[0].why)])
    return chosen.labels, chosen.unit == "units", found.what


def _width(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InputError([Problem("--for", text, "must be MEASURE=WIDTH, as in change_rate=0.1")]) from None


def _refuse_beside_for(given: Mapping[str, bool]) -> None:
    if problems := [Problem(name, "", "is set by --for") for name, there in given.items() if there]:
        raise InputError(problems)


def _refuse_without_people(given: Mapping[str, bool]) -> None:
    if problems := [Problem(name, "", "needs --people") for name, there in given.items() if there]:
        raise InputError(problems)


def _draw_sheet(run: Path, out: Path, size: int | None, seed: int, stratified: bool, what: str | None) -> None:
    from overton.api.sheets import draw_sheet
    from overton.cli.output import results, say

    sheet, key = draw_sheet(run, out, size=size, seed=seed, stratified=stratified, what=what)
    say(f"Fill in the column 'person'. The judge's labels are in {key}, which that person must not see.")
    pages = command("judge", "sample", Path(run), "--people", "1", "--out", "FOLDER")
    say(f"A sheet checks the judge and corrects no number. Labels given on pages do: {pages}")
    say(f"Then: {command('judge', 'agreement', sheet, '--run', Path(run))}")
    results().print(str(sheet), soft_wrap=True)


def _draw_pages(run: Path, out: Path, **how: Any) -> None:
    from overton.api.labelling import TASK, draw_labels
    from overton.cli.output import results, say

    pages = draw_labels(run, out, **how)
    for page in pages:
        results().print(str(page), soft_wrap=True)
    if how["whole"] is None:
        _say_if_whole(out / TASK)
    say(f"Send each person one page. The judge's labels are in {out / TASK}, which they must not see.")
    read = f"{command('judge', 'agreement', out)}/*.json --run {quote(str(run))}"
    say(f"Put the files they save into {out}, then: {read}")


def _say_if_whole(task: Path) -> None:
    """Say that whole groups were drawn although nobody asked for them, how many, and how to draw single rows."""
    from overton.api.label_files import read_file
    from overton.cli.output import say
    from overton.judging.labelling import Task

    drawn = read_file(task)
    if isinstance(drawn, Task) and drawn.design == "whole":
        groups = len({row.group for row in drawn.rows})
        say(
            f"Drawn: {len(drawn.rows):,} rows in {groups:,} whole groups, which correct measures of many labels"
            " whatever the judge's errors. --single draws single rows, --size fewer or more."
        )


@app.command(cls=StrictCommand)
def agreement(
    files: Annotated[
        list[Path],
        typer.Argument(metavar="FILES", help="Files saved from people's pages (.json), or a filled-in sheet (.csv)."),
    ],
    run: Annotated[
        Path | None,
        typer.Option("--run", metavar="RUN", help="Store labels and agreement in this run, and correct its numbers."),
    ] = None,
    key: Annotated[
        Path | None,
        typer.Option("--key", metavar="FILE", help="The task, or the sheet's key, if it is not beside the files."),
    ] = None,
    settle: Annotated[
        Path | None,
        typer.Option("--settle", metavar="FILE", help="Make a page on which people settle their disagreements."),
    ] = None,
    level: opt.LevelOption = 0.95,
    json: opt.JsonOption = False,
) -> None:
    """Read people's labels back: how well they agree, how well the judge agrees with them, and the resulting shares."""
    from overton.api.labels import Agreed
    from overton.api.labels import agreement as read
    from overton.cli.output import print_json, say
    from overton.studies.plain import SCHEMA, document

    if settle is not None and run is None:
        raise InputError([Problem("--settle", "", "needs --run, which has the texts of the rows")])
    found = read(files, key=key, run=run, level=level)
    study = found.people.study if isinstance(found, Agreed) else found.study
    if json:
        print_json({**document(study, SCHEMA, found), "level": level})
    elif isinstance(found, Agreed):
        _show_people(found)
    else:
        _show_sheet(found)
    if not isinstance(found, Agreed) and found.blank == found.drawn:
        say("The column 'person' is still empty.")
    elif run is not None:
        say(f"Stored in {run}; include it in the report with: {command('report', Path(run))}")
    if settle is not None and run is not None and isinstance(found, Agreed):
        _settle(run, settle, found.people.task)


def _settle(run: Path, page: Path, task: str) -> None:
    from overton.api.settling import settling_page
    from overton.cli.output import say

    if settling_page(run, page, task=task) is None:
        say("People have no unsettled disagreements: there is no page to make.")
    else:
        say(f"Settle the rows together on {page}, then read the file it saves with overton judge agreement.")


def _show_sheet(found: SheetAgreement) -> None:
    from overton.cli.output import results
    from overton.cli.tables import show
    from overton.studies.sheet import agreement_tables

    show(agreement_tables(found), results())


def _show_people(found: Agreed) -> None:
    from overton.cli.output import results, say
    from overton.cli.tables import show, show_sections
    from overton.studies.labelled_tables import labelled_section, people_tables

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
    from overton.api.judging_again import again as ask_again
    from overton.api.judging_again import plan_again
    from overton.cli.confirming import confirmation
    from overton.cli.ending import conclude, show_plan
    from overton.cli.progress import watching

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
    from overton.api.correcting import correct as corrected
    from overton.api.correcting import correction_document
    from overton.cli.output import print_json, results, say
    from overton.cli.tables import show
    from overton.pairs import by_key
    from overton.studies.corrected import correction_tables

    found = corrected(
        table,
        label=label,
        judge=judge,
        by=by,
        cluster=cluster,
        chance=chance,
        group={
            name: [one.strip() for words in lists for one in words.split(",")]
            for name, lists in by_key(group or (), "--group", "NAME=LABEL,LABEL").items()
        },
        value={one: given[-1] for one, given in by_key(value or (), "--value", "LABEL=NUMBER").items()},
        population=population,
        level=level,
    )
    if json:
        print_json(correction_document(found, level))
        return
    show(correction_tables(found), results())
    for warning in found.warnings:
        say(f"Warning: {warning}")
