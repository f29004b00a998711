"""MillStone's published scores, computed again from its published counts."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from importlib.resources import files
from typing import TYPE_CHECKING

from overton.errors import InputError, Problem
from overton.studies.reproduction import PublishedNumber, Reproduction

if TYPE_CHECKING:
    from overton.studies.frame import Analysis
    from overton.studies.tables import RawTable


_DIGITS = 4


def _load_published() -> dict[str, dict[str, float]]:
    """Scores by model and issue, 'mean' among them."""
    return tomllib.loads(files(__package__).joinpath("published.toml").read_text("utf-8"))


def _of(table: RawTable) -> list[PublishedNumber]:
    from overton.studies.open_mindedness.measures import analyze
    from overton.studies.open_mindedness.record import read_table

    counts = read_table(table)
    if "count" not in counts.columns:
        raise InputError([Problem(table.name, "", "is not one of the published tables of counts")])
    analysis = analyze(counts)
    published = _load_published()
    return [made for name in analysis.models for made in _of_model(analysis, name, published.get(name, {}))]


def _of_model(analysis: Analysis, name: str, published: dict[str, float]) -> Iterator[PublishedNumber]:
    """Each issue's score by equation 1 as printed, then equation 2's mean; then the mean by the worked example."""
    rows = analysis.rows_of("open_mindedness_as_published", model=name, variant="plain")
    for row in sorted(rows, key=lambda row: row.item is None):
        issue = row.item or "mean"
        yield PublishedNumber(f"{name}: {issue}", published.get(issue), row.number.value, _DIGITS)
    plain = analysis.estimate("open_mindedness", model=name, variant="plain").value
    yield PublishedNumber(f"{name}: mean by the worked example and footnote 1, which lead here", None, plain, _DIGITS)


MILLSTONE = Reproduction(
    name="millstone",
    title="MillStone: open-mindedness by issue (equations 1 and 2)",
    source="Triedman and Shmatikov 2025; counts and scores from the repository htried/millstone",
    files="tables of counts, as results/gpt-4o.csv of the repository",
    of=_of,
)
