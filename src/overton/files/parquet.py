"""A check of the sizes that a Parquet file states, before Polars reads the file.

A Parquet reader allocates the memory that a file's footer and page headers request. If there is not enough memory, the
process ends. A file of a few kilobytes can request any number of rows. So this module reads footer and headers first.
They use Thrift's compact protocol; field numbers are those of parquet.thrift in the format's specification.
"""

from __future__ import annotations

import mmap
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from overton.errors import Unreadable
from overton.untrusted import Limit, check_cells

_MAGIC = b"PAR1"
_MAX_FOOTER_BYTES = 1 << 23
_MAX_VALUE_DEPTH = 32
"""The most levels of nested values in a file's metadata. Real files have six levels."""
_MAX_SCHEMA_DEPTH = 64
"""The most levels of the schema; a list takes two. With too many levels, Polars' recursion would overflow the stack."""
_MAX_PAGES = 200_000

_Struct = dict[int, Any]


def check_parquet(path: Path, limit: Limit) -> None:
    """Refuse a file that would take more memory than `limit` allows for a file of its size, or whose parts are
    inconsistent.

    Raises:
        Unreadable: the file is refused.
        OSError: the file cannot be read.
    """
    with path.open("rb") as file:
        size = file.seek(0, 2)
        if size < 3 * len(_MAGIC):
            raise _damage_error("it is too short")
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            _check_sizes(data, size, limit)


def _check_sizes(data: mmap.mmap, size: int, limit: Limit) -> None:
    footer = _read_footer(data, size)
    columns = _flat_columns(_list_in(footer, 2))
    groups = [(_whole_number(group, 3), _list_in(group, 1)) for group in map(_as_struct, _list_in(footer, 4))]
    rows = sum(count for count, _ in groups)
    if rows != _whole_number(footer, 3):
        raise _damage_error("its row groups do not add up to its number of rows")
    check_cells(rows * max(1, len(columns)), size, limit)
    chunks = [chunk for count, found in groups for chunk in _chunks(columns, count, found, size)]
    check_cells(sum(max(chunk.values, chunk.rows) for chunk in chunks), size, limit)
    made = pages = 0
    for chunk in chunks:
        for page in _page_sizes(data, chunk):
            made, pages = made + page, pages + 1
            limit.check(size, made)
            if pages > _MAX_PAGES:
                raise Unreadable(f"has more than {_MAX_PAGES:,} pages")


def _read_footer(data: mmap.mmap, size: int) -> _Struct:
    if data[:4] != _MAGIC or data[size - 4 : size] != _MAGIC:
        raise Unreadable("is not a Parquet file: it does not start and end with PAR1")
    length = int.from_bytes(data[size - 8 : size - 4], "little")
    if length > _MAX_FOOTER_BYTES:
        raise Unreadable(f"has a footer of more than {_MAX_FOOTER_BYTES:,} bytes")
    if length > size - 12:
        raise _damage_error("its footer is longer than the file")
    return _CompactReader(data, size - 8 - length, size - 8).struct()


def _flat_columns(schema: Sequence[Any]) -> list[bool]:
    """For each column that stores values: whether no list encloses it, so that it has exactly one value per row."""
    leaves: list[bool] = []
    # For each enclosing group: the number of members left, and whether it is flat.
    open_: list[tuple[int, bool]] = [(1, True)]
    for element in map(_as_struct, schema):
        while open_ and not open_[-1][0]:
            open_.pop()
        if not open_:
            raise _damage_error("its schema has no single root")
        left, flat = open_[-1]
        open_[-1] = (left - 1, flat)
        flat = flat and element.get(3) != 2  # 2: repeated
        members = element.get(5, 0)
        if not isinstance(members, int) or members < 0 or len(open_) > _MAX_SCHEMA_DEPTH:
            raise Unreadable(f"has a schema more than {_MAX_SCHEMA_DEPTH} levels deep, or a damaged one")
        if members:
            open_.append((members, flat))
        else:
            leaves.append(flat)
    return leaves


class _Chunk(NamedTuple):
    """A column's values in one row group: their number and location."""

    rows: int
    values: int
    begin: int
    end: int


