"""The files of a run's folder: functions that read and write its manifest, items and records."""

from __future__ import annotations

import hashlib
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import msgspec

from overton.calls import Price, Settings
from overton.engine import Limits, Spending
from overton.engine.first_replies import ReadCount
from overton.errors import InputError, Notice, Problem, Unreadable, UnreadableRun, command, reason_of
from overton.files.atomic import new_folder, write_atomic
from overton.files.tables import read_table
from overton.files.texts import write_objects
from overton.studies.options import check_stored, fields_of, stored_options
from overton.studies.paper import PaperValues
from overton.studies.precision import PrecisionTarget, StopState
from overton.studies.prompts import own_texts
from overton.studies.text_replacement import problems_with, with_texts
from overton.untrusted import converted, decode_json, no_links, read_bytes, visible_line

if TYPE_CHECKING:
    import polars as pl

    from overton.studies.study import AnyStudy


FORMAT = 2


class ModelEntry(msgspec.Struct, frozen=True):
    """A model of a run, as requested and as found.

    `name` is the model's name in records, tables and messages: the user's name for it, or otherwise its public spec.
    `spec` may contain a path of this machine, which `resume` needs. `spec` is stored only in the manifest. Two entries
    can make the same call only if they have the same `identity`. `unsure` is True if the temperature is a
    default that the endpoint may refuse. `not_sent` names settings that the study wanted but the endpoint refused. They
    are not in `settings`. `batched` is True if calls are sent in batches.
    """

    name: str
    spec: str
    identity: str
    settings: Settings
    arguments: tuple[tuple[str, str], ...] = ()
    holds_form: bool = False
    price: Price | None = None
    family: str = ""
    unsure: bool = False
    not_sent: tuple[Literal["temperature"], ...] = ()
    batched: bool = False


class Spent(msgspec.Struct, frozen=True):
    """The spending of a run in all its sessions: requests sent (retries included) and dollars.

    `cost` counts requests with an unknown bill at their worst case, and models without a price at 0. After a kill, the
    numbers of requests and dollars are upper bounds. `failed` is the number of calls whose last outcome is a failure.
    `outcomes` is the journal's number of rows, and `last` the checksum of the last row. `outcomes` and `last` show
    whether the journal was truncated or replaced.
    """

    requests: int = 0
    cost: float = 0.0
    failed: int = 0
    outcomes: int = 0
    last: int = 0


class UnwritableRecords(msgspec.Struct, frozen=True):
    """The number of a pipeline's trials whose records cannot be stored in a table, and the first reason, such as an
    integer beyond 64 bits.

    `trials` names the first few of these trials, with reasons.
    """

    count: int = 0
    trials: list[str] = []


class Shard(msgspec.Struct, frozen=True):
    """Part `number` of a run that was split into `of` parts. It conducts only the trials of `items`.

    `split` is a word that is unique to the split, and `plan` is a digest of the whole run. `limits` are the limits of
    the whole run. `requests` and `cost` are the spending before the run was split. Every shard starts with the journal
    and the archive as they were before the split: `outcomes` rows and `archive` bytes.
    """

    number: int
    of: int
    items: list[str]
    split: str
    plan: str
    limits: Limits = Limits()
    requests: int = 0
    cost: float = 0.0
    outcomes: int = 0
    archive: int = 0

    @property
    def before(self) -> Spending:
        """The spending before the run was split."""
        return Spending(self.requests, self.cost)


class RunDigests(msgspec.Struct, frozen=True):
    """Digests of everything on which a finished run depends, and of its results. If no digest has changed, the results
    still hold.

    `plan` is the digest of the manifest's keys that define the run's calls, and `prompts` the digest of the installed
    texts. `source` is the digest of the code that conducts trials and makes records. The other digests are of files.
    `dataset` is '' if the run made no dataset.
    """

    plan: str
    prompts: str
    source: str
    items: str
    journal: str
    records: str
    dataset: str = ""


def items_of_shard(shard: Shard | None) -> frozenset[str] | None:
    """The items whose trials a run conducts, None for all items."""
    return None if shard is None else frozenset(shard.items)


class CheckedReplies(msgspec.Struct, frozen=True):
    """The number of each model's first replies that could be read, by name ('NAME', 'NAME as judge'). With `anyway` the
    run continues even if few could be read."""

    anyway: bool = False
    counts: dict[str, ReadCount] = {}

    @property
    def failed(self) -> list[str]:
        """The models for which the run stops, because too few of their replies could be read."""
        return [] if self.anyway else [name for name, count in self.counts.items() if count.decision == "failed"]


