"""Tables from anyone: an unreadable one is an InputError with its place, and no small file takes much memory."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import date, time, timedelta
from decimal import Decimal
from pathlib import Path

import polars as pl
import pytest
from damage import damaged
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from overton.errors import InputError, Problem, Unreadable
from overton.files.parquet import check_parquet
from overton.files.tables import open_table, read_table
from overton.studies import table_frames
from overton.studies.deliberation.record import DECISIONS
from overton.studies.open_mindedness.record import COUNTS, RECORDS
from overton.studies.pluralism.tables import MATCHES, PAIRS, RANKINGS, SUMMARIES
from overton.studies.pluralism.tables import read_table as read_viewpoints
from overton.studies.stance_stability.record import TURNS
from overton.studies.tables import RawTable, TableField, TableKind
from overton.untrusted import Limit

pytestmark = pytest.mark.hostile

a_few = settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])


def packed(table: pl.DataFrame, compression: str = "zstd") -> bytes:
    made = io.BytesIO()
    table.write_parquet(made, compression=compression)  # type: ignore[arg-type]
    return made.getvalue()


TABLE = pl.DataFrame(
    {
        "a": ["x", "y,", None],
        "b": [1, None, 3],
        "c": [["p"], [], ["q", None]],
        "e": [{"x": 1.5}, {"x": None}, {"x": 2.0}],
        "f": [True, None, False],
        "g": [date(2026, 1, 1)] * 3,
    }
)
REAL = {
    ".parquet": [packed(TABLE, how) for how in ("zstd", "snappy", "uncompressed", "gzip")],
    ".csv": [b'a,b\n"x, y",1\n"two\nlines",2\n', "a;b\nü;1\n".encode()],
    ".jsonl": [b'{"a": 1, "b": [1, {"c": null}], "d": {"e": 1.5}}\n{"a": "x"}\n'],
}


def problems_of(read: Callable[[], object]) -> list[Problem]:
    """An InputError's text, or nothing if there is none; any other error passes through."""
    try:
        read()
    except InputError as refused:
        return refused.problems
    return []


@pytest.mark.parametrize("suffix", REAL)
@a_few
@given(data=st.data())
def test_of_a_damaged_table_there_is_the_rest_or_an_input_error(
    suffix: str, data: st.DataObject, tmp_path: Path
) -> None:
    path = tmp_path / f"t{suffix}"
    path.write_bytes(data.draw(damaged(data.draw(st.sampled_from(REAL[suffix])))))
    assert {problem.place for problem in problems_of(lambda: open_table(path).frame())} <= {str(path)}


@pytest.mark.parametrize(
    ("suffix", "content", "said"),
    [
        (".csv", b"a,b\n1,2\n\xff,3\n", "line 3, byte 0: is not UTF-8"),
        (".csv", "a,b\n1,2\n".encode("utf-16"), "line 1: is not UTF-8"),
        (".csv", b"a,b\n1,2\n1,2,3\n", "line 3: has 3 cells, but the first row 2"),
        (".csv", b'a,b\n1,2\n"x"y,3\n', "line 3: is not CSV"),
        (".csv", b'a,"' + b"b" * 2_000_000, "line 1: has a first row of more than 1,048,576 bytes"),
        (".csv", b"", "cannot be read as csv: empty CSV"),
        (".jsonl", b'{"a":1}\n{"a":\n', "line 2: is not complete JSON"),
        (".jsonl", b'{"a":1}\n[1]\n', "line 2: Expected `object`, got `array`"),
        (".jsonl", b'{"a":1}\n{"a":"\xff"}\n', "line 2: is not UTF-8"),
        (".jsonl", b'{"a":"\\ud800"}\n', "line 1: is not complete JSON"),  # Polars reads it as a NUL
        (".jsonl", b'{"a":' + b"[" * 40 + b"]" * 40 + b"}\n", "line 1: is nested more than 32 levels deep"),
        (".jsonl", b'{"a":' + b"[" * 200_000, "line 1: is nested too deeply"),
        (".jsonl", b'{"a":NaN}\n', "line 1: is not complete JSON"),
        (".jsonl", b'{"a":' + b"9" * 400 + b"}\n", "cannot be read as jsonl"),
        (".parquet", b"PAR1", "is damaged: it is too short"),
        (".parquet", b"not a table at all", "is not a Parquet file"),
        (".parquet", REAL[".parquet"][0][:-9] + b"\xff\xff\xff\x7fPAR1", "has a footer of more than"),
    ],
)
def test_errors_in_tables_name_their_location(suffix: str, content: bytes, said: str, tmp_path: Path) -> None:
    path = tmp_path / f"t{suffix}"
    path.write_bytes(content)
    with pytest.raises(InputError) as refused:
        open_table(path).frame()
    assert str(refused.value).startswith(f"{path}: {said}")


