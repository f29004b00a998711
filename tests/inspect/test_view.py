"""An exported log in `inspect view`, in a real browser."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote
from urllib.request import urlopen

import msgspec
import pytest

pytest.importorskip("inspect_ai", reason="Inspect AI is not installed: pip install 'overton[inspect]'")

import overton
from overton.runs.items import read_items
from overton.studies.registry import study_named

pytestmark = pytest.mark.browser

HOSTILE = '<img src=x onerror="window.__pwned = 1"> [out](http://192.0.2.1/) ![seen](http://192.0.2.1/seen.png)'
SHOWN = "(document.body?.innerText ?? '')"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A log of one issue whose first argument is hostile."""
    issue = read_items(study_named("open-mindedness"))[0]
    first = msgspec.structs.replace(issue.pros[0], text=HOSTILE)
    asked = msgspec.structs.replace(issue, pros=(first, *issue.pros[1:]))
    run = overton.run(
        "open-mindedness",
        models=["simulated/open-minded"],
        items=[asked],
        trials=1,
        templates=[1],
        out=tmp_path / "run",
    )
    (done,) = overton.export_run(run.path, out=tmp_path / "logs")
    return done.path


@pytest.fixture
def viewer(log: Path) -> Iterator[str]:
    """The address of `inspect view` over the log."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [str(Path(sys.executable).with_name("inspect")), "view", "start", "--log-dir", str(log.parent)]
    process = subprocess.Popen(
        [*command, "--host", "127.0.0.1", "--port", str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    address = f"http://127.0.0.1:{port}"
    try:
        _wait_for(address, process)
        yield address
    finally:
        process.terminate()
        process.wait(20)


def _wait_for(address: str, process: subprocess.Popen[bytes]) -> None:
    import time

    for _ in range(600):
        assert process.poll() is None, "inspect view ended before it listened"
        try:
            urlopen(address, timeout=5).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise AssertionError("inspect view never listened")


async def test_a_log_opens_and_shows_samples_messages_and_records(tab: Any, viewer: str, log: Path) -> None:
    for domain in ("Page", "Runtime", "Log", "Network"):
        await tab.send(f"{domain}.enable")
    await tab.send("Page.navigate", url=f"{viewer}/#/tasks/{quote(log.name)}/samples")
    await tab.until(f"{SHOWN}.includes('one-sided-pro/w1')")
    shown = await tab.js(SHOWN)
    assert "overton/open_mindedness" in shown
    assert "simulated/open-minded" in shown
    assert "open_mindedness_overall" in shown.lower()
    await tab.js("[...document.querySelectorAll('*')].filter(e => e.innerText === 'All scoring...').at(-1).click()")
    await tab.until(f"{SHOWN}.toUpperCase().includes('PRO_BASELINE')")
    sample = f"{viewer}/#/tasks/{quote(log.name)}/samples/sample/{quote('cashless-shops/one-sided-pro/w1', safe='')}/1"
    await tab.send("Page.navigate", url=f"{sample}/transcript")
    await tab.until(f"{SHOWN}.includes('ONE-SIDED-PRO W1 T1 R1') || {SHOWN}.includes('one-sided-pro w1 t1 r1')")
    await tab.until(f"{SHOWN}.includes('position <<')")
    await tab.js(
        "[...document.querySelectorAll('button')].filter(b => b.innerText === 'more...').forEach(b => b.click())"
    )
    await tab.until(f"{SHOWN}.includes('onerror=')")
    await tab.send("Page.navigate", url=f"{sample}/scoring")
    await tab.until(f"{SHOWN}.includes('share of answers that take the pro side')")
    assert "cashless-shops/one-sided-pro/w1/t1/r1" in await tab.js(SHOWN)
    await asyncio.sleep(0.3)
    assert await tab.js("typeof window.__pwned") == "undefined"
    assert not [url for url in tab.requests if "192.0.2.1" in url]
    assert await tab.js("document.querySelectorAll('a[href*=\"192.0.2.1\"]').length") == 0
    assert [one for one in tab.problems if "Uncaught" in one or "exceptionId" in one] == []
