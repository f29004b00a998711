"""`overton describe STUDY`."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

__all__ = ["describe"]


def describe(study: Annotated[str, typer.Argument(metavar="STUDY", help="A study's name.")]) -> None:
    """Print a study's options, records and tables as Markdown."""
    from overton.api import documented

    sys.stdout.write(documented.describe(study))
