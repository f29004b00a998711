"""The fluidity of a report of many trials in a browser: opening it, going through its trials, scrolling, searching.

    python benchmarks/reading.py [--trials 51] [--report FILE]

A simulated model answers open-mindedness, 792 trials of the starter issues for each of `--trials`. Its report (or
`--report`) is opened in a headless browser. A key press is timed from its event until the next frame shows the trial.
Scrolling is a jump to another part of the list in every frame. Searches are timed until the number of hits is shown.
Each figure is a median, with the value that one in twenty exceeds.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "plugins"))

from browser import Page, empty_tab, listening

import overton

STATUS = "document.querySelector('#trials .status').textContent"
PRESSED = """(async () => {
    const list = document.querySelector('.trials'), found = [];
    list.focus();
    for (let k = 0; k < 200; k++) {
        const start = performance.now();
        list.dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowDown', bubbles: true, cancelable: true}));
        await new Promise(requestAnimationFrame);
        await new Promise(done => setTimeout(done));
        found.push(performance.now() - start);
    }
    return found;
})()"""
WORDS = ("position", "the", "B", "public", "I", "argument", "not", "people", "A", "cost")
SCROLLED = """(async () => {
    const list = document.querySelector('.trials'), found = [], step = (list.scrollHeight - list.clientHeight) / 200;
    let before = await new Promise(requestAnimationFrame);
    for (let k = 1; k <= 200; k++) {
        list.scrollTop = k * step;
        const now = await new Promise(requestAnimationFrame);
        found.push(now - before);
        before = now;
    }
    return found;
})()"""


def main() -> None:
    """Print the figures."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--trials", type=int, default=51)
    asked.add_argument("--report", type=Path)
    given = asked.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        file = given.report or _report(Path(folder), given.trials)
        (Path(folder) / "profile").mkdir()
        with listening(Path(folder) / "profile") as address:
            if address is None:
                sys.exit("no browser found: install Chromium, or name one in CHROME")
            print(f"{file.stat().st_size / 1e6:.1f} MB")
            asyncio.run(_measured(address, file.resolve()))


def _report(folder: Path, trials: int) -> Path:
    run = overton.run("open-mindedness", models=["simulated/open-minded"], trials=trials, out=folder / "run")
    return overton.report(run.path)


async def _measured(address: str, file: Path) -> None:
    loop = asyncio.get_running_loop()
    opened = []
    for _ in range(3):
        async with empty_tab(address) as page:
            began = loop.time()
            await page.open(file)
            await page.until("document.querySelector('.pane .trial')")
            opened.append(loop.time() - began)
    async with empty_tab(address) as page:
        await page.open(file)
        await page.until("document.querySelector('.pane .trial')")
        await page.js("document.querySelector('#trials').scrollIntoView()")
        print(await page.js(STATUS))
        print(f"opened, first trial shown: {sorted(opened)[1]:.2f} s, median of three")
        print(f"a key, until the frame after it: {_shown(await page.js(PRESSED))}")
        print(f"a frame while the list is scrolled from end to end: {_shown(await page.js(SCROLLED))}")
        for where in ("answers", "prompts"):
            print(f"a search of {where}: {_shown([await _searched(page, where, word) for word in WORDS])}")


async def _searched(page: Page, where: str, word: str) -> float:
    """Milliseconds from when a word is typed until the trials that have it are counted; 120 of them are the pause after
    which a search starts."""
    return float(
        await page.js(
            f"""new Promise(done => {{
                const start = performance.now(), field = document.querySelector('input[name=query]');
                document.querySelector('select[name=where]').value = '{where}';
                field.value = '{word}';
                const counted = new MutationObserver(() => {{
                    counted.disconnect();
                    requestAnimationFrame(() => done(performance.now() - start));
                }});
                counted.observe(document.querySelector('#trials .status'), {{childList: true}});
                field.dispatchEvent(new Event('input', {{bubbles: true}}));
            }})"""
        )
    )


def _shown(found: list[float]) -> str:
    ordered = sorted(found)
    return f"{ordered[len(ordered) // 2]:.0f} ms, {ordered[len(ordered) * 95 // 100]:.0f} ms for one in twenty"


if __name__ == "__main__":
    main()
