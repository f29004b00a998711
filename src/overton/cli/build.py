"""Classes for commands and groups, based on Click, and the options that several commands share. To give an option
several values, users repeat it; a comma-separated list is not accepted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import IntEnum
from math import inf
from pathlib import Path
from typing import Any

import click

from overton.errors import InputError, Problem, suggestion
from overton.key_values import by_key, pair_of


class Exit(IntEnum):
    """The command's exit codes."""

    DONE = 0
    FAILED = 1
    BAD_INPUT = 2
    SOME_FAILED = 3
    STOPPED = 4
    BEYOND = 5
    UNDECIDED = 6


PATH = click.Path(path_type=Path)
"""The type of a path. The path need not exist."""


def paths(name: str, metavar: str, description: str, *, required: bool = True) -> click.Argument:
    """An argument that takes any number of paths; at least one if `required`."""
    return click.Argument([name], type=PATH, nargs=-1, required=required, metavar=metavar, help=description)


RUN = click.Argument(["run"], type=PATH, metavar="RUN", help="A run's folder.")
MODEL_ARG = click.Option(
    ["--model-arg"],
    nargs=2,
    multiple=True,
    metavar="NAME KEY=VALUE",
    help="Setting of one model, such as temperature=0; repeatable.",
)
PRICE = click.Option(
    ["--price"],
    nargs=3,
    multiple=True,
    metavar="NAME IN OUT",
    help="Price of a model in US dollars per million input and output tokens.",
)
PRICE_LIST = click.Option(
    ["price_list", "--prices"],
    type=PATH,
    metavar="FILE",
    help="TOML file with prices that replace the built-in ones.",
)
PROMPTS = click.Option(
    ["--prompts"],
    type=PATH,
    metavar="FOLDER",
    help="Folder with prompts that replace the study's own prompts, or a prompts.toml that lists such prompts.",
)
BATCH = click.Option(
    ["--batch"],
    is_flag=True,
    help="Send requests through the provider's batch API, if there is one, at half the price. A batch takes up to"
    " a day.",
)
ONLY = click.Option(["--only"], multiple=True, metavar="ID", help="Use only the item with this id; repeatable.")
SEED = click.Option(["--seed"], type=int, default=0, metavar="N", help="Seed of all random choices; 0 by default.")
MAX_COST = click.Option(
    ["--max-cost"],
    type=click.FloatRange(min=0),
    metavar="X",
    help="Spend at most X US dollars in the whole run, earlier sessions included. The cost can exceed X"
    " only if a model bills more tokens than max_tokens allows.",
)
MAX_CALLS = click.Option(
    ["--max-calls"],
    type=click.IntRange(min=0),
    metavar="N",
    help="Send at most N requests in the whole run, earlier sessions included.",
)
ANYWAY = click.Option(
    ["--anyway"],
    is_flag=True,
    help="Continue even if Overton can read fewer than half of a model's or judge's first ten replies.",
)
PRECISION = click.Option(
    ["--precision"],
    multiple=True,
    metavar="MEASURE=X",
    help="Run in rounds, and stop when the half-width of MEASURE's interval is at most X; repeatable.",
)
AT_MOST_CALLS = click.Option(
    ["--at-most-calls"],
    type=click.IntRange(min=1),
    metavar="N",
    help="Make at most N calls, in rounds. Without --precision, each round adds the trials that should narrow the"
    " headline's interval most.",
)
OUT = click.Option(
    ["--out"],
    type=PATH,
    metavar="DIR",
    help="Folder to create, which must not exist yet; by default a new folder in runs/.",
)
TRUST = click.Option(
    ["--trust"],
    is_flag=True,
    help="Allow the run to use all addresses, keys and files that its folder names, even if this machine has never"
    " used them.",
)
JSON = click.Option(["--json"], is_flag=True, help="Print JSON.")
LEVEL = click.Option(
    ["--level"],
    type=click.FloatRange(min=0.5, max=0.999),
    default=0.95,
    metavar="X",
    help="Confidence level of the intervals; 0.95 by default.",
)
WITH = click.Option(
    ["choices", "--with"],
    multiple=True,
    metavar="NAME=VALUE",
    help="Option of 'overton analyze STUDY', such as level=0.9; repeatable.",
)
STUDY_OF_TABLE = click.Option(["--study"], metavar="STUDY", help="Study of a table that several studies can read.")
RENAMED = {"--nulls": "--null-share"}
"""The current name of each renamed option, by its former name. A command that has the current name refuses the former
name."""


