"""A model in small runs of every study, by one name, on items that share subjects."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import overton

ASKED: dict[str, dict[str, Any]] = {
    "open-mindedness": {
        "models": ["a=simulated/open-minded"],
        "only": ["voting-age", "congestion-charge", "museum-returns", "dogs-on-leash", "open-salaries"],
        "templates": [2, 5],
        "trials": 1,
    },
    "stance-stability": {
        "models": ["a=simulated/chameleon"],
        "judge": "simulated/stance-judge",
        "only": ["renewable-energy-renewables-alone", "data-privacy-pay-or-be-tracked"],
        "turns": 3,
        "temperatures": [0],
    },
    "pluralism": {
        "models": ["a=simulated/pluralist"],
        "judge": "simulated/pluralist-judge",
        "only": ["a-fine-for-staying-home", "free-buses"],
        "experiments": ["sycophancy"],
        "responses": 3,
    },
    "deliberation": {
        "models": ["a=simulated/deliberator", "b=simulated/deliberator"],
        "only": ["hose-under-the-fence", "promotion-promised-over-lunch"],
        "rounds": 2,
    },
    "even-handedness": {
        "models": ["a=simulated/advocate"],
        "judge": "simulated/even-judge",
        "only": ["brazil-compulsory-voting-essay", "switzerland-nuclear-power-story"],
    },
}


def held(study: str, out: Path, **more: Any) -> Path:
    """A run of a study as above, but for `more`."""
    return overton.run(study, **ASKED[study] | more, out=out).path


@pytest.fixture(scope="session")
def hold() -> Callable[..., Path]:
    """A function that makes a run of a study as above, with changes: `hold(study, out, **more)`."""
    return held


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the runs are: each in a folder named after its study."""
    made = tmp_path_factory.mktemp("profiled")
    for study in ASKED:
        overton.report([held(study, made / study)])
    return made


@pytest.fixture(scope="session")
def runs(folder: Path) -> dict[str, Path]:
    """The runs by study."""
    return {study: folder / study for study in ASKED}


@pytest.fixture(scope="session")
def two(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Two runs of one study by a model that changed in the second."""
    made = tmp_path_factory.mktemp("versions")
    first = held("open-mindedness", made / "spring")
    manifest = first / "manifest.json"
    told = json.loads(manifest.read_text("utf-8"))
    manifest.write_text(json.dumps(told | {"created": "2026-03-21T12:00:00+00:00"}), "utf-8")
    changed = {"a": {"susceptibility_con": "4"}}
    return first, held("open-mindedness", made / "autumn", model_args=changed, seed=1)
