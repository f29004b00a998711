"""Commands and groups on Click, and the options that several commands share.

An option with several values is repeated; it takes no comma-separated list.
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
"""The type of a path, which need not exist."""


def paths(name: str, metavar: str, description: str, *, required: bool = True) -> click.Argument:
    """An argument of one or more paths, or none if they are not `required`."""
    return click.Argument([name], type=PATH, nargs=-1, required=required, metavar=metavar, help=description)


RUN = click.Argument(["run"], type=PATH, metavar="RUN", help="A run's folder.")
MODEL_ARG = click.Option(
    ["--model-arg"],
    nargs=2,
    multiple=True,
    metavar="NAME KEY=VALUE",
    help="A setting of one model, such as temperature=0; repeatable.",
)
PRICE = click.Option(
    ["--price"],
    nargs=3,
    multiple=True,
    metavar="NAME IN OUT",
    help="A model's price in US dollars per million tokens, in and out.",
)
PRICE_LIST = click.Option(
    ["price_list", "--prices"],
    type=PATH,
    metavar="FILE",
    help="TOML file of prices, which take precedence over the built-in ones.",
)
PROMPTS = click.Option(
    ["--prompts"],
    type=PATH,
    metavar="FOLDER",
    help="Folder with texts that replace the study's own, or the prompts.toml that says where they are.",
)
BATCH = click.Option(
    ["--batch"],
    is_flag=True,
    help="Use the provider's batch API where it has one: half the price, up to a day per batch.",
)
ONLY = click.Option(["--only"], multiple=True, metavar="ID", help="Ask only about the item with this id; repeatable.")
SEED = click.Option(["--seed"], type=int, default=0, metavar="N", help="Seed of all random draws; 0 by default.")
MAX_COST = click.Option(
    ["--max-cost"],
    type=click.FloatRange(min=0),
    metavar="X",
    help="Stop before spending more than this many US dollars, over all sessions. Exceeded only by models that bill"
    " more than max_tokens allow: at most by calls in flight at once times their excess.",
)
MAX_CALLS = click.Option(
    ["--max-calls"],
    type=click.IntRange(min=0),
    metavar="N",
    help="Stop before sending more than this many requests, over all sessions. Never exceeded.",
)
PRECISION = click.Option(
    ["--precision"],
    multiple=True,
    metavar="MEASURE=X",
    help="Ask in rounds, and stop where the interval is within X to either side; repeatable.",
)
AT_MOST_CALLS = click.Option(
    ["--at-most-calls"],
    type=click.IntRange(min=1),
    metavar="N",
    help="Ask in rounds, where calls narrow the interval most, and make at most this many.",
)
OUT = click.Option(
    ["--out"],
    type=PATH,
    metavar="DIR",
    help="Folder to create; by default one below runs/. An existing one is refused.",
)
TRUST = click.Option(
    ["--trust"],
    is_flag=True,
    help="Let the run reach everything its folder names, even what this machine has not used before.",
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
    help="An option of 'overton analyze STUDY', such as level=0.9; repeatable.",
)
RENAMED = {"--nulls": "--null-share"}
"""Options that had another name, and their names today: the command that has the new one refuses the old one."""


class StrictCommand(click.Command):
    """A command that refuses all unknown options at once, and whose function returns the exit code, None for 0.

    Errors name its options: `flags` has the flag for each place of a problem.
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
        """Call the function, and leave with its exit code."""
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
        return f"no such option; known are {', '.join(known) or 'none'}{suggestion(name, every)}"

    def _option_names(self) -> Iterator[list[str]]:
        """The names of each option, the preferred one first."""
        for param in self.params:
            if isinstance(param, click.Option) and not param.hidden:
                yield [name for name in param.opts if name.startswith("--")]

    def _unknown_options(self, args: list[str]) -> Iterator[str]:
        """Words in the position of an option that are not one; the values of options are skipped."""
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
    """A group with its own commands, in order, and those that `find` makes once their word is used.

    `find` returns the command for a word, None if there is none; `rows` has the words with a line about each.
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
        """The words of the group's own commands, then of those that are made."""
        return [*self.commands, *(word for word, _ in self.rows())]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command with this name.

        Raises:
            InputError: the study or run that the name stands for does not exist, or cannot be used.
        """
        if (own := super().get_command(ctx, cmd_name)) is not None or self.find is None:
            return own
        try:
            return self.find(cmd_name)
        except InputError:
            if ctx.resilient_parsing:  # a shell completes a word that is not whole yet
                return None
            raise

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that the first word names, and the other words.

        Raises:
            click.exceptions.NoSuchCommand: there is none; it names those that are spelled alike.
        """
        try:
            return super().resolve_command(ctx, args)
        except click.exceptions.NoSuchCommand as error:
            raise click.exceptions.NoSuchCommand(error.command_name, None, self.list_commands(ctx), ctx) from None

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        """The words after the group's name in its usage line: only `overton` has options of its own."""
        return super().collect_usage_pieces(ctx) if self.params else [self.subcommand_metavar]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write a line for each command, or each study's question."""
        if not (made := self.rows()):
            super().format_commands(ctx, formatter)
            return
        own = [(name, known.get_short_help_str(120)) for name, known in self.commands.items()]
        with formatter.section("Commands" if own else "Studies"):
            formatter.write_dl([*own, *made])