class StrictCommand(click.Command):
    """A command that reports all unknown options in one error. Its function returns the exit code, or None for 0.

    In error messages, each name of an option in `flags` is replaced by its flag.
    """

    def __init__(
        self,
        name: str,
        *,
        callback: Callable[..., Exit | None],
        flags: Mapping[str, str] | None = None,
        **declared: Any,
    ) -> None:
        super().__init__(name, callback=callback, **declared)
        self.flags = flags or {}

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the command's words.

        Raises:
            InputError: there are unknown options.
        """
        if not ctx.resilient_parsing and (unknown := [*self._unknown_options(args)]):
            raise InputError([Problem(name, "", self._why_unknown(name)) for name in unknown])
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> None:
        """Call the function, and exit with the code that it returns."""
        try:
            code: Exit | None = super().invoke(ctx)
        except InputError as error:
            raise as_flags(error, self.flags) from error.__cause__
        ctx.exit(code or Exit.DONE)

    def _why_unknown(self, name: str) -> str:
        known = [names[0] for names in self._option_names()]
        today = RENAMED.get(name, "")
        if today and any(today in names for names in self._option_names()):
            return f"is now {today}"
        every = [spelling for names in self._option_names() for spelling in names]
        if near := suggestion(name, every):
            return f"no such option (--help lists all){near}"
        return f"no such option; known are {', '.join(known) or 'none'}"

    def _option_names(self) -> Iterator[list[str]]:
        """The names of each option, the preferred one first."""
        for param in self.params:
            if isinstance(param, click.Option) and not param.hidden:
                yield [name for name in param.opts if name.startswith("--")]

    def _unknown_options(self, args: list[str]) -> Iterator[str]:
        """Words that look like options but are not options of this command. The values of options are skipped."""
        values = {"--help": 0}
        for param in self.params:
            if isinstance(param, click.Option):
                values |= dict.fromkeys((*param.opts, *param.secondary_opts), 0 if param.is_flag else param.nargs)
        words = iter(args)
        for word in words:
            if word == "--":
                return
            name, value, _ = word.partition("=")
            if name.startswith("--") and name not in values:
                yield name
            for _ in range(values.get(name, 0) - bool(value)):
                next(words, None)


class CommandGroup(click.Group):
    """A group of commands: fixed commands, in order, and further commands that `find` makes when the user types their
    names.

    `find` returns the command that a word names, or None if there is no such command. `rows` returns the name and a
    one-line description of each further command.
    """

    def __init__(
        self,
        name: str,
        *,
        commands: Sequence[click.Command] = (),
        find: Callable[[str], click.Command | None] | None = None,
        rows: Callable[[], list[tuple[str, str]]] = list,
        metavar: str | None = None,
        **declared: Any,
    ) -> None:
        super().__init__(name, commands=list(commands), subcommand_metavar=metavar, no_args_is_help=True, **declared)
        self.find = find
        self.rows = rows

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The words of the group's own commands, then the words of the commands that `find` makes."""
        return [*self.commands, *(word for word, _ in self.rows())]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command with this name.

        Raises:
            InputError: the name is that of a study or run that does not exist or cannot be used.
        """
        if (own := super().get_command(ctx, cmd_name)) is not None or self.find is None:
            return own
        try:
            return self.find(cmd_name)
        except InputError:
            if ctx.resilient_parsing:  # a shell completes an unfinished word
                return None
            raise

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that the first word names, and the other words.

        Raises:
            click.exceptions.NoSuchCommand: there is no such command; the message names commands with a similar
                spelling.
        """
        try:
            return super().resolve_command(ctx, args)
        except click.exceptions.NoSuchCommand as error:
            raise click.exceptions.NoSuchCommand(error.command_name, None, self.list_commands(ctx), ctx) from None

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        """The words after the group's name in its usage line. Only the group `overton` has options of its own."""
        return super().collect_usage_pieces(ctx) if self.params else [self.subcommand_metavar]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write a line for each command. The line of a study's command has the study's question."""
        if not (made := self.rows()):
            super().format_commands(ctx, formatter)
            return
        own = [(name, known.get_short_help_str(120)) for name, known in self.commands.items()]
        with formatter.section("Commands" if own else "Studies"):
            formatter.write_dl([*own, *made])


def command_with(*params: click.Parameter, name: str = "") -> Callable[[Callable[..., Exit | None]], StrictCommand]:
    """Return a decorator that turns a function into a command with these parameters. By default the command has the
    function's name."""

    def made(function: Callable[..., Exit | None]) -> StrictCommand:
        return StrictCommand(name or function.__name__, callback=function, params=list(params), help=function.__doc__)

    return made


