"""`overton export` and `overton import` as users meet them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("inspect_ai", reason="Inspect AI is not installed: pip install 'overton[inspect]'")


@pytest.fixture
def overton(command_line: Any) -> Any:
    """Runs the command in a folder."""
    return lambda folder, *words: command_line(*words, folder=folder)


def test_a_run_goes_out_and_comes_back(overton: Any, tmp_path: Path) -> None:
    asked = ["--model", "simulated/open-minded", "--only", "cashless-shops", "--trials", "1", "--out", "run"]
    assert overton(tmp_path, "run", "open-mindedness", *asked).returncode == 0
    out = overton(tmp_path, "export", "run", "--to", "inspect")
    assert out.returncode == 0, out.stderr
    (log,) = (tmp_path / "logs").glob("*.eval")
    assert out.stdout.strip() == f"logs/{log.name}"
    back = overton(tmp_path, "import", "logs", "--out", "back")
    assert back.returncode == 0, back.stderr
    assert "Report: back/report.html" in back.stdout
    again = overton(tmp_path, "export", "run", "--to", "inspect")
    assert again.returncode == 2
    assert "exists already; nothing is overwritten" in again.stderr


def test_export_and_import_report_left_out_samples(overton: Any, tmp_path: Path) -> None:
    two = ["--only", "cashless-shops", "--only", "congestion-charge", "--max-calls", "80"]
    asked = ["--model", "simulated/open-minded", *two, "--trials", "1", "--out", "run"]
    assert overton(tmp_path, "run", "open-mindedness", *asked).returncode == 4
    out = overton(tmp_path, "export", "run", "--to", "inspect", "--out", "elsewhere")
    assert out.returncode == 0
    assert "11 of 22 samples are left out, because their items are incomplete" in out.stderr
    back = overton(tmp_path, "import", "elsewhere", "--out", "back")
    assert back.returncode == 0
    assert "Left out: " in back.stderr
    assert "items without a sample in the logs" in back.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["export", "run"], "--to"),
        (["export", "run", "--to", "tsv"], "'tsv' is not one of 'inspect', 'csv', 'parquet'"),
        (["export", "run", "--to", "inspect", "--with", "level=0.9"], "--with: level=0.9: is for tables"),
        (["export", "nowhere", "--to", "inspect"], "is not a run folder"),
        (["import", "nowhere.eval"], "nowhere.eval: there is no such file"),
        (["import", "."], "is a folder without logs"),
        (["import"], "LOG..."),
    ],
)
def test_impossible_exports_and_imports_are_refused_and_write_nothing(
    overton: Any, tmp_path: Path, words: list[str], said: str
) -> None:
    done = overton(tmp_path, *words)
    assert done.returncode in (1, 2)
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []
