"""Calls have the identities that were recorded, whatever the hash seed: journals are read by them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from .record import recorded

SMALL = (
    "open-mindedness-every-condition",
    "deliberation-three-agents",
    "stance-stability-shared-queries",
    "pluralism-lexical",
)
"""One run of each study."""
SEEDS = ("1", "2")
ROOT = Path(__file__).parents[2]

SCRIPT = f"""
import json, pathlib
from tests.unchanged.endpoint import serving
from tests.unchanged.redoing import called
with serving() as address:
    found = {{name: called(name, pathlib.Path(name), address) for name in {SMALL!r}}}
pathlib.Path("found.json").write_text(json.dumps(found))
"""


def test_recorded_identities_hold_under_any_hash_seed(tmp_path: Path) -> None:
    folders = [tmp_path / seed for seed in SEEDS]
    for folder in folders:
        folder.mkdir()
    path = os.pathsep.join([str(ROOT), *filter(None, sys.path)])
    children = [
        subprocess.Popen(
            [sys.executable, "-c", SCRIPT],
            cwd=folder,
            env=os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": path},
            stderr=subprocess.PIPE,
            text=True,
        )
        for seed, folder in zip(SEEDS, folders, strict=True)
    ]
    for child in children:
        _, said = child.communicate(timeout=120)
        assert child.returncode == 0, said
    for folder in folders:
        found = json.loads((folder / "found.json").read_text("utf-8"))
        assert found == {name: recorded(name)["calls"] for name in SMALL}
