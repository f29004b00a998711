"""Findings come first, with their evidence; texts of models and items stay texts."""

from __future__ import annotations

from pathlib import Path

import pytest

from overton.reporting import Report, render, write
from overton.statistics import Estimate
from overton.studies.findings import DO_NOT_QUOTE, Finding
from overton.studies.sections import Callout, Column, NamedItem, Section, Table

NUMBER = Estimate(0.2, 0.1, 0.3, 12, "Student's t over issues", 0.99)


def finding(model: str = "a model", **more: object) -> Finding:
    made = {"what": "effect", "sentence": f"{model} changed.", "n": 12, "units": "issues", "exhibit": "scores"}
    return Finding(model=model, **{**made, **more})  # type: ignore[arg-type]


def report(*findings: Finding) -> Report:
    rows = [[NamedItem("tax", "Should it be taxed?", ("Pro: yes.", "Con: no.")), NUMBER], ["=1+1", 0.5]]
    table = Table(
        "Scores",
        [Column("Issue", items=True), Column("Score", "value"), Column("Odd", "value", detail=True)],
        [[*row, 0.25] for row in rows],
    )
    sections = [Section("scores", "All scores", [table])]
    facts = [("Seed", "the seed")]
    return Report("A title", "A question.", facts, sections, [Callout("Mind this.", "warning")], findings)


def test_findings_come_first_then_the_limits_and_facts_last() -> None:
    page = render(report(finding()))
    places = [
        page.index(text)
        for text in ("a model changed.", "1 thing to know before reading on", 'id="scores"', "the seed")
    ]
    assert places == sorted(places)


def test_a_finding_has_its_count_its_interval_and_its_section() -> None:
    page = render(report(finding(number=NUMBER)))
    assert ">12 issues</summary>" in page
    assert "99% interval [0.10, 0.30]" in page
    assert 'href="#scores"' in page


def test_a_section_that_is_not_there_is_not_linked() -> None:
    assert 'href="#gone"' not in render(report(finding(exhibit="gone")))


def test_a_shared_warning_not_to_quote_is_given_once() -> None:
    bad = {"quotable": False, "cautions": ("The judge is tiny.",)}
    assert render(report(finding(**bad), finding(**bad))).count(f"{DO_NOT_QUOTE}.") == 1
    mixed = render(report(finding(**bad), finding("other")))
    assert mixed.count(f"{DO_NOT_QUOTE}.") == 1
    assert mixed.count("The judge is tiny.") == 1


def test_what_is_ruled_out_is_folded_behind_an_effect_and_open_alone() -> None:
    bound = {"what": "bound", "sentence": "No more than that."}
    assert "Looked for but not found (1)" in render(report(finding(), finding(**bound)))
    assert "Looked for" not in render(report(finding(**bound)))


def test_a_report_without_findings_has_no_place_for_them() -> None:
    assert "What was found" not in render(report())


def test_hostile_names_stay_text(hostile: tuple[str, ...]) -> None:
    page = render(report(*(finding(text, sentence=text, cautions=(text,)) for text in hostile)))
    assert "<script>window.__pwned" not in page
    assert "<img src=x" not in page


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return write(report(finding(number=NUMBER)), tmp_path / "report.html")


async def test_the_first_screen_of_a_phone_says_what_was_found_of_which_model_and_how_much(tab, file: Path) -> None:
    await tab.width(390)
    await tab.open(file)
    for said in (".sentence", "#found h3", ".evidence summary"):
        assert await tab.js(f"document.querySelector('{said}').getBoundingClientRect().bottom < 900")
    assert not await tab.js("document.querySelector('details.contents').open")
    await tab.width(1_300)
    await tab.until("document.querySelector('details.contents').open")
    assert tab.problems == []


async def test_a_table_is_saved_as_csv_with_limits_of_its_own_and_no_formulas(tab, file: Path) -> None:
    await tab.open(file)
    lines = (await tab.js("commaSeparated(document.querySelector('main table'))")).split("\r\n")
    assert lines[0] == '"Issue","Score","Score, low","Score, high","Score, n","Odd"'
    assert lines[1] == '"Should it be taxed?",0.2,0.1,0.3,12,0.25'
    assert lines[2].startswith('"\'=1+1",0.5,,,')


async def test_details_of_a_table_are_a_click_away(tab, file: Path) -> None:
    await tab.open(file)
    detail = "document.querySelector('main td.detail').checkVisibility()"
    assert not await tab.js(detail)
    await tab.js(
        "[...document.querySelectorAll('.tools button')].find((one) => one.textContent.startsWith('All')).click()"
    )
    assert await tab.js(detail)