def _chunks(columns: Sequence[bool], rows: int, found: Sequence[Any], size: int) -> Iterator[_Chunk]:
    if len(found) != len(columns):
        raise _damage_error("its parts' columns differ from those of the whole")
    for flat, chunk in zip(columns, found, strict=True):
        about = _as_struct(_as_struct(chunk).get(3))
        values, length = _whole_number(about, 5), _whole_number(about, 7)
        starts = [_whole_number(about, field) for field in (9, 11) if field in about]
        begin = min((start for start in starts if start), default=0)
        if begin + length > size or (flat and values != rows):
            raise _damage_error("its columns do not fit into the file")
        yield _Chunk(rows, values, begin, begin + length)


def _page_sizes(data: mmap.mmap, chunk: _Chunk) -> Iterator[int]:
    """The size of each page once it is decompressed."""
    at, left = chunk.begin, chunk.values
    while left > 0 and at < chunk.end:
        read = _CompactReader(data, at, chunk.end)
        page = read.struct()
        made, packed = _whole_number(page, 2), _whole_number(page, 3)
        at = read.at + packed
        head = next((_as_struct(page[field]) for field in (5, 8) if field in page), {})
        values = _whole_number(head, 1) if head else 0
        # In version 2, levels are uncompressed.
        parts = sum(_whole_number(head, field) for field in (5, 6)) if 8 in page else 0
        if at > chunk.end or values > left or parts > min(made, packed):
            raise _damage_error("a page does not fit into its column")
        left -= values
        yield made
    if left:
        raise _damage_error("a column ends early")


def _whole_number(struct: _Struct, field: int) -> int:
    value = struct.get(field)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise _damage_error("a number is missing or below zero")
    return value


def _list_in(struct: _Struct, field: int) -> list[Any]:
    value = struct.get(field, [])
    if not isinstance(value, list):
        raise _damage_error("a list is missing or invalid")
    return value


def _as_struct(value: Any) -> _Struct:
    if not isinstance(value, dict):
        raise _damage_error("a part is missing")
    return value


def _damage_error(reason: str) -> Unreadable:
    return Unreadable(f"is damaged: {reason}")


class _CompactReader:
    """A reader of Thrift's compact protocol. Reading beyond the last byte is an error. `at` is the reader's
    position."""

    def __init__(self, data: mmap.mmap, at: int, end: int) -> None:
        self.at = at
        self._data = data
        self._end = end
        self._depth = 0
        self._kinds: dict[int, Callable[[], Any]] = {
            1: lambda: True,
            2: lambda: False,
            3: lambda: self._skip(1),
            4: self._zigzag,
            5: self._zigzag,
            6: self._zigzag,
            7: lambda: self._skip(8),
            8: lambda: self._skip(self._varint()),
            9: self._list,
            10: self._list,
            11: self._map,
            12: self.struct,
        }

    def struct(self) -> _Struct:
        """The fields of a struct by field number. Texts and floats are skipped."""
        found: _Struct = {}
        number = 0
        while head := self._byte():
            number = number + (head >> 4) if head >> 4 else self._zigzag()
            found[number] = self._value(head & 15)
        return found

    def _value(self, kind: int) -> Any:
        if kind not in self._kinds:
            raise _damage_error(f"a value is of unknown kind {kind}")
        self._depth += 1
        if self._depth > _MAX_VALUE_DEPTH:
            raise _damage_error("it is nested too deeply")
        value = self._kinds[kind]()
        self._depth -= 1
        return value

    def _list(self) -> list[Any]:
        head = self._byte()
        count = head >> 4 if head >> 4 < 15 else self._varint()
        kind = head & 15
        if count > self._end - self.at:  # each member takes at least a byte
            raise _damage_error("a list is longer than the file")
        if kind in (1, 2):
            self._skip(count)
            return []
        return [self._value(kind) for _ in range(count)]

    def _map(self) -> None:
        count = self._varint()
        kinds = self._byte() if count else 0
        for _ in range(count):
            for kind in (kinds >> 4, kinds & 15):
                self._skip(1) if kind in (1, 2) else self._value(kind)

    def _zigzag(self) -> int:
        value = self._varint()
        return (value >> 1) ^ -(value & 1)

    def _varint(self) -> int:
        value = shift = 0
        while (byte := self._byte()) & 0x80:
            value |= (byte & 0x7F) << shift
            shift += 7
            if shift > 63:
                raise _damage_error("a number is too long")
        return value | byte << shift

    def _byte(self) -> int:
        self._skip(1)
        return self._data[self.at - 1]

    def _skip(self, count: int) -> None:
        self.at += count
        if self.at > self._end:
            raise _damage_error("it ends early")