def of_rows() -> bytes:
    return packed(pl.DataFrame({"x": pl.repeat(True, 34_000_000, eager=True)}))


def of_one_list() -> bytes:
    return packed(pl.DataFrame({"x": [pl.repeat(True, 34_000_000, eager=True)]}))


def of_one_text() -> bytes:
    return packed(pl.DataFrame({"x": ["a" * 1_000_000] * 1000}))


def of_blank_lines() -> bytes:
    return ",".join(f"c{number}" for number in range(6_000)).encode() + b"\n" * 6_000


def of_keys() -> bytes:
    return b"".join(b'{"k%d":0}\n' % number for number in range(6_000))


BOMBS: dict[Callable[[], bytes], str] = {
    of_rows: ".parquet",
    of_one_list: ".parquet",
    of_one_text: ".parquet",
    of_blank_lines: ".csv",
    of_keys: ".jsonl",
}

_WITHIN = """
import resource, sys
from pathlib import Path
from overton.files.tables import read_table
from overton.errors import InputError
import polars
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (600 << 20), used + (600 << 20)))
for name in sys.argv[1:]:
    try:
        read_table(Path(name))
    except InputError as error:
        print(error)
"""


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("t.csv", b"a" + b"," * 10_000 + b"\n1\n"),
        ("t.jsonl", json.dumps({f"k{key}": 1 for key in range(10_001)}).encode()),
    ],
)
def test_a_table_of_very_many_columns_is_refused(name: str, content: bytes, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=r"line 1: .*10,000"):
        read_table(tmp_path / name)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory is limited as Linux does")
def test_small_files_that_stand_for_much_are_refused_within_little_memory(tmp_path: Path) -> None:
    paths = []
    for bomb, suffix in BOMBS.items():
        paths.append(tmp_path / f"{bomb.__name__}{suffix}")
        paths[-1].write_bytes(bomb())
        assert paths[-1].stat().st_size < 1_200_000
    done = subprocess.run(
        [sys.executable, "-c", _WITHIN, *map(str, paths)], capture_output=True, text=True, check=False
    )
    assert not done.returncode, done.stderr[-2000:]
    said = done.stdout.splitlines()
    assert [line.split(": ")[0] for line in said] == list(map(str, paths))
    assert all("for so small a file" in line or "fold when decompressed" in line for line in said), said


def test_pages_that_grow_too_much_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    path.write_bytes(packed(pl.DataFrame({"x": ["a" * 3_000_000]})))
    check_parquet(path, Limit(4_000_000))
    with pytest.raises(Unreadable, match="grows more than 400-fold"):
        check_parquet(path, Limit(4_000_000, free=1 << 20))
    with pytest.raises(Unreadable, match="is larger than 2,000,000 bytes"):
        check_parquet(path, Limit(2_000_000))


def test_a_schema_that_would_end_the_process_is_refused(tmp_path: Path) -> None:
    """Polars recurses into each level until the stack overflows; nobody reads thirty nested lists anyway."""
    kind: pl.DataType = pl.Int64()
    for _ in range(40):
        kind = pl.List(kind)
    path = tmp_path / "t.parquet"
    pl.DataFrame({"a": pl.Series([None], dtype=kind)}).write_parquet(path)
    with pytest.raises(InputError, match="levels deep"):
        read_table(path)


@pytest.mark.parametrize("suffix", REAL)
def test_a_name_with_signs_of_patterns_is_the_name_of_one_file(suffix: str, tmp_path: Path) -> None:
    write = {
        ".parquet": pl.DataFrame.write_parquet,
        ".csv": pl.DataFrame.write_csv,
        ".jsonl": pl.DataFrame.write_ndjson,
    }
    for name in ("a[1]", "a1", "a2"):
        write[suffix](pl.DataFrame({name: ["x"]}), tmp_path / f"{name}{suffix}")  # type: ignore[operator]
    raw = open_table(tmp_path / f"a[1]{suffix}")
    assert list(raw.columns) == raw.frame().columns == ["a[1]"]


