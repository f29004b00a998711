"""Output in a notebook: progress of a run, and runs and plans as tables."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

import overton
from overton.runs import progress_bar

ASKED: dict[str, Any] = {"models": ["simulated/open-minded"], "trials": 1, "only": ["voting-age"]}


class Cell:
    """The output that a notebook's cell was given."""

    def __init__(self) -> None:
        self.shown: list[str] = []

    def display(self, one: str, *, display_id: bool) -> Any:
        assert display_id
        self.shown.append(one)
        return SimpleNamespace(update=self.shown.append)


def notebook(monkeypatch: pytest.MonkeyPatch, kernel: object) -> Cell:
    """IPython as a kernel has it, or a terminal where there is no kernel."""
    cell = Cell()
    shell, display = ModuleType("IPython"), ModuleType("IPython.display")
    vars(shell).update(get_ipython=lambda: SimpleNamespace(kernel=kernel))
    vars(display).update(display=cell.display, HTML=str)
    monkeypatch.setitem(sys.modules, "IPython", shell)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    return cell


def test_a_run_shows_its_progress_in_a_notebook(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    cell = notebook(monkeypatch, object())
    overton.run("open-mindedness", out=tmp_path / "run", **ASKED)
    assert "66 of 66 calls" in cell.shown[-1]
    assert "<progress max='1' value='1.0000'>" in cell.shown[-1]


@pytest.mark.parametrize("where", ["script", "terminal"])
def test_elsewhere_nothing_is_shown(where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if where == "terminal":
        notebook(monkeypatch, None)
    assert progress_bar.in_notebook("run") is None


def test_hostile_errors_stay_text_in_a_notebook_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    from overton.engine import Counters
    from overton.runs.progress import Progress

    cell = notebook(monkeypatch, object())
    watch = progress_bar.in_notebook("run")
    assert watch is not None
    watch(Progress(0, 9, Counters(last_trouble="<script>\x1b[2J"), 0.0, 1.0, 1, 1))
    assert "&lt;script&gt;[U+001B]" in cell.shown[0]


def test_runs_and_plans_are_tables_in_a_notebook_and_short_in_a_terminal(tmp_path: Path) -> None:
    run = overton.run("open-mindedness", out=tmp_path / "run", **ASKED)
    assert "<td style='text-align:left'>simulated/open-minded</td>" in run._repr_html_()
    assert "overton.analyze" in run._repr_html_()
    assert repr(run) == f"Run({str(tmp_path / 'run')!r}: open-mindedness, finished)"
    html = overton.plan("open-mindedness", **ASKED)._repr_html_()
    assert "Plan of open-mindedness" in html
    assert ">66<" in html
    assert len(repr(overton.analyze("open-mindedness", run.path))) < 200


@pytest.mark.parametrize(
    ("seconds", "said"), [(0.2, "1 s"), (75, "75 s"), (200, "3 min"), (9_000, "2 h 30 min"), (400_000, "5 days")]
)
def test_a_time_to_come_has_two_figures(seconds: float, said: str) -> None:
    from overton.engine import Counters
    from overton.runs.progress import Progress

    progress = Progress(0, 9, Counters(), 0.0, 1.0, 1, 1, left=seconds)
    assert f"about {said} left" in progress_bar.detail(progress)
