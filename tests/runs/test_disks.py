"""A full or read-only disk is reported in a sentence; nothing half-written is left, and a run can be resumed."""

from __future__ import annotations

import json
import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest
from aiohttp import web

import overton
from overton.errors import RunError

pytestmark = pytest.mark.hostile

SIMULATED: dict[str, Any] = {
    "models": ["simulated/open-minded"],
    "trials": 1,
    "templates": [1],
    "conditions": ["baseline", "balanced"],
}

SMALL = """
import json, resource, signal, sys
import overton, overton.judge.sheets
from overton.reports.run_report import report
size, name, positional, named, warm = json.loads(sys.argv[1])
call = {"report": report, "resume": overton.resume, "run": overton.run, "index": overton.corpus.index}[name]
if warm:
    report(*positional, out=warm)
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
try:
    call(*positional, **named)
except overton.errors.OvertonError as error:
    print(type(error).__name__, error, sep=": ")
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return overton.run("open-mindedness", **SIMULATED, out=tmp_path_factory.mktemp("runs") / "run").path


def said(size: int, name: str, *positional: Any, warm: str = "", **named: Any) -> str:
    """The output of a process that may write no file larger than that many bytes; forks of this one have no tables."""
    words = json.dumps([size, name, positional, named, warm])
    done = subprocess.run([sys.executable, "-c", SMALL, words], capture_output=True, text=True, check=True, timeout=120)
    return done.stdout


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()} - {"journal.lock"}


def test_a_report_that_does_not_fit_leaves_the_earlier_one(run: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text("the earlier one")
    told = said(10_000, "report", [str(run)], warm=str(tmp_path / "warm.html"), out=str(page))
    assert told == f"RunError: {page} cannot be written: File too large\n"
    assert page.read_text() == "the earlier one"
    assert names(tmp_path) == {"page.html", "warm.html"}


@pytest.mark.parametrize("out", ["missing/page.html", "run/manifest.json/page.html", "."])
def test_a_report_goes_where_there_is_a_folder(run: Path, tmp_path: Path, out: str) -> None:
    with pytest.raises(RunError, match="cannot be written: "):
        overton.report([run], out=(run.parent if out.startswith("run") else tmp_path) / out)
    assert names(tmp_path) == set()


def test_figures_go_where_a_folder_can_be(run: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(RunError, match=r"cannot be created: .*/file is not a folder"):
        overton.report([run], out=tmp_path / "page.html", figures=tmp_path / "file" / "figures")
    assert names(tmp_path) == {"file"}


def test_an_index_that_does_not_fit_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages" / "one.txt").write_text("Trams are good for towns. " * 5000)
    told = said(2_000, "index", str(tmp_path / "pages"), str(tmp_path / "index"))
    assert told.startswith(f"RunError: {tmp_path / '.index.'}")
    assert "cannot be written: " in told
    assert names(tmp_path) == {"pages"}


def test_a_sheet_goes_where_a_folder_can_be(tmp_path: Path) -> None:
    from overton.judge.sheets import write_files
    from overton.judging.sheets import KeyRow, SheetKey

    task = SheetKey("s", "s", "w", "j", ("a",), 0, False, {"a": 1}, (KeyRow("1", "a", "g"),)).task()
    (tmp_path / "file").write_bytes(b"")
    (tmp_path / "sheet.csv").mkdir()
    for sheet in (tmp_path / "file" / "sheet.csv", tmp_path / "sheet.csv"):
        with pytest.raises(RunError, match="cannot be "):
            write_files((sheet, sheet.with_suffix(".key.json")), task, [{"text": "t"}])
    assert names(tmp_path) == {"file", "sheet.csv"}  # no key is left without its sheet


def test_records_that_do_not_fit_are_reported_and_made_again(runs: Any, endpoint: Any) -> None:
    async def at_length(asked: Any) -> web.Response:
        words = "".join(sha256(f"{asked.seed}/{number}".encode()).hexdigest() for number in range(16))
        message = {"role": "assistant", "content": f"position <<A>> {words}"}
        return web.json_response({"model": "m", "choices": [{"finish_reason": "stop", "message": message}]})

    endpoint.behave = at_length
    runs.start("whole")
    copytree(runs.folder / "whole", runs.folder / "run")
    (runs.folder / "run" / "records.parquet").unlink()
    told = said(40_000, "resume", str(runs.folder / "run"))
    assert told.startswith("RunError: ")
    assert "records" in told
    assert told.count("\n") == 1
    assert "records.parquet" not in names(runs.folder / "run")
    asked = len(endpoint.asked)
    assert runs.resume("run").status == "finished"
    assert len(endpoint.asked) == asked
    assert runs.records("run").equals(runs.records("whole"))
    assert names(runs.folder / "run") == names(runs.folder / "whole")


def test_a_run_that_does_not_fit_is_not_started(tmp_path: Path) -> None:
    told = said(1_000, "run", "open-mindedness", **SIMULATED, out=str(tmp_path / "run"))
    assert told.startswith("RunError: ")
    assert "items.jsonl cannot be written: File too large" in told
    assert names(tmp_path) == set()
