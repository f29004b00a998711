"""Options, names, run folders, logs and requests stay as they were before the rebuild.

`changes` lists changes on purpose; `record` records.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest
from tests.unchanged.comparing import told

from . import pins, record
from .changes import CHANGED, GONE

_NEEDS_INSPECT = ("log-", "eval-", "task-", "folder-imported")
_QUICK = (
    *("commands", "study-options", "task-parameters", "python-names", "errors", "kind-words"),
    *(f"folder-{study}" for study in pins.STUDIES),
    *(f"log-{study}" for study in pins.STUDIES),
    *(f"wire-{study}-openai" for study in pins.STUDIES),
    *("folder-batch-open-mindedness", "folder-failures", "folder-labelled", "eval-open-mindedness"),
    *("wire-batch-open-mindedness-openai", "wire-batch-open-mindedness-anthropic", "wire-single", "wire-failures"),
    *("wire-open-mindedness-held-openai", "wire-open-mindedness-probabilities-openai"),
    *("wire-serper", "wire-brave", "wire-searxng"),
)


def _param(name: str) -> Any:
    return pytest.param(name, marks=() if name in _QUICK else pytest.mark.long)


@pytest.mark.parametrize("name", [_param(name) for name in pins.PINS])
def test_pinned_values_are_those_recorded(name: str, tmp_path: Path) -> None:
    if name.startswith(_NEEDS_INSPECT) and importlib.util.find_spec("inspect_ai") is None:
        pytest.skip("Inspect AI is not installed: pip install 'overton[inspect]'")
    found = pins.differences(name, pins.made(name, tmp_path))
    assert not found, "\n" + told(name, found)


def test_every_pin_is_recorded_and_every_recording_is_a_pin() -> None:
    assert {path.name.removesuffix(".json.xz") for path in pins.STORE.iterdir()} == pins.PINS.keys()
    assert pins.PINS.keys() >= {*_QUICK, *CHANGED}


def test_a_pin_is_never_recorded_again() -> None:
    with pytest.raises(SystemExit, match="recorded already"):
        record.record(("errors",))


@pytest.fixture
def stored(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """A recording of a few values, and no changes yet."""
    changes: dict[str, Any] = {}
    monkeypatch.setattr(pins, "recorded", lambda name: {"a": {"default": 1, "names": ["x", "y"]}, "b": None})
    monkeypatch.setattr(pins, "CHANGED", {"some": changes})
    return changes


@pytest.mark.parametrize(
    ("today", "said"),
    [
        ({"a": {"default": 1, "names": ["x", "y"]}, "b": None}, []),
        ({"a": {"default": 2, "names": ["x", "y"]}, "b": None}, ["a > default: was 1, is 2"]),
        ({"a": {"default": 1.0, "names": ["x", "y"]}, "b": None}, ["a > default: was 1, is 1.0"]),
        ({"a": {"default": True, "names": ["x", "y"]}, "b": None}, ["a > default: was 1, is True"]),
        ({"a": {"default": 1, "names": ["y", "x"]}, "b": None}, ["a > names > 0: was", "a > names > 1: was"]),
        ({"a": {"default": 1, "names": ["x"]}, "b": None}, ["a > names > 1: is gone"]),
        ({"a": {"default": 1, "names": ["x", "y"]}}, ["b: is gone"]),
        ({"a": {"default": 1, "names": ["x", "y"]}, "b": None, "c": {}}, ["c: is new"]),
    ],
)
def test_every_difference_is_reported(today: Any, said: list[str], stored: dict[str, Any]) -> None:
    found = pins.differences("some", today)
    assert len(found) == len(said)
    assert all(line.startswith(start) for line, start in zip(found, said, strict=True))


def test_changes_on_purpose_are_expected(stored: dict[str, Any]) -> None:
    stored |= {"a": GONE, "b": {"c": [3]}}
    assert pins.differences("some", {"b": {"c": [3]}}) == []
    assert pins.differences("some", {"b": {"c": [4]}}) == ["b > c > 0: was 3, is 4"]


def test_a_path_that_was_never_recorded_cannot_be_gone(stored: dict[str, Any]) -> None:
    stored |= {"d": GONE}
    with pytest.raises(AssertionError, match="d is said to be gone"):
        pins.differences("some", {})
