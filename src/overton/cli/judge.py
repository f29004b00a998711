"""The commands below `overton judge`: have a judge label conversations, and check a judge with human labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

import click

from overton.cli.build import (
    ANYWAY,
    JSON,
    LEVEL,
    MAX_CALLS,
    MAX_COST,
    MODEL_ARG,
    OUT,
    PATH,
    PRICE,
    RUN,
    SEED,
    TRUST,
    CommandGroup,
    Exit,
    command_with,
    model_arguments,
    paths,
    prices,
)
from overton.cli.studies import describe_entry, entries_of, find_usable, make_run
from overton.errors import InputError, Problem, command

if TYPE_CHECKING:
    from overton.judge.people_labels import PeopleAgreement


@command_with(
    RUN,
    click.Option(["--out"], type=PATH, metavar="PATH", help="CSV file to create; with --people, folder to create."),
    click.Option(
        ["--size"],
        type=click.IntRange(min=1),
        metavar="N",
        help="Number of rows to label. By default, a sheet has the paper's number of rows. With --people, the default"
        " is 100 rows, or ten groups if whole groups are sampled.",
    ),
    click.Option(["--seed"], type=int, default=0, metavar="N", help="Seed of the random sample; 0 by default."),
    click.Option(
        ["--stratified"],
        is_flag=True,
        help="Sample the same number of rows for each of the judge's labels if possible, so that rare labels are"
        " checked, too.",
    ),
    click.Option(["--what"], metavar="WORD", help="Kind of label to sample, if the study's judge gives several kinds."),
    click.Option(
        ["--people"],
        type=click.IntRange(min=1),
        metavar="N",
        help="Make a page for each of N people instead of a CSV sheet for one person.",
    ),
    click.Option(
        ["--shared"],
        type=click.IntRange(min=0),
        metavar="N",
        help="With --people: number of rows that all pages share; 30 by default.",
    ),
    click.Option(
        ["--whole/--single"],
        is_flag=True,
        default=None,
        help="With --people: sample whole groups (conversations, threads in a condition) or single rows. The default is"
        " whole groups if measures such as change rate or suppression depend on the labels.",
    ),
    click.Option(["--label-studio"], is_flag=True, help="With --people: also write the rows for Label Studio."),
    click.Option(
        ["for_", "--for"],
        metavar="MEASURE[=WIDTH]",
        help="Estimate how many labels narrow MEASURE's interval to WIDTH (0.1 by default). With --people and"
        " --out, sample that many rows. MEASURE is one of the labels or measures in docs/judges.md.",
    ),
)
def sample(
    run: Path,
    out: Path | None,
    size: int | None,
    seed: int,
    stratified: bool,
    what: str | None,
    people: int | None,
    shared: int | None,
    whole: bool | None,
    label_studio: bool,
    for_: str | None,
) -> None:
    """Sample rows that the judge labelled, so that people can label them, too.

    \b
    People give labels on browser pages or on a CSV sheet.
    These labels correct the run's numbers.
    With 100 labels or more, corrected numbers replace the judge's numbers.
    With fewer labels, reports show the corrected numbers and the judge's numbers.
    The command says which numbers the labels will correct.
    """
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


@command_with(
    paths("files", "FILES", "Files that the label pages saved (.json), or filled-in sheets (.csv)."),
    click.Option(
        ["--run"], type=PATH, metavar="RUN", help="Store labels and agreement in this run, and correct its numbers."
    ),
    click.Option(
        ["--key"],
        type=PATH,
        metavar="FILE",
        help=("Task file of the pages or key file of the sheets, if it is not in the same folder as the labels."),
    ),
    click.Option(
        ["--settle"], type=PATH, metavar="FILE", help="Write a page on which people resolve their disagreements."
    ),
    LEVEL,
    JSON,
)
def agreement(
    files: Sequence[Path], run: Path | None, key: Path | None, settle: Path | None, level: float, json: bool
) -> None:
    """Read human labels, and show how well people agree, how well the judge agrees with people, and the corrected
    proportions of labels."""
    from overton.cli.terminal import print_json, say
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
        say("There are no labels yet, so nothing was stored.")
    elif run is not None:
        say(f"Stored in {run}; include it in the report with: {command('report', Path(run))}")
    if settle is not None and run is not None:
        _make_settling_page(run, settle, found.people.task)


def _make_settling_page(run: Path, page: Path, task: str) -> None:
    from overton.cli.terminal import say
    from overton.judge.pages import settling_page

    if settling_page(run, page, task=task) is None:
        say("There are no open disagreements, so no page was written.")
    else:
        say(
            f"Resolve the rows together on {page}. Then use overton judge agreement to read the file that the page"
            " saves."
        )


def _show_people(found: PeopleAgreement) -> None:
    from overton.cli.tables import show, show_sections
    from overton.cli.terminal import results, say
    from overton.studies.findings import counted
    from overton.studies.label_parts import labelled_section, people_tables

    show(people_tables(found.people), results())
    if found.shares is not None:
        show_sections([labelled_section([found.shares])], results())
    if found.people.open:
        rows = counted(found.people.open, "rows")
        say(f"People disagree on {rows}. Until these are resolved, all labels count equally.")


@command_with(
    paths("runs", "RUN...", "Folder of a run; give two runs of one study to compare their judges."),
    click.Option(
        ["--judge"],
        multiple=True,
        metavar="MODEL",
        help=("Judge that labels again, by default the run's own; repeatable."),
    ),
    click.Option(["--what"], metavar="WORD", help="Kind of label to repeat, if the study's judge gives several kinds."),
    click.Option(
        ["--size"], type=click.IntRange(min=1), default=100, metavar="N", help="Maximum units per run; 100 by default."
    ),
    SEED,
    MODEL_ARG,
    PRICE,
    MAX_COST,
    MAX_CALLS,
    ANYWAY,
    OUT,
    TRUST,
    click.Option(["--plan"], is_flag=True, help="Ask nothing; only count and price the calls."),
    JSON,
)
def again(
    runs: Sequence[Path],
    judge: Sequence[str],
    what: str | None,
    size: int,
    seed: int,
    model_arg: Sequence[tuple[str, str]],
    price: Sequence[tuple[str, str, str]],
    max_cost: float | None,
    max_calls: int | None,
    anyway: bool,
    out: Path | None,
    trust: bool,
    plan: bool,
    json: bool,
) -> Exit | None:
    """Have the run's judge or another judge label the same units again. Each unit is labelled twice: with the same
    prompt, and with labels or materials in another order."""
    from overton.cli.output import conclude, show_plan
    from overton.cli.progress import watching
    from overton.cli.terminal import confirmation
    from overton.judge.rejudging import again as ask_again
    from overton.judge.rejudging import plan_again

    given: dict[str, Any] = {"judge": list(judge) or None, "what": what, "size": size, "seed": seed, "trust": trust}
    given |= {"model_args": model_arguments(model_arg), "prices": prices(price), "confirm": confirmation()}
    if plan:
        show_plan(plan_again(runs, **given), max_cost, max_calls, json=json)
        return None
    with watching("again") as watch:
        done = ask_again(runs, out=out, max_cost=max_cost, max_calls=max_calls, anyway=anyway, watch=watch, **given)
    return conclude(done, watch, json=json)


@command_with(
    click.Argument(["table"], type=PATH, metavar="TABLE", help="Judged rows (.csv, .parquet, .jsonl)."),
    click.Option(
        ["--label"],
        required=True,
        metavar="COLUMN",
        help="Column with human labels; empty for unlabelled rows.",
    ),
    click.Option(
        ["--judge"],
        required=True,
        metavar="COLUMN",
        help=("Column with the judge's labels; an empty label counts as 'unread'."),
    ),
    click.Option(["--by"], metavar="COLUMN", help="Column of groups to compare in pairs."),
    click.Option(
        ["--cluster"],
        metavar="COLUMN",
        help="Column that names each row's cluster. Rows of a cluster are alike or were sampled together.",
    ),
    click.Option(
        ["--chance"],
        metavar="COLUMN",
        help="Column with each row's probability of being sampled for a label; by default, all rows have the same"
        " probability.",
    ),
    click.Option(
        ["--group"], multiple=True, metavar="NAME=LABEL,LABEL", help="Labels to pool under a name; repeatable."
    ),
    click.Option(
        ["--value"], multiple=True, metavar="LABEL=NUMBER", help="A label's numeric value, for the mean; repeatable."
    ),
    click.Option(
        ["--population"],
        default="like-these",
        metavar="WHICH",
        help="Population to infer about: rows like these (like-these, the default) or exactly these rows (these).",
    ),
    LEVEL,
    JSON,
)
def correct(
    table: Path,
    label: str,
    judge: str,
    by: str | None,
    cluster: str | None,
    chance: str | None,
    group: Sequence[str],
    value: Sequence[str],
    population: str,
    level: float,
    json: bool,
) -> None:
    """Correct a judge's labels with human labels of some rows: proportions of labels, means, and differences between
    groups."""
    from overton.cli.tables import show
    from overton.cli.terminal import print_json, results, say
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
            for name, lists in by_key(group, "--group", "NAME=LABEL,LABEL").items()
        },
        value={key: given[-1] for key, given in by_key(value, "--value", "LABEL=NUMBER").items()},
        population=population,
        level=level,
    )
    if json:
        print_json(correction_document(found))
        return
    show(correction_tables(found), results())
    for warning in found.warnings:
        say(f"Warning: {warning}")


@command_with(
    click.Argument(
        ["of"],
        metavar="STUDY|RUN",
        help="Name of a study (with --judge), or folder of a run. For a run, the run's own judge is tested by default.",
    ),
    click.Option(
        ["--judge"], multiple=True, metavar="MODEL", help="Judge to test, by default the run's own; repeatable."
    ),
    SEED,
    MODEL_ARG,
    PRICE,
    MAX_COST,
    MAX_CALLS,
    ANYWAY,
    OUT,
    TRUST,
    click.Option(["--plan"], is_flag=True, help="Ask nothing; only count and price the calls."),
    JSON,
)
def controls(
    of: str,
    judge: Sequence[str],
    seed: int,
    model_arg: Sequence[tuple[str, str]],
    price: Sequence[tuple[str, str, str]],
    max_cost: float | None,
    max_calls: int | None,
    anyway: bool,
    out: Path | None,
    trust: bool,
    plan: bool,
    json: bool,
) -> Exit | None:
    """Test a judge on control texts, whose labels are beyond doubt."""
    from overton.cli.output import conclude, show_plan
    from overton.cli.progress import watching
    from overton.cli.terminal import confirmation
    from overton.judge.controls import controls as try_on
    from overton.judge.controls import plan_controls

    given: dict[str, Any] = {"judge": list(judge) or None, "seed": seed, "trust": trust}
    given |= {"model_args": model_arguments(model_arg), "prices": prices(price), "confirm": confirmation()}
    if plan:
        show_plan(plan_controls(of, **given), max_cost, max_calls, json=json)
        return None
    with watching("controls") as watch:
        done = try_on(of, out=out, max_cost=max_cost, max_calls=max_calls, anyway=anyway, watch=watch, **given)
    return conclude(done, watch, json=json)


def _for_measure(
    run: Path, wanted: str, what: str | None, people: int | None, *, size: int | None, whole: bool | None
) -> tuple[int | None, bool | None, str]:
    """Show how many labels a measure needs. Return the number of labels to sample, whether to sample whole groups, and
    the kind of label.

    Raises:
        InputError: see `labels_for`; or the user also chose the size or the groups.
    """
    from overton.cli.tables import show
    from overton.cli.terminal import results, say
    from overton.judge.label_plan import PILOT, WIDTH, labels_for
    from overton.studies.judged_rows import plans_table

    _refuse_beside_for({"--size": size is not None, "--whole": whole is True, "--single": whole is False})
    measure, equals, width = wanted.partition("=")
    found = labels_for(run, measure, _parse_width(width) if equals else WIDTH, what=what)
    if found.labelled < PILOT:
        so_far = f"{found.labelled} labels are too few" if found.labelled else "There are no labels yet"
        say(f"{so_far}: a pilot of {PILOT} shows how many are needed.")
        return PILOT, False, found.what
    show([plans_table(found.measure, found.width, found.labelled, (found.row, found.group), found.plans)], results())
    chosen = found.chosen
    if chosen is None:
        raise InputError([Problem("--for", wanted, found.plans[0].why)])
    return chosen.labels, chosen.unit == "units", found.what


def _parse_width(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InputError([Problem("--for", text, "must be MEASURE=WIDTH, as in change_rate=0.1")]) from None


def _refuse_beside_for(given: Mapping[str, bool]) -> None:
    if problems := [Problem(name, "", "is set by --for") for name, there in given.items() if there]:
        raise InputError(problems)


def _refuse_without_people(given: Mapping[str, bool]) -> None:
    """Refuse options that require pages. `given` says for each option whether the user gave it."""
    if problems := [Problem(name, "", "needs --people") for name, there in given.items() if there]:
        raise InputError(problems)


def _draw_sheet(run: Path, out: Path, size: int | None, seed: int, stratified: bool, what: str | None) -> None:
    """Sample a sheet, and tell the user how to fill it in and read it back."""
    from overton.cli.terminal import results, say
    from overton.judge.sheets import draw_sheet as drawn_sheet

    sheet, key = drawn_sheet(run, out, size=size, seed=seed, stratified=stratified, what=what)
    _say_use(run, key)
    say(f"Have a person fill in the column 'person'. The judge's labels are in {key}, which that person must not see.")
    say(f"Then: {command('judge', 'agreement', sheet, '--run', Path(run))}")
    results().print(str(sheet), soft_wrap=True)


def _draw_pages(run: Path, out: Path, **how: Any) -> None:
    """Sample pages, and tell the user how to read their files back."""
    from overton.cli.terminal import results, say
    from overton.judge.pages import draw_labels
    from overton.runs.labels import TASK

    pages = draw_labels(run, out, **how)
    for page in pages:
        results().print(str(page), soft_wrap=True)
    if how["whole"] is None:
        _say_if_whole(out / TASK)
    _say_use(run, out / TASK)
    say(f"Send each person one page. The judge's labels are in {out / TASK}, which they must not see.")
    read = f"{command('judge', 'agreement', out)}/*.json --run {quote(str(run))}"
    say(f"Put the files they save into {out}, then: {read}")


def _say_use(run: Path, task: Path) -> None:
    """Say what the labels of a task will be used for."""
    from overton.cli.terminal import say
    from overton.judge.label_use import describe_use, use_of_labels

    for sentence in describe_use(use_of_labels(run, task)):
        say(sentence)


def _say_if_whole(task: Path) -> None:
    """If whole groups were sampled by default, say how many, and how to sample single rows instead."""
    from overton.cli.terminal import say
    from overton.judging.label_tasks import LabelTask
    from overton.runs.labels import read_label_file

    drawn = read_label_file(task)
    if isinstance(drawn, LabelTask) and drawn.design == "whole":
        groups = len({row.group for row in drawn.rows})
        say(
            f"Sampled {len(drawn.rows):,} rows in {groups:,} whole groups. --single samples single rows instead, and"
            " --size changes the number of rows."
        )


def _find_labelling(word: str) -> click.Command | None:
    """The command of a study that labels existing material; `word` is its name below `overton judge`."""
    found = next((entry.name for entry in entries_of("labels") if entry.word == word), None)
    study = None if found is None else find_usable(found, ("labels",))
    return None if study is None else make_run(study, argument=True)


def _label_rows() -> list[tuple[str, str]]:
    return [(entry.word, describe_entry(entry)) for entry in entries_of("labels")]


judge = CommandGroup(
    "judge",
    help="Label conversations with a judge, and check a judge with human labels.",
    metavar="COMMAND",
    commands=[sample, agreement, again, controls, correct],
    find=_find_labelling,
    rows=_label_rows,
)
