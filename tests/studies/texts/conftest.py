"""The letters and the question of the example, and a question to change."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

EXAMPLE = Path(__file__).parents[3] / "examples" / "letters"

WORDS: dict[str, Any] = {
    "key": "tone",
    "asks": "How does the note sound?\n\nDecide by its last sentence.",
    "prompt": "A note:\n\n<note>\n{text}\n</note>\n\nHow does it sound?\n\n{labels}",
    "labels": {"warm": "It thanks somebody.", "cold": "It blames somebody.", "neither": "It does nothing of that."},
}


@pytest.fixture(scope="session")
def kit() -> SimpleNamespace:
    return SimpleNamespace(letters=EXAMPLE / "letters.csv", question=EXAMPLE / "question.toml", words=WORDS)
