"""Records on disk. While trials finish, rows are written to part files in plan order. At the end of a run, the parts
become one Parquet file."""

from __future__ import annotations

import asyncio
import heapq
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec
import polars as pl

from overton.calls import Trial
from overton.files.atomic import cannot_be_written, make_folder
from overton.untrusted import visible_line

_ROWS_PER_PART = 5_000
_ITEM_COLUMN = "_item"
_PLACE_COLUMN = "_place"
_MAX_REASON_CHARS = 200


class RecordWriter:
    """The records of one pipeline. Trials may finish in any order; records are kept in plan order.

    Rows that wait for an earlier trial stay in memory. `admit` delays trials that are more than `window` trials ahead
    of the slowest one, so that memory does not grow with the run.

    A trial counts as failed if its records cannot be stored in a table (an integer beyond 64 bits, half a surrogate
    pair, a wrong type). `unwritable` has the reason for each such trial. `spoiled` names the items of these trials; the
    items are then incomplete.

    If trials are not run in plan order, `order` maps each trial's name to its position in the plan. `conditions` maps
    the name of each further column to a function, which returns the column's value for a trial.
    """

    def __init__(
        self,
        folder: Path,
        record: type[msgspec.Struct],
        label: Mapping[str, str | bool],
        *,
        window: int = 20_000,
        order: Mapping[str, int] | None = None,
        conditions: Mapping[str, Callable[[Trial], str]] | None = None,
    ) -> None:
        self._order = order
        self._conditions = conditions or {}
        self._folder = folder
        self._columns = record_type_columns(record)
        self._label = dict(label)
        self._window = window
        self._next = 0
        self._early: list[tuple[int, Trial, list[Any]]] = []
        self._rows: list[Any] = []
        self._trials: list[Trial] = []
        self._parts: list[Path] = []
        self._advanced = asyncio.Event()
        self.done: Counter[str] = Counter()
        self.unwritable: dict[str, str] = {}
        self.spoiled: set[str] = set()

    async def admit(self, position: int) -> None:
        """Wait until the trial at `position` may start."""
        while position - self._next >= self._window:
            self._advanced.clear()
            await self._advanced.wait()

    def release(self) -> None:
        """Stop delaying trials, because a trial will not finish."""
        self._window = sys.maxsize
        self._advanced.set()

    def add(self, position: int, trial: Trial, records: list[Any]) -> None:
        """Add the records of the finished trial at `position` of the plan."""
        self.done[trial.item] += 1
        self._add_in_order(position, trial, records)

    def skip(self, position: int, trial: Trial) -> None:
        """Note that the trial at `position` of the plan does not finish in this session."""
        self._add_in_order(position, trial, [])

    def _add_in_order(self, position: int, trial: Trial, records: list[Any]) -> None:
        heapq.heappush(self._early, (position, trial, records))
        while self._early and self._early[0][0] == self._next:
            self._buffer_and_flush(*heapq.heappop(self._early)[1:])
            self._next += 1
        self._advanced.set()

    def settle(self) -> None:
        """Note that no more trials will finish, which completes `unwritable` and `spoiled`. Nothing is written."""
        while self._early:
            self._buffer(*heapq.heappop(self._early)[1:])
        self._buffered_table()

    def close(self, incomplete: Iterable[str] = ()) -> pl.LazyFrame:
        """All rows in plan order, without those of the `incomplete` items."""
        self.settle()
        self._flush()
        rows = pl.scan_parquet(self._parts).filter(~pl.col(_ITEM_COLUMN).is_in(sorted(incomplete))).drop(_ITEM_COLUMN)
        return rows if self._order is None else rows.sort(_PLACE_COLUMN, maintain_order=True).drop(_PLACE_COLUMN)

    def _buffer(self, trial: Trial, records: list[Any]) -> None:
        self._rows.extend(records)
        self._trials.extend([trial] * len(records))

    def _buffer_and_flush(self, trial: Trial, records: list[Any]) -> None:
        self._buffer(trial, records)
        if len(self._rows) >= _ROWS_PER_PART:
            self._flush()

    def _flush(self) -> None:
        if not self._rows and self._parts:
            return
        make_folder(self._folder)
        part = self._folder / f"{len(self._parts):06}.parquet"
        table = self._buffered_table().with_columns(
            pl.Series(_ITEM_COLUMN, [trial.item for trial in self._trials], pl.String),
            **{key: pl.lit(value) for key, value in self._label.items()},
            **self._position_column(),
            **self._condition_columns(),
        )
        named = (*self._label, *self._conditions, *self._columns, _ITEM_COLUMN, *self._position_column())
        try:
            table.select(named).write_parquet(part, compression="lz4")
        except (OSError, pl.exceptions.PolarsError) as error:
            raise cannot_be_written(part, error) from error
        self._parts.append(part)
        self._rows, self._trials = [], []

    def _position_column(self) -> dict[str, pl.Series]:
        """The positions of the buffered rows in the plan, if trials are not run in plan order."""
        if self._order is None:
            return {}
        return {_PLACE_COLUMN: pl.Series(_PLACE_COLUMN, [self._order[trial.name] for trial in self._trials], pl.Int64)}

    def _condition_columns(self) -> dict[str, pl.Series]:
        return {
            name: pl.Series(name, list(map(value, self._trials)), pl.String) for name, value in self._conditions.items()
        }

    def _buffered_table(self) -> pl.DataFrame:
        """The buffered rows as a table, without trials whose records do not fit into it. Overton looks for these trials
        only if the whole table cannot be made, because checking each trial would take longer than making the table."""
        try:
            return columns_of(self._rows, self._columns)
        except _UNFIT_ERRORS:
            self._leave_out_unfit()
        return columns_of(self._rows, self._columns)

    def _leave_out_unfit(self) -> None:
        rows, trials = self._rows, self._trials
        self._rows, self._trials = [], []
        for trial, some in groupby(zip(trials, rows, strict=True), key=lambda pair: pair[0]):
            records = [record for _, record in some]
            if reason := why_unfit(records, self._columns):
                self.unwritable[trial.name] = reason
                self.spoiled.add(trial.item)
            else:
                self._buffer(trial, records)

    def discard(self) -> None:
        """Remove the part files."""
        shutil.rmtree(self._folder, ignore_errors=True)


