"""Makes the pictures in docs/judges.md: a page of labels, the same on a phone, the page to settle, the report after.

    python -m benchmarks.label_pictures

Nothing in them is drawn by hand: a simulated run is labelled by two people who are simulated, too (they say what the
judge says, except for a tenth of the rows), and Chromium opens what Overton wrote. `--out` is docs/images by default.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from time import sleep
from typing import Any

import msgspec

import overton
from overton.judging.labelling import Said, Task

ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT / "tests" / "plugins"))

WIDE, PHONE = (1100, 720), (390, 844)


def labelled(folder: Path) -> tuple[Path, Path, Path]:
    """The run, a page with labels to go, and the page to settle."""
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
    task = msgspec.json.decode((folder / "labels" / "task.json").read_bytes(), type=Task)
    for number, (page, person) in enumerate(zip(pages, ("Ada", "Bo"), strict=True), 1):
        chance = Random(number)
        wrong = {place for place in task.people[number - 1] if chance.random() < 0.1}
        labels = {
            place: chance.choice([*task.labels]) if place in wrong else task.rows[place].judged
            for place in task.people[number - 1]
        }
        page.with_suffix(".json").write_bytes(msgspec.json.encode(Said(task.name, number, person, labels)))
    overton.judge.agreement([page.with_suffix(".json") for page in pages], run=run)
    settle = overton.judge.settling_page(run, folder / "settle.html", task=task.name)
    assert settle is not None, "two people who differ have something to settle"
    return run, pages[0], settle


@contextmanager
def chromium(binary: str, profile: Path) -> Iterator[str]:
    """Where a headless browser listens."""
    words = "--headless=new --no-sandbox --disable-gpu --remote-debugging-port=0 --no-first-run --hide-scrollbars"
    process = subprocess.Popen(
        [binary, *words.split(), f"--user-data-dir={profile}", "about:blank"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    port = profile / "DevToolsActivePort"
    try:
        for _ in range(300):
            if port.exists() and port.read_text():
                break
            sleep(0.1)
        yield f"http://127.0.0.1:{port.read_text().split()[0]}"
    finally:
        process.terminate()
        process.wait(20)


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
  const box = document.getElementById("labels").getBoundingClientRect();
  return { x: box.x, y: box.y + scrollY, width: box.width, height: Math.min(box.height, 900) };
})()"""


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
    parser.add_argument("--browser", default="chromium", metavar="PROGRAM")
    chosen = parser.parse_args()
    with TemporaryDirectory() as folder:
        run, asked, settle = labelled(Path(folder))
        report = overton.report([run])
        with chromium(chosen.browser, Path(folder) / "profile") as address:
            made = asyncio.run(pictures(address, asked, settle, report))
    for name, content in made.items():
        (chosen.out / name).write_bytes(content)
        print(f"{chosen.out / name}: {len(content):,} bytes")


if __name__ == "__main__":
    main()
