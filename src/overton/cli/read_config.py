"""A configuration file in Python: `overton.run(**overton.read_config("study.toml"))`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from overton.cli.call_arguments import call_arguments, only_given
from overton.cli.configuration import Configuration, configuration_of, study_in
from overton.cli.configured_commands import check_reached
from overton.cli.studies import make_run
from overton.errors import InputError, Problem

if TYPE_CHECKING:
    from overton.runs.trust import Confirm


def read_config(
    path: str | Path, *, study: str | None = None, trust: bool = False, confirm: Confirm | None = None
) -> dict[str, Any]:
    """Read the arguments of `overton.run` from a configuration file; `study` names the study if the file does not.

    Example: `overton.run(**overton.read_config("study.toml"), out="runs/again")`.

    The file may come from somebody else, and may name an address, a variable with a key, or a file outside of its
    folder. If this machine has never used that address, key or file, you have to confirm it with `trust` or `confirm`,
    as in `overton.resume`.

    Raises:
        InputError: the file cannot be read, a key is unknown, a value is wrong, or the file names an address, key or
            file that is not confirmed. The message names each key concerned.
    """
    from overton.runs.trust import Trust
    from overton.studies.registry import study_named

    file = Path(path)
    found = study_named(study or study_in(file))
    command = make_run(found)
    configuration = configuration_of(found, file, command.params, command.plan_only)
    names = {flag: str(param.name) for param in command.params for flag in param.opts}
    try:
        given = _values(command, configuration)
        check_reached(found, configuration, given, {}, Trust(trust, confirm))
        arguments = call_arguments(found, given)
    except InputError as error:
        raise configuration.located(error, names) from error.__cause__
    return {"study": found.name, **{name: value for name, value in arguments.items() if value not in ((), {}, None)}}


def _values(command: click.Command, configuration: Configuration) -> dict[str, Any]:
    """Convert the words of a file to values of the command's parameters.

    Raises:
        InputError: a word does not fit its parameter's type.
    """
    context, given, problems = click.Context(command), dict[str, Any](), list[Problem]()
    for param in command.params:
        if (name := str(param.name)) in configuration.words:
            try:
                given[name] = param.type_cast_value(context, configuration.words[name])
            except click.BadParameter as error:
                problems.append(Problem(str(configuration.path), configuration.keys[name], error.message))
    if problems:
        raise InputError(problems)
    return only_given(given)
