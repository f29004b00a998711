"""docs/architecture.md names files that exist, and counts them."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "overton"
TEXT = (ROOT / "docs" / "architecture.md").read_text("utf-8")
TOP = "top files"


def counted() -> dict[str, tuple[int, int]]:
    """Python files and lines of each package."""
    files: Counter[str] = Counter()
    lines: Counter[str] = Counter()
    for path in SOURCE.rglob("*.py"):
        inside = path.relative_to(SOURCE)
        room = inside.parts[0] if len(inside.parts) > 1 else TOP
        files[room] += 1
        lines[room] += len(path.read_text("utf-8").splitlines())
    return {room: (files[room], lines[room]) for room in files} | {"together": (files.total(), lines.total())}


def test_paths_exist() -> None:
    rooms = {path.name for path in SOURCE.iterdir() if path.is_dir()}
    named = {name for name in re.findall(r"`(\w+(?:/\w+)+(?:\.py)?)`", TEXT) if name.split("/")[0] in rooms}
    named.discard("commands/STUDY.py")
    missing = [name for name in named if not any((SOURCE / f"{name}{end}").exists() for end in ("", ".py"))]
    assert len(named) > 20
    assert not missing


def test_sizes_are_those_of_the_source() -> None:
    rows = re.findall(r"^\| `?([\w ]+)`? \| ([\d,]+) \| ([\d,]+) \|$", TEXT.partition("## Sizes")[2], re.MULTILINE)
    told = {room: (int(files.replace(",", "")), int(lines.replace(",", ""))) for room, files, lines in rows}
    found = counted()
    assert told.keys() == found.keys()
    for room, numbers in found.items():
        for number, count in zip(told[room], numbers, strict=True):
            assert abs(number - count) <= max(1, count / 20), f"{room}: {number} in the text, {count} in the source"
