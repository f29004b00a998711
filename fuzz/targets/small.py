"""A small run of each study on simulated models, made once per process: examples of valid folders, tables and logs."""

from __future__ import annotations

import shutil
from functools import cache
from pathlib import Path
from typing import Any

from fuzz.room import fresh, room
from overton.runs.run import Run
from overton.runs.start import run

__all__ = ["ASKED", "copied", "whole"]

ASKED: dict[str, dict[str, Any]] = {
    "open-mindedness": {
        "models": ["simulated/open-minded"],
        "conditions": ["baseline", "balanced"],
        "templates": [1],
        "trials": 2,
    },
    "stance-stability": {
        "models": ["simulated/chameleon"],
        "others": {"judge": ["simulated/stance-judge"]},
        "turns": 3,
    },
    "pluralism": {
        "models": ["simulated/pluralist"],
        "others": {"judge": ["simulated/pluralist-judge"]},
    },
    "deliberation": {
        "models": ["simulated/deliberator", "simulated/deliberator"],
        "rounds": 2,
    },
    "even-handedness": {
        "models": ["simulated/advocate"],
        "others": {"judge": ["simulated/even-judge"]},
    },
}
"""The arguments of `overton.run`, by study; it takes only the first item."""


@cache
def whole(study: str) -> Run:
    """The run; not to be changed."""
    from overton.runs.items import read_items

    first = read_items(study)[:1]
    return run(study, items=first, out=room() / f"whole-{study}", seed=1, **ASKED[study])


def copied(study: str) -> Path:
    """A copy of its folder, to be damaged."""
    made = fresh()
    shutil.copytree(whole(study).path, made)
    return made
