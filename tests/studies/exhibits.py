"""Look-ups in sections for tests of layouts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from overton.studies.sections import Chart, Section, Table


def exhibits(made: list[Section], kind: type) -> Iterator[Any]:
    return (exhibit for section in made for exhibit in section.exhibits if isinstance(exhibit, kind))


def chart(made: list[Section], name: str) -> Chart:
    return next(chart for chart in exhibits(made, Chart) if chart.name == name)


def table(made: list[Section], title: str) -> Table:
    """The first table whose title starts so."""
    return next(table for table in exhibits(made, Table) if table.title.startswith(title))


def walk(value: Any) -> Iterator[tuple[str, Any]]:
    """Every key of a chart's specification, however deep, with its value."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key, inner
            yield from walk(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from walk(inner)
