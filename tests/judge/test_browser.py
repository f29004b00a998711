"""The page in a real browser, from a file."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest
from browser import Page
from labels_page import ENDED, WORKING, begin, fresh, hand, key, saved, text

from overton.judge.pages import Unit, page_of
from overton.judging.label_tasks import CANNOT_TELL, AnnotatorLabels, LabelTask

pytestmark = pytest.mark.browser

KEYS = {"pro": "1", "con": "2", "neither": "3", CANNOT_TELL: "0"}


@pytest.fixture
def file(task: LabelTask, units: list[Unit], tmp_path: Path) -> Path:
    path = tmp_path / "person-1.html"
    path.write_bytes(page_of(task, units, 1, row="turn", group="conversation"))
    return path


@pytest.fixture
async def page(browser_address: str, file: Path, tmp_path: Path) -> AsyncIterator[Page]:
    """The page at its start, in a browser that knows nothing; downloads go to the test's folder."""
    async with fresh(browser_address) as tab:
        await tab.send("Page.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path / "saved"))
        await tab.open(file)
        yield tab
        assert tab.problems == []
        assert {url.split(":")[0] for url in tab.requests} <= {"file", "blob"}


async def row(page: Page) -> int:
    """The row that is shown, by what its answer says."""
    found = re.search(r"This is row (\d+)\.", await text(page, "texts"))
    assert found
    return int(found[1])


def wanted(place: int) -> str:
    return [*KEYS][place % 4]


async def label(page: Page, count: int) -> None:
    for _ in range(count):
        await key(page, KEYS[wanted(await row(page))])


async def test_a_hundred_units_by_keys_alone_closed_in_the_middle_and_saved(
    page: Page, file: Path, task: LabelTask, tmp_path: Path
) -> None:
    await begin(page)
    await label(page, 50)
    assert await text(page, "where") == "50 of 100 labelled"
    await key(page, "r")
    await page.write("It is not clear. 1 2 3")
    remarked = await row(page)
    await page.press("Escape", 27)
    await page.open(file)
    await page.until("document.activeElement.id === 'go'")
    await page.enter()
    await page.until(WORKING)
    assert (await text(page, "place"), await row(page)) == ("Turn 51 of 100", remarked)
    await label(page, 50)
    await page.until(ENDED)
    counts = await page.js("[...summary.querySelectorAll('dd')].map((one) => Number(one.textContent))")
    assert (len(counts), sum(counts)) == (4, 100)
    await page.send("Input.dispatchKeyEvent", type="keyDown", key="s", modifiers=2, windowsVirtualKeyCode=83)
    said = msgspec.json.decode((await saved(tmp_path)).read_bytes(), type=AnnotatorLabels)
    assert (said.task, said.page, said.person) == (task.name, 1, "Ada L.")
    assert said.labels == {place: wanted(place) for place in task.people[0]}
    assert said.remarks == {remarked: "It is not clear. 1 2 3"}
    assert said.seconds.keys() == said.labels.keys()


async def test_no_name_makes_a_file_of_another_kind(page: Page) -> None:
    names = ["Ada L.", "../etc/passwd", "Task", "?!", "Åse Ærø", "a" * 99]
    made = await page.js(f"{json.dumps(names)}.map(fileName)")
    assert made == [
        "Ada-L-1.json",
        "etc-passwd-1.json",
        "Task-1.json",
        "labels-1.json",
        "Åse-Ærø-1.json",
        f"{'a' * 60}-1.json",
    ]


async def test_undo_takes_labels_back_one_by_one_also_after_the_last(page: Page, task: LabelTask) -> None:
    await begin(page)
    first = await row(page)
    for pressed in "12":
        await key(page, pressed)
    await key(page, "u")
    await key(page, "u")
    assert (await row(page), await text(page, "where")) == (first, "0 of 100 labelled")
    assert await page.js("document.getElementById('undo').disabled")
    await label(page, 100)
    await page.until(ENDED)
    await key(page, "u")
    await page.until(WORKING)
    assert (await row(page), await text(page, "where")) == (task.people[0][-1], "99 of 100 labelled")


async def test_a_label_is_seen_and_changed_by_going_back(page: Page) -> None:
    await begin(page)
    first = await row(page)
    await key(page, "1")
    await page.press("ArrowLeft", 37)
    assert await row(page) == first
    pressed = "[...document.querySelectorAll('[aria-pressed=true] .name')].map((one) => one.textContent)"
    assert await page.js(pressed) == ["pro"]
    await key(page, "?")
    await page.press("ArrowLeft", 37)
    assert await page.js(pressed) == [CANNOT_TELL]


async def test_keys_do_nothing_while_somebody_writes_or_where_they_are_switched_off(page: Page) -> None:
    await page.js("document.getElementById('person').focus()")
    await page.write("1")
    await key(page, "1")
    assert await page.js("document.getElementById('work').hidden")
    await page.enter()
    await page.until(WORKING)
    await page.js("document.getElementById('single').click()")
    await key(page, "1")
    assert await text(page, "where") == "0 of 100 labelled"
    await page.js("document.querySelector('#labels button').focus()")
    await page.enter()
    assert await text(page, "where") == "1 of 100 labelled"


async def test_hostile_texts_show_as_text(page: Page) -> None:
    await page.width(1280)
    await begin(page)
    seen = ""
    for _ in range(40):
        seen += await page.js("document.body.innerText")
        await key(page, "1")
    for attempt in ("</script><script>window.__pwned = 1</script>", '<img src=x onerror="window.__pwned = 2">'):
        assert attempt in seen
    assert "[U+202E]right to left[U+202C] and [U+001B][31m red [U+2028] line [U+0000] nul" in seen
    assert "is against <b>it</b>" in seen
    assert await page.js("typeof window.__pwned") == "undefined"
    assert await page.js("document.querySelectorAll('img, iframe, main b, main i').length") == 0


async def test_a_narrow_screen_has_no_horizontal_scroll_and_labels_in_reach(page: Page) -> None:
    await page.send("Emulation.setDeviceMetricsOverride", width=390, height=844, deviceScaleFactor=2, mobile=True)
    wide = "document.documentElement.scrollWidth"
    assert await page.js(wide) <= 390
    await begin(page)
    for _ in range(7):
        await key(page, "1")
        assert await page.js(wide) <= 390
        low = "document.querySelector('#labels button:last-child').getBoundingClientRect().bottom"
        assert await page.js(low) <= 844
    smallest = "Math.min(...[...document.querySelectorAll('#labels button')].map((b) => b.offsetHeight))"
    assert await page.js(smallest) >= 44


async def test_every_control_is_reached_by_tab_and_shows_where_it_is(page: Page) -> None:
    await begin(page)
    await page.width(1280)
    reached = []
    for _ in range(30):
        await page.tab()
        if await page.js("document.activeElement === document.body"):  # round once
            break
        assert await page.js("getComputedStyle(document.activeElement).outlineStyle") != "none"
        reached.append(await page.js("document.activeElement.textContent || document.activeElement.id"))
    assert [name[:5] for name in reached if name[:1].isdigit()] == ["1pro ", "2con ", "3neit", "0cann"]
    assert {"single", "r Remark", "How to decide"} <= set(reached)
    assert await page.js(
        "[...document.querySelectorAll('#labels button')].every((b) => b.matches('[aria-keyshortcuts]'))"
    )


async def test_a_file_is_taken_up_by_another_browser_and_that_of_another_task_is_refused(
    browser_address: str, file: Path, task: LabelTask, tmp_path: Path
) -> None:
    half = {place: wanted(place) for place in task.people[0][:60]}
    good = tmp_path / "ada.json"
    good.write_bytes(msgspec.json.encode(AnnotatorLabels(task.name, 1, "Ada", half, {task.people[0][0]: "hm"}, {})))
    refused = {
        "is for another task (other)": AnnotatorLabels("other", 1, "Ada", half),
        "is for page 2": AnnotatorLabels(task.name, 2, "Ada", half),
        "not on this page": AnnotatorLabels(task.name, 1, "Ada", {10**6: "pro"}),
        'in this file contains what': AnnotatorLabels(task.name, 1, "Ada", {task.people[0][0]: "supportive"}),
        "not JSON": None,
    }  # fmt: skip
    async with fresh(browser_address) as page:
        await page.open(file)
        for reason, said in refused.items():
            bad = tmp_path / "bad.json"
            bad.write_bytes(msgspec.json.encode(said) if said else b"{,")
            await page.js("told.textContent = ''")  # two of these files are refused in the same words
            await hand(page, bad)
            await page.until(f"told.textContent.includes({json.dumps(reason)})")
            assert await page.js("localStorage.length") == 0
        await page.js("void fromFile({size: 1, name: 'gone', text: () => Promise.reject(new DOMException('gone'))})")
        await page.until("told.textContent.includes('could not be read')")
        await hand(page, good)
        await page.until("document.activeElement.id === 'go'")
        assert await page.js("person.value") == "Ada"
        await page.enter()
        await page.until(WORKING)
        assert (await text(page, "where"), await row(page)) == ("60 of 100 labelled", task.people[0][60])
