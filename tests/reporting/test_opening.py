"""A report opens with its findings, their intervals and evidence; texts of models and items stay texts."""

from __future__ import annotations

from pathlib import Path

import pytest

from overton.reporting import Report, render, write
from overton.reporting.opening import Opening
from overton.statistics import Estimate
from overton.studies.finding_order import MOST_FINDINGS, ShownFinding, brief_sentence
from overton.studies.findings import DO_NOT_QUOTE, Finding
from overton.studies.sections import Chart, Column, NamedItem, Section, Table

NUMBER = Estimate(0.2, 0.1, 0.3, 12, "Student's t over issues", 0.99)


def finding(model: str = "a model", **more: object) -> Finding:
    made = {"what": "effect", "sentence": f"{model} changed.", "n": 12, "units": "issues", "exhibit": "scores"}
    return Finding(model=model, **{**made, **more})  # type: ignore[arg-type]


CHART = {
    "data": {"values": [{"x": 1}]},
    "mark": "point",
    "encoding": {"x": {"field": "x", "type": "quantitative"}},
}


def report(*findings: Finding, **more: object) -> Report:
    rows = [[NamedItem("tax", "Should it be taxed?", ("Pro: yes.", "Con: no.")), NUMBER], ["=1+1", 0.5]]
    table = Table(
        "Scores",
        [Column("Issue", items=True), Column("Score", "value"), Column("Odd", "value", detail=True)],
        [[*row, 0.25] for row in rows],
    )
    chart = Chart("dots", "Dots", "One dot.", lambda: dict(CHART))
    sections = [Section("scores", "All scores", [table, chart]), Section("more", "More", [table])]
    shown = [ShownFinding(found, found, brief_sentence(found)) for found in findings]
    told = {"heading": "a study", "cautions": ["Mind this."], "notes": ["Know this.", "And that."], "findings": shown}
    opening = Opening(**{**told, **more})  # type: ignore[arg-type]
    chapters = {"How large?": ("scores",)}
    return Report("A title", "A question.", [("Seed", "the seed")], sections, opening=opening, chapters=chapters)


def test_the_opening_is_in_order_and_facts_are_last() -> None:
    page = render(report(finding()))
    texts = (
        *("a study", "Mind this.", "2 more things to know", "a model changed.", "One dot."),
        *('id="chapter-scores"', 'id="scores"', 'id="chapter-more"', "the seed"),
    )
    places = [page.index(text) for text in texts]
    assert places == sorted(places)


def test_a_finding_has_its_interval_in_sight_its_count_and_its_section() -> None:
    page = render(report(finding(number=NUMBER)))
    assert "a model changed (0.20 [0.10, 0.30])." in page
    assert ">12 issues</summary>" in page
    assert "99% interval [0.10, 0.30]" in page
    assert 'href="#scores"' in page


def test_a_section_that_is_not_there_is_not_linked() -> None:
    assert 'href="#gone"' not in render(report(finding(exhibit="gone")))


def test_the_chart_of_the_weightiest_effect_is_drawn_once_and_at_the_top() -> None:
    page = render(report(finding(exhibit="more", what="bound"), finding()))
    assert page.count('id="figure-dots"') == 1
    assert page.index('id="figure-dots"') < page.index('id="chapter-scores"')
    assert 'href="#figure-dots"' in page
    no_chart = render(report(finding(exhibit="more")))
    assert no_chart.index('id="chapter-scores"') < no_chart.index('id="figure-dots"')


def test_the_caution_of_one_finding_is_given_with_it_and_that_of_all_once() -> None:
    bad = {"quotable": False, "cautions": ("The judge is tiny.",)}
    mixed = render(report(finding(**bad), finding("other")))
    assert mixed.count(f"{DO_NOT_QUOTE}.") == 1
    assert mixed.count("The judge is tiny.") == 1
    common = {"cautions": ("Nobody checked the judge.",)}
    assert render(report(finding(**common), finding("other", **common))).count("Nobody checked the judge.") == 1


def test_a_run_without_a_conclusion_has_no_finding_table_or_chart_in_sight() -> None:
    bad = {"quotable": False, "cautions": ("The judge is tiny.",)}
    page = render(report(finding(**bad), void="The judge is tiny. Name a larger one."))
    top = page[: page.index('<details class="apart">')]
    assert "The judge is tiny. Name a larger one." in top
    assert "a model changed." not in top
    assert 'id="figure-dots"' not in top
    assert "a model changed." in page


def test_all_findings_are_folded_by_model_if_there_are_more_than_those_in_sight() -> None:
    few = [finding(f"model {number}") for number in range(MOST_FINDINGS)]
    assert "All findings" not in render(report(*few))
    page = render(report(*few, finding("the last")))
    assert f"All findings ({MOST_FINDINGS + 1})" in page
    assert page.count("model 0 changed.") == 2
    assert page.count("the last changed.") == 1


def test_a_report_without_findings_has_no_place_for_them() -> None:
    assert "What was found" not in render(report())


def test_hostile_names_stay_text(hostile: tuple[str, ...]) -> None:
    told = {"heading": hostile[0], "void": hostile[0], "cautions": hostile, "notes": hostile}
    page = render(report(*(finding(text, sentence=text, cautions=(text,)) for text in hostile), **told))
    assert "<script>window.__pwned" not in page
    assert "<img src=x" not in page


async def test_an_address_opens_the_chapter_of_its_section(tab, file: Path) -> None:
    await tab.open(file)
    assert not await tab.js("document.getElementById('scores').checkVisibility()")
    await tab.js("location.hash = 'scores'")
    await tab.until("document.getElementById('scores').checkVisibility()")
    assert tab.problems == []


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return write(report(finding(number=NUMBER)), tmp_path / "report.html")


async def test_the_first_screen_of_a_phone_has_the_finding_its_model_and_its_number(tab, file: Path) -> None:
    await tab.width(390)
    await tab.open(file)
    for said in (".sentence", ".heading", ".evidence summary"):
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
    await tab.js("document.getElementById('chapter-scores').open = true")
    detail = "document.querySelector('main td.detail').checkVisibility()"
    assert not await tab.js(detail)
    await tab.js(
        "[...document.querySelectorAll('.tools button')].find((one) => one.textContent.startsWith('All')).click()"
    )
    assert await tab.js(detail)
