"""The notebooks run from their first cell to their last, and say what they promise."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

NOTEBOOKS = Path(__file__).parents[2] / "examples" / "notebooks"

pytestmark = [pytest.mark.long, pytest.mark.timeout(600)]


def executed(name: str, folder: Path) -> Any:
    nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed: pip install 'overton[notebooks]'")
    pytest.importorskip("ipykernel", reason="ipykernel is not installed: pip install 'overton[notebooks]'")
    nbformat = pytest.importorskip("nbformat")
    shutil.copyfile(NOTEBOOKS / name, folder / name)
    notebook = nbformat.read(folder / name, as_version=4)
    nbclient.NotebookClient(notebook, timeout=500, resources={"metadata": {"path": str(folder)}}).execute()
    return notebook


def shown(notebook: Any, kind: str) -> list[str]:
    """The output of its cells that has one MIME type."""
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    return [output["data"][kind] for output in outputs if kind in output.get("data", {})]


def test_the_first_goes_from_a_run_to_a_figure(tmp_path: Path) -> None:
    notebook = executed("from-a-run-to-a-figure.ipynb", tmp_path)
    assert (tmp_path / "shares.svg").read_text().startswith("<svg")
    assert (tmp_path / "shares.png").read_bytes()[:4] == b"\x89PNG"
    assert len((tmp_path / "shares.csv").read_text().splitlines()) == 1 + 2 * 6
    assert len(shown(notebook, "text/html")) >= 3  # a plan, a run, an analysis as tables


def test_the_second_goes_from_two_models_to_a_verdict(tmp_path: Path) -> None:
    notebook = executed("two-models-to-a-verdict.ipynb", tmp_path)
    last = notebook.cells[-1]["outputs"][0]["text"]
    assert last.strip() == "new against old: higher"
