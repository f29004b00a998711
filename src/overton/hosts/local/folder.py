"""A run folder: `manifest.json`, `items.jsonl`, `journal.db`, `records.parquet`, `report.html`.

The manifest says what a run is: everything needed to go on with it, or to repeat it, but for the keys.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import msgspec

from overton.calls import Price, Reply, Settings
from overton.engine import Journal, Limits, Mark, Spending, entries
from overton.errors import Problem, RunError, RunExists
from overton.studies.table import RECORDS_FORMAT, RECORDS_KEY

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Manifest", "ModelEntry", "RunFolder", "Spent", "open_journal", "spent_so_far", "write_manifest"]

Part = TypeVar("Part")

FORMAT = 2
DATASET_FORMAT = 1
"""The format of the items that a run makes: how each study's items stand in JSON lines."""
FILE = "manifest.json"


class ModelEntry(msgspec.Struct, frozen=True):
    """A model of a run, as it was asked for and as it was found.

    `name` is the key by which records, tables and messages know it: the one that the user gave it, else its spec as it
    is published. `spec` may hold a path of this machine, without which the run could not be resumed; it stands in the
    manifest only. `identity` is what makes its calls the same as other calls.
    """

    name: str
    spec: str
    identity: str
    settings: Settings
    arguments: tuple[tuple[str, str], ...] = ()
    holds_form: bool = False
    price: Price | None = None
    family: str = ""


class Spent(msgspec.Struct, frozen=True):
    """What a run has used in all its sessions: requests sent (retries included) and dollars.

    `cost` counts the worst case for requests whose bill is not known; it is 0 for models without a price. After a kill
    both are bounds, by a block more than what was sent at most. `failed` is how many calls have a failure as their last
    outcome; `outcomes` how many rows the journal had, and `last` the checksum of the last of them, by which a journal
    that was cut or replaced is told.
    """

    requests: int = 0
    cost: float = 0.0
    failed: int = 0
    outcomes: int = 0
    last: int = 0


class Manifest(msgspec.Struct, omit_defaults=False):
    """`manifest.json` of a run.

    `models` maps each role to its models; each model of the study's first role is a lane of its own. `prompts` and
    `items` hold digests. `status` is 'running' (or killed), 'finished', or 'stopped' with the reason in `stopped`, and
    in `reached` the limit that stopped it. `notes` are what is to be known of models' bills, by name.
    `missing` names, for each lane, the items that records leave out since they are not whole. `dataset` is the format
    of the items that the run made, 0 where it made none.
    """

    study: str
    seed: int
    options: dict[str, Any]
    models: dict[str, list[ModelEntry]]
    items: str
    prompts: dict[str, str]
    created: str
    overton: str
    format: int = FORMAT
    limits: Limits = Limits()
    status: Literal["running", "finished", "stopped"] = "running"
    stopped: str = ""
    reached: Literal["", "calls", "cost"] = ""
    notes: dict[str, str] = {}
    missing: dict[str, list[str]] = {}
    trials: int = 0
    spent: Spent = Spent()
    sessions: int = 0
    left_out: str = ""
    dataset: int = 0


def _read_manifest(run: Path) -> Manifest:
    """The manifest of a run folder.

    Raises:
        RunError: there is none, or it is not one that this version reads.
    """
    path = run / FILE
    text = _text(path)
    _check_formats(path, text)
    return _decoded(path, text, Manifest)


class _Head(msgspec.Struct):
    """What every format has."""

    format: int | None = None
    overton: str = "unknown"
    dataset: int = 0


def _check_formats(path: Path, text: bytes) -> None:
    head = _decoded(path, text, _Head)
    if head.format not in (None, FORMAT):
        raise RunError(
            f"{path}: has format {head.format}, of another version of Overton ({head.overton}); this one reads {FORMAT}"
        )
    if head.dataset not in (0, DATASET_FORMAT):
        what = f"its dataset has format {head.dataset}"
        raise RunError(
            f"{path}: {what}, of another version of Overton ({head.overton}); this one reads {DATASET_FORMAT}"
        )


