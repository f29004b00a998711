"""An analysis as a person or a program reads it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from overton.studies.study import AnyStudy

__all__ = ["show", "show_schema"]


def show(study: AnyStudy, file: Path, *, json: bool, how: Mapping[str, Any]) -> None:
    """Compute a study's measures and print them."""
    from overton.api.analyses import measured
    from overton.cli.output import print_json, results
    from overton.cli.tables import show_sections

    outcome = measured(study.name, file, **{name: value for name, value in how.items() if value is not None})
    if json:
        print_json(outcome.document())
    else:
        show_sections(outcome.summary(), results())


def show_schema(study: AnyStudy) -> None:
    """Print the JSON Schema of a study's analysis."""
    from overton.api.analyses import schema
    from overton.cli.output import print_json

    print_json(schema(study.name))
