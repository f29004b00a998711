"""Conversion of an opened table, or of a data frame in Python, to typed columns. Messages about wrong cells give their
location."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import polars as pl

from overton.errors import InputError, Problem, list_names, quoted
from overton.studies.tables import FLAG_WORDS

if TYPE_CHECKING:
    from overton.studies.tables import Kind, Once, RawTable, Rule, TableField, TableKind


_TYPES: dict[Kind, pl.DataType] = {
    "name": pl.String(),
    "text": pl.String(),
    "whole": pl.Int64(),
    "number": pl.Float64(),
    "flag": pl.Boolean(),
    "names": pl.List(pl.String()),
}
_PLAIN = (pl.Null, pl.String, pl.Categorical, pl.Enum, pl.Boolean, pl.Date, pl.Datetime, pl.Time)
"""Types other than numbers that can be cast to text."""
_SHOWN = 20
_ROW = "(row)"
_ROWS_NAMED = 5


def read(table: TableKind, raw: RawTable) -> pl.DataFrame:
    """A table with typed columns and Overton's column names, after all checks. Blank rows are left out.

    Raises:
        InputError: columns are missing or repeated, cells have invalid values, or rows break a rule. Problems name the
            row, or the line in a CSV.
    """
    found = _found(table, raw)
    present = [column for column in table.columns if column.name in found.columns]
    with ThreadPoolExecutor() as pool:
        typed = found.with_columns(list(pool.map(_typed, present, (found[column.name] for column in present))))
    problems = list(_by_column(present, found, typed, raw) if table.by_column else _by_cell(table, found, typed, raw))
    if not problems and table.once is not None:
        problems = list(_repeated(table.once, typed, raw))
    if problems:
        raise InputError(problems)
    typed = typed.drop(_ROW)
    return _completed(table, typed) if table.completed else typed


def _completed(table: TableKind, typed: pl.DataFrame) -> pl.DataFrame:
    """The table with missing `added` columns, and with `usual` values in empty cells."""
    made = []
    for column in table.columns:
        usual = [] if column.usual == () else column.usual
        if column.name in typed.columns:
            made.append(pl.col(column.name) if usual is None else pl.col(column.name).fill_null(usual))
        elif column.added:
            made.append(pl.lit(usual, _TYPES[column.kind]).alias(column.name))
    return typed.select(made)


def _readable(column: TableField, dtype: pl.DataType) -> bool:
    """Whether a column of this data type can hold the values that `column` requires. For example, a column of lists
    cannot hold texts."""
    cells = dtype.inner if column.kind == "names" and isinstance(dtype, pl.List | pl.Array) else dtype
    return cells.is_numeric() or isinstance(cells, _PLAIN)


def _found(table: TableKind, raw: RawTable) -> pl.DataFrame:
    """The columns to read, unconverted and under Overton's names, after a column with row numbers. Blank rows are left
    out."""
    table.refuse_missing(raw.name, raw.columns)
    frame = raw.frame()
    names = {table.ours(name): name for name in reversed(frame.columns)}
    table.refuse_missing(raw.name, list(names))
    ours = [column.name for column in table.columns if column.name in names]
    own = [] if raw.suffix != ".parquet" or not table.others else frame.columns
    others = [name for name in own if name in names and name not in (*ours, _ROW, "")]
    # Select by column and not by expression, because in an expression a name such as '*' means all columns.
    kept = [frame.get_column(names[name]).rename(name) for name in (*ours, *others)]
    numbered = pl.DataFrame(kept).with_row_index(_ROW)
    return numbered.filter(~pl.all_horizontal(pl.col(ours).is_null()))


def _typed(column: TableField, raw: pl.Series) -> pl.Series:
    """The column converted to its own type. Cells that cannot be converted become null; `_wrong` distinguishes them
    from empty cells."""
    own = _TYPES[column.kind]
    if not _readable(column, raw.dtype):
        return pl.Series(raw.name, [None], own).new_from_index(0, len(raw))
    if column.kind == "names":
        return _lists(column, raw)
    if raw.dtype == own and column.kind in ("whole", "number", "flag", "text"):
        return raw
    if (column.kind == "whole" and raw.dtype.is_integer()) or (column.kind == "number" and raw.dtype.is_numeric()):
        return raw.cast(own, strict=False)
    text = raw.cast(pl.String, strict=False)
    return text if column.kind == "text" else _of_text(column, text.str.strip_chars())


def _of_text(column: TableField, text: pl.Series) -> pl.Series:
    if column.kind == "number":
        return text.cast(pl.Float64, strict=False)
    if column.kind == "whole":
        return _whole(text)
    if column.kind == "flag":
        return _mapped(text, FLAG_WORDS, pl.Boolean())
    if column.known:
        own = {value: value for value in column.known}
        return _mapped(text, {_spelling(word): value for word, value in {**column.words, **own}.items()}, pl.String())
    return text.replace("", None)


def _whole(text: pl.Series) -> pl.Series:
    """Whole numbers, including those written as '3.0' or '1e3'."""
    made = text.cast(pl.Int64, strict=False)
    if made.null_count() == text.null_count():
        return made
    number = text.cast(pl.Float64, strict=False)
    rounded = number.set(number.floor() != number, None).cast(pl.Int64, strict=False)
    return made.zip_with(made.is_not_null(), rounded)


def _mapped(text: pl.Series, known: Mapping[str, str | bool], own: pl.DataType) -> pl.Series:
    """The value that each word means, null for unknown words."""
    meant = {word: known.get(_spelling(word)) for word in text.unique().drop_nulls()}
    if all(word == ours for word, ours in meant.items()):
        return text.cast(own)
    return text.replace_strict(list(meant), pl.Series(list(meant.values()), dtype=own), default=None, return_dtype=own)


def _spelling(word: str) -> str:
    return word.lower().replace(" ", "-").replace("_", "-")


def _lists(column: TableField, raw: pl.Series) -> pl.Series:
    if column.lists is not None:
        return column.lists(raw.fill_null("") if column.hollow and raw.dtype == pl.String else raw)
    if isinstance(raw.dtype, pl.List | pl.Array | pl.Null):
        made = raw.cast(pl.List(pl.String), strict=False)
        return made.list.drop_nulls() if made.explode(empty_as_null=False).null_count() > made.null_count() else made
    text = raw.cast(pl.String, strict=False).str.strip_chars()
    return (text.fill_null("") if column.hollow else text.replace("", None)).str.extract_all(r"\S+")


def _wrong(column: TableField, raw: pl.Series, typed: pl.Series) -> pl.Series | None:
    """For each cell, whether its value is invalid for the column; None if all values are valid."""
    empty, bad = typed.null_count(), []
    if empty and (column.filled or (column.together and empty < len(typed))):
        bad.append(typed.is_null())
    elif empty and (empty != raw.null_count() or column.hollow):
        bad.append(typed.is_null() & ~_blank(column, raw))
    if column.kind == "number":
        bad.append(~typed.is_finite())
    if column.least is not None:
        bad.append(typed < column.least)
    if column.most is not None:
        bad.append(typed > column.most)
    found = [flags.fill_null(False) for flags in bad if flags.any()]
    return pl.select(pl.any_horizontal(*found)).to_series() if found else None


def _blank(column: TableField, raw: pl.Series) -> pl.Series:
    """For each cell, whether it is empty or contains a word for an unknown value."""
    if not _readable(column, raw.dtype) or raw.dtype.is_nested():
        return raw.is_null()
    return (
        raw.cast(pl.String, strict=False).str.strip_chars().str.to_lowercase().fill_null("").is_in(["", *column.none])
    )


def _by_cell(table: TableKind, found: pl.DataFrame, typed: pl.DataFrame, raw: RawTable) -> Iterator[Problem]:
    """A problem for every wrong cell, by row; only the first if there are many."""
    checks = [
        *(
            (column.name, _wrong(column, found[column.name], typed[column.name]), column.demand())
            for column in table.columns
            if column.name in found.columns
        ),
        *((rule.column, rule.breaking(typed), rule.must) for rule in table.rules),
    ]
    problems = {
        (row, name): Problem(raw.name, f"{raw.place(row)}, {name}", _said(value, must))
        for name, bad, must in checks
        if bad is not None
        for row, value in found.filter(bad).select(_ROW, name).head(_SHOWN).iter_rows()
    }
    return (problem for _, problem in sorted(problems.items(), key=lambda placed: placed[0]))


def _said(value: object, must: str) -> str:
    empty = value is None or (isinstance(value, str) and not value.strip())
    return f"is {'empty' if empty else quoted(value)}; it {must}"


def _by_column(
    present: Sequence[TableField], found: pl.DataFrame, typed: pl.DataFrame, raw: RawTable
) -> Iterator[Problem]:
    """A problem for each column with wrong values: its first wrong value, and the rows of all wrong values."""
    for column in present:
        bad = _wrong(column, found[column.name], typed[column.name])
        if bad is None:
            continue
        empty = bad & _blank(column, found[column.name])
        for wrong, said in ((empty, "is empty in {rows}"), (bad & ~empty, "{value} in {rows} {must}")):
            if wrong.any():
                rows = found.filter(wrong).select(_ROW, column.name)
                words = said.format(value=quoted(rows[0, 1]), rows=_rows(rows[_ROW]), must=column.demand())
                yield Problem(raw.name, column.name, words)


def _rows(numbers: pl.Series) -> str:
    """The numbers of rows for a message; only the first few if there are many."""
    shown = list_names([str(number + 1) for number in numbers.head(_ROWS_NAMED)], _ROWS_NAMED, len(numbers))
    return f"{'row' if len(numbers) == 1 else 'rows'} {shown}"


def _repeated(once: Once, typed: pl.DataFrame, raw: RawTable) -> Iterator[Problem]:
    """A problem for each row that repeats an earlier row, with the earlier row's location."""
    keys = []
    for number, names in enumerate(once.columns):
        several = [name for name in ((names,) if isinstance(names, str) else names) if name in typed.columns]
        if several:
            keys.append(pl.coalesce(several).alias(str(number)))
    keyed = typed.select(_ROW, *keys)
    again = keyed.filter(keyed.drop(_ROW).is_duplicated())
    if again.is_empty():
        return
    rows = again.group_by(again.columns[1:], maintain_order=True).agg(_ROW)[_ROW]
    for first, second in rows.head(_SHOWN).list.head(2).to_list():
        yield Problem(raw.name, raw.place(second), once.again.format(first=raw.place(first)))


