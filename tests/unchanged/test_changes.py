"""The list of changes says what the mapping says, and what the mapping names is there."""

from __future__ import annotations

import re
from typing import Any

import pytest

from overton.studies.options import fields_of
from overton.studies.registry import study_named

from .cases import STUDIES
from .changes import text, written
from .json_paths import MOVED, RESHAPE
from .mapping import NAMES
from .record import recorded


def test_the_list_is_written_from_the_mapping() -> None:
    assert written() == text(), "python -m tests.unchanged.changes writes it"


@pytest.mark.parametrize("study", NAMES)
def test_options_have_the_names_that_the_mapping_gives_them(study: str) -> None:
    declared = study_named(study)
    assert declared.measuring is not None
    known = {field.name for kind in (declared.options, declared.measuring.how) for field in fields_of(kind)}
    renamed = NAMES[study].options | NAMES[study].how
    assert set(renamed.values()) <= known
    assert not set(renamed) & known


@pytest.mark.parametrize("study", MOVED)
def test_a_path_that_moved_is_made_of_keys_recorded_and_of_todays(study: str) -> None:
    old = [one for name, case in STUDIES.items() if case.study == study for one in _documents(name)]
    before, after = set(_keys(old)), set(_keys([RESHAPE[study](one) for one in old]))
    for was, now in MOVED[study]:
        assert _told(was) <= before, was
        assert _told(now) <= after | before, now


def _documents(name: str) -> list[Any]:
    """A case's analyses as they were recorded as documents; cases that were added later have numbers only."""
    return [*recorded(name).get("analyses", {}).values()]


def _told(path: str) -> set[str]:
    """The keys that a path names; what stands in brackets, and after a colon, is prose."""
    plain = re.sub(r"\(.*?\)|, too$|:.*", "", path)
    return {word for word in re.split(r" > |, ", plain) if re.fullmatch(r"[a-z_]+", word)}


def _keys(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [*value, *(key for one in value.values() for key in _keys(one))]
    return [key for one in value for key in _keys(one)] if isinstance(value, list) else []