_UNFIT_ERRORS = (TypeError, ValueError, OverflowError, AttributeError, pl.exceptions.PolarsError)
"""The errors that are raised if a value does not fit its column."""


def why_unfit(records: list[Any], columns: Mapping[str, pl.DataType]) -> str:
    """The reason why records cannot be made into a table, '' if they can."""
    for name, dtype in columns.items():
        try:
            _column(name, [getattr(record, name) for record in records], dtype)
        except _UNFIT_ERRORS as error:
            said = visible_line(str(error).partition("\n")[0])[:_MAX_REASON_CHARS]
            return f"column {name}: {said or type(error).__name__}"
    return ""


def columns_of(records: list[Any], columns: Mapping[str, pl.DataType]) -> pl.DataFrame:
    """Records as a table with one typed column per field."""
    values = zip(*map(attrgetter(*columns), records), strict=True) if records else ([] for _ in columns)
    return pl.DataFrame(
        [_column(name, list(found), dtype) for (name, dtype), found in zip(columns.items(), values, strict=True)]
    )


def _column(name: str, values: list[Any], dtype: pl.DataType) -> pl.Series:
    if not dtype.is_nested():
        return pl.Series(name, values, dtype)
    # This goes by way of JSON, because building lists and structs from Python values takes ten times as long.
    texts = [None if value is None else _encode(_expand_structs(value)).decode() for value in values]
    written = pl.Series(name, texts, pl.String)
    if written.str.contains(_LONG_NUMBER).any():  # beyond 64 bits, an integer would silently be decoded as null
        for value in values:
            _check_numbers(_expand_structs(value))
    return written.str.json_decode(dtype)


_LONG_NUMBER = "[0-9]{19}"


def _check_numbers(value: Any) -> None:
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise OverflowError(f"an integer beyond 64 bits: {value:.3e}")
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ():
        _check_numbers(inner)


def _expand_structs(value: Any) -> Any:
    """Turn structs into dicts of all their fields, because their own JSON may leave out defaults."""
    if isinstance(value, msgspec.Struct):
        return {name: _expand_structs(getattr(value, name)) for name in value.__struct_fields__}
    if isinstance(value, tuple | list) and value and not isinstance(value[0], str):
        return [_expand_structs(element) for element in value]
    return value


def record_type_columns(record: type[msgspec.Struct]) -> dict[str, pl.DataType]:
    """The Parquet columns of a record type, from its annotations."""
    hints = get_type_hints(record)
    return {field.name: _dtype(hints[field.name]) for field in msgspec.structs.fields(record)}


_encode = msgspec.json.Encoder().encode

_SCALARS: dict[Any, pl.DataType] = {str: pl.String(), int: pl.Int64(), float: pl.Float64(), bool: pl.Boolean()}


def _dtype(hint: Any) -> pl.DataType:
    origin, arguments = get_origin(hint), [a for a in get_args(hint) if a not in (type(None), ...)]
    if hint in _SCALARS:
        return _SCALARS[hint]
    if origin is Literal:
        return pl.String()
    if origin in (Union, UnionType) and len(arguments) == 1:
        return _dtype(arguments[0])
    if origin in (tuple, list) and len(arguments) == 1:
        return pl.List(_dtype(arguments[0]))
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        return pl.Struct(record_type_columns(hint))
    raise TypeError(f"a record's column cannot store {hint!r}")
