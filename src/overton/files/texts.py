"""A reader of text files of limited size, and a writer of items. Only this module decodes bytes of input files into
text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from importlib.resources import as_file
from importlib.resources.abc import Traversable
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, BinaryIO, cast

import msgspec

from overton.errors import InputError, Problem, Unreadable, quoted, reason_of, suggestion
from overton.files.atomic import make_folder, write_atomic
from overton.files.grids import csv_grid, sheet_grid
from overton.files.tables import column_names, read_table
from overton.untrusted import decode_text

if TYPE_CHECKING:
    import polars as pl

    from overton.studies.parsing import Grid


MAX_BYTES = 5_000_000
"""The most bytes of a file that is read as a whole, or of a line in a file that is read line by line."""

_MAX_TABLE_BYTES = 200_000_000
"""The maximum size, in bytes, of a JSON file that is used as a table by a mapping of columns. Such a file is read as a
whole."""

_MAX_FILES = 10_000
"""The most files of items in a folder."""

_JOURNAL = "journal.db"
_MANIFEST = "manifest.json"


class ItemFile:
    """A file that studies read, possibly a file of a Python package; see `overton.studies.parsing.Text`.

    The file is opened only when needed.
    """

    def __init__(self, file: Path | Traversable, *, in_folder: bool = False, largest: int = MAX_BYTES) -> None:
        self._file = file
        self._path = PurePath(file.name)
        self._max_bytes = largest
        self.name = str(file)
        self.in_folder = in_folder

    @property
    def stem(self) -> str:
        """The file's name without its suffix."""
        return self._path.stem

    @property
    def suffix(self) -> str:
        """The suffix of the file's name, with its dot."""
        return self._path.suffix

    def read(self) -> str:
        """The whole text.

        Raises:
            InputError: the file cannot be read, is too large, or is not UTF-8 (the message has the offset of the first
                bad byte).
        """
        try:
            with self._open() as file:
                data = file.read(self._max_bytes + 1)
        except OSError as error:
            raise InputError([self._read_problem(error)]) from error
        if len(data) > self._max_bytes:
            raise InputError([Problem(self.name, "", f"is larger than {self._max_bytes:,} bytes")])
        text = self._decode(data)
        if isinstance(text, Problem):
            raise InputError([text])
        return text

    def lines(self) -> Iterator[tuple[int, str | Problem]]:
        """Yield the file's non-blank lines with their numbers from 1. For a line that cannot be used, yield a problem
        instead."""
        number = 0
        try:
            with self._open() as file:
                while line := file.readline(self._max_bytes + 1):
                    number += 1
                    if len(line) > self._max_bytes:
                        yield number, Problem(self.name, f"line {number}", f"is longer than {self._max_bytes:,} bytes")
                        return
                    if line.strip():
                        yield number, self._decode(line.rstrip(b"\r\n"), f"line {number}, ")
        except OSError as error:
            yield number + 1, self._read_problem(error)

    def grid(self) -> Grid:
        """The cells of a CSV or a spreadsheet; see `overton.studies.parsing.Text.grid`."""
        try:
            if self.suffix == ".csv":
                return csv_grid(self.read())
            with as_file(self._file) as path:
                return sheet_grid(path)
        except OSError as error:
            raise InputError([self._read_problem(error)]) from error
        except Unreadable as error:
            noun = "line" if self.suffix == ".csv" else "row"
            where = f"{noun} {error.line}" if error.line else ""
            raise InputError([Problem(self.name, where, error.reason)]) from None

    def columns(self) -> list[str]:
        """The columns of the table in this file; see `overton.files.tables.column_names`."""
        with as_file(self._file) as path:
            return column_names(path)

    def table(self) -> pl.DataFrame:
        """The table in this file; see `overton.files.tables.read_table`."""
        with as_file(self._file) as path:
            return read_table(path)

    def _open(self) -> BinaryIO:
        return cast(BinaryIO, self._file.open("rb"))

    def _read_problem(self, error: OSError) -> Problem:
        return Problem(self.name, "", f"cannot be read: {reason_of(error)}")

    def _decode(self, data: bytes, where: str = "") -> str | Problem:
        """Decode UTF-8 bytes, and drop a byte order mark."""
        try:
            return decode_text(data)
        except Unreadable as error:
            offset = error.byte or 0
            reason = f"is not UTF-8 (byte 0x{data[offset]:02x}); save the file as UTF-8"
            return Problem(self.name, f"{where}byte {offset}", reason)


