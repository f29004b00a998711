"""Tables of counts: how often each model took each stance on each issue in each configuration."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from overton.corpora.findings import quoted
from overton.corpora.tables import CONDITION_NAMES, column_names, read_table, refuse
from overton.errors import InputError, Problem

if TYPE_CHECKING:
    import polars as pl

__all__ = ["ALIASES", "COUNT_COLUMNS", "read_counts"]

COUNT_COLUMNS = ("model", "issue", "condition", "stance", "count")

ALIASES = {"issue_stance": "stance", "case": "condition"}
"""Names of columns in the published table, and ours."""

_STANCES = ("pro", "con", "other")
_MOST = 10**9
_SHOWN = 20


def read_counts(path: Path) -> pl.DataFrame:
    """A table of counts with the columns model, issue, condition, stance (texts), count (integers, 0 or more), and
    topic where the file has it.

    Reads .csv, .parquet and .jsonl, with these columns or the published ones (issue_stance for stance, case for
    condition; cases neither, pro, con, 75pro, 75con, all), in any order; other columns are left out. Conditions
    come back under the names of `CONDITIONS`. A stance that has no row never occurred.

    Raises:
        InputError: columns that are missing, and by row (in a CSV by line): unknown conditions and stances, counts
            that are no whole numbers from 0, empty cells, rows that stand twice.
    """
    import polars as pl

    raw = _renamed(path)
    texts = [column for column in raw.columns if column not in ("row", "count")]
    table = raw.with_columns(
        *(pl.col(column).cast(pl.String, strict=False).str.strip_chars() for column in texts),
        pl.col("count").cast(pl.String, strict=False).str.strip_chars().cast(pl.Float64, strict=False),
    ).with_columns(known=pl.col("condition").replace_strict(CONDITION_NAMES, default=None, return_dtype=pl.String))
    problems = _problems(raw, table, path) or _repeated(table, path)
    if problems:
        raise InputError(problems)
    return table.with_columns(pl.col("known").alias("condition"), pl.col("count").cast(pl.Int64)).select(
        raw.columns[1:]
    )


def _renamed(path: Path) -> pl.DataFrame:
    """The table as it is, its columns under our names, after the number of its `row`; blank lines are left out."""
    import polars as pl

    ours = {name: ALIASES.get(name, name) for name in column_names(path)}
    missing = [column for column in COUNT_COLUMNS if column not in ours.values()]
    if missing:
        raise refuse(path, "", f"has no column {', '.join(missing)}; a table of counts has {', '.join(COUNT_COLUMNS)}")
    twice = [column for column in COUNT_COLUMNS if list(ours.values()).count(column) > 1]
    if twice:
        raise refuse(path, "", f"has the column {twice[0]} twice, under our name and the published one")
    wanted = [*COUNT_COLUMNS, *(["topic"] if "topic" in ours else [])]
    table = read_table(path).rename(ours).select(wanted)
    return table.with_row_index("row").filter(~pl.all_horizontal(pl.col(wanted).is_null()))


def _problems(raw: pl.DataFrame, table: pl.DataFrame, path: Path) -> list[Problem]:
    import polars as pl

    count, known = pl.col("count"), pl.col("known")
    whole = (count >= 0) & (count <= _MOST) & (count.floor() == count)
    checks = (
        ("model", pl.col("model").fill_null("") == "", "must name a model"),
        ("issue", pl.col("issue").fill_null("") == "", "must name an issue"),
        ("condition", known.is_null(), f"must be one of {', '.join(CONDITION_NAMES)}"),
        ("stance", ~pl.col("stance").is_in(_STANCES).fill_null(False), f"must be one of {', '.join(_STANCES)}"),
        ("count", ~whole.fill_null(False), f"must be a whole number from 0 to {_MOST:,}"),
    )
    found = [
        (row, Problem(str(path), f"{_place(path, row)}, {column}", f"is {quoted(value)}; it {reason}"))
        for column, bad, reason in checks
        for row, value in raw.filter(table.select(bad).to_series()).select("row", column).head(_SHOWN).iter_rows()
    ]
    return [problem for _, problem in sorted(found, key=lambda one: one[0])]


def _repeated(table: pl.DataFrame, path: Path) -> list[Problem]:
    import polars as pl

    rows = table.group_by("model", "issue", "known", "stance", maintain_order=True).agg("row")
    return [
        Problem(str(path), _place(path, again), f"counts the same as {_place(path, first)}; add the two up")
        for first, again, *_ in rows.filter(pl.col("row").list.len() > 1)["row"].to_list()[:_SHOWN]
    ]


def _place(path: Path, row: int) -> str:
    return f"line {row + 2}" if path.suffix == ".csv" else f"row {row + 1}"
