"""The numbers that notebooks look up exist, which no cell would notice: a filter without rows is not an error."""

from __future__ import annotations

import json
import re
from pathlib import Path

import polars as pl

import overton

NOTEBOOK = Path(__file__).parents[2] / "examples" / "notebooks" / "from-a-run-to-a-figure.ipynb"


def test_the_first_notebook_finds_a_row_for_each_model_and_condition(tmp_path: Path) -> None:
    cells = ["".join(cell["source"]) for cell in json.loads(NOTEBOOK.read_text("utf-8"))["cells"]]
    (cell,) = (text for text in cells if "estimates.filter(" in text)
    condition = re.search(r"estimates\.filter\((.*?)\n\)\.select", cell, re.DOTALL)
    assert condition is not None
    only = ["voting-age", "cashless-shops"]
    run = overton.run("open-mindedness", models=["simulated/open-minded"], only=only, trials=1, out=tmp_path / "run")
    estimates = overton.analyze("open-mindedness", run.path).estimates()
    assert estimates.filter(eval(condition[1].strip(), {"pl": pl})).height == 6
