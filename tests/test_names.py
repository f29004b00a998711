"""No study is named outside of its own folder and of the one registry: everything else is derived."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "overton"
REGISTRY = SOURCE / "studies" / "registry.py"

STUDIES = ("open-mindedness", "stance-stability", "pluralism", "deliberation", "even-handedness")
NAMED = {name: re.compile(name.replace("-", "[-_ ]?"), re.IGNORECASE) for name in STUDIES}


def texts(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Line and text of every identifier and every string, docstrings included."""
    for node in ast.walk(tree):
        line = getattr(node, "lineno", 0)
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name):
                yield line, name
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield line, name
            case ast.keyword(arg=str(name)) | ast.ImportFrom(module=str(name)):
                yield line, name
            case ast.alias(name=name, asname=other):
                yield line, name
                yield line, other or ""
            case ast.Constant(value=str(text)):
                yield line, text
            case ast.Constant(value=bytes(data)):
                yield line, data.decode("latin-1")
            case _:
                pass


def naming(path: Path, name: str, text: str | None = None) -> list[str]:
    """Where a file names a study."""
    return [
        f"{path.relative_to(SOURCE)}:{line}: {' '.join(said.split())[:80]}"
        for line, said in said_in(path.read_text("utf-8") if text is None else text)
        if NAMED[name].search(said)
    ]


@cache
def said_in(text: str) -> list[tuple[int, str]]:
    return list(texts(ast.parse(text)))


@pytest.mark.parametrize("name", STUDIES)
def test_a_study_is_named_in_its_folder_its_commands_and_the_registry_only(name: str) -> None:
    home = SOURCE / "studies" / name.replace("-", "_")
    assert home.is_dir()
    own = {REGISTRY, SOURCE / "commands" / f"{home.name}.py"}
    others = [path for path in sorted(SOURCE.rglob("*.py")) if home not in path.parents and path not in own]
    wrong = [where for path in others for where in naming(path, name)]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    "text",
    [
        "import overton.studies.stance_stability",
        "from overton.studies.stance_stability import STUDY",
        "from overton.studies import stance_stability as other",
        "from overton.studies import other as stance_stability",
        "StanceStability = 1",
        "one.stance_stability",
        "def stance_stability(): ...",
        "class StanceStabilityHow: ...",
        "f(stance_stability=1)",
        "def f(stance_stability): ...",
        "'''Of stance stability.'''",
        "'stance-stability'",
        "f'{x} of Stance Stability'",
        "b'stance-stability'",
    ],
)
def test_every_way_of_naming_one_is_seen(text: str) -> None:
    assert naming(SOURCE / "imaginary.py", "stance-stability", text)


def test_unrelated_words_do_not_count_as_names() -> None:
    assert not naming(SOURCE / "imaginary.py", "pluralism", "'plural', 'stability', 'deliberate'")


def test_no_variable_is_called_one() -> None:
    found = [
        f"{path.relative_to(SOURCE)}:{node.lineno}"
        for path in sorted(SOURCE.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if (isinstance(node, ast.Name) and node.id == "one") or (isinstance(node, ast.arg) and node.arg == "one")
    ]
    assert found == []


def test_few_class_names_are_in_several_files() -> None:
    files = defaultdict(set)
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ClassDef):
                files[node.name].add(path)
    assert len([name for name, homes in files.items() if len(homes) > 1]) < 20
