"""`overton items check|STUDY|COMMAND`."""

from __future__ import annotations

import typer

from overton.cli.studies import Checking, ItemMaking

__all__ = ["app"]

app = typer.Typer(
    cls=ItemMaking, help="Check and make what studies ask about.", no_args_is_help=True, subcommand_metavar="COMMAND"
)
app.add_typer(
    typer.Typer(
        cls=Checking,
        help="Name every problem of a study's items; nothing is asked.",
        no_args_is_help=True,
        subcommand_metavar="STUDY PATH",
    ),
    name="check",
)
