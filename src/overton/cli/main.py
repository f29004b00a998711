"""The `overton` command."""

from __future__ import annotations

import sys
import warnings
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from overton.cli import commands, comparing, corpus, judge, models, profiling
from overton.cli import items as making
from overton.cli.checking import Checking
from overton.cli.doctor import doctor
from overton.cli.known import StrictCommand
from overton.cli.options import join_values
from overton.cli.output import guard, say, write
from overton.cli.params import as_flags
from overton.cli.splitting import Splitting
from overton.cli.studies import Analyzing, Extending, ItemMaking, Planning, Running
from overton.errors import InputError, Notice, OvertonError, Stopped
from overton.untrusted import visible_line
from overton.version import __version__


class _OrderedGroup(TyperGroup):
    """The commands in the order in which people meet them."""

    def list_commands(self, ctx: object) -> list[str]:
        """Names, those that start a run first."""
        return sorted(self.commands, key=_COMMAND_ORDER.index)


_COMMAND_ORDER = [
    "run",
    "plan",
    "resume",
    "batches",
    "split",
    "merge",
    "extend",
    "report",
    "analyze",
    "reproduce",
    "compare",
    "baseline",
    "gate",
    "profile",
    "judge",
    "items",
    "models",
    "corpus",
]
_COMMAND_ORDER += ["export", "import", "describe", "demo", "doctor"]


def _make_group(kind: type[TyperGroup], help_: str, metavar: str = "STUDY [OPTIONS]") -> typer.Typer:
    return typer.Typer(
        cls=kind,
        help=help_,
        no_args_is_help=True,
        subcommand_metavar=metavar,
        rich_markup_mode=None,
    )


app = typer.Typer(
    cls=_OrderedGroup,
    help="Measure where a language model's opinions stand and what moves them.",
    epilog="Exit codes: 0 done; 1 failed; 2 bad input (no requests sent); 3 done, but some calls failed; "
    "4 stopped by a limit, Ctrl-C or SIGTERM, and resumable; 5 beyond a gate's margin, or not reproduced; "
    "6 gate undecided.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # drawing boxes doubles the time that --help takes
)
app.add_typer(_make_group(Running, "Run a study in a new folder."), name="run")
app.add_typer(_make_group(Planning, "Show what a run would ask and cost, without asking anything."), name="plan")
app.command(cls=StrictCommand)(commands.resume)
app.command(cls=StrictCommand)(commands.batches)
app.add_typer(_make_group(Splitting, "Split a run into shards, for machines that share no network."), name="split")
app.command(cls=StrictCommand)(commands.merge)
app.add_typer(
    _make_group(
        Extending,
        "Add trials, models or conditions to a run. 'overton extend RUN --help' lists what can be added.",
        metavar="RUN [OPTIONS]",
    ),
    name="extend",
)
app.command(cls=StrictCommand)(commands.report)
app.add_typer(_make_group(Analyzing, "Compute a study's measures from a run, records or a table."), name="analyze")
app.command(cls=StrictCommand)(commands.reproduce)
app.command(cls=StrictCommand)(comparing.compare)
app.command(cls=StrictCommand)(comparing.baseline)
app.command(cls=StrictCommand)(comparing.gate)
app.command(cls=StrictCommand)(profiling.profile)
app.add_typer(judge.app, name="judge")
app.command(cls=StrictCommand)(commands.export)
app.command("import", cls=StrictCommand)(commands.import_logs)
items = typer.Typer(
    cls=ItemMaking, help="Check and make what studies ask about.", no_args_is_help=True, subcommand_metavar="COMMAND"
)
items.add_typer(
    typer.Typer(
        cls=Checking,
        help="List every problem in a study's items, without asking anything.",
        no_args_is_help=True,
        subcommand_metavar="[STUDY] PATH",
    ),
    name="check",
)
items.command("list", cls=StrictCommand)(making.list_)
items.command("new", cls=StrictCommand)(making.new)
app.add_typer(items, name="items")
app.add_typer(models.app, name="models")
app.add_typer(corpus.app, name="corpus")
app.command(cls=StrictCommand)(commands.describe)
app.command(cls=StrictCommand)(commands.demo)
app.command(cls=StrictCommand)(doctor)


def _print_version(wanted: bool) -> None:
    if wanted:
        write(f"overton {__version__}\n")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run the command line and exit with its exit code."""
    warnings.formatwarning = _format_warning
    guard()
    try:
        app(join_values(sys.argv[1:]))
    except InputError as error:
        _fail(as_flags(error, {}), 2)
    except Stopped as error:
        _fail(error, 4)
    except OvertonError as error:
        _fail(error, 1)
    except KeyboardInterrupt:
        say("interrupted")
        sys.exit(4)


_usual_format = warnings.formatwarning


def _format_warning(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> str:
    """One of our warnings as a sentence, any other as Python formats it."""
    if issubclass(category, Notice):
        return f"overton: {visible_line(str(message))}\n"
    return _usual_format(message, category, *place, **more)


def _fail(error: OvertonError, code: int) -> None:
    say(f"overton: {error}")
    sys.exit(code)