_PLURALS = {"whole": "whole numbers", "number": "numbers", "flag": "true and false", "names": "lists"}


def check(table: TableKind, frame: pl.DataFrame, needed: Sequence[str] = ()) -> pl.DataFrame:
    """Check a data frame from Python, and return it with typed columns. Missing columns that are `added` are included,
    and columns that are not declared are dropped.

    `needed` are further required columns.

    Raises:
        InputError: the data frame is empty, or has problems. All of them are reported under the table's name.
    """
    wanted = dict.fromkeys((*table.needed, *needed))
    if missing := [name for name in wanted if name not in frame.columns]:
        raise InputError([Problem(table.name, name, "this column is missing") for name in missing])
    if frame.is_empty():
        raise InputError([Problem(table.name, "", "has no rows")])
    problems: list[Problem] = []
    typed = []
    for column in table.columns:
        if column.name in frame.columns:
            values, wrong = _cast(table, column, frame[column.name])
            problems += wrong
            if column.name in wanted or values.null_count() < len(values):
                typed.append(values)
    made = pl.DataFrame(typed)
    _refuse(problems)
    named = {column.name: column for column in table.columns}
    wrong = [
        Problem(table.name, name, reason) for name in made.columns for reason in _wrong_values(named[name], made[name])
    ]
    _refuse([*wrong, *_broken(table, made)])
    _refuse([problem for find in table.checks for problem in find(made)])
    return _completed(table, made)