UNSELECTED = "{} of {} items"
"""The sentence about items that a run left out because its user did not select them."""


class Manifest(msgspec.Struct, omit_defaults=False):
    """`manifest.json` of a run.

    `models` maps each role to its models. Each model of the study's first role has its own pipeline. `prompts` and
    `items` are digests. `status` is 'running' (also after a kill), 'finished' or 'stopped'. `stopped` has the reason
    why the run stopped. `reached` is the limit that the run reached, '' for none. `notes` are remarks on models (such
    as on their bills), by name. `missing` names, for each pipeline, the items that were left out of the records because
    they are incomplete. `unmade` names, for each pipeline, the trials whose records could not be made.

    `dataset` is the format of the items that the run made, 0 if it made no items. `out` is the number of calls in
    batches that were still in progress when the last session ended. `shard` says which part of a split run this is.
    `precision` is the target precision, and `precise` has the last decision on each pipeline. `batch_refused` is True
    if a provider refused a batch. The batch is created again only on request. `digests` are present once the run has
    finished.

    `as_published` has the options that the flag `--as-published` set when the run started. It is absent without the
    flag. `replaced` names the texts with which the run replaced the study's own. The texts are stored in
    `prompts.json`. `replaced` is absent if no text was replaced. `first_replies` has the counts of first replies that
    could be read. Older runs lack it, and their first replies are not checked.
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
    unmade: dict[str, UnwritableRecords] = {}
    trials: int = 0
    spent: Spent = Spent()
    sessions: int = 0
    left_out: str = ""
    dataset: int = 0
    out: int = 0
    shard: Shard | None = None
    precision: PrecisionTarget | None = None
    precise: dict[str, StopState] = {}
    batch_refused: bool = False
    digests: RunDigests | None = None
    as_published: PaperValues | msgspec.UnsetType = msgspec.UNSET
    replaced: list[str] | msgspec.UnsetType = msgspec.UNSET
    first_replies: CheckedReplies | msgspec.UnsetType = msgspec.UNSET

    @property
    def names(self) -> dict[str, list[str]]:
        """The names of all models and services, by role."""
        return {role: [entry.name for entry in entries] for role, entries in self.models.items()}

    @property
    def has_selection(self) -> bool:
        """Whether items were left out only because the user did not select them."""
        return re.fullmatch(UNSELECTED.format("[0-9]+", "[0-9]+"), self.left_out) is not None

    @property
    def unread(self) -> list[str]:
        """The models for which the run stops, because too few of their first replies could be read."""
        return [] if self.first_replies is msgspec.UNSET else self.first_replies.failed


Part = TypeVar("Part")

DATASET_FORMAT = 1
"""The format of the items that a run makes: each study's items as JSON lines."""
FILE = "manifest.json"
ITEMS = "items.jsonl"
JOURNAL = "journal.db"
RECORDS = "records.parquet"
PROMPTS = "prompts.json"
"""The file with the texts that a run uses in place of its study's own. Other runs do not have this file."""

_MAX_BYTES = {FILE: 2**28, ITEMS: 2**31, PROMPTS: 2**25}
"""The maximum size in bytes of each file that is read as a whole."""
_IMPOSSIBLE_AMOUNT = 2**53
"""An amount that no run reaches, in calls or dollars."""


class _ManifestHead(msgspec.Struct):
    """The fields that every format has."""

    format: int | None = None
    overton: str = "unknown"
    dataset: int = 0


_decode_texts = msgspec.json.Decoder(dict[str, str]).decode
_decode_head, _decode_manifest = msgspec.json.Decoder(_ManifestHead).decode, msgspec.json.Decoder(Manifest).decode


def _check_formats(path: Path, text: bytes) -> _ManifestHead:
    head = _decode_content(path, text, _decode_head)
    if head.format not in (None, FORMAT):
        raise UnreadableRun(
            f"{path}: has format {head.format}, of another version of Overton ({head.overton}); this version reads"
            f" format {FORMAT}"
        )
    if head.dataset not in (0, DATASET_FORMAT):
        what = f"its dataset has format {head.dataset}"
        raise UnreadableRun(
            f"{path}: {what}, of another version of Overton ({head.overton}); this version reads format"
            f" {DATASET_FORMAT}"
        )
    return head


def _check_links(run: Path) -> None:
    """Refuse a folder that contains links. A link would let the folder's maker choose other files that are read or
    written.

    Raises:
        RunError: the folder contains a link.
    """
    try:
        no_links(run)
    except Unreadable as error:
        raise UnreadableRun(f"{error}; a run folder may contain only its own files") from None


