"""Reports of every study, and the other pages, as readers meet them: accessible, and with the finding first."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from accessible import violations

import overton

pytestmark = [pytest.mark.browser, pytest.mark.long]

SMALL: dict[str, dict[str, Any]] = {
    "open-mindedness": {
        "models": ["moved=simulated/open-minded", "other=simulated/open-minded"],
        "model_args": {"other": {"susceptibility_con": 3}},
        "trials": 1,
        "limit": 6,
    },
    "stance-stability": {
        "models": ["simulated/chameleon", "simulated/chameleon/steady"],
        "others": {"judge": ["simulated/stance-judge"], "search": ["starter"]},
        "turns": 4,
        "temperatures": [0.0, 1.0],
        "limit": 6,
    },
    "pluralism": {
        "models": ["simulated/pluralist", "simulated/pluralist/other"],
        "others": {"judge": ["simulated/pluralist-judge"]},
    },
    "deliberation": {
        "models": ["simulated/deliberator/a", "simulated/deliberator/b"],
        "others": {"values": ["simulated/values-judge"]},
    },
    "even-handedness": {
        "models": ["simulated/advocate", "simulated/advocate/b"],
        "model_args": {"simulated/advocate": {"weaker": 0.6}},
        "others": {"judge": ["simulated/even-judge"]},
    },
}
"""Small runs of two models each; `limit` is how many items at most."""
FIRST_SCREEN = """[...document.querySelectorAll('#found, #found *')].filter((one) => {
  const box = one.getBoundingClientRect();
  return one.children.length === 0 && one.checkVisibility() && box.top >= 0 && box.bottom <= innerHeight;
}).map((one) => one.textContent.trim()).filter((text) => text)"""


@pytest.fixture(scope="module", params=SMALL)
def report(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Any, Path]:
    """A study's name, a small run of it, and its report."""
    from overton.runs.items import read_items
    from overton.studies.registry import study_named

    asked = dict(SMALL[request.param])
    limit = asked.pop("limit", None)
    only = [item.id for item in read_items(study_named(request.param))[:limit]]
    run = overton.run(request.param, **asked, only=only, out=tmp_path_factory.mktemp(request.param) / "run")
    return request.param, run, overton.report([run.path])


async def opened(tab: Any, file: Path, width: int = 1_300) -> None:
    await tab.width(width)
    await tab.open(file)
    await tab.until("!document.getElementById('trials') || document.querySelector('.pane .trial')")


@pytest.mark.parametrize("width", [1_300, 390])
async def test_the_first_screen_holds_the_finding_the_model_and_the_count(tab, report, width):
    study, _, file = report
    await opened(tab, file, width)
    if await tab.js("document.querySelector('.callout.void') !== null"):  # a simulated judge, so findings are folded
        assert await tab.js("document.querySelector('.callout.void').getBoundingClientRect().bottom < innerHeight")
        assert not await tab.js("document.querySelector('.sentence').checkVisibility()")
        return
    # On a phone, up to three cautions come before the findings, so these may begin at the end of the first screen.
    seen = await tab.js(FIRST_SCREEN if width > 390 else FIRST_SCREEN.replace("innerHeight", "1.6 * innerHeight"))
    sentences = await tab.js("[...document.querySelectorAll('#found .sentence')].map((one) => one.textContent)")
    assert [one for one in sentences if one in seen], seen
    models = [one.partition("=")[0] for one in SMALL[study]["models"]]
    assert [one for one in seen if any(model in one for model in models)], seen
    counts = await tab.js("[...document.querySelectorAll('#found .evidence summary')].map((one) => one.textContent)")
    assert [one for one in counts if one in seen and one[0].isdigit()], seen


async def test_reports_break_no_rule_of_axe_light_dark_narrow_and_with_everything_open(tab, report):
    _, _, file = report
    await opened(tab, file)
    assert await violations(tab) == []
    await tab.dark()
    await tab.width(390)
    await tab.js("document.querySelectorAll('details').forEach((one) => (one.open = true))")
    await tab.js(
        "document.querySelectorAll('.tools button').forEach((b) => /columns/.test(b.textContent) && b.click())"
    )
    await tab.until("[...document.querySelectorAll('details.seen')].every((one) => one.querySelector('.passage'))")
    assert await violations(tab) == []
    assert await tab.js("document.documentElement.scrollWidth") <= 390
    assert tab.problems == []


async def test_text_in_charts_is_13_pixels_or_more_at_every_width(tab, report):
    _, _, file = report
    await opened(tab, file)
    await tab.js("document.querySelectorAll('details').forEach((one) => (one.open = true))")
    shown = "[...document.querySelectorAll('.chart svg')].filter((svg) => svg.checkVisibility())"
    scale = "Math.hypot(text.getScreenCTM().a, text.getScreenCTM().b)"
    sizes = f"[...svg.querySelectorAll('text')].map((text) => parseFloat(getComputedStyle(text).fontSize) * {scale})"
    for width in (320, 390, 768, 1_024, 1_300):
        await tab.width(width)
        smallest = await tab.js(f"Math.min(...{shown}.flatMap((svg) => {sizes}))")
        assert 12.99 <= smallest <= 20, width


async def test_every_study_can_be_read_side_by_side(tab, report):
    _, _, file = report
    await opened(tab, file)
    await tab.js("document.querySelector('.trials').focus()")
    await tab.press("b", 66)
    assert await tab.js("document.querySelectorAll('.column').length") >= 2
    assert await tab.js("document.querySelector('.pane h3').textContent.length") > 0
    assert await violations(tab) == []
    assert await tab.js("document.querySelector('.pane .tags.read small') !== null")


async def test_the_page_of_a_comparison_breaks_no_rule(tab, report, tmp_path):
    from overton.comparison.sections import write_page

    _, run, _ = report
    await opened(tab, write_page(overton.compare(run.path), tmp_path / "compared.html"), 390)
    assert await violations(tab) == []
    await tab.dark()
    await tab.width(1_300)
    assert await violations(tab) == []


async def test_the_page_on_which_people_label_breaks_no_rule(tab, tmp_path):
    run = overton.run(
        "stance-stability",
        models=["simulated/chameleon"],
        others={"judge": ["simulated/stance-judge"], "search": ["starter"]},
        only=["education-policy-school-phones"],
        turns=4,
        temperatures=[0.0],
        out=tmp_path / "run",
    )
    page, *_ = overton.judge.draw_labels(run.path, tmp_path / "labels", size=4, shared=0, whole=False)
    await tab.open(page)
    await tab.until("document.querySelector('#begin').checkVisibility()")
    assert await violations(tab) == []
    await tab.js("document.querySelector('#person').focus()")
    await tab.write("Ada")
    await tab.enter()
    await tab.until("document.querySelector('#labels button')")
    assert await violations(tab) == []
    await tab.dark()
    await tab.width(390)
    assert await violations(tab) == []
