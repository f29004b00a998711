"""The terminal's end of a run: three sentences and one table, which agree and never say too much."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from contradictions import contradictions
from rich.console import Console

from overton.analysis.results import measuring_of
from overton.cli.first_screen import MOST_LINES, show_first_screen
from overton.comparison.comparison import of_sources
from overton.comparison.sections import difference_findings
from overton.comparison.sources import ComparisonSource
from overton.reports.first_screen import FirstScreen, ShownFinding, overview_table, shown_findings
from overton.statistics import Estimate
from overton.statistics.jackknife import Jackknife
from overton.studies.findings import Finding
from overton.studies.layouts import MeasureColumn
from overton.studies.measures import key_in
from overton.studies.numbers import NOT_DETERMINED, brief_number
from overton.studies.registry import study_named

from .respondents import STUDIES
from .screens import Screen, only_what_is_shown_first, screen

_END = rf"(?:\N{{MINUS SIGN}}?[\d.,]+|{NOT_DETERMINED})"
_WITH_INTERVAL = re.compile(rf"(\N{{MINUS SIGN}}?[\d.,]+)%? \[({_END}), ({_END})\]")


def differences(one: Screen) -> list[Finding]:
    """The differences between a screen's models."""
    comparing, results = measuring_of(one.outcome.study).comparing, one.outcome.results
    assert comparing is not None
    assert results is not None
    source = ComparisonSource("run", Path("run"), None, comparing.records(results, one.outcome.how))
    return difference_findings(of_sources(one.outcome.study, [source], Jackknife())) if len(source.sides) > 1 else []


def shown(one: Screen) -> list[ShownFinding]:
    return shown_findings(one.outcome, differences(one))


def lines(one: Screen, found: list[ShownFinding]) -> list[str]:
    """The screen as printed on a terminal of 100 columns, with a long heading and a long caution."""
    made = FirstScreen(
        heading="heading " * 20,
        findings=[each.text for each in found],
        said=[each.finding for each in found],
        table=overview_table(one.outcome),
        caution="caution " * 40,
        shortened={"m": "a-model-with-a-long-name"},
        unnamed={"a-model-with-a-long-name"},
        role="model",
        further={"Next": "overton compare runs/x", "All tables": "overton analyze runs/x"},
    )
    console = Console(width=100)
    with console.capture() as captured:
        show_first_screen(made, Path("runs/x/report.html"), console)
    return captured.get().splitlines()


def number_of(text: str) -> float:
    return float(text.replace("\N{MINUS SIGN}", "-").replace(",", ""))


def intervals_without_their_value(text: str) -> Iterator[str]:
    """Intervals in a sentence that the number before them is not within."""
    for value, low, high in _WITH_INTERVAL.findall(text):
        ends = [end for end in (low, high) if end != NOT_DETERMINED]
        below = low == NOT_DETERMINED or number_of(low) <= number_of(value)
        above = high == NOT_DETERMINED or number_of(value) <= number_of(high)
        if ends and not (below and above):
            yield text


def cells_by_measure(one: Screen) -> dict[tuple[str, str], tuple[Estimate, Any]]:
    """The numbers of the table with their kinds, by the measure's key and the model."""
    table = overview_table(one.outcome)
    if table is None:
        return {}
    study = one.outcome.study.name.replace("-", "_")
    columns = import_module(f"overton.studies.{study}.layouts").overview(one.outcome.analysis)
    by_title = {
        column.title or one.outcome.analysis.measures[column.measure].title: column
        for column in columns
        if isinstance(column, MeasureColumn) and column.variant == "plain"
    }
    return {
        (key_in(by_title[head.title].measure, by_title[head.title].condition, ""), str(row[0])): (cell, head.kind)
        for row in table.rows
        for head, cell in zip(table.columns, row, strict=True)
        if head.title in by_title and isinstance(cell, Estimate)
    }


def numbers_unlike_the_table(one: Screen, found: list[ShownFinding]) -> Iterator[str]:
    """Sentences about a measure of the table that give another number."""
    cells = cells_by_measure(one)
    for each in found:
        finding = each.finding
        for assertion in finding.assertions:
            if finding.exhibit == "compared":
                sides = [cells[key] for key in cells if key[0] == assertion.measure and "," not in key[1]]
                wanted = [brief_number(cell.value, kind, cell.n) for cell, kind in sides]
            elif (key := (assertion.measure, finding.model)) in cells and not isinstance(assertion.null, str):
                wanted = [brief_number(cells[key][0].value, cells[key][1], cells[key][0].n)]
            else:
                continue
            if finding.what != "standing" or finding.number is not None:
                yield from (f"{each.text} lacks {text}" for text in wanted if text.rstrip("%") not in each.text)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("study", STUDIES)
def test_the_screen_is_short_and_never_contradicts_its_table(study: str) -> None:
    some = STUDIES[study]
    with only_what_is_shown_first():
        for place, first in enumerate(some):
            both = [first] if study == "deliberation" or place % 2 else [first, some[(place + 2) % len(some)]]
            one = screen(place, (12, 5, 30, 3)[place % 4], *both)
            found = shown(one)
            assert 0 < len(found) <= 3
            assert not [text for each in found for text in intervals_without_their_value(each.text)]
            assert not [*numbers_unlike_the_table(one, found)]
            assert not [(str(a), str(b)) for a, b in contradictions([each.finding for each in found])]
            assert len(lines(one, found)) <= MOST_LINES


@pytest.mark.parametrize("study", [name for name in STUDIES if name != "deliberation"])
def test_a_difference_between_two_models_comes_first(study: str) -> None:
    named = {one.name: one for one in STUDIES[study]}
    found = shown(screen(1, 30, named["unmoved"], named["moved"]))
    assert found[0].finding.exhibit == "compared"


@pytest.mark.parametrize("study", STUDIES)
def test_every_study_has_a_row_for_each_model_in_its_table(study: str) -> None:
    moved = next(one for one in STUDIES[study] if one.name == "moved")
    one = screen(1, 12, moved) if study == "deliberation" else screen(1, 12, moved, moved)
    table = overview_table(one.outcome)
    assert table is not None
    assert study_named(study).measuring is not None
    assert len(table.columns) <= 6
    models = [str(row[0]).partition(", ")[0] for row in table.rows if row[0] != "all together"]
    assert list(dict.fromkeys(models)) == ["m", "n"]