def _read_file(path: Path) -> bytes:
    try:
        return read_bytes(path, _MAX_BYTES[path.name])
    except FileNotFoundError:
        if path.name == FILE:
            raise UnreadableRun(f"{path.parent} is not a run folder: it has no {FILE}") from None
        raise UnreadableRun(f"{path} cannot be read: it does not exist") from None
    except OSError as error:
        raise _unreadable_error(path, "", reason_of(error)) from error
    except Unreadable as error:
        raise UnreadableRun(str(error)) from None


def _decode_content(path: Path, text: bytes, decode: Callable[[bytes | str], Part], where: str = "") -> Part:
    try:
        return decode_json(text, decode)
    except Unreadable as error:
        raise _unreadable_error(path, where, error.reason) from None


def _unreadable_error(path: Path, where: str, reason: str) -> UnreadableRun:
    """The error for an unreadable file, with the key if it is known."""
    reason, _, key = reason.partition(" - at `$")
    key = f"{where}{key.removesuffix('`').removeprefix('.')}".rstrip("., ")
    return UnreadableRun(str(Problem(str(path), key, f"cannot be read: {reason}")))


def _find_impossible_values(manifest: Manifest) -> Iterator[tuple[str, str]]:
    """Find the keys whose values are impossible in a run, and the reasons."""
    try:
        datetime.fromisoformat(manifest.created)
    except ValueError:
        yield "created", "is not a date"
    spent = manifest.spent
    if not all(
        0 <= number < _IMPOSSIBLE_AMOUNT for number in (spent.requests, spent.cost, spent.failed, spent.outcomes)
    ):
        yield "spent", "contains an impossible number"
    for role, models in manifest.models.items():
        for number, model in enumerate(models):
            if model.price and not model.price.sound:
                yield f"models.{role}[{number}].price", "is not a possible price"


def write_manifest(run: Path, manifest: Manifest) -> None:
    """Write the manifest, as a whole or not at all.

    Raises:
        RunError: it cannot be written.
    """
    write_atomic(run / FILE, [msgspec.json.format(msgspec.json.encode(manifest), indent=2)])


def create_folder(
    path: Path,
    manifest: Manifest,
    items: Iterable[msgspec.Struct],
    texts: Mapping[str, str] | None = None,
    files: Mapping[str, str] | None = None,
) -> None:
    """Make a new run folder. `texts` replace the study's own texts, and `files` has further files by name.

    Raises:
        RunExists: something already exists there.
        RunError: it cannot be made.
    """
    with new_folder(path) as fresh:
        write_items(fresh, items)
        write_texts(fresh, texts or {})
        for name, text in (files or {}).items():
            write_atomic(fresh / name, [text.encode()])
        write_manifest(fresh, manifest)


def check_formats(run: Path) -> None:
    """Refuse a run or a dataset of another format. A manifest without a format passes this check.

    Raises:
        RunError: it has another format, or there is no readable manifest.
    """
    if _check_formats(run / FILE, _read_file(run / FILE)).format is not None:
        _check_links(run)


def read_manifest(run: Path) -> Manifest:
    """The manifest of a run.

    Raises:
        RunError: there is no manifest, this version cannot read it (the message names the key), or the folder contains
            a link.
    """
    _check_links(run)
    text = _read_file(path := run / FILE)
    _check_formats(path, text)
    manifest = _decode_content(path, text, _decode_manifest)
    for key, reason in _find_impossible_values(manifest):
        raise UnreadableRun(str(Problem(str(path), key, reason)))
    return manifest


def options_that_fit(run: Path, study: AnyStudy, manifest: Manifest) -> Any:
    """Read the study's options from a manifest. Refuse a manifest that no run of the study can have.

    Raises:
        RunError: a role has too few or too many models or services. Or the options are invalid, or contradict the
            models.
    """
    place = str(run / FILE)
    for role in study.role_names:
        given = manifest.models.get(role, [])
        if not given and role not in study.optional:
            raise UnreadableRun(str(Problem(place, f"models.{role}", f"is missing, though {study.name} needs it")))
        if len(given) > 1 and role not in (study.first, study.several):
            reason = "names several; only one serves the whole run"
            raise UnreadableRun(str(Problem(place, f"models.{role}", reason)))
    options = read_options(run, study, manifest.options)
    if following := [field.name for field in fields_of(study.options) if field.option.follows]:
        follow = read_options(run, study, study.options.complete(dict(manifest.options), manifest.names))
        for name in following:
            if getattr(options, name) != getattr(follow, name):
                raise UnreadableRun(str(Problem(place, f"options.{name}", "does not follow from its models")))
    for problem in options.problems():
        raise UnreadableRun(str(Problem(place, "options", str(problem))))
    return options