def command_with(*params: click.Parameter, name: str = "") -> Callable[[Callable[..., Exit | None]], StrictCommand]:
    """A decorator that makes a function a command with these parameters, under its own name unless `name` is given."""

    def made(function: Callable[..., Exit | None]) -> StrictCommand:
        return StrictCommand(name or function.__name__, callback=function, params=list(params), help=function.__doc__)

    return made


def as_flags(error: InputError, flags: Mapping[str, str]) -> InputError:
    """`error` with the places of its problems replaced by their command-line flags."""
    return error.placed(lambda place: flags.get(place, _flag_of_place(place)))


def _flag_of_place(place: str) -> str:
    """The command-line name of an option that no study declares."""
    kind, _, name = place.partition(" ")
    return f"--{name.replace('_', '-')}" if kind in ("option", "role") and name else place


# Values that need more than a type.


def computing(given: Sequence[str], own: Sequence[str] = ()) -> dict[str, Any]:
    """Choices of how measures are computed, by name, from the values of `--with`; `own` are the command's own options.

    Raises:
        InputError: a value is not NAME=VALUE, or the command has an option for it.
    """
    found = by_key(given, "--with", "NAME=VALUE, as in level=0.9")
    if twice := [Problem("--with", name, f"use --{name} instead") for name in own if name in found]:
        raise InputError(twice)
    return {name: values if len(values) > 1 else values[0] for name, values in found.items()}


def model_arguments(given: Sequence[tuple[str, str]]) -> dict[str, dict[str, list[str]]]:
    """Arguments by model and key from the values of `--model-arg`.

    Raises:
        InputError: they are not a name and KEY=VALUE.
    """
    arguments: dict[str, dict[str, list[str]]] = {}
    for name, pair in given:
        key, value = pair_of(pair, f"--model-arg {name}", "NAME KEY=VALUE, as in temperature=0")
        arguments.setdefault(name, {}).setdefault(key, []).append(value)
    return arguments


def prices(given: Sequence[tuple[str, str, str]]) -> dict[str, tuple[float, float]]:
    """Prices by model from the values of `--price`.

    Raises:
        InputError: they are not a name and two amounts.
    """
    return {name: _parse_price(name, amounts) for name, *amounts in given}


def _parse_price(name: str, amounts: Sequence[str]) -> tuple[float, float]:
    try:
        inward, outward = map(float, amounts)
    except ValueError:
        inward = outward = -1.0
    if not (0 <= inward < inf and 0 <= outward < inf):
        raise InputError([Problem(f"--price {name}", " ".join(amounts), "must be NAME IN OUT, amounts of 0 or more")])
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
            raise InputError([Problem(option, word, "must be NAME=X, X a number above 0")]) from None
    return made
