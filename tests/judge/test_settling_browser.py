"""Disagreements of two people, from a run to the page on which they adjudicate them, in a real browser, and back."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from labels_page import ENDED, WORKING, begin, fresh, key, saved, text

import overton
from overton.judge.people_labels import PeopleAgreement
from overton.judging.label_tasks import CANNOT_TELL, AnnotatorLabels, LabelTask

pytestmark = pytest.mark.browser

HOSTILE = "</script><script>window.__pwned = 1</script>"
IMAGE = '<img src=x onerror="window.__pwned = 2">\u202e'
OPEN = 3


TALKS = {"temperatures": [0.0]}


def differing(run: Path, folder: Path, seed: int) -> tuple[LabelTask, list[int]]:
    """A task whose two people differ on three rows that both have, in names and remarks that would be markup."""
    pages = overton.judge.draw_labels(run, folder, size=8, shared=8, seed=seed, whole=False)
    task = msgspec.json.decode((folder / "task.json").read_bytes(), type=LabelTask)
    both = sorted(task.people[0])[:OPEN]
    for number, person in enumerate((HOSTILE, "bo"), 1):
        labels = dict.fromkeys(task.people[number - 1], "supportive")
        if number == 2:
            labels |= dict(zip(both, ("critical", "unclear", CANNOT_TELL), strict=True))
        said = AnnotatorLabels(task.name, number, person, labels, {both[0]: IMAGE})
        pages[number - 1].with_suffix(".json").write_bytes(msgspec.json.encode(said))
    found = overton.judge.agreement(sorted(folder.glob("person-*.json")), run=run)
    assert isinstance(found, PeopleAgreement)
    assert found.people.open == OPEN
    return task, both


async def test_two_people_adjudicate_their_disagreements_by_keys_and_the_run_takes_them(
    browser_address: str, run: Path, tmp_path: Path
) -> None:
    task, both = differing(run, tmp_path / "labels", 1)
    file = overton.judge.settling_page(run, tmp_path / "settle.html", task=task.name)
    assert file is not None
    async with fresh(browser_address) as page:
        await page.send("Page.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path / "saved"))
        await page.open(file)
        assert "People labelled these differently" in await page.js("document.body.innerText")
        await begin(page, "Ada and Bo")
        shown = []
        for pressed in "10":
            shown.append(await page.js("texts.innerText"))
            await key(page, pressed)
        await page.open(file)  # closed in the middle
        await page.until("document.activeElement.id === 'go'")
        await page.enter()
        await page.until(WORKING)
        assert await text(page, "where") == "2 of 3 labelled"
        shown.append(await page.js("texts.innerText"))
        assert HOSTILE in shown[0]
        assert '(<img src=x onerror="window.__pwned = 2">[U+202E])' in shown[0]
        assert [told.count("bo: ") for told in shown] == [1, 1, 1]
        assert await page.js("typeof window.__pwned") == "undefined"
        await key(page, "2")
        await page.until(ENDED)
        await page.js("document.getElementById('save-last').click()")
        settled = await saved(tmp_path, "Ada-and-Bo-settled.json")
        assert page.problems == []
        assert {url.split(":")[0] for url in page.requests} <= {"file", "blob"}
    first, second, *_ = task.labels
    found = overton.judge.agreement(settled, run=run)
    assert isinstance(found, PeopleAgreement)
    assert (found.people.open, found.people.settled) == (0, OPEN)
    (kept,) = overton.open_run(run).path.joinpath("labels").glob("*.json")
    told = {one["place"]: one["label"] for one in msgspec.json.decode(kept.read_bytes())["settled"]}
    assert told == dict(zip(both, (first, CANNOT_TELL, second), strict=True))


async def test_a_settled_label_that_is_taken_back_is_open_again(
    browser_address: str, run: Path, tmp_path: Path
) -> None:
    task, _ = differing(run, tmp_path / "labels", 2)
    file = overton.judge.settling_page(run, tmp_path / "settle.html", task=task.name)
    assert file is not None
    async with fresh(browser_address) as page:
        await page.send("Page.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path / "saved"))
        await page.open(file)
        await begin(page, "both")
        await key(page, "1")
        await page.js("document.getElementById('save').click()")
        overton.judge.agreement(await saved(tmp_path, "both-settled.json"), run=run)
        (tmp_path / "saved" / "both-settled.json").unlink()
        await key(page, "u")
        await page.js("document.getElementById('save').click()")
        found = overton.judge.agreement(await saved(tmp_path, "both-settled.json"), run=run)
    assert isinstance(found, PeopleAgreement)
    assert (found.people.open, found.people.settled) == (OPEN, 0)


async def test_it_reads_on_a_narrow_screen_and_every_control_has_a_name(
    browser_address: str, run: Path, tmp_path: Path
) -> None:
    task, _ = differing(run, tmp_path / "labels", 3)
    file = overton.judge.settling_page(run, tmp_path / "settle.html", task=task.name)
    assert file is not None
    async with fresh(browser_address) as page:
        await page.open(file)
        await page.send("Emulation.setDeviceMetricsOverride", width=390, height=844, deviceScaleFactor=2, mobile=True)
        await begin(page)
        assert await page.js("document.documentElement.scrollWidth") <= 390
        nodes = (await page.send("Accessibility.getFullAXTree"))["nodes"]
        controls = [one for one in nodes if one.get("role", {}).get("value") in ("button", "checkbox", "textbox")]
        names = [one["name"]["value"] for one in controls if not one["ignored"]]
        assert all(names)
        for label in (*task.labels, CANNOT_TELL):
            assert any(label in name for name in names)
