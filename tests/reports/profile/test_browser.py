"""A profile in a real browser: on a phone, in the dark, on paper."""

from __future__ import annotations

from pathlib import Path

import pytest

import overton

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def page_file(runs: dict[str, Path], two: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    page = tmp_path_factory.mktemp("page") / "profile.html"
    overton.profile(*runs.values(), *two, out=page)
    return page


async def test_a_phone_shows_it_without_scrolling_sideways(tab, page_file):
    await tab.width(390)
    await tab.open(page_file)
    assert await tab.js("document.documentElement.scrollWidth") == 390
    assert await tab.js("document.querySelectorAll('.statement').length") > 5
    assert await tab.js("[...document.querySelectorAll('.statement')].every((one) => one.offsetWidth > 300)")
    assert tab.problems == []


async def test_a_link_leads_to_the_section_of_the_report(tab, page_file):
    await tab.open(page_file)
    address = await tab.js("document.querySelector('.statement a').href")
    key = address.partition("#")[2]
    await tab.send("Page.navigate", url=address)
    await tab.until(f"document.readyState === 'complete' && document.getElementById('{key}')")
    assert await tab.js("document.querySelector('.mark').textContent") == "Overton report"


async def test_it_is_dark_where_the_reader_is(tab, page_file):
    await tab.dark()
    await tab.open(page_file)
    assert await tab.js("getComputedStyle(document.body).backgroundColor") == "rgb(21, 24, 28)"
    sentence = "getComputedStyle(document.querySelector('.statement .sentence')).color"
    assert await tab.js(sentence) == "rgb(232, 234, 237)"


async def test_it_prints_with_its_sentences_and_tables(tab, page_file):
    await tab.open(page_file)
    assert (await tab.pdf()).startswith(b"%PDF")
    await tab.send("Emulation.setEmulatedMedia", media="print")
    shown = "[...document.querySelectorAll('.statement, #subjects table')].every((one) => one.offsetHeight > 0)"
    assert await tab.js(shown)
