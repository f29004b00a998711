"""A real browser, driven over its own debugging protocol: the fixture `tab` for every test."""

from __future__ import annotations

import asyncio
import base64
import os
import random
import shutil
import subprocess
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
_FLAGS = (
    "--headless=new --no-sandbox --disable-gpu --remote-debugging-port=0 --no-first-run --disable-sync --disable-quic "
    "--disable-background-networking --disable-component-update --disable-default-apps --hide-scrollbars"
)


class Page:
    """One tab: what it did is in `problems` (console, exceptions, policy) and `requests`."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._loaded = asyncio.Event()
        self._reader = asyncio.create_task(self._read())
        self.problems: list[str] = []
        self.requests: list[str] = []

    async def _read(self) -> None:
        async for message in self._socket:
            event = message.json()
            if "id" in event:
                self._waiting.pop(event["id"]).set_result(event)
            else:
                self._note(event["method"], event["params"])

    def _note(self, method: str, params: dict[str, Any]) -> None:
        match method:
            case "Page.loadEventFired":
                self._loaded.set()
            case "Network.requestWillBeSent":
                self.requests.append(params["request"]["url"])
            case "Runtime.exceptionThrown":
                self.problems.append(str(params["exceptionDetails"]))
            case "Runtime.consoleAPICalled":
                self.problems.append(str(params["args"]))
            case "Log.entryAdded":
                self.problems.append(params["entry"]["text"])

    async def send(self, method: str, **params: Any) -> dict[str, Any]:
        number = len(self._waiting) + random.getrandbits(24)
        self._waiting[number] = asyncio.get_running_loop().create_future()
        waiting = self._waiting[number]
        await self._socket.send_json({"id": number, "method": method, "params": params})
        answer = await asyncio.wait_for(waiting, 60)
        assert "error" not in answer, answer
        return answer["result"]

    async def open(self, path: Path) -> None:
        for domain in ("Page", "Runtime", "Log", "Network"):
            await self.send(f"{domain}.enable")
        self._loaded.clear()
        await self.send("Page.navigate", url=path.as_uri())
        await asyncio.wait_for(self._loaded.wait(), 60)

    async def js(self, expression: str) -> Any:
        result = await self.send("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    async def until(self, expression: str) -> None:
        for _ in range(600):
            if await self.js(f"!!({expression})"):
                return
            await asyncio.sleep(0.02)
        raise AssertionError(f"never true: {expression}")

    async def press(self, key: str, code: int) -> None:
        text = {"Enter": "\r", " ": " "}.get(key, "")
        for kind in ("keyDown", "keyUp"):
            await self.send("Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=code, text=text)

    async def tab(self) -> None:
        await self.press("Tab", 9)

    async def enter(self) -> None:
        await self.press("Enter", 13)

    async def write(self, text: str) -> None:
        await self.send("Input.insertText", text=text)

    async def dark(self) -> None:
        await self.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark"}])

    async def width(self, pixels: int) -> None:
        await self.send(
            "Emulation.setDeviceMetricsOverride", width=pixels, height=900, deviceScaleFactor=1, mobile=False
        )

    async def screenshot(self) -> bytes:
        return base64.b64decode((await self.send("Page.captureScreenshot", format="png"))["data"])

    async def pdf(self) -> bytes:
        return base64.b64decode((await self.send("Page.printToPDF", printBackground=False))["data"])

    async def close(self) -> None:
        await self._socket.close()
        await self._reader


def _binary() -> str | None:
    named = [os.environ["CHROME"]] if os.environ.get("CHROME") else []
    return next((found for name in (*named, *_NAMES) if (found := shutil.which(name))), None)


@contextmanager
def listening(profile: Path) -> Iterator[str | None]:
    """Where a headless browser listens, None where there is no browser; it keeps its files in `profile`."""
    if not (binary := _binary()):
        yield None
        return
    process = subprocess.Popen(
        [binary, *_FLAGS.split(), f"--user-data-dir={profile}", "about:blank"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        yield f"http://127.0.0.1:{_port(process, profile / 'DevToolsActivePort')}"
    finally:
        process.terminate()
        process.wait(20)


@pytest.fixture(scope="session")
def browser_address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where a headless browser listens; the test is skipped where there is no browser."""
    with listening(tmp_path_factory.mktemp("browser")) as address:
        if address is None:
            pytest.skip("no browser found: install Chromium, or name one in CHROME, to run the browser tests")
        yield address


def _port(process: subprocess.Popen[bytes], file: Path) -> int:
    for _ in range(600):
        if file.exists() and (lines := file.read_text().split()):
            return int(lines[0])
        assert process.poll() is None, "the browser ended before it listened"
        time.sleep(0.05)
    raise AssertionError("the browser never listened")


@asynccontextmanager
async def empty_tab(address: str) -> AsyncIterator[Page]:
    """A tab of a browser that listens there."""
    async with aiohttp.ClientSession() as session:
        async with session.put(f"{address}/json/new?about:blank") as answer:
            target = await answer.json()
        async with session.ws_connect(target["webSocketDebuggerUrl"], max_msg_size=0) as socket:
            page = Page(socket)
            yield page
            await page.close()
        async with session.get(f"{address}/json/close/{target['id']}"):
            pass


@pytest.fixture
async def tab(browser_address: str) -> AsyncIterator[Page]:
    """An empty tab."""
    async with empty_tab(browser_address) as page:
        yield page