def _refuse(problems: Sequence[Problem]) -> None:
    if problems:
        raise InputError(problems)


def _cast(table: TableKind, column: TableField, values: pl.Series) -> tuple[pl.Series, list[Problem]]:
    """The column converted to its own type, and a problem if this is not possible."""
    try:
        if _other(column, values):
            raise pl.exceptions.InvalidOperationError(str(values.dtype))
        made = values.cast(_TYPES[column.kind])
    except pl.exceptions.PolarsError as error:
        said = (str(error).splitlines() or [""])[0][:200]
        reason = f"contains values other than {_PLURALS.get(column.kind, 'texts')}: {said}"
        return values, [Problem(table.name, column.name, reason)]
    if column.kind == "name" and (made == "").any():
        made = made.replace("", None)
    return made, []


def _other(column: TableField, values: pl.Series) -> bool:
    """Whether a cast would misread the column: lists as texts, fractions as whole numbers, or texts as lists."""
    if not _readable(column, values.dtype):
        return True
    if column.kind == "names":
        return not isinstance(values.dtype, pl.List | pl.Array | pl.Null)
    if column.kind == "whole" and values.dtype.is_float():
        return bool((values.floor() != values).any())
    return False


def _wrong_values(column: TableField, values: pl.Series) -> Iterator[str]:
    if (column.filled or column.together) and values.null_count():
        yield "is empty in at least one row"
    if column.known:
        strange = values.unique().drop_nulls()
        strange = strange.filter(~strange.is_in(column.known)).sort().head(_SHOWN)
        yield from (f"{value!r} is not one of {', '.join(column.known)}" for value in strange)
    low, high = column.least, column.most
    outside = (low is not None and (values < low).any()) or (high is not None and (values > high).any())
    if outside or (column.kind == "number" and not values.is_finite().all()):
        yield f"must be {column.values() or 'finite'}"


def _broken(table: TableKind, made: pl.DataFrame) -> Iterator[Problem]:
    for rule in table.rules:
        yield from _by_rule(table, rule, made)
    if table.once is not None and table.once.in_frame:
        yield from _repeated_keys(table, table.once, made)


def _by_rule(table: TableKind, rule: Rule, made: pl.DataFrame) -> Iterator[Problem]:
    rows = rule.breaking(made)
    if rows is None:
        return
    if not rule.of:
        yield Problem(table.name, rule.column, rule.in_frame)
        return
    for value in made.filter(rows)[rule.of].unique().sort().head(_SHOWN):
        yield Problem(table.name, f"{rule.of} {value}", rule.in_frame)


def _repeated_keys(table: TableKind, once: Once, made: pl.DataFrame) -> Iterator[Problem]:
    keys = made.select(name for name in once.columns if isinstance(name, str) and name in made.columns)
    if keys.n_unique() == keys.height:
        return
    for row in keys.filter(keys.is_duplicated()).unique().sort(keys.columns).head(_SHOWN).iter_rows(named=True):
        yield Problem(table.name, ", ".join(f"{name} {value}" for name, value in row.items()), once.in_frame)
