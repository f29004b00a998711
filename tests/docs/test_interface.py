"""docs/your-own-study.md names every name of interface 1 that is called otherwise or is gone, and where it is now."""

from __future__ import annotations

import json
import re
from importlib import import_module
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "your-own-study.md"
THEN: dict[str, list[str]] = json.loads((Path(__file__).parent / "data" / "interface_1.json").read_text("utf-8"))
"""The names in `__all__` of each module of the interface in version 0.2.0."""


def table() -> dict[str, list[tuple[list[str], list[str]]]]:
    """By module, each line's names in interface 1 and the names in its last column."""
    text = PAGE.read_text("utf-8").partition("## From interface 1 to 2")[2].partition("These modules are not part")[0]
    found: dict[str, list[tuple[list[str], list[str]]]] = {}
    module = ""
    for line in text.splitlines():
        cells = [re.findall(r"`([^`]+)`", cell) for cell in line.strip("| ").split(" | ")]
        if line.startswith(("| `", "| |")) and len(cells) >= 2:
            if line.startswith("| `"):
                (module,) = cells.pop(0)
            else:
                cells = [re.findall(r"`([^`]+)`", cell) for cell in line.removeprefix("| |").strip("| ").split(" | ")]
            then, now = cells[-2], cells[-1]
            found.setdefault(module, []).append((then, now))
    return found


@pytest.mark.parametrize("module", THEN)
def test_each_name_is_still_there_or_in_the_table(module: str) -> None:
    today = set(import_module(module).__all__)
    told = {name for then, _ in table().get(module, ()) for name in then}
    assert [name for name in THEN[module] if name not in today and name not in told] == []


@pytest.mark.parametrize("module", THEN)
def test_the_table_has_todays_names(module: str) -> None:
    today = set(import_module(module).__all__)
    renamed = [
        (then, now) for then, now in table().get(module, ()) if len(then) == len(now) and set(then) <= set(THEN[module])
    ]
    for then, now in renamed:
        assert not set(then) & today, f"{then} are still there"
        assert set(now) <= today, f"{now} are not in {module}"
    assert renamed or module in {"overton.testing"}
