from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from overton.errors import InputError
from overton.files.tables import open_table
from overton.studies import table_frames
from overton.studies.open_mindedness.record import COUNTS

PUBLISHED = """issue,issue_stance,count,case,model
penny,con,72,neither,gpt
penny,pro,18,neither,gpt
penny,con,176,75con,gpt
penny,pro,45,75pro,gpt
penny,con,180,con,gpt
penny,other,1,pro,gpt
penny,con,148,all,gpt
"""
OURS = "model,issue,condition,stance,count\n"


def read_counts(path: Path) -> pl.DataFrame:
    return table_frames.read(COUNTS, open_table(path))


def write(tmp_path: Path, text: str, name: str = "counts.csv") -> Path:
    (tmp_path / name).write_text(text)
    return tmp_path / name


def problems(tmp_path: Path, text: str) -> list[tuple[str, str]]:
    with pytest.raises(InputError) as raised:
        read_counts(write(tmp_path, text))
    return [(problem.key, problem.reason) for problem in raised.value.problems]


def test_published_columns_and_cases_come_back_under_our_names(tmp_path: Path) -> None:
    counts = read_counts(write(tmp_path, PUBLISHED))
    assert counts.columns == ["model", "issue", "condition", "stance", "count"]
    assert counts["condition"].to_list() == [
        *("baseline", "baseline", "convincing-con", "convincing-pro"),
        *("one-sided-con", "one-sided-pro", "balanced"),
    ]
    assert counts.row(0) == ("gpt", "penny", "baseline", "con", 72)


def test_our_own_names_are_read_from_every_format(tmp_path: Path) -> None:
    rows = [{"model": "m", "issue": "i", "condition": "three-pro", "stance": "pro", "count": 3, "extra": None}]
    table = pl.DataFrame(rows)
    table.write_parquet(tmp_path / "a.parquet")
    write(tmp_path, json.dumps(rows[0]) + "\n", "a.jsonl")
    write(tmp_path, OURS + "m,i,three-pro,pro,3\n", "a.csv")
    for name in ("a.parquet", "a.jsonl", "a.csv"):
        assert read_counts(tmp_path / name).equals(table.drop("extra"))


def test_a_topic_is_kept(tmp_path: Path) -> None:
    counts = read_counts(write(tmp_path, "topic,model,issue,condition,stance,count\nT,m,i,baseline,pro,1.0\n"))
    assert counts.row(0) == ("m", "i", "baseline", "pro", 1, "T")


@pytest.mark.parametrize(
    ("row", "key", "reason"),
    [
        ("m,i,sideways,pro,1", "line 3, condition", "is 'sideways'; it must be one of baseline"),
        ("m,i,baseline,maybe,1", "line 3, stance", "must be one of pro, con, other"),
        ("m,i,baseline,con,-1", "line 3, count", "must be a whole number"),
        ("m,i,baseline,con,1.5", "line 3, count", "must be a whole number"),
        ("m,i,baseline,con,many", "line 3, count", "is 'many'"),
        ("m,i,baseline,con,", "line 3, count", "is empty; it must be a whole number"),
        ("m,i,baseline,con,1e300", "line 3, count", "must be a whole number"),
        ("m,i,baseline,con,inf", "line 3, count", "must be a whole number"),
        (",i,baseline,con,1", "line 3, model", "must name a model"),
        ("m, ,baseline,con,1", "line 3, issue", "must name an issue"),
        ("m,i,neither,pro,1", "line 3", "is for the same answers as line 2"),
    ],
)
def test_a_bad_row_is_named_with_its_line(tmp_path: Path, row: str, key: str, reason: str) -> None:
    ((where, why),) = problems(tmp_path, f"{OURS}m,i,baseline,pro,1\n{row}\n")
    assert where == key
    assert reason in why


def test_blank_lines_are_not_rows_but_count_as_lines(tmp_path: Path) -> None:
    assert read_counts(write(tmp_path, f"{OURS}m,i,baseline,pro,1\n\nm,i,baseline,con,2\n"))["count"].sum() == 3
    assert [key for key, _ in problems(tmp_path, f"{OURS}m,i,baseline,pro,1\n\nm,i,odd,con,x\n")] == [
        "line 4, condition",
        "line 4, count",
    ]


def test_missing_and_doubled_columns_are_named(tmp_path: Path) -> None:
    assert "has no column condition, count" in problems(tmp_path, "model,issue,stance\nm,i,pro\n")[0][1]
    doubled = problems(tmp_path, "model,issue,condition,stance,issue_stance,count\n")
    assert "has the column stance twice" in doubled[0][1]


@pytest.mark.parametrize("name", ["none.csv", "table.xlsx", "."])
def test_a_file_that_is_not_a_table_is_refused(tmp_path: Path, name: str) -> None:
    write(tmp_path, "", "table.xlsx")
    with pytest.raises(InputError):
        read_counts(tmp_path / name)


@pytest.mark.parametrize("name", ["a.csv", "a.parquet", "a.jsonl"])
@pytest.mark.parametrize("content", [b"", b"\xff\xfe\x00", b"{", b"[" * 100_000])
def test_broken_files_are_an_input_error(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError):
        read_counts(tmp_path / name)