def texts_at(
    path: Path | Traversable, *, suffixes: Sequence[str], dataset: str = "", folders: Sequence[str] = ()
) -> list[ItemFile]:
    """The files to read at `path`, which may be a file or a folder.

    In a folder, Overton reads the file `dataset` if it exists. Otherwise it reads all files whose names end in one of
    the `suffixes`, sorted, without hidden files. If there are none, Overton reads the files with these suffixes in the
    subfolders `folders`.

    Raises:
        InputError: there are no such files or too many, a run folder has no dataset, or a folder has both a dataset
            and files in another layout.
    """
    try:
        if not path.is_dir():
            # Open a missing file whose name has a suffix, for a better error message. Without a suffix, the user may
            # mean a folder.
            if isinstance(path, Path) and not path.suffix and not path.exists():
                raise _place_error(path, "does not exist")
            return [ItemFile(path)]
        found = _list_files(path, suffixes, dataset)
        inside = [] if found else [path / name for name in folders if (path / name).is_dir()]
        found += [file for folder in inside for file in _list_files(folder, suffixes, "")]
        return [ItemFile(file, in_folder=True) for file in found]
    except OSError as error:
        raise _place_error(path, f"cannot be read: {reason_of(error)}") from error


def text_beside(path: Path | Traversable, name: str) -> ItemFile | None:
    """The file called `name` in the folder `path`, or next to the file `path`. If it is not there, the parent folder is
    searched."""
    try:
        inside = [path] if path.is_dir() else []
        around = list(path.parents)[: 2 - len(inside)] if isinstance(path, Path) else []
        return next(
            (ItemFile(folder / name, in_folder=True) for folder in [*inside, *around] if (folder / name).is_file()),
            None,
        )
    except OSError:
        return None  # problems with the path are reported by `texts_at`


def table_beside(mapping: Path, name: str) -> ItemFile:
    """Open the table that a mapping file refers to. The table is in the mapping's folder or below.

    A mapping may come from somebody else, so it cannot name files outside of its folder.

    Raises:
        InputError: the file does not exist, is outside of the folder, or is not a table.
    """
    folder = mapping.parent
    file = folder / name
    try:
        inside = file.resolve().is_relative_to(folder.resolve())
        found = inside and file.is_file()
    except (OSError, RuntimeError, ValueError):  # a name that is too long or impossible, or a loop of links
        inside, found = True, False
    if not inside:
        raise _place_error(
            mapping, f"table {quoted(name)} is outside of its folder; put the mapping next to its tables"
        )
    if not found:
        others = [other.name for other in folder.iterdir()] if folder.is_dir() else []
        raise _place_error(mapping, f"table {quoted(name)} does not exist{suggestion(name, others)}")
    if file.suffix not in (".csv", ".parquet", ".json", ".jsonl", ".xlsx"):
        raise _place_error(mapping, f"table {quoted(name)} is not a .csv, .xlsx, .parquet, .json or .jsonl file")
    return ItemFile(file, largest=_MAX_TABLE_BYTES if file.suffix == ".json" else MAX_BYTES)


def write_objects(items: Iterable[msgspec.Struct], file: Path, *, replace: bool = False) -> Path:
    """Write `items` to `file` as JSON, one per line, completely or not at all. Return the file.

    Raises:
        InputError: the file already exists, and `replace` is False.
        RunError: the file cannot be written.
    """
    if file.exists() and not replace:
        raise InputError([Problem(str(file), "", "exists already; nothing is ever overwritten")])
    encoder = msgspec.json.Encoder()
    make_folder(file.parent)
    return write_atomic(file, (encoder.encode(item) + b"\n" for item in items))


def _list_files(folder: Path | Traversable, suffixes: Sequence[str], dataset: str) -> list[Path | Traversable]:
    files: list[Path | Traversable] = sorted(
        (file for file in folder.iterdir() if file.name.endswith(tuple(suffixes)) and not file.name.startswith(".")),
        key=lambda file: file.name,
    )
    if dataset and (folder / dataset).is_file():
        suffix = PurePath(dataset).suffix
        others = [file.name for file in files if not file.name.endswith(suffix) and file.name != _MANIFEST]
        if others:
            raise _place_error(folder, f"contains both {dataset} and {others[0]}: name the file you mean")
        return [folder / dataset]
    if dataset and not suffixes:
        raise _place_error(folder, f"is a folder without {dataset}; finish the run, or name a file")
    if (folder / _JOURNAL).is_file():
        made = f"is a run folder without {dataset}: name a folder of {PurePath(dataset).stem}, or a file"
        raise _place_error(folder, made if dataset else "is a run folder: name a file of items")
    if len(files) > _MAX_FILES:
        raise _place_error(folder, f"contains more than {_MAX_FILES:,} files")
    return files


def _place_error(place: Path | Traversable, reason: str) -> InputError:
    return InputError([Problem(str(place), "", reason)])
