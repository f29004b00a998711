"""The report in a real browser."""

from __future__ import annotations

import asyncio
import base64
from pathlib import Path
from xml.etree import ElementTree

import pytest
from accessible import violations

pytestmark = pytest.mark.browser


@pytest.fixture
async def page(tab, report_file):
    await tab.open(report_file)
    await tab.until("document.querySelector('.pane .trial')")
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


async def test_page_raises_no_error_and_makes_no_network_request(page):
    for _ in range(3):
        await page.js("document.querySelectorAll('button:not(:disabled), summary').forEach((b) => b.click())")
        await asyncio.sleep(0.1)
    assert page.problems == []
    assert {url.split(":")[0] for url in page.requests} <= {"file", "blob"}


async def test_policy_stops_a_script_that_got_in_anyway(page):
    await page.js("document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=\"window.__pwned=1\">')")
    await page.js("document.body.append(Object.assign(document.createElement('script'), {text: 'window.__pwned=2'}))")
    await asyncio.sleep(0.1)
    assert await page.js("typeof window.__pwned") == "undefined"
    assert any("Content Security Policy" in problem for problem in page.problems)


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


async def test_marks_of_a_chart_have_descriptions(page):
    assert await page.js("document.querySelectorAll('.chart svg[role=img]').length") == 2
    assert await page.js("document.querySelectorAll('.chart svg.wide [data-tip]').length") == 10
    await page.js(
        "document.querySelector('[data-tip]').dispatchEvent(new PointerEvent('pointermove', {bubbles: true}))"
    )
    assert await page.js("!tip.hidden && tip.textContent.startsWith('tip ')")


async def test_no_rule_of_axe_is_broken_light_or_dark_wide_or_narrow_closed_or_open(page):
    assert await violations(page) == []
    await page.dark()
    await page.width(390)
    await page.js("document.querySelectorAll('details').forEach((one) => (one.open = true))")
    assert await violations(page) == []


async def test_a_chart_is_laid_out_for_the_width_that_there_is_with_text_of_13_pixels_or_more(page):
    shown = "[...document.querySelectorAll('.chart svg')].filter((svg) => svg.checkVisibility())"
    scale = "Math.hypot(text.getScreenCTM().a, text.getScreenCTM().b)"
    size = f"parseFloat(getComputedStyle(text).fontSize) * {scale}"
    for width, layout in (
        (320, "narrow"),
        (390, "narrow"),
        (768, "narrow"),
        (800, "wide"),
        (1_024, "wide"),
        (1_300, "wide"),
    ):
        await page.width(width)
        assert await page.js(f"{shown}.map((svg) => svg.classList[0])") == [layout]
        smallest = await page.js(
            f"Math.min(...{shown}.flatMap((svg) => [...svg.querySelectorAll('text')]).map((text) => {size}))"
        )
        assert 12.99 <= smallest <= 20, width


async def test_a_chart_is_saved_as_table_drawing_and_bitmap_without_loosening_the_policy(page, tmp_path: Path):
    folder = tmp_path / "saved"
    await page.send("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(folder))
    await page.js("[...document.querySelectorAll('figure > .tools button')].forEach((button) => button.click())")
    names = {"a-chart.csv", "a-chart.png", "a-chart.svg"}
    for _ in range(250):
        if folder.exists() and names <= {file.name for file in folder.iterdir()}:
            break
        await asyncio.sleep(0.02)
    head, *rows = (folder / "a-chart.csv").read_text(encoding="utf-8").splitlines()
    assert (head, len(rows)) == ('"name","share"', 10)
    assert rows[0].endswith(",0")
    assert ElementTree.fromstring((folder / "a-chart.svg").read_bytes()).tag.endswith("svg")
    drawn, painted = await page.js(COLOURS.format(base64.b64encode((folder / "a-chart.png").read_bytes()).decode()))
    assert drawn == painted
    assert page.problems == []


COLOURS = """(async () => {{
  const svg = [...document.querySelectorAll('.chart svg')].find((one) => one.checkVisibility());
  const mark = svg.querySelector('[data-tip]');
  const bytes = Uint8Array.from(atob('{}'), (one) => one.charCodeAt(0));
  const image = await createImageBitmap(new Blob([bytes], {{type: 'image/png'}}));
  const canvas = document.createElement('canvas');
  [canvas.width, canvas.height] = [image.width, image.height];
  const context = canvas.getContext('2d');
  context.drawImage(image, 0, 0);
  const [box, all] = [mark.getBoundingClientRect(), svg.getBoundingClientRect()];
  const scale = image.width / all.width;
  const at = [scale * (box.x + box.width / 2 - all.x), scale * (box.y + box.height / 2 - all.y)].map(Math.round);
  const [red, green, blue] = context.getImageData(...at, 1, 1).data;
  return [getComputedStyle(mark).fill, `rgb(${{red}}, ${{green}}, ${{blue}})`];
}})()"""
"""The colour of a mark on the page, and of the bitmap where that mark is."""


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


async def test_only_boxes_that_scroll_are_keyboard_stops(page):
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
