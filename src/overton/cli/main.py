"""The `overton` command: its subcommands, in the order in which users need them, and its exit codes."""

from __future__ import annotations

import os
import sys
import warnings
from typing import Any, NoReturn

import click
from click.shell_completion import get_completion_class

from overton.cli import commands, conversations, exchange, studies
from overton.cli.build import CommandGroup, Exit, as_flags
from overton.cli.items import items
from overton.cli.judge import judge
from overton.cli.terminal import guard, say, write
from overton.errors import InputError, Notice, OvertonError, Stopped
from overton.untrusted import visible_line
from overton.version import __version__

VERBS = (
    studies.run,
    studies.plan,
    commands.resume,
    commands.batches,
    studies.split,
    commands.merge,
    studies.extend,
    commands.report,
    conversations.show,
    commands.verify,
    studies.analyze,
    commands.reproduce,
    commands.compare,
    commands.baseline,
    commands.gate,
    commands.profile,
    judge,
    items,
    commands.models,
    commands.corpus,
    exchange.export,
    exchange.import_logs,
    commands.describe,
    commands.demo,
    commands.doctor,
)


_COMPLETE = "_OVERTON_COMPLETE"
"""The environment variable with which a shell requests completion. Click sets the name."""


def _print_version(ctx: click.Context, _param: click.Parameter, wanted: bool) -> None:
    if wanted:
        write(f"overton {__version__}\n")
        ctx.exit()


app = CommandGroup(
    "overton",
    help="Measure where a language model's opinions stand and what moves them.",
    epilog="\b\nExit codes:\n0  done\n1  failed\n2  bad input (no requests sent)\n3  done, but some calls failed\n"
    "4  stopped by a limit, Ctrl-C or SIGTERM, and resumable\n"
    "5  a measure is beyond a gate's margin, or a number was not reproduced\n"
    "6  a gate is undecided",
    commands=VERBS,
    params=[
        click.Option(
            ["--version"],
            is_flag=True,
            callback=_print_version,
            is_eager=True,
            expose_value=False,
            help="Print the version and exit.",
        )
    ],
)


def main() -> None:
    """Run the command line and exit with its exit code."""
    warnings.formatwarning = _format_warning
    guard()
    if wanted := os.environ.get(_COMPLETE):
        _complete(*wanted.split("_", 1))
    try:
        code = app.main(prog_name="overton", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        code = error.exit_code
    except InputError as error:
        code = _fail(as_flags(error, {}), Exit.BAD_INPUT)
    except Stopped as error:
        code = _fail(error, Exit.STOPPED)
    except OvertonError as error:
        code = _fail(error, Exit.FAILED)
    except (click.Abort, KeyboardInterrupt):
        say("interrupted")
        code = Exit.STOPPED
    sys.exit(code)


def _complete(shell: str, wanted: str = "") -> NoReturn:
    """Print the script that sets up completion in a shell ('source'), or answer the script ('complete').

    Click itself would write bytes, which bypass the module for terminal output.
    """
    if (kind := get_completion_class(shell)) is None or wanted not in ("source", "complete"):
        sys.exit(Exit.FAILED)
    completion = kind(app, {}, "overton", _COMPLETE)
    write(completion.source() if wanted == "source" else f"{completion.complete()}\n")
    sys.exit(Exit.DONE)


_usual_format = warnings.formatwarning


def _format_warning(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> str:
    """Format Overton's own warnings as sentences, and other warnings as Python does."""
    if issubclass(category, Notice):
        return f"overton: {visible_line(str(message))}\n"
    return _usual_format(message, category, *place, **more)


def _fail(error: OvertonError, code: Exit) -> Exit:
    say(f"overton: {error}")
    return code
