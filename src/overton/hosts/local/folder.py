"""A run folder: `manifest.json`, `items.jsonl`, `journal.db`, `records.parquet`, `report.html`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from overton.errors import RunError, RunExists
from overton.hosts.local.manifest import Manifest, read_manifest, write_manifest

if TYPE_CHECKING:
    import polars as pl

__all__ = ["RunFolder"]


@dataclass(frozen=True)
class RunFolder:
    """The files of a run. Nothing here asks anything."""

    path: Path

    @classmethod
    def create(cls, path: Path, manifest: Manifest, items: Iterable[msgspec.Struct]) -> RunFolder:
        """Make a new run folder.

        Raises:
            RunExists: something is there already.
            RunError: it cannot be made.
        """
        try:
            path.mkdir(parents=True)
        except FileExistsError:
            raise RunExists(str(path)) from None
        except OSError as error:
            raise RunError(f"{path} cannot be made: {error.strerror}") from error
        (path / "items.jsonl").write_bytes(b"".join(msgspec.json.encode(item) + b"\n" for item in items))
        write_manifest(path, manifest)
        return cls(path)

    @property
    def journal(self) -> Path:
        """The journal's file."""
        return self.path / "journal.db"

    @property
    def records_file(self) -> Path:
        """The outcome table's file."""
        return self.path / "records.parquet"

    @property
    def report_file(self) -> Path:
        """The report's file."""
        return self.path / "report.html"

    def manifest(self) -> Manifest:
        """What the run is; see `read_manifest` for its errors."""
        return read_manifest(self.path)

    def items(self, item: type[msgspec.Struct]) -> Sequence[Any]:
        """What the run asks about.

        Raises:
            RunError: the file is missing or damaged.
        """
        path = self.path / "items.jsonl"
        try:
            lines = path.read_bytes().splitlines()
            return [msgspec.json.decode(line, type=item) for line in lines if line.strip()]
        except (OSError, msgspec.DecodeError) as error:
            raise RunError(f"{path} cannot be read: {error}") from error

    def records(self) -> pl.DataFrame:
        """The outcome table, whole items only.

        Raises:
            RunError: the run has none yet.
        """
        import polars as pl

        if not self.records_file.is_file():
            raise RunError(f"{self.path} has no records yet: 'overton resume {self.path}' goes on with the run")
        return pl.read_parquet(self.records_file)
