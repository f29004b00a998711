"""The report in a real browser."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

pytestmark = pytest.mark.browser

SHOWN = "document.querySelectorAll('.trials > li').length"
STATUS = "document.querySelector('#trials .status').textContent"


@pytest.fixture
async def page(tab, report_file):
    await tab.open(report_file)
    await tab.until(f"{SHOWN} > 0")
    return tab


async def test_hostile_text_shows_as_text_and_does_nothing(page, hostile):
    text = await page.js("document.body.innerText")
    for attempt in ("</script><script>window.__pwned = 1</script>", hostile[1], hostile[2], hostile[8]):
        assert attempt in text
    assert "[U+202E]right to left[U+202C]" in text
    assert "nul [U+0000] bell [U+0007] escape [U+001B][31m" in text
    assert await page.js("typeof window.__pwned") == "undefined"
    assert await page.js("document.querySelectorAll('img, iframe, object, embed, a[href^=javascript]').length") == 0
    assert await page.js("document.scripts.length") == 4


async def test_page_raises_no_error_and_asks_nothing_of_any_network(page):
    for _ in range(3):
        await page.js("document.querySelectorAll('button:not(:disabled), summary').forEach((b) => b.click())")
        await asyncio.sleep(0.1)
    assert page.problems == []
    assert {url.split(":")[0] for url in page.requests} <= {"file", "blob"}


async def test_policy_stops_a_script_that_got_in_all_the_same(page):
    await page.js("document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=\"window.__pwned=1\">')")
    await page.js("document.body.append(Object.assign(document.createElement('script'), {text: 'window.__pwned=2'}))")
    await asyncio.sleep(0.1)
    assert await page.js("typeof window.__pwned") == "undefined"
    assert any("Content Security Policy" in problem for problem in page.problems)


async def test_trials_are_searched_filtered_and_paged_by_keyboard(page):
    assert await page.js(STATUS) == "1 to 20 of 111 trials"
    await page.js("document.querySelector('input[name=query]').focus()")
    await page.write("ANSWER 1")
    await page.until(f"{STATUS} === '1 to 11 of 11 trials'")
    assert await page.js("document.querySelector('.trials mark').textContent") == "Answer 1"
    await page.tab()
    await page.tab()
    assert await page.js("document.activeElement.name") == "facet-0"
    await page.press("ArrowDown", 40)
    await page.until(f"{STATUS} === '1 to 1 of 1 trials' || {STATUS} === '1 to 2 of 2 trials'")
    await page.tab()
    await page.tab()
    await page.enter()
    await page.until(f"{STATUS} === '1 to 20 of 111 trials'")
    await page.js("document.querySelector('.pager button:last-child').focus()")
    for _ in range(5):
        await page.enter()
    assert await page.js(STATUS) == "101 to 111 of 111 trials"
    assert await page.js("document.querySelector('.pager button:last-child').disabled")


async def test_prompts_are_put_together_and_searched(page):
    await page.js("document.querySelector('select[name=where]').value = 'prompts'")
    await page.js("document.querySelector('input[name=query]').focus()")
    await page.write("argument 4")
    await page.until(f"{STATUS}.endsWith('of 12 trials')")
    await page.js("document.querySelector('.trials summary').click()")
    await page.until("document.querySelector('.passage.prompt')")
    assert (await page.js("document.querySelector('.passage.prompt').textContent")).startswith(
        "Consider this. Argument 4. "
    )


async def test_a_capped_answer_says_how_much_is_missing(page):
    await page.write("")
    await page.js("document.querySelector('input[name=query]').focus()")
    await page.write("xxxxx")
    await page.until(f"{STATUS} === '1 to 1 of 1 trials'")
    assert "3,000 more characters are not in this file." in await page.js("document.querySelector('.trials').innerText")


async def test_table_sorts_by_button_with_missing_numbers_last(page):
    headings = "document.querySelector('main table').tHead.rows[0].cells"
    first = "document.querySelector('main table').tBodies[0].rows[0].cells[2].textContent.trim()"
    last = first.replace("rows[0]", "rows[9]", 1)
    await page.js(f"{headings}[2].querySelector('button').focus()")
    for expected in ("90.0%", "0.0%"):
        await page.enter()
        assert await page.js(first) == expected
        assert (await page.js(last)).startswith("\u2013")
    assert await page.js(f"{headings}[2].getAttribute('aria-sort')") == "ascending"


async def test_marks_of_a_chart_tell_what_they_are(page):
    assert await page.js("document.querySelectorAll('.chart svg[role=img]').length") == 1
    assert await page.js("document.querySelectorAll('.chart svg [data-tip]').length") == 10
    await page.js(
        "document.querySelector('[data-tip]').dispatchEvent(new PointerEvent('pointermove', {bubbles: true}))"
    )
    assert await page.js("!tip.hidden && tip.textContent.startsWith('tip ')")


async def test_page_follows_the_dark_scheme_charts_included(page):
    label = "getComputedStyle(document.querySelector('.chart svg text')).fill"
    background = "getComputedStyle(document.body).backgroundColor"
    light = [await page.js(label), await page.js(background)]
    await page.dark()
    dark = [await page.js(label), await page.js(background)]
    assert light[0] != dark[0]
    assert light[1] != dark[1]


async def test_narrow_page_scrolls_within_its_boxes_only(page):
    await page.width(360)
    assert await page.js("document.documentElement.scrollWidth") <= 360


async def test_boxes_that_scroll_can_be_reached_by_keyboard_and_others_are_no_stop(page):
    boxes = "[...document.querySelectorAll('.table-box, .chart')].filter((box) => box.checkVisibility())"
    scrolls = "(box.scrollWidth > box.clientWidth || box.scrollHeight > box.clientHeight)"
    for width, reached in ((360, "true"), (1_600, "false")):
        await page.width(width)
        await page.until(f"{boxes}.every((box) => box.hasAttribute('tabindex') === {scrolls})")
        assert await page.js(f"{boxes}.some((box) => box.hasAttribute('tabindex') === {reached})")


async def test_page_prints(page):
    await page.dark()
    pdf = await page.pdf()
    assert pdf.startswith(b"%PDF")
    assert len(pdf) > 20_000


async def test_first_tab_stop_leads_past_the_head(page):
    await page.js("window.focus()")
    await page.tab()
    assert await page.js("document.activeElement.className") == "skip"
    await page.enter()
    assert await page.js("document.activeElement.id") == "main"


async def test_data_can_be_saved(page, tmp_path: Path):
    folder = tmp_path / "saved"
    await page.send("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(folder))
    await page.js("[...document.querySelectorAll('.downloads button')].forEach((button) => button.click())")
    names = {"measures.json", "charts.json", "trials.jsonl"}
    for _ in range(250):
        if folder.exists() and names <= {file.name for file in folder.iterdir()}:
            break
        await asyncio.sleep(0.02)
    lines = (folder / "trials.jsonl").read_text(encoding="utf-8").rstrip("\n").split("\n")
    assert len(lines) == 111
    assert '"Issue":"issue-0"' in lines[0]
    assert page.problems == []
