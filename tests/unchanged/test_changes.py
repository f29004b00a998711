"""The list of changes says what the mapping says, and what the mapping names is there."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from overton.studies.options import fields_of
from overton.studies.registry import study_named

from .cases import STUDIES
from .changes import text, written
from .comparing import leaves
from .json_paths import MOVED, RESHAPE
from .limits import REASONS, limits
from .mapping import NAMES, form
from .record import recorded
from .redoing import analysed, study_of


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


@pytest.mark.parametrize(("case", "kind"), sorted({(limit.case, limit.kind) for limit in limits()}))
def test_a_listed_limit_was_recorded(case: str, kind: str) -> None:
    found = recorded(case)[{"analysis": "analyses"}.get(kind, kind)]
    if kind in ("analysis", "numbers"):
        documents = [(analysed(case)[name][0], document) for name, document in found.items()]
    else:
        documents = [(study_of(case), found)]
    known = [
        {path: json.dumps(value, ensure_ascii=False) for path, value in leaves(form(study, kind).reshape(document))}
        for study, document in documents
    ]
    listed = [limit for limit in limits() if (limit.case, limit.kind) == (case, kind)]
    lacking = [limit.path for limit in listed if all(one.get(limit.path, "") != limit.was for one in known)]
    assert not lacking


def test_each_listed_limit_has_a_reason_and_none_is_a_value() -> None:
    assert {limit.reason for limit in limits()} == {*REASONS}
    last = {limit.path.split(" > ")[-1] for limit in limits() if limit.kind != "judged"}
    assert last == {"low", "high", "0", "1", "method", "why"}
    places = {limit.path.split(" > ")[-1] for limit in limits() if limit.kind == "judged"}
    assert places == {"1", "2", "4", "5"}  # the value is at 0, n at 3
    assert all("kappa" in limit.path or " > alpha > " in limit.path for limit in limits())


def _documents(name: str) -> list[Any]:
    """A case's analyses as they were recorded as documents; cases that were added later have numbers only."""
    return [*recorded(name).get("analyses", {}).values()]


def _told(path: str) -> set[str]:
    """The keys that a path names; text in brackets, and after a colon, is prose."""
    plain = re.sub(r"\(.*?\)|, too$|:.*", "", path)
    return {word for word in re.split(r" > |, ", plain) if re.fullmatch(r"[a-z_]+", word)}


def _keys(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [*value, *(key for one in value.values() for key in _keys(one))]
    return [key for one in value for key in _keys(one)] if isinstance(value, list) else []
