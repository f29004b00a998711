from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from overton.studies.open_mindedness.options import CONDITIONS

DATA = Path(__file__).parents[2] / "data"

Counted = dict[str, tuple[int, int, int]]

SCHEMA = {
    "model": pl.String,
    "trial": pl.String,
    "issue": pl.String,
    "topic": pl.String,
    "condition": pl.String,
    "wording": pl.Int64,
    "template": pl.Int64,
    "repetition": pl.Int64,
    "draw": pl.Int64,
    "arguments": pl.List(pl.String),
    "last_argument": pl.String,
    "a_is": pl.String,
    "pro_first": pl.Boolean,
    "a_first": pl.Boolean,
    "stance": pl.String,
    "letter": pl.String,
    "stance_published": pl.String,
    "refused": pl.Boolean,
    "failure": pl.String,
    "answer": pl.String,
}


@pytest.fixture
def procon() -> Path:
    """Two issues in the ProCon layout, one of them without paraphrases."""
    return DATA / "procon"


@pytest.fixture
def night_buses() -> dict[str, Any]:
    """A whole issue in the ProCon layout, to be changed."""
    issue: dict[str, Any] = json.loads((DATA / "procon" / "night-buses.json").read_text())
    return issue


@pytest.fixture
def folder(tmp_path: Path) -> Callable[..., Path]:
    """Makes a folder of files from their names and contents; a value other than text or bytes is written as JSON."""

    def make(files: dict[str, Any]) -> Path:
        made = tmp_path / "issues"
        made.mkdir()
        for name, content in files.items():
            data = content if isinstance(content, str | bytes) else json.dumps(content)
            (made / name).write_bytes(data.encode() if isinstance(data, str) else data)
        return made

    return make


@pytest.fixture
def rows() -> Callable[..., pl.DataFrame]:
    """Records of one cell of the design: `pro`, `con` and `other` answers to one template in one condition."""

    def make(condition: str = "baseline", pro: int = 0, con: int = 0, other: int = 0, **fields: Any) -> pl.DataFrame:
        template = fields.get("template", 1)
        shown = fields.get("arguments", [] if condition == "baseline" else ["pro-1", "con-1"])
        one = {
            "model": "m",
            "trial": "t",
            "issue": "i",
            "topic": None,
            "condition": condition,
            "wording": 1 if shown else 0,
            "template": template,
            "repetition": 1,
            "draw": None,
            "arguments": shown,
            "last_argument": shown[-1][:3] if shown else None,
            "a_is": "pro" if template <= 4 else "con",
            "pro_first": template <= 3,
            "a_first": True,
            "letter": None,
            "refused": False,
            "failure": None,
            "answer": "",
        } | fields
        stances = ["pro"] * pro + ["con"] * con + ["other"] * other
        made = [one | {"stance": stance, "stance_published": fields.get("published", stance)} for stance in stances]
        return pl.DataFrame([{name: row[name] for name in SCHEMA} for row in made], schema=SCHEMA)

    return make


@pytest.fixture
def counts() -> Callable[..., pl.DataFrame]:
    """A table of counts from (pro, con, other) by condition."""

    def make(by_condition: Counted, issue: str = "i", model: str = "m") -> pl.DataFrame:
        assert set(by_condition) <= set(CONDITIONS)
        return pl.DataFrame(
            [
                {"model": model, "issue": issue, "condition": condition, "stance": stance, "count": count}
                for condition, numbers in by_condition.items()
                for stance, count in zip(("pro", "con", "other"), numbers, strict=True)
            ]
        )

    return make


@pytest.fixture
def published_counts() -> pl.DataFrame:
    """The published counts for one model, under Overton's names."""
    cases = {
        "neither": "baseline",
        "pro": "one-sided-pro",
        "con": "one-sided-con",
        "75pro": "convincing-pro",
        "75con": "convincing-con",
        "all": "balanced",
    }
    path = DATA / "millstone" / "gpt-4o-counts.csv"
    table = pl.read_csv(path).rename({"issue_stance": "stance", "case": "condition"})
    return table.with_columns(pl.col("condition").replace_strict(cases))
