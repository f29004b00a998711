"""The commands below `overton items`: they check, list and make items, and some belong to a single study."""

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
from overton.cli.call_arguments import only_given
from overton.cli.studies import field_params, find_usable, flags_of, make_run, rows_of
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
    """List the ids and titles of Overton's sample items, or of the items in a file."""
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
    """Create a file with one item to fill in. The item fails its check until all its texts are replaced."""
    from overton import items
    from overton.cli.terminal import results, say

    made = items.new(kind, out)
    results().print(str(made), soft_wrap=True)
    say(f"Fill it in, then check it with: {command('items', 'check', made)}")


def _find_making(name: str) -> click.Command | None:
    """The command of a study that makes or checks items, or a command that a study adds."""
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
        raise InputError([Problem("items", name, f"{added} both add a command of this name; uninstall one of them")])
    return _make_added(own[0]) if own else None


def _making_rows() -> list[tuple[str, str]]:
    from overton.studies.registry import own_commands

    return [*rows_of("makes")(), *((known.name, known.help) for known in own_commands())]


def _make_added(own: Command) -> StrictCommand:
    """Make the command that a study adds, with the parameters of its function."""
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
        wrong = [
            replace(problem, reason=(f"{problem.reason}; there is no such file either")) for problem in error.problems
        ]
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
        help=f"List all problems in {study.items.plural}, without any calls. The exit code is 2 if an error would"
        " prevent a run.",
    )


def _make_file_check(path: Path) -> StrictCommand:
    """The command that checks a file of items of any kind, recognised by its keys."""

    def body() -> Exit:
        from overton.cli.terminal import say
        from overton.items import count_errors
        from overton.studies.findings import counted

        found = count_errors(path)
        study, errors = min(found, key=lambda entry: entry[1])
        say(f"Read as {study.items.plural} for {study.name}.")
        done = _check_items(study, path, {})
        if others := [(other, count) for other, count in found if other.name != study.name]:
            name = next((other.name for other, count in others if count > errors), others[0][0].name)
            listed = ", ".join(f"{counted(count, 'errors')} for {other.name}" for other, count in others)
            say(f"Several studies can use the {study.items.plural} in this file. They were checked for {study.name}.")
            say(f"The file has {listed}. To check it for another study: {command('items', 'check', name, path)}")
        return done

    help_ = "List all problems in a file of items of any kind, without any calls."
    return StrictCommand(str(path), callback=body, help=help_)


def _check_items(study: AnyStudy, path: Path, reading: Mapping[str, Any]) -> Exit:
    from overton.cli.terminal import results, say
    from overton.runs.items import check_items
    from overton.studies.findings import counted

    findings = check_items(study, path, **reading)
    for finding in findings:
        results().print(str(finding), soft_wrap=True)
    errors = sum(finding.severity == "error" for finding in findings)
    say(f"{counted(errors, 'errors')}, {counted(len(findings) - errors, 'warnings')}")
    return Exit.BAD_INPUT if errors else Exit.DONE


check = CommandGroup(
    "check",
    help="List all problems in a study's items, without any calls.",
    metavar="[STUDY] PATH",
    find=_find_check,
    rows=rows_of("asks", "makes", "labels"),
)


items = CommandGroup(
    "items",
    help="Check and create the items of studies.",
    metavar="COMMAND",
    commands=[check, list_items, new_item],
    find=_find_making,
    rows=_making_rows,
)
