"""The tutorial shows the files of the example as they are, all of them, and imports from the doors for authors only."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "acquiescence"
PAGE = (ROOT / "docs" / "your-own-study.md").read_text("utf-8")
SHOWN = dict(re.findall(r"^`([\w./]+)`:\n\n```\w+\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE))
DOORS = ("overton", "overton.studies", "overton.calls", "overton.statistics", "overton.judging", "overton.testing")


def test_the_tutorial_shows_the_examples_files() -> None:
    files = {
        path.relative_to(EXAMPLE).as_posix(): path.read_text("utf-8")
        for path in EXAMPLE.rglob("*")
        if path.suffix in (".py", ".toml", ".jsonl")
    }
    assert SHOWN.keys() == files.keys()
    for name, text in SHOWN.items():
        whole = files[name].splitlines()[: len(text.splitlines())] if name.endswith(".jsonl") else files[name]
        assert text.splitlines() == (whole if isinstance(whole, list) else whole.splitlines()), name


def test_the_example_is_short() -> None:
    assert sum(len(path.read_text("utf-8").splitlines()) for path in EXAMPLE.rglob("*.py")) < 250


def test_an_author_needs_the_doors_only() -> None:
    found = {
        node.module
        for path in EXAMPLE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("overton")
    }
    assert found <= {*DOORS}
