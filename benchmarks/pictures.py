"""The pictures in the readme and the docs: the top of the demo's report, a profile, a page of labels, the same on a
phone, the page for adjudication, the report after.

    python -m benchmarks.pictures [--demo RUN]

Nothing in them is drawn by hand. Except in the demo, the models are simulated, and so are two annotators of a run (they
agree with the judge, except for a tenth of the rows). Then Chromium opens the pages that Overton wrote. `--demo` names
a finished run of the demo; without it, the demo is run. `--out` is docs/images by default.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import subprocess
import sys
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "plugins"))

import msgspec
from browser import empty_tab, listening

import overton
from overton.judging.label_tasks import AnnotatorLabels, LabelTask

ROOT = Path(__file__).parents[1]
WIDE, PHONE = (1100, 720), (390, 844)


def labelled(folder: Path) -> tuple[Path, Path, Path]:
    """The run, a page with labels to go, and the page for adjudication."""
    run = overton.run(
        "stance-stability",
        models=["simulated/chameleon"],
        others={"judge": ["simulated/stance-judge"], "search": ["starter"]},
        model_args={"simulated/stance-judge": {"wrong": "0.1"}},
        temperatures=[0.0],
        turns=6,
        out=folder / "chameleon",
    ).path
    pages = overton.judge.draw_labels(run, folder / "labels", size=120)
    task = msgspec.json.decode((folder / "labels" / "task.json").read_bytes(), type=LabelTask)
    for number, (page, person) in enumerate(zip(pages, ("Ada", "Bo"), strict=True), 1):
        chance = Random(number)
        wrong = {place for place in task.people[number - 1] if chance.random() < 0.1}
        labels = {
            place: chance.choice([*task.labels]) if place in wrong else task.rows[place].judged
            for place in task.people[number - 1]
        }
        page.with_suffix(".json").write_bytes(msgspec.json.encode(AnnotatorLabels(task.name, number, person, labels)))
    overton.judge.agreement([page.with_suffix(".json") for page in pages], run=run)
    settle = overton.judge.settling_page(run, folder / "settle.html", task=task.name)
    assert settle is not None, "two people who differ have something to settle"
    return run, pages[0], settle


def profiled(folder: Path) -> Path:
    """A profile of two models, one unmoved by arguments and one moved by them."""
    named = {"steadfast": 0.0, "swayed": 3.0}
    run = overton.run(
        "open-mindedness",
        models=[f"{name}=simulated/open-minded" for name in named],
        model_args={
            name: {"susceptibility_pro": str(moved), "susceptibility_con": str(moved)} for name, moved in named.items()
        },
        trials=4,
        out=folder / "issues",
    )
    talks = overton.run(
        "deliberation",
        models=["steadfast=simulated/deliberator", "swayed=simulated/deliberator"],
        rounds=2,
        out=folder / "dilemmas",
    )
    overton.report(run.path)
    overton.report(talks.path)
    page = folder / "profile.html"
    overton.profile(run.path, talks.path, out=page)
    return page


def demonstrated(folder: Path) -> Path:
    """A run of the demo."""
    run = folder / "demo"
    subprocess.run([Path(sys.executable).with_name("overton"), "demo", "--out", run], check=True)
    return run


async def photographed(page: Any, part: str = "") -> bytes:
    """The window as it is, or the part that this script gives as {x, y, width, height}."""
    clip = {"clip": {**await page.js(part), "scale": 1}} if part else {}
    made = await page.send("Page.captureScreenshot", format="png", captureBeyondViewport=bool(part), **clip)
    return base64.b64decode(made["data"])


async def sized(page: Any, size: tuple[int, int], *, phone: bool = False) -> None:
    width, height = size
    how = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": phone}
    await page.send("Emulation.setDeviceMetricsOverride", **how)


SECTION = """(() => {
  const section = document.getElementById("labels");
  for (let at = section; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
  const box = section.getBoundingClientRect();
  return { x: box.x, y: box.y + scrollY, width: box.width, height: Math.min(box.height, 880) };
})()"""

TOP = """(() => ({ x: 0, y: 0, width: innerWidth, height: HEIGHT }))()"""
FOUND = TOP.replace("HEIGHT", "document.querySelector('#found table').getBoundingClientRect().bottom + scrollY + 6")


async def tops(address: str, report: Path, profile: Path) -> dict[str, bytes]:
    """The pictures of a report down to its first table and of a profile's head, by their files' names."""
    made = {}
    for name, file, part in (("report.png", report, FOUND), ("profile.png", profile, TOP.replace("HEIGHT", "980"))):
        async with empty_tab(address) as page:
            await sized(page, WIDE)
            await page.open(file)
            made[name] = await photographed(page, part)
    return made


async def pictures(address: str, asked: Path, settle: Path, report: Path) -> dict[str, bytes]:
    """Each picture by its file's name."""
    from labels_page import begin, fresh, key

    made = {}
    async with fresh(address) as page:
        await sized(page, WIDE)
        await page.open(asked)
        await begin(page, "Ada")
        for pressed in "1123210":
            await key(page, pressed)
        made["labels.png"] = await photographed(page)
        await page.dark()
        await sized(page, PHONE, phone=True)
        made["labels-phone.png"] = await photographed(page)
    async with fresh(address) as page:
        await sized(page, WIDE)
        await page.open(settle)
        await begin(page, "Ada and Bo")
        made["settle.png"] = await photographed(page)
    async with fresh(address) as page:
        await sized(page, WIDE)
        await page.open(report)
        made["corrected.png"] = await photographed(page, SECTION)
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "images", metavar="FOLDER")
    parser.add_argument("--demo", type=Path, metavar="RUN")
    chosen = parser.parse_args()
    with TemporaryDirectory() as folder:
        run, asked, settle = labelled(Path(folder))
        profile, demo = profiled(Path(folder)), chosen.demo or demonstrated(Path(folder))
        with listening(Path(folder)) as address:
            if address is None:
                sys.exit("no browser found: install Chromium, or name one in CHROME")
            made = asyncio.run(pictures(address, asked, settle, overton.report(run)))
            made |= asyncio.run(tops(address, overton.report(demo), profile))
    for name, content in made.items():
        (chosen.out / name).write_bytes(content)
        print(f"{chosen.out / name}: {len(content):,} bytes")


if __name__ == "__main__":
    main()
