"""How many files of a study name a measure, from its declaration to the report: what a further measure would take."""

from __future__ import annotations

import ast
import importlib
from functools import cache
from pathlib import Path
from statistics import median

import pytest

STUDIES = Path(__file__).parents[2] / "src" / "overton" / "studies"

NAMED_IN = {
    "stance_stability": (3, 12),
    "pluralism": (1, 5),
    "deliberation": (3, 9),
    "even_handedness": (2.5, 6),
}
"""In how many files of a study its measures are named: the median over measures, and the most.

Keys that code puts together of parts are named in none, and are not counted. Headlines with a precision, findings and a
correction are named in most files, as are keys that are also other words, such as 'turns' and 'consensus'.
"""


@cache
def texts(study: str) -> dict[str, set[str]]:
    """Every string in each file of a study."""
    return {
        path.relative_to(STUDIES / study).as_posix(): {
            node.value
            for node in ast.walk(ast.parse(path.read_text("utf-8")))
            if isinstance(node, ast.Constant) and isinstance(node.value, str)
        }
        for path in sorted((STUDIES / study).rglob("*.py"))
    }


def files_naming(study: str, key: str) -> list[str]:
    """The files of a study in which a measure's key is a string, whole."""
    return [name for name, words in texts(study).items() if key in words]


@pytest.mark.parametrize("study", NAMED_IN)
def test_few_files_name_a_measure(study: str) -> None:
    """Walk (a). The limits are the numbers that were counted."""
    declared = importlib.import_module(f"overton.studies.{study}.measures").STUDY_MEASURES
    keys = {measure.name for grouping in (*declared.groupings, *declared.by_facet) for measure in grouping.measures}
    counts = {key: many for key in keys if (many := len(files_naming(study, key)))}
    usual, most = NAMED_IN[study]
    assert median(counts.values()) <= usual, counts
    assert max(counts.values()) <= most, counts


def test_a_plain_measure_is_named_where_it_is_made_declared_and_shown_only() -> None:
    assert files_naming("even_handedness", "both_orders") == ["layouts.py", "measures.py"]
    assert files_naming("stance_stability", "reversals") == [
        "conversations.py",
        "declarations.py",
        "layouts/__init__.py",
    ]
    assert files_naming("pluralism", "redundancy") == ["layouts/__init__.py", "measures.py", "rows.py", "voices.py"]
    assert files_naming("deliberation", "yielded") == ["layouts/influences.py", "measures.py", "rows.py"]
