"""Trials are read in a real browser: found, linked to, put side by side, however many there are."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest
from accessible import violations

from overton.reporting import Report, write
from overton.studies.sections import BrowseFilter, TrialTable

pytestmark = pytest.mark.browser

STATUS = "document.querySelector('#trials .status').textContent"
CHOSEN = "document.querySelector('.trials [aria-selected=true]').getAttribute('aria-posinset')"
NAME = "document.querySelector('.pane .name bdi').textContent"
MANY = 40_000


@pytest.fixture
async def page(tab, report_file):
    await tab.open(report_file)
    await tab.until("document.querySelector('.pane .trial')")
    return tab


async def test_trials_are_searched_and_filtered_by_keyboard(page):
    assert await page.js(STATUS) == "111 trials"
    await page.js("document.querySelector('input[name=query]').focus()")
    await page.write("ANSWER 1")
    await page.until(f"{STATUS} === '11 of 111 trials'")
    assert await page.js("document.querySelector('.pane mark').textContent") == "Answer 1"
    await page.tab()
    await page.tab()
    assert await page.js("document.activeElement.name") == "facet-0"
    await page.press("ArrowDown", 40)
    await page.until(f"{STATUS}.match(/^[12] of 111 trials$/)")
    await page.js("document.querySelector('.chooser button[type=reset]').focus()")
    await page.enter()
    await page.until(f"{STATUS} === '111 trials'")


async def test_keys_move_through_the_list_and_back_to_it(page):
    await page.js("document.querySelector('.trials').focus()")
    for key, code in (("ArrowDown", 40), ("j", 74), ("ArrowDown", 40), ("k", 75)):
        await page.press(key, code)
    assert await page.js(CHOSEN) == "3"
    assert await page.js(NAME) == "3"
    assert await page.js("document.querySelector('.trials').getAttribute('aria-activedescendant')") == await page.js(
        "document.querySelector('.trials [aria-selected=true]').id"
    )
    await page.press("End", 35)
    assert await page.js(NAME) == "111"
    await page.press("Home", 36)
    assert await page.js(NAME) == "1"
    await page.enter()
    assert await page.js("document.activeElement.className") == "pane"
    await page.press("Escape", 27)
    assert await page.js("document.activeElement.className") == "trials"
    await page.press("/", 191)
    assert await page.js("document.activeElement.name") == "query"


async def test_prompts_are_assembled_and_searched(page):
    await page.js("document.querySelector('select[name=where]').value = 'prompts'")
    await page.js("document.querySelector('input[name=query]').focus()")
    await page.write("argument 4")
    await page.until(f"{STATUS} === '12 of 111 trials'")
    await page.until("document.querySelector('.pane .passage.prompt')")
    assert (await page.js("document.querySelector('.pane .passage.prompt').textContent")).startswith(
        "Consider this. Argument 4. "
    )


async def test_a_capped_answer_says_how_much_is_missing(page):
    await page.js("document.querySelector('input[name=query]').focus()")
    await page.write("xxxxx")
    await page.until(f"{STATUS} === '1 of 111 trials'")
    assert "3,000 more characters are not in this file." in await page.js("document.querySelector('.pane').innerText")


def table(size: int) -> TrialTable:
    """Issues asked in three conditions twice; the third condition turns every stance, and shows one text more."""
    conditions, issues = ("Baseline", "Pro", "Con"), 10
    code = [row % 3 for row in range(size)]
    issue = [row // 3 % issues for row in range(size)]
    letters = random.Random(0)
    words = ["".join(letters.choices("abcdefghij", k=6)) for _ in range(500)]
    answers = [f"Answer {row}. {' '.join(letters.choices(words, k=60))}" for row in range(size)]
    return TrialTable(
        size=size,
        texts=["Asked: ", "a question. ", "An argument <b>against</b>."],
        prompts=lambda number: [0, 1] if number == 0 else [0, 2, 1],
        prompt=[int(one == 2) for one in code],
        facets=[
            BrowseFilter("Issue", [f"Should {number}?" for number in range(issues)], issue),
            BrowseFilter("Configuration", conditions, code),
            BrowseFilter(
                "Trial", [str(number) for number in range(size // 30 + 1)], [row // 30 for row in range(size)], False
            ),
            BrowseFilter("Stance", ["pro", "con"], [int(one == 2) for one in code], read=True),
        ],
        answers=lambda start, stop: answers[start:stop],
        names=[f"trial/{row} %é" for row in range(size)],
        item="Issue",
        beside="Configuration",
        reader="a judge <i>",
    )


def written(size: int, folder: Path) -> Path:
    return write(Report("Title", "", [], [], trials=table(size), data={}), folder / "report.html")


@pytest.fixture
async def asked(tab, tmp_path):
    await tab.open(written(90, tmp_path))
    await tab.until("document.querySelector('.pane .trial')")
    return tab


async def test_conditions_are_side_by_side_with_changes_marked(asked):
    await asked.js("document.querySelectorAll('.trials .row')[4].click()")
    assert await asked.js(NAME) == "trial/4 %é"
    await asked.js("document.querySelector('.trials').focus()")
    await asked.press("b", 66)
    heads = "[...document.querySelectorAll('.column h4')].map((one) => one.textContent)"
    assert await asked.js(heads) == ["Baseline", "Pro", "Con"]
    columns = "[...document.querySelectorAll('.column')]"
    assert await asked.js(f"{columns}.map((one) => one.querySelector('.passage.answer').textContent.slice(0, 9))") == [
        "Answer 3.",
        "Answer 4.",
        "Answer 5.",
    ]
    assert await asked.js(f"{columns}.map((one) => one.querySelector('.changed')?.textContent ?? '')") == [
        "",
        "",
        "pro → con",
    ]
    assert "read by a judge <i>" in await asked.js(f"{columns}[0].innerText")
    await asked.js("document.querySelectorAll('.column summary').forEach((one) => one.click())")
    await asked.until("document.querySelectorAll('.column .passage.prompt').length === 3")
    assert await asked.js("[...document.querySelectorAll('ins')].map((one) => one.textContent)") == [
        "An argument <b>against</b>."
    ]
    assert await violations(asked) == []
    await asked.press("b", 66)
    assert await asked.js("document.querySelectorAll('.column').length") == 0
    assert asked.problems == []


async def test_a_link_leads_to_its_trial_under_any_filters(tab, tmp_path):
    file = written(90, tmp_path)
    await tab.open(file)
    await tab.until("document.querySelector('.pane .trial')")
    await tab.js("document.querySelector('input[name=query]').focus()")
    await tab.write("Answer 7")
    await tab.until(f"{STATUS} !== '90 trials'")
    await tab.js("location.hash = '#trial=' + encodeURIComponent('trial/80 %é')")
    await tab.until(f"{NAME} === 'trial/80 %é'")
    assert await tab.js(STATUS) == "90 trials"
    assert await tab.js(CHOSEN) == "81"
    await tab.js("document.querySelectorAll('.trials .row')[0].click()")
    link = await tab.js("location.hash")
    await tab.send("Page.navigate", url="about:blank")
    await tab.send("Page.navigate", url=file.as_uri() + link)
    await tab.until("document.querySelector('.pane .trial')")
    assert "#trial=" + await tab.js(f"encodeURIComponent({NAME})") == link
    await tab.js("location.hash = '#trial=none'")
    await tab.until(f"{STATUS} === 'The trial in this link is not in this file.'")
    await tab.js("location.hash = '#trial=%'")
    assert tab.problems == []


async def test_forty_thousand_trials_are_all_reached_with_few_of_them_in_the_page(tab, tmp_path):
    file = written(MANY, tmp_path)
    assert file.stat().st_size < 20_000_000
    await tab.open(file)
    await tab.until("document.querySelector('.pane .trial')")
    assert await tab.js(STATUS) == "40,000 trials"
    await tab.js("document.querySelector('.trials').focus()")
    await tab.press("End", 35)
    assert await tab.js(NAME) == "trial/39999 %é"
    assert await tab.js(CHOSEN) == "40000"
    box = "document.querySelector('.trials').getBoundingClientRect()"
    row = "document.querySelector('.trials [aria-selected=true]').getBoundingClientRect()"
    assert await tab.js(f"{row}.bottom <= {box}.bottom + 1 && {row}.top >= {box}.top")
    rows = "document.querySelectorAll('.trials .row').length"
    for place in (0, 20_000, 39_990):
        await tab.js(f"document.querySelector('.trials').scrollTop = {place} * 52")
        await tab.until(f"document.querySelector('#trial-row-{place}')")
        assert await tab.js(rows) < 60
    await tab.js("document.querySelector('input[name=query]').focus()")
    await tab.write("answer 39998.")
    await tab.until(f"{STATUS} === '1 of 40,000 trials'")
    assert await tab.js(NAME) == "trial/39998 %é"
    await tab.js("document.querySelector('.trials').focus()")
    await tab.press("b", 66)
    assert await tab.js("document.querySelectorAll('.column').length") == 3
    assert tab.problems == []


async def test_a_later_search_ends_the_one_before_it(tab, tmp_path):
    await tab.open(write(Report("T", "", [], [], trials=replace(table(MANY), names=()), data={}), tmp_path / "r.html"))
    await tab.until("document.querySelector('.pane .trial')")
    await tab.js("document.querySelector('input[name=query]').focus()")
    for letter in "answer 3999":
        await tab.write(letter)
    await tab.until(f"{STATUS} === '11 of 40,000 trials'")
