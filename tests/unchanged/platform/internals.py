"""Everything that the pins import from inside the package: whoever moves it changes this module only."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click
from tests.runs.batch_runs import hurry

from overton.cli.main import app, main
from overton.studies.options import Field, fields_of
from overton.studies.registry import listed, study_named

__all__ = [
    "DOCTOR",
    "analysis_options",
    "context_of",
    "declared_options",
    "default_of",
    "hurry",
    "main",
    "root_command",
    "study_names",
]

DOCTOR = "overton.health.doctor"
"""The function behind `overton doctor`."""


def root_command() -> Any:
    """The command `overton` as a Click group."""
    return app


def context_of(group: Any) -> Any:
    """A Click context, which a group needs to list its commands."""
    return click.Context(group)


def default_of(param: Any) -> Any:
    """A parameter's default. Typer had None for repeated values, and Click has an empty tuple."""
    default = param.get_default(click.Context(root_command()), call=True)
    return None if default == () else default


def study_names() -> list[str]:
    """Every study, with those that make items or label."""
    return sorted(one.name for one in listed())


def declared_options(study: str) -> Iterator[tuple[str, Field]]:
    """The options of a study's runs, and those for reading its items."""
    found = study_named(study)
    yield from ((field.name, field) for field in fields_of(found.options))
    yield from ((f"items: {field.name}", field) for field in fields_of(found.items.reading))


def analysis_options(study: str) -> Iterator[tuple[str, Field]]:
    """The options of a study's analysis."""
    measuring = study_named(study).measuring
    yield from ((field.name, field) for field in (fields_of(measuring.how) if measuring else ()))