def _text(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise RunError(f"{path.parent} is not a run folder: it has no {FILE}") from None
    except OSError as error:
        raise _unreadable(path, error) from error


def _decoded(path: Path, text: bytes, part: type[Part]) -> Part:
    try:
        return msgspec.json.decode(text, type=part)
    except msgspec.DecodeError as error:
        raise _unreadable(path, error) from error


def _unreadable(path: Path, error: Exception) -> RunError:
    return RunError(str(Problem(str(path), "", f"cannot be read: {error}")))


def write_manifest(run: Path, manifest: Manifest) -> None:
    """Write it whole or not at all.

    Raises:
        RunError: it cannot be written.
    """
    fresh = run / f".{FILE}.new"
    try:
        with fresh.open("wb") as file:
            file.write(msgspec.json.format(msgspec.json.encode(manifest), indent=2))
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(run / FILE)
    except OSError as error:
        raise RunError(f"{run / FILE} cannot be written: {error.strerror}") from error


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

    def check_formats(self) -> None:
        """Refuse a run, or a dataset, of another format; a manifest that is not ours names none and is let be.

        Raises:
            RunError: the format is another, or there is no manifest that can be read.
        """
        path = self.path / FILE
        _check_formats(path, _text(path))

    def manifest(self) -> Manifest:
        """What the run is; see `_read_manifest` for its errors."""
        return _read_manifest(self.path)

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
            RunError: the run has none yet, or they are of another format.
        """
        import polars as pl

        if not self.records_file.is_file():
            raise RunError(f"{self.path} has no records yet: 'overton resume {self.path}' goes on with the run")
        if (found := pl.read_parquet_metadata(self.records_file).get(RECORDS_KEY)) not in (None, str(RECORDS_FORMAT)):
            what = f"holds records of format {found}"
            raise RunError(f"{self.records_file}: {what}; this version of Overton reads {RECORDS_FORMAT}")
        return pl.read_parquet(self.records_file)

    def rows(self, kind: type[msgspec.Struct]) -> list[Any]:
        """The outcome as records of the study's own `kind`; see `records` for the errors.

        The columns that stand beside a record's own (the model's name, say) are left out.
        """
        fields = kind.__struct_fields__
        return [
            msgspec.convert({name: row[name] for name in fields}, kind, strict=False)
            for row in self.records().select(fields).iter_rows(named=True)
        ]


def open_journal(folder: RunFolder, manifest: Manifest, *, retry_failed: bool = False) -> Journal:
    """The run's journal, locked: the one that its manifest speaks of, or a new one where no session was held yet.

    Raises:
        RunLocked: another process works on the run.
        JournalError: it is damaged, missing, or another one; see `Journal`.
    """
    since = Mark(manifest.spent.outcomes, manifest.spent.last) if manifest.sessions else None
    return Journal(folder.journal, retry_failed=retry_failed, since=since)


def spent_so_far(folder: RunFolder, manifest: Manifest, journal: Journal) -> Spent:
    """What earlier sessions used, or, where the last one was killed, at most used."""
    known, mark = manifest.spent, journal.mark
    if journal.left is not None:
        requests, cost = max(known.requests, journal.left.requests), max(known.cost, journal.left.cost)
    else:
        requests, cost = _of_rows(folder, manifest)
    return Spent(requests, cost, journal.failed, mark.outcomes, mark.last)


def _of_rows(folder: RunFolder, manifest: Manifest) -> Spending:
    """The same where no session kept a bound (an import, a run of an earlier version): the manifest's word, and the
    journal's rows since."""
    prices = {entry.identity: entry.price for side in manifest.models.values() for entry in side}
    requests, cost = manifest.spent.requests, manifest.spent.cost
    for entry in islice(entries(folder.journal), manifest.spent.outcomes, None):
        if isinstance(entry.outcome, Reply):
            requests += 1
            cost += _cost(prices.get(entry.place.answerer), entry.outcome)
        else:
            requests += entry.outcome.attempts
    return Spending(requests, cost)


def _cost(price: Price | None, reply: Reply) -> float:
    return (price.cost(reply.usage) or 0.0) if price else 0.0
