"""Commands whose options may be in a configuration file, and the option --config that reads the file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from overton.cli.build import OUT, PATH, CommandGroup, StrictCommand
from overton.cli.call_arguments import call_arguments
from overton.cli.configuration import Configuration, configuration_of, study_in
from overton.cli.configured_paths import reach_of_files
from overton.errors import InputError, OvertonError, Problem

if TYPE_CHECKING:
    from overton.calls import Reach
    from overton.runs.trust import Trust
    from overton.studies.study import AnyStudy

_FILE = "overton.configuration"
_STUDY = "overton.configured_study"
"""Keys in Click's context: a command's `Configuration`, and the study that a file named."""


# The addresses, keys and files that a file would reach.


def confirm_configuration(study: AnyStudy, given: Mapping[str, Any], *, trust: bool) -> None:
    """Have the user confirm the addresses, keys and files that the command's configuration file would reach. Those that
    the command line itself names need no confirmation.

    Raises:
        InputError: something is not confirmed; nothing was opened.
    """
    context = click.get_current_context()
    configuration: Configuration | None = context.meta.get(_FILE)
    if configuration is None:
        return
    from overton.cli.terminal import confirmation
    from overton.runs.trust import Trust

    typed = {name: value for name, value in given.items() if not _is_from_file(context, name)}
    check_reached(study, configuration, given, typed, Trust(trust, confirmation()))


def check_reached(
    study: AnyStudy, configuration: Configuration, given: Mapping[str, Any], typed: Mapping[str, Any], trust: Trust
) -> None:
    """Have the user confirm everything that a command would reach only because of the configuration file. `given` are
    all values, and `typed` are those from the command line.

    Raises:
        InputError: something is not confirmed.
    """
    from overton.runs.trust import check_confirmed

    reached: dict[Reach, list[str]] = {}
    for name in configuration.words:
        if name in given and name not in typed:
            files, folder = configuration.files.get(name, ()), configuration.path.parent
            for reach in reach_of_files(files, folder, makes=name == OUT.name):
                reached.setdefault(reach, []).append(configuration.keys[name])
    known = _reach_of_answerers(study, typed, silent=True)
    asked = {reach: names for reach, names in _reach_of_answerers(study, given).items() if reach not in known}
    check_confirmed(configuration.path, reached | asked, trust)


def _reach_of_answerers(study: AnyStudy, given: Mapping[str, Any], *, silent: bool = False) -> dict[Reach, list[str]]:
    """Everything that the models and services would reach. With `silent`, the result is empty if the arguments `given`
    are invalid."""
    from overton.runs.setup import requests_in
    from overton.runs.trust import reach_of_requests

    try:
        return reach_of_requests(study, requests_in(study, call_arguments(study, given)))
    except OvertonError:
        if silent:
            return {}
        raise


# The option, and commands that have it.


def _read_configuration(context: click.Context, _param: click.Parameter, path: Path | None) -> None:
    """Read from a file the options that the command line lacks. Click parses their words like words of the command
    line."""
    command = context.command
    if path is None or context.resilient_parsing or not isinstance(command, ConfiguredCommand):
        return
    found = configuration_of(command.study, path, command.params, command.plan_only)
    context.meta[_FILE] = found
    context.default_map = dict(found.words)


CONFIG = click.Option(
    ["--config"],
    type=PATH,
    metavar="FILE.toml",
    is_eager=True,
    expose_value=False,
    callback=_read_configuration,
    help="Configuration file with any of these options; options on the command line take precedence.",
)
TRUST_FILE = click.Option(
    ["--trust"],
    is_flag=True,
    help=(
        "Allow the run to use all addresses, keys and files that the configuration file names, even if this machine"
        " has never used them."
    ),
)


def _is_from_file(context: click.Context, name: str) -> bool:
    return context.get_parameter_source(name) is ParameterSource.DEFAULT_MAP


class ConfiguredCommand(StrictCommand):
    """A command of a study whose options may be in a configuration file. An error about a value from the file names the
    value's key. `plan_only` are options that only plans have; the file has a separate table for them."""

    def __init__(self, study: AnyStudy, *, plan_only: Sequence[click.Parameter], **declared: Any) -> None:
        super().__init__(study.name, **declared)
        self.study = study
        self.plan_only = plan_only

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the command's words, and its configuration file.

        Raises:
            InputError: there are unknown options, or the file cannot be used.
        """
        try:
            return super().parse_args(ctx, args)
        except click.BadParameter as error:
            name = str(error.param.name) if error.param else ""
            if not _is_from_file(ctx, name) or isinstance(error, click.MissingParameter):
                raise
            found: Configuration = ctx.meta[_FILE]
            raise InputError([Problem(str(found.path), found.keys[name], error.message)]) from None

    def invoke(self, ctx: click.Context) -> None:
        """Call the function, and exit with the code that it returns."""
        try:
            super().invoke(ctx)
        except InputError as error:
            if (found := ctx.meta.get(_FILE)) is None:
                raise
            names = {
                flag: str(param.name)
                for param in self.params
                if _is_from_file(ctx, str(param.name))
                for flag in param.opts
            }
            raise found.located(error, names) from error.__cause__


class ConfiguredGroup(CommandGroup):
    """A group in which a configuration file may name the study; `find_configured` returns the command for that
    study."""

    def __init__(self, name: str, *, find_configured: Callable[[str], click.Command | None], **declared: Any) -> None:
        super().__init__(name, **declared)
        self.find_configured = find_configured

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the group's words. If they do not name a study, take the study from the file.

        Raises:
            InputError: the file cannot be read, or does not name a study.
        """
        if args and args[0].startswith("-") and (file := _config_in(args)) and not ctx.resilient_parsing:
            args = [study_in(Path(file)), *args]
            ctx.meta[_STUDY] = args[0]
        return super().parse_args(ctx, args)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command with this name.

        Raises:
            InputError: the name is that of a study that does not exist or cannot be used.
        """
        if ctx.meta.get(_STUDY) == cmd_name:
            return self.find_configured(cmd_name)
        return super().get_command(ctx, cmd_name)


def _config_in(args: Iterable[str]) -> str:
    """The configuration file that these words name, '' if they name none."""
    words = iter(args)
    for word in words:
        if word == "--":
            return ""
        option, _, file = word.partition("=")
        if option == "--config":
            return file or next(words, "")
    return ""
