"""Actions of a person on a page of labels, in a fresh browser: begin, press keys, save."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
from browser import Page

WORKING = "!document.getElementById('work').hidden"
ENDED = "!document.getElementById('end').hidden"


@asynccontextmanager
async def fresh(address: str) -> AsyncIterator[Page]:
    """A tab of a profile that knows nothing."""
    async with aiohttp.ClientSession() as session:
        async with session.get(f"{address}/json/version") as answer:
            browser = Page(await session.ws_connect((await answer.json())["webSocketDebuggerUrl"]))
        context = (await browser.send("Target.createBrowserContext"))["browserContextId"]
        target = await browser.send("Target.createTarget", url="about:blank", browserContextId=context)
        socket = f"{address.replace('http', 'ws', 1)}/devtools/page/{target['targetId']}"
        tab = Page(await session.ws_connect(socket, max_msg_size=0))
        try:
            yield tab
        finally:
            await tab.close()
            await browser.send("Target.disposeBrowserContext", browserContextId=context)
            await browser.close()


async def begin(page: Page, name: str = "Ada L.") -> None:
    if await page.js("document.activeElement.id") != "person":  # as where a touch would bring up a keyboard
        await page.tab()
    await page.write(name)
    await page.enter()
    await page.until(WORKING)


async def key(page: Page, pressed: str) -> None:
    await page.press(pressed, ord(pressed.upper()))


async def text(page: Page, where: str) -> str:
    return str(await page.js(f"document.getElementById('{where}').textContent"))


async def saved(folder: Path, name: str = "Ada-L-1.json") -> Path:
    path = folder / "saved" / name
    for _ in range(200):
        if path.exists() and path.stat().st_size:
            return path
        await asyncio.sleep(0.02)
    raise AssertionError(f"{name} was not saved")


async def hand(page: Page, path: Path) -> None:
    """Choose a file in the page's file input."""
    document = await page.send("DOM.getDocument")
    chooser = await page.send("DOM.querySelector", nodeId=document["root"]["nodeId"], selector="#take-up")
    await page.send("DOM.setFileInputFiles", files=[str(path)], nodeId=chooser["nodeId"])
