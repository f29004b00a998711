"""A run for people to label, simulated conversations: the fixture `run` of every module that has none of its own.

Options in the module's `TALKS` replace the defaults here.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

TOPICS = ("renewable-energy-solar-on-farmland", "education-policy-school-phones")


@pytest.fixture(scope="module")
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """By default four conversations of four turns; its labels are the module's alone."""
    import overton

    usual: dict[str, Any] = {"only": list(TOPICS), "turns": 4, "temperatures": [0.0, 1.0]}
    return overton.run(
        "stance-stability",
        models=["simulated/chameleon"],
        others={"judge": ["simulated/stance-judge"], "search": ["starter"]},
        out=tmp_path_factory.mktemp("runs") / "run",
        **usual | getattr(request.module, "TALKS", {}),
    ).path
