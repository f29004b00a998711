"""Accessibility violations of a page, found by axe-core."""

from __future__ import annotations

import gzip
import json
from functools import cache
from pathlib import Path

from browser import Page

__all__ = ["violations"]

_FILE = Path(__file__).parents[1] / "data" / "axe" / "axe.min.js.gz"
_RUN = """axe.run({exclude: [['.chart svg g']]}, {resultTypes: ['violations']}).then((found) => JSON.stringify(
  found.violations.map((one) => {
    const places = one.nodes.slice(0, 5).map((node) => `${node.html.slice(0, 200)} ${node.failureSummary}`);
    return [one.id, one.help, places];
  })))"""


@cache
def _script() -> str:
    return gzip.decompress(_FILE.read_bytes()).decode()


async def violations(page: Page) -> list[list[object]]:
    """Every rule of axe-core that the page as it is now breaks, with the first places where it does.

    The inside of a chart's drawing is left out: for users of screen readers a drawing is one image with a description,
    and its thousands of marks take minutes. The rules are brought in over the debugging protocol, which no policy of
    the page can block.
    """
    if not await page.js("typeof axe !== 'undefined'"):
        await page.js(_script() + "; 0")
    found: list[list[object]] = json.loads(await page.js(_RUN))
    return found