def as_flags(error: InputError, flags: Mapping[str, str]) -> InputError:
    """`error`, with command-line flags in place of the names of options."""
    return error.placed(lambda place: flags.get(place, _flag_of_place(place)))


_OTHER_WORDS = {"model_args": "--model-arg", "prices": "--price", "price_list": "--prices"}
"""Command-line names of arguments that have another name in Python."""


def _flag_of_place(place: str) -> str:
    """The command-line name of an option that no study declares."""
    kind, _, name = place.partition(" ")
    if kind == "option" and name in _OTHER_WORDS:
        return _OTHER_WORDS[name]
    return f"--{name.replace('_', '-')}" if kind in ("option", "role") and name else place


# Values that need more parsing than Click's types provide.


def computing(given: Sequence[str], own: Sequence[str] = ()) -> dict[str, Any]:
    """Parse the values of `--with` into options for computing measures, by name. `own` are the names of the command's
    own options.

    Raises:
        InputError: a value is not NAME=VALUE, or its name is one of `own`.
    """
    found = by_key(given, "--with", "NAME=VALUE, as in level=0.9")
    if twice := [Problem("--with", name, f"use --{name} instead") for name in own if name in found]:
        raise InputError(twice)
    return {name: values if len(values) > 1 else values[0] for name, values in found.items()}


def model_arguments(given: Sequence[tuple[str, str]]) -> dict[str, dict[str, list[str]]]:
    """Arguments by model and key from the values of `--model-arg`.

    Raises:
        InputError: a value is not a name and KEY=VALUE.
    """
    arguments: dict[str, dict[str, list[str]]] = {}
    for name, pair in given:
        key, value = pair_of(pair, f"--model-arg {name}", "NAME KEY=VALUE, as in temperature=0")
        arguments.setdefault(name, {}).setdefault(key, []).append(value)
    return arguments


def prices(given: Sequence[tuple[str, str, str]]) -> dict[str, tuple[float, float]]:
    """Prices by model from the values of `--price`.

    Raises:
        InputError: a value is not a name and two amounts.
    """
    return {name: _parse_price(name, amounts) for name, *amounts in given}


def _parse_price(name: str, amounts: Sequence[str]) -> tuple[float, float]:
    try:
        inward, outward = map(float, amounts)
    except ValueError:
        inward = outward = -1.0
    if not (0 <= inward < inf and 0 <= outward < inf):
        reason = "must be NAME IN OUT, where IN and OUT are 0 or more"
        raise InputError([Problem(f"--price {name}", " ".join(amounts), reason)])
    return inward, outward


def sizes(option: str, words: Sequence[str]) -> dict[str, float]:
    """Sizes by measure from NAME=X words.

    Raises:
        InputError: a word is malformed.
    """
    made = {}
    for word in words:
        name, value = pair_of(word, option, "NAME=X, as in score=5")
        try:
            made[name] = float(value)
        except ValueError:
            raise InputError([Problem(option, word, "must be NAME=X, where X is a number above 0")]) from None
    return made
