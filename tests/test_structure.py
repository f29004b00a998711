"""Arrows between rooms point down, and `import overton` is light."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "overton"

FLOORS = [
    {"errors"},
    {"calls", "pairs"},
    {"statistics"},
    {"judging"},
    {"studies"},
    {"engine", "models", "retrieval", "reporting", "corpora"},
    {"hosts"},
    {"api"},
    {"cli", "tasks"},
    {"testing"},
]
"""From the ground up. A room imports rooms of lower floors only, and none of its own floor but itself."""

FLOOR = {room: height for height, rooms in enumerate(FLOORS) for room in rooms}

HEAVY = ("polars", "altair", "scipy", "numpy", "aiohttp", "xllamacpp", "inspect_ai", "vl_convert", "jinja2", "uvloop")

OUTSIDE_WORLD = {
    "aiohttp",
    "filelock",
    "http",
    "inspect_ai",
    "os",
    "pathlib",
    "requests",
    "shutil",
    "socket",
    "sqlite3",
    "ssl",
    "subprocess",
    "tempfile",
    "urllib",
    "xllamacpp",
}


def files(room: str = "") -> list[Path]:
    found = sorted((SOURCE / room).rglob("*.py")) or [SOURCE / f"{room}.py"]
    assert all(path.is_file() for path in found), f"no room {room}"
    return found


def room_of(path: Path) -> str:
    first = path.relative_to(SOURCE).parts[0]
    return first.removesuffix(".py")


def imported(path: Path, text: str | None = None) -> Iterator[tuple[int, str]]:
    """Line and dotted name of every import, those inside functions too."""
    package = ["overton", *path.relative_to(SOURCE).parent.parts]
    for node in ast.walk(ast.parse(path.read_text("utf-8") if text is None else text)):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            yield node.lineno, module
            yield from ((node.lineno, f"{module}.{alias.name}") for alias in node.names)


def rooms_imported(path: Path, text: str | None = None) -> Iterator[tuple[int, str]]:
    for line, name in imported(path, text):
        parts = name.split(".")
        if parts[0] == "overton" and len(parts) > 1 and not parts[1].startswith("__"):
            yield line, parts[1]


def is_built(room: str) -> bool:
    """Whether there is such a room yet: the floors name those of the design that are still to come, too."""
    return (SOURCE / room).is_dir() or (SOURCE / f"{room}.py").is_file()


def test_every_room_has_a_floor() -> None:
    assert {room_of(path) for path in files()} - {"__init__", "__main__"} <= FLOOR.keys()


@pytest.mark.parametrize("room", [room for rooms in FLOORS for room in sorted(rooms) if is_built(room)])
def test_arrows_point_down(room: str) -> None:
    wrong = [
        f"{path.relative_to(SOURCE)}:{line} imports overton.{other}"
        for path in files(room)
        for line, other in rooms_imported(path)
        if other != room and FLOOR.get(other, len(FLOORS)) >= FLOOR[room]
    ]
    assert not wrong, "\n".join(wrong)


def test_the_reader_of_imports_sees_every_form() -> None:
    text = (
        "import overton.cli\nfrom overton import api\ndef f():\n    from ..hosts.local import x\n    from . import y\n"
    )
    found = {room for _, room in rooms_imported(SOURCE / "engine" / "imaginary.py", text)}
    assert found == {"cli", "api", "hosts", "engine"}


@pytest.mark.parametrize("room", ["calls", "statistics", "judging", "studies"])
def test_the_science_touches_no_network_and_no_files(room: str) -> None:
    wrong = [
        f"{path.relative_to(SOURCE)}:{line} imports {name}"
        for path in files(room)
        for line, name in imported(path)
        if name.split(".")[0] in OUTSIDE_WORLD
    ]
    assert not wrong, "\n".join(wrong)


def test_private_modules_stay_in_their_room() -> None:
    wrong = [
        f"{path.relative_to(SOURCE)}:{line} imports {name}"
        for path in files()
        for line, name in imported(path)
        if name.startswith("overton.")
        and any(part.startswith("_") and not part.startswith("__") for part in name.split(".")[1:])
        and name.split(".")[1] != room_of(path)
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("module", ["overton", "overton.calls", "overton.errors", "overton.studies.study"])
def test_importing_it_is_light(module: str) -> None:
    asked = f"import sys, {module}; print(*sorted({set(HEAVY)!r} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.split() == []
