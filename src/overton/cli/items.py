"""The commands below `overton items`: those that check, list and make what studies ask about, and those of studies."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from overton.cli.build import (
    JSON,
    MAX_CALLS,
    MAX_COST,
    MODEL_ARG,
    PATH,
    SEED,
    CommandGroup,
    Exit,
    StrictCommand,
    command_with,
    model_arguments,
)
from overton.cli.studies import field_params, find_usable, flags_of, make_run, only_given, rows_of
from overton.errors import InputError, Problem, command

if TYPE_CHECKING:
    from overton.studies.study import AnyStudy, Command


@command_with(
    click.Argument(
        ["kind"],
        required=False,
        metavar="[KIND|FILE]",
        help="issues, topics, threads, dilemmas, a study's name, or a file.",
    ),
    JSON,
    name="list",
)
def list_items(kind: str | None, json: bool) -> None:
    """List the ids and titles of the items that come with Overton, or of those in a file."""
    from rich.table import Table
    from rich.text import Text

    from overton import items
    from overton.cli.terminal import print_json, results

    found = items.list_items(kind)
    if json:
        print_json(found)
        return
    for noun, study in dict.fromkeys((item.kind, item.study) for item in found):
        table = Table(title=Text(f"{noun}s ({study})"))
        for heading in ("id", "about"):
            table.add_column(heading, overflow="fold", no_wrap=heading == "id")
        for item in found:
            if (item.kind, item.study) == (noun, study):
                table.add_row(Text(item.id), Text(item.title))
        results().print(table)


@command_with(
    click.Argument(["kind"], metavar="KIND", help="issue, topic, thread, dilemma, or a study's name."),
    click.Option(["--out"], type=PATH, required=True, metavar="FILE", help="File to create."),
    name="new",
)
def new_item(kind: str, out: Path) -> None:
    """Create a file with one item to fill in, which passes its check as it is."""
    from overton import items
    from overton.cli.terminal import results, say

    made = items.new(kind, out)
    results().print(str(made), soft_wrap=True)
    say(f"Fill it in, and check it with: {command('items', 'check', made)}")


def _find_making(name: str) -> click.Command | None:
    """The command of a study that makes or checks items, or one that a study adds."""
    from overton.studies.registry import own_commands

    try:
        study = find_usable(name, ("makes",))
    except InputError:
        study = None
    if study is not None:
        return make_run(study, argument=True)
    own = [known for known in own_commands() if known.name == name]
    if len(own) > 1:
        added = " and ".join(known.call for known in own)
        raise InputError([Problem("items", name, f"{added} both add a command of this name; uninstall one")])
    return _make_added(own[0]) if own else None


def _making_rows() -> list[tuple[str, str]]:
    from overton.studies.registry import own_commands

    return [*rows_of("makes")(), *((known.name, known.help) for known in own_commands())]


def _make_added(own: Command) -> StrictCommand:
    """A command that a study adds: its parameters are those of its function."""
    from inspect import signature

    from overton.studies.options import fields_of_call, option_place, values_of

    function, fields = own.function, fields_of_call(own.function)
    taken = signature(function).parameters
    shared = {"seed": SEED, "model_args": MODEL_ARG, "max_cost": MAX_COST, "max_calls": MAX_CALLS}

    def body(json: bool, **values: Any) -> Exit:
        from overton.cli.output import show_done
        from overton.cli.progress import watching

        given = only_given(values)
        if "model_args" in taken:
            given["model_args"] = model_arguments(given.pop("model_arg", ()))
        passed = {name: given.pop(name) for name in shared if name in given}
        passed |= values_of(fields, given)
        if "watch" not in taken:
            return show_done(own.shown(function(**passed)), json=json)
        with watching(own.name) as watch:
            done = function(watch=watch, **passed)
        return show_done(own.shown(done), json=json)

    return StrictCommand(
        own.name,
        callback=body,
        params=[*field_params(fields), *(option for name, option in shared.items() if name in taken), JSON],
        flags={option_place(field.name): field.flag for field in fields},
        help=own.help,
    )


def _find_check(name: str) -> click.Command | None:
    """The command that checks a study's items, or a file given instead of a study's name.

    Raises:
        InputError: neither such a study nor such a file exists.
    """
    from dataclasses import replace

    try:
        study = find_usable(name, ("asks", "makes", "labels"))
    except InputError as error:
        if Path(name).exists():
            return _make_file_check(Path(name))
        wrong = [replace(problem, reason=f"{problem.reason}; and no such file") for problem in error.problems]
        raise InputError(wrong) from None
    return None if study is None else _make_check(study)


def _make_check(study: AnyStudy) -> StrictCommand:
    from overton.studies.options import fields_of

    def body(path: Path, **reading: Any) -> Exit:
        return _check_items(study, path, only_given(reading))

    layouts = f"{study.items.layouts[:1].upper()}{study.items.layouts[1:]}."
    path = click.Argument(["path"], type=PATH, metavar="PATH", help=layouts)
    return StrictCommand(
        study.name,
        callback=body,
        params=[path, *field_params(fields_of(study.items.reading))],
        flags=flags_of(study, study.items.reading),
        help=f"List every problem in {study.items.plural}, without asking anything. Exit code 2 if an error would"
        " prevent a run from starting.",
    )


def _make_file_check(path: Path) -> StrictCommand:
    """The command that checks a file of items of any kind, recognised by its keys."""

    def body() -> Exit:
        from overton.cli.terminal import say
        from overton.items import kind_of, recognised

        study = recognised(path)
        asks = kind_of(study)
        later = "" if asks.name == study.name else f", not yet for {asks.name}, whose check says what is missing"
        say(f"Read as {study.items.plural} for {study.name}{later}.")
        return _check_items(study, path, {})

    help_ = "List every problem in a file of items of any kind, without asking anything."
    return StrictCommand(str(path), callback=body, help=help_)


def _check_items(study: AnyStudy, path: Path, reading: Mapping[str, Any]) -> Exit:
    from overton.cli.terminal import results, say
    from overton.runs.items import check_items

    findings = check_items(study, path, **reading)
    for finding in findings:
        results().print(str(finding), soft_wrap=True)
    errors = sum(finding.severity == "error" for finding in findings)
    say(f"{errors} errors, {len(findings) - errors} warnings")
    return Exit.BAD_INPUT if errors else Exit.DONE


check = CommandGroup(
    "check",
    help="List every problem in a study's items, without asking anything.",
    metavar="[STUDY] PATH",
    find=_find_check,
    rows=rows_of("asks", "makes", "labels"),
)


items = CommandGroup(
    "items",
    help="Check and make what studies ask about.",
    metavar="COMMAND",
    commands=[check, list_items, new_item],
    find=_find_making,
    rows=_making_rows,
)
