"""Tables of outcomes that a person names, of every study, through its measures."""

from __future__ import annotations

import io
from collections.abc import Callable
from contextlib import suppress
from functools import cache, partial
from random import Random
from typing import Any

import polars as pl

from fuzz.mutating import json_values
from fuzz.room import file_of
from fuzz.targets.small import whole
from fuzz.trying import Mutation, Target
from overton.analysis.analyze import measure_run
from overton.studies.pluralism.tables import pairs, rankings

__all__ = ["TARGETS"]

_STUDIES = ("open-mindedness", "stance-stability", "pluralism", "deliberation", "even-handedness")


@cache
def _frame(study: str) -> pl.DataFrame:
    """A small run's own records."""
    table = whole(study).records()
    return table.head(60)


@cache
def _table(study: str, suffix: str) -> bytes:
    """Records as another tool may write them: of pluralism, whose records have nested columns, one of its tables."""
    frame = _frame(study)
    if study == "pluralism" and suffix != ".parquet":
        frame = pairs(frame) if suffix == ".csv" else rankings(frame)
    return _written(frame, suffix)


def _measured(study: str, suffix: str) -> Callable[[bytes], None]:
    return lambda data: _measure(study, file_of(data, suffix))


def _measure(study: str, path: Any) -> None:
    measure_run(study, path, resamples=100).document()


def _written(frame: pl.DataFrame, suffix: str) -> bytes:
    sink = io.BytesIO()
    match suffix:
        case ".csv":
            flat = [name for name, kind in frame.schema.items() if not kind.is_nested()]
            frame.select(flat).write_csv(sink)
        case ".jsonl":
            frame.write_ndjson(sink)
        case _:
            frame.write_parquet(sink)
    return sink.getvalue()


_ODD: tuple[Any, ...] = (
    "",
    "x" * 300,
    "\x00",
    "=1",
    -1,
    0,
    2**62,
    1.5,
    float("nan"),
    float("inf"),
    None,
    ["a"],
    [1],
    {"a": 1},
    True,
)


def _column(study: str) -> Mutation:
    """A column of a Parquet file with other values, of another type, or gone; the file is whole, since Polars may end
    the process at a damaged one."""

    def change(chance: Random, data: bytes) -> bytes:
        frame = _frame(study)
        with suppress(pl.exceptions.PolarsError, TypeError, ValueError):
            for _ in range(chance.randrange(1, 4)):
                frame = _changed(chance, frame, chance.choice(frame.columns))
            return _written(frame, ".parquet")
        return data

    return change


def _changed(chance: Random, frame: pl.DataFrame, name: str) -> pl.DataFrame:
    match chance.randrange(5):
        case 0:
            return frame.drop(name)
        case 1:
            return frame.rename({name: chance.choice(("", "x", "model", f"{name} "))}) if frame.width > 1 else frame
        case 2:
            return frame.head(chance.randrange(3))
        case _:
            odd = chance.choice(_ODD)
            values = [odd] * frame.height
            return frame.with_columns(pl.Series(name, values, strict=False))


TARGETS = {
    target.name: target
    for study in _STUDIES
    for target in (
        Target(f"{study}-csv", _measured(study, ".csv"), partial(lambda s: [_table(s, ".csv")], study)),
        Target(
            f"{study}-jsonl",
            _measured(study, ".jsonl"),
            partial(lambda s: [_table(s, ".jsonl")], study),
            mutations=(json_values,),
        ),
        Target(
            f"{study}-parquet",
            _measured(study, ".parquet"),
            partial(lambda s: [_table(s, ".parquet")], study),
            mutations=(_column(study),),
        ),
    )
}
