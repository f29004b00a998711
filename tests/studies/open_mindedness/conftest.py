from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

DATA = Path(__file__).parents[2] / "data"


@pytest.fixture
def procon() -> Path:
    """Two issues in the ProCon layout, one of them without paraphrases."""
    return DATA / "procon"


@pytest.fixture
def night_buses() -> dict[str, Any]:
    """A whole issue in the ProCon layout, to be changed."""
    issue: dict[str, Any] = json.loads((DATA / "procon" / "night-buses.json").read_text())
    return issue


@pytest.fixture
def folder(tmp_path: Path) -> Callable[..., Path]:
    """Makes a folder of files from their names and contents; what is no text or bytes is written as JSON."""

    def make(files: dict[str, Any]) -> Path:
        made = tmp_path / "issues"
        made.mkdir()
        for name, content in files.items():
            data = content if isinstance(content, str | bytes) else json.dumps(content)
            (made / name).write_bytes(data.encode() if isinstance(data, str) else data)
        return made

    return make