def read_options(run: Path, study: AnyStudy, given: dict[str, Any]) -> Any:
    """The study's options, from the plain values in the manifest of a run.

    Raises:
        RunError: the values are not valid options, or out of range. The message names them.
    """
    path = run / FILE
    try:
        found = converted(stored_options(study.options, given), study.options)
        check_stored(study.options, {name: value for name, value in given.items() if value not in (None, [], ())})
    except Unreadable as error:
        raise _unreadable_error(path, "options.", error.reason) from None
    except InputError as error:
        raise UnreadableRun(str(Problem(str(path), "options", "; ".join(map(str, error.problems))))) from None
    return found


def write_texts(run: Path, texts: Mapping[str, str]) -> None:
    """Write the texts that replace a study's own. Write no file if there are none.

    Raises:
        RunError: they cannot be written.
    """
    if texts:
        write_atomic(run / PROMPTS, [msgspec.json.format(msgspec.json.encode(texts, order="sorted"), indent=1)])


def study_with_texts(run: Path, study: AnyStudy, manifest: Manifest) -> AnyStudy:
    """The study with a run's texts in place of its own.

    A text that the study does not have in this version of Overton is left out with a warning. The run can then be read,
    but not resumed.

    Raises:
        RunError: the file is missing or damaged, or its texts are not those that the manifest names.
    """
    if not manifest.replaced:
        return study
    path = run / PROMPTS
    texts: dict[str, str] = _decode_content(path, _read_file(path), _decode_texts)
    if strange := sorted(texts.keys() ^ {*manifest.replaced}):
        raise UnreadableRun(str(Problem(str(path), strange[0], f"must be both here and in 'replaced' of {FILE}")))
    unfit = {problem.key: problem.reason for problem in problems_with(study, own_texts(study.prompts), texts)}
    for name, reason in unfit.items():
        text = f"{path}: {visible_line(name)}"
        said = f"{text}: Overton shows its own text instead, and cannot resume the run. The text {reason}"
        warnings.warn(said, Notice, stacklevel=2)
    return study if "" in unfit else with_texts(study, {name: texts[name] for name in texts if name not in unfit})


def stored_items(run: Path, item: type[msgspec.Struct]) -> Sequence[Any]:
    """The items that a run asks about.

    Raises:
        RunError: the file is missing or damaged.
    """
    path, decode = run / ITEMS, msgspec.json.Decoder(item).decode
    return [
        _decode_content(path, line, decode, f"line {number}, ")
        for number, line in enumerate(_read_file(path).splitlines(), 1)
        if line.strip()
    ]


def write_items(run: Path, items: Iterable[msgspec.Struct]) -> None:
    """Write the items that a run asks about.

    Raises:
        RunError: it cannot be written.
    """
    write_objects(items, run / ITEMS, replace=True)


def stored_records(run: Path) -> pl.DataFrame:
    """The outcome table of a run, complete items only.

    Raises:
        RunError: the run has no records yet, or they have another format or are damaged.
    """
    path = run / RECORDS
    if not path.is_file():
        raise UnreadableRun(f"{run} has no records yet; resume the run: {command('resume', run)}")
    try:
        return read_table(path)
    except InputError as error:
        raise UnreadableRun(f"{error}; to write it again: {command('resume', run)}") from error


def rows_of(run: Path, kind: type[msgspec.Struct], records: pl.DataFrame) -> list[Any]:
    """The outcome table of a run as records of the study's own `kind`.

    Columns that are not fields of a record (such as the model's name) are left out. Fields that were added to the study
    after the run was made get their defaults.

    Raises:
        RunError: the table does not contain such records.
    """
    given = [name for name in kind.__struct_fields__ if name in records.columns]
    try:
        return [converted(row, kind, strict=False) for row in records.select(given).iter_rows(named=True)]
    except Unreadable as error:
        reason = f"does not contain the records of its study: {error.reason}"
        raise UnreadableRun(f"{run / RECORDS} {reason}") from error


def lane_names(study: AnyStudy, manifest: Manifest) -> list[str]:
    """The name of each pipeline: its model's name, or the study's name if models interact. For all judges except the
    first, the judge's name follows."""
    names = [study.name] if study.together else [entry.name for entry in manifest.models[study.first]]
    more = manifest.models.get(study.several, [])[1:]
    return [*names, *(f"{name}, judged by {judge.name}" for judge in more for name in names)]


def file_digest(path: Path) -> str:
    """A digest of a file.

    Raises:
        OSError: it is missing or cannot be read.
    """
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: blake2b(digest_size=16)).hexdigest()
