"""Runs about items that a mapping reads from tables: every command takes one, and the run no longer needs its files."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

import overton

TABLE = "post,title,sub,who,body,score,view\n" + "".join(
    f'{post},Question {post}?,city,c{number},"Comment {number}, on {post}.",{9 - number},View {number % 4} of {post}.\n'
    for post in ("p1", "p2")
    for number in range(8)
)
MAPPING = """
table = "released/rows.csv"
id = "post"
title = "title"
community = "sub"

[comments]
id = "who"
text = "body"
votes = "score"
viewpoint = "view"
"""
ASKED: dict[str, Any] = {"models": ["simulated/pluralist"], "others": {"judge": "simulated/pluralist-judge"}}


@pytest.fixture
def mapping(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    (folder / "released").mkdir(parents=True)
    (folder / "released" / "rows.csv").write_text(TABLE)
    (folder / "threads.toml").write_text(MAPPING)
    return folder / "threads.toml"


def test_a_run_keeps_the_items_and_resumes_without_their_files(mapping: Path, tmp_path: Path) -> None:
    done = overton.run("pluralism", items=mapping, experiments=["ranking"], out=tmp_path / "run", **ASKED)
    shutil.rmtree(mapping.parent)
    assert [thread.id for thread in done.items()] == ["p1", "p2"]
    assert overton.resume(tmp_path / "run").finished


def test_a_mapping_is_split_and_planned_as_any_items(mapping: Path, tmp_path: Path) -> None:
    shards = overton.split(
        "pluralism", into=2, items=mapping, experiments=["ranking"], out=tmp_path / "shards", **ASKED
    )
    assert len(shards) == 2
    planned = overton.plan("references", items=mapping, models=["openai/gpt-4o-mini"])
    # 16 comments; then of 8 opinions a grouping and a summary of 2, and two calls for each of the other 6.
    assert planned.calls == 16 + 2 * (2 + 2 * 6)
