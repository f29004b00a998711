"""The topics of figure 4, by which the authors' notebook groups the issues."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

import msgspec

from overton.errors import Unreadable
from overton.untrusted import decode_json

_NAME = "high_level_topic_map"
"""The notebook's variable with a dict of topics, each with a list of issues."""
_MOST_CHARACTERS = 200_000
_decode = msgspec.json.Decoder(dict[str, Any]).decode


def topics_in_notebook(text: str) -> dict[str, list[str]]:
    """The topics of each issue, by the issue's name in lower case; empty if a notebook has no such table.

    Topics are in the order of the table. The notebook's code is parsed, but never run.
    """
    try:
        cells = decode_json(text, _decode).get("cells")
    except Unreadable:
        return {}
    for code in _codes(cells):
        table = _literal(code) if _NAME in code and len(code) <= _MOST_CHARACTERS else None
        if isinstance(table, dict):
            return _by_issue(table)
    return {}


def _codes(cells: Any) -> Iterator[str]:
    for cell in cells if isinstance(cells, list) else ():
        source = cell.get("source") if isinstance(cell, dict) and cell.get("cell_type") == "code" else None
        lines = [source] if isinstance(source, str) else source if isinstance(source, list) else []
        yield "".join(line for line in lines if isinstance(line, str))


def _literal(code: str) -> Any:
    """The value assigned to the variable; None if the value is not a literal, or if the code cannot be parsed."""
    try:
        tree = ast.parse(code)
        for node in tree.body:
            if isinstance(node, ast.Assign) and [ast.unparse(target) for target in node.targets] == [_NAME]:
                return ast.literal_eval(node.value)
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
        return None
    return None


def _by_issue(table: dict[Any, Any]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for topic, issues in table.items():
        for issue in issues if isinstance(topic, str) and isinstance(issues, list) else ():
            if isinstance(issue, str) and topic not in found.setdefault(issue.lower(), []):
                found[issue.lower()].append(topic)
    return found
