"""Rules of style that can be checked without reading: how docstrings begin, how tests are called, and which words are
replaced by the field's."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FILES = sorted(
    path for folder in ("src", "tests", "benchmarks", "examples", "fuzz") for path in (ROOT / folder).rglob("*.py")
)

_CLAUSE = re.compile(r"(?:What|Whatever|Whoever|Whichever|That|Why)\b(?![^.]*\?)")
"""A docstring that begins with a clause: a noun or an imperative says the same in fewer words. Questions may."""
_VAGUE_NAME = re.compile(r"test_(?:.*_)?(?<!says_)(?:whatever|nobody)(?:_|$)")

PAGES = [
    *sorted((ROOT / "docs").rglob("*.md")),
    *(ROOT / f"{name}.md" for name in ("README", "CONTRIBUTING", "SECURITY")),
]
_PRIVATE = {
    r"labels? (?:by|of|from) people|people's (?:own )?labels?|labelled by people": "human labels",
    r"faults? of form|by (?:its|their) form(?!ula)": "malformed",
    r"for good(?! reason)": "permanently",
    r"anew": "again",
    r"the one who asks": "the poster",
    r"beyond chance on (?:its|their) own": "statistically significant",
    r"nobody (?:has|was|labelled)": "the positive fact",
}
"""Words of ours by the words that a reader knows."""
_FEWEST_CHARACTERS = 25

_Documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def documented(path: Path) -> Iterator[tuple[_Documented, str]]:
    """Everything in a file that has a docstring, with it."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, _Documented) and (said := ast.get_docstring(node)):
            yield node, said


def test_no_docstring_begins_with_a_clause() -> None:
    found = [
        f"{path.relative_to(ROOT)}: {said.splitlines()[0]}"
        for path in FILES
        for _, said in documented(path)
        if _CLAUSE.match(said)
    ]
    assert not found, "\n".join(found)


def test_names_of_tests_name_their_subject() -> None:
    found = [
        f"{path.relative_to(ROOT)}: {node.name}"
        for path in FILES
        if path.name.startswith("test_")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and _VAGUE_NAME.match(node.name)
    ]
    assert not found, "\n".join(found)


def read_by_people(path: Path) -> Iterator[str]:
    """A page, or the docstrings and the longer texts of a module."""
    text = path.read_text("utf-8")
    if path.suffix == ".md":
        yield text
        return
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value) >= _FEWEST_CHARACTERS:
            is_stored = node.value.lstrip().startswith("CREATE TABLE")
            yield "" if is_stored else re.sub("`[^`]+`", "", node.value)


def test_the_words_of_the_field_are_used() -> None:
    read = [*PAGES, *sorted((ROOT / "src").rglob("*.py"))]
    found = [
        f"{path.relative_to(ROOT)}: '{match[0]}'; write '{better}'"
        for path in read
        for text in read_by_people(path)
        for words, better in _PRIVATE.items()
        for match in re.finditer(rf"\b(?:{words})\b", text, re.IGNORECASE)
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("said", ["What is cut.", "Whatever answers a call.", "That there are few items."])
def test_a_clause_is_found(said: str) -> None:
    assert _CLAUSE.match(said)


@pytest.mark.parametrize("said", ["Whether it is so.", "What does a model omit? A count.", "Thatch."])
def test_nouns_and_questions_are_accepted(said: str) -> None:
    assert not _CLAUSE.match(said)