def honest() -> Iterator[pl.DataFrame]:
    yield pl.DataFrame({"model": ["one"] * 1_000_000, "x": pl.int_range(1_000_000, eager=True) % 5})
    yield pl.DataFrame({f"c{number}": pl.int_range(50_000, eager=True).cast(pl.String) for number in range(30)})
    yield TABLE.clear()
    yield pl.DataFrame({"x": [["a"] * 500] * 2_000})


@pytest.mark.parametrize("table", list(honest()))
@pytest.mark.parametrize("size", [None, 1_000])
def test_tables_that_repeat_themselves_are_read(table: pl.DataFrame, size: int | None, tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    table.head(100_000).write_parquet(path, row_group_size=size)
    assert read_table(path).equals(table.head(100_000))


ODD = {
    "lists": [["a"]],
    "lists of lists": [[[1]]],
    "lists of nothing": [[None]],
    "structs": [{"a": 1}],
    "lists of structs": [[{"a": 1}]],
    "bytes": [b"\xff\x00"],
    "decimals": [Decimal("1.50")],
    "days": [date(2026, 1, 1)],
    "times": [time(1)],
    "spans": [timedelta(1)],
    "nothing": [None],
    "no number": [float("nan")],
    "infinite": [float("inf")],
    "huge": [2**63],
    "huger": [2**100],
    "negative": [-1],
    "digits": ["9" * 400],
    "control characters": ["\x00\x1b[2J\u202e"],
}
TABLES = [RECORDS, COUNTS, TURNS, DECISIONS, MATCHES, SUMMARIES, RANKINGS, PAIRS]


def cell(column: TableField, row: int) -> object:
    if column.known:
        return column.known[row % len(column.known)]
    made = {"name": f"n{row}", "text": "t", "whole": row + 1, "number": 0.5, "flag": True, "names": [f"v{row}"]}
    return made[column.kind]


def frame_of(table: TableKind) -> pl.DataFrame:
    return pl.DataFrame({column.name: [cell(column, row) for row in range(2)] for column in table.columns})


def series(odd: str) -> pl.Series:
    return pl.Series([*ODD[odd], *ODD[odd]], dtype=pl.Int128 if odd == "huger" else None, strict=False)


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_odd_columns_are_read_or_refused_with_file_and_column(table: TableKind) -> None:
    frame = frame_of(table)
    names = frame.columns
    for number, odd in enumerate(ODD):
        for some in (names, [names[number % len(names)]]):
            spoilt = frame.with_columns(series(odd).alias(name) for name in some)
            raw = RawTable("t.parquet", ".parquet", tuple(names), lambda spoilt=spoilt: spoilt)
            found = problems_of(lambda raw=raw: table_frames.read(table, raw))
            assert {problem.place for problem in found} <= {"t.parquet"}, (some, odd)


@pytest.mark.parametrize("odd", ["spans", "lists", "structs", "bytes"])
def test_a_column_of_another_kind_is_named(odd: str) -> None:
    spoilt = frame_of(TURNS).with_columns(series(odd).alias("stance"))
    raw = RawTable("t.parquet", ".parquet", tuple(spoilt.columns), lambda: spoilt)
    with pytest.raises(InputError, match="row 1, stance: is"):
        table_frames.read(TURNS, raw)


def test_records_with_foreign_columns_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    columns = {name: ["x"] for name in ("trial", "experiment", "arm", "status", "thread", "condition")}
    pl.DataFrame(columns | {"community": [["a"]]}).write_parquet(path)
    with pytest.raises(InputError, match=r"has other columns than a run's records: .*community"):
        read_viewpoints(open_table(path))


def test_the_first_line_of_a_table_is_all_that_its_columns_take(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text("\n" * 3 + json.dumps({"a": 1, "b": 2}) + "\nnot JSON\n")
    assert open_table(path).columns == ("a", "b")


def test_a_csv_that_names_a_column_twice_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,b,a\n1,2,3\n")
    with pytest.raises(InputError, match="line 1: has the column 'a' more than once; rename or remove one"):
        read_table(path)
    path.write_text("a,,\n1,2,3\n")
    assert read_table(path)["a"].to_list() == ["1"]
