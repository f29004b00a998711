"""Pages are parsed by processes that may be lost."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from overton.retrieval.limits import PageSkipped
from overton.retrieval.page_process import ExtractionProcesses
from overton.retrieval.page_text import PageBody, PageText

SMALL = PageBody(b"Some text.", kind="text")


def environment_of(process: int) -> bytes:
    return Path(f"/proc/{process}/environ").read_bytes()


@pytest.fixture
async def readers() -> AsyncIterator[ExtractionProcesses]:
    made = ExtractionProcesses()
    yield made
    await made.close()


async def test_a_process_that_dies_costs_one_page(readers: ExtractionProcesses) -> None:
    assert await readers.read(SMALL) == PageText("Some text.")
    (process,) = readers._processes
    process.kill()
    await process.wait()
    with pytest.raises(PageSkipped, match="unreadable"):
        await readers.read(SMALL)
    assert await readers.read(SMALL) == PageText("Some text.")


async def test_a_page_that_takes_too_long_is_given_up(pages: Any) -> None:
    hasty = ExtractionProcesses(seconds=0.001)
    long = PageBody(pages.article(*(f"<b>{number}</b> and so on." for number in range(20_000))).encode())
    with pytest.raises(PageSkipped, match="too long"):
        await hasty.read(long)
    assert not hasty._processes
    await hasty.close()


async def test_no_process_is_left_after_the_end() -> None:
    made = ExtractionProcesses()
    await made.read(SMALL)
    processes = list(made._processes)
    await made.close()
    assert processes
    assert all(process.returncode is not None for process in processes)


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="this system does not show environments")
async def test_the_processes_know_no_key(readers: ExtractionProcesses, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-do-not-pass-on")
    await readers.read(SMALL)
    (process,) = readers._processes
    environment = environment_of(process.pid)
    assert b"PYTHONPATH" in environment
    assert b"sk-do-not-pass-on" not in environment


def test_output_of_a_library_does_not_disturb_the_page_process() -> None:
    import subprocess

    from overton.retrieval.page_process import _encode

    job = _encode(SMALL)
    done = subprocess.run(
        [sys.executable, "-c", "import os, overton.retrieval.page_text as e, overton.retrieval.page_process as r\n"
         "def loud(job):\n print('noise', flush=True); return e.extract(job)\n"
         "r.extract = loud\nr.main()"],
        input=len(job).to_bytes(4, "little") + job,
        capture_output=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        check=True,
        timeout=60,
    )  # fmt: skip
    assert done.stdout == len(done.stdout[4:]).to_bytes(4, "little") + done.stdout[4:]
    assert b"noise" in done.stderr


async def test_code_in_the_current_directory_is_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("msgspec", "trafilatura", "overton"):
        (tmp_path / f"{name}.py").write_text(f"open({str(tmp_path / 'was-run')!r}, 'w')")
    monkeypatch.chdir(tmp_path)
    made = ExtractionProcesses()
    assert await made.read(SMALL) == PageText("Some text.")
    await made.close()
    assert not (tmp_path / "was-run").exists()
