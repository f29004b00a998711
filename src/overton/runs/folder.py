"""The files of a run's folder, read as values and written: its manifest, items and records."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import msgspec

from overton.calls import Price, Settings
from overton.engine import Limits, Spending
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

    `name` is the key by which records, tables and messages refer to it: the user's name for it, otherwise its spec as
    published. `spec` may contain a path of this machine, without which the run could not be resumed; it is in the
    manifest only. `identity` makes its calls the same as other calls. `unsure` says that the temperature among its
    settings is a default that its endpoint is not yet known to accept; `not_sent` names the settings that the study
    wanted and the endpoint refused, which are then not among them. `batched` says that its calls are sent in
    batches.
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
    """The use of a run in all its sessions: requests sent (retries included) and dollars.

    `cost` counts the worst case for requests whose bill is unknown; it is 0 for models without a price. After a kill
    both are upper bounds, at most a block above what was sent. `failed` is how many calls have a failure as their last
    outcome; `outcomes` is the journal's number of rows, and `last` the checksum of the last of them, by which a
    truncated or replaced journal is detected.
    """

    requests: int = 0
    cost: float = 0.0
    failed: int = 0
    outcomes: int = 0
    last: int = 0


class UnwritableRecords(msgspec.Struct, frozen=True):
    """How many trials of a lane have records that no table can store; `trials` names the first, with reasons."""

    count: int = 0
    trials: list[str] = []


class Shard(msgspec.Struct, frozen=True):
    """Part `number` of `of` of a run: the trials of these `items`, out of all the run's.

    `split` is a word that the shards of one split share, and no others; `plan` a digest of the whole run. `limits` are
    the whole run's. `requests` and `cost` are those of the calls answered before the run was split, and `outcomes` and
    `archive` the resulting rows of its journal and bytes of its archive: every shard has these.
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
    """Digests of everything that a finished run follows from, and of what it left: if all are the same, nothing is left
    to do.

    `plan` is that of the manifest's keys that say what is asked, and `prompts` that of the texts as installed. `source`
    is that of the code that conducts trials and makes records. The others are those of files; `dataset` is '' if the
    run made none.
    """

    plan: str
    prompts: str
    source: str
    items: str
    journal: str
    records: str
    dataset: str = ""


def items_of_shard(shard: Shard | None) -> frozenset[str] | None:
    """The items whose trials a run conducts, None for all."""
    return None if shard is None else frozenset(shard.items)


class Manifest(msgspec.Struct, omit_defaults=False):
    """`manifest.json` of a run.

    `models` maps each role to its models; each model of the study's first role is a lane of its own. `prompts` and
    `items` are digests. `status` is 'running' (or killed), 'finished', or 'stopped' with the reason in `stopped`, and
    in `reached` the limit that stopped it. `notes` are remarks on models (their bills, say), by name. `missing` names,
    for each lane, the items left out of the records because they are incomplete; `unmade` says, for each lane with
    any, of which trials records could not be made. `dataset` is the format of the items that the run made, 0 if it
    made none. `out` is how many calls are in batches still out when the last session ended. `shard` says which part of
    a run it is; `precision` what it stops at, and `precise` the last decision on each lane. `batch_refused` says that a
    provider refused a batch, which is created again only on request. `digests` are those of a run that has finished.
    `as_published` is what the flag of that name stood for when the run started; it is absent without the flag.
    `replaced` names the texts of its own that the run asked with in place of the study's; it is absent if there are
    none, and their words are in `prompts.json`.
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

    @property
    def names(self) -> dict[str, list[str]]:
        """The names of everything that answers, by role."""
        return {role: [entry.name for entry in entries] for role, entries in self.models.items()}


Part = TypeVar("Part")

DATASET_FORMAT = 1
"""The format of the items that a run makes: each study's items as JSON lines."""
FILE = "manifest.json"
ITEMS = "items.jsonl"
JOURNAL = "journal.db"
RECORDS = "records.parquet"
PROMPTS = "prompts.json"
"""The file with the texts that a run asks with in place of its study's own; only such a run has it."""

_MAX_BYTES = {FILE: 2**28, ITEMS: 2**31, PROMPTS: 2**25}
"""The most bytes of a file that is read whole."""
_IMPOSSIBLE_AMOUNT = 2**53
"""More than any run reaches, in calls or dollars."""


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
            f"{path}: has format {head.format}, of another version of Overton ({head.overton}); this one reads {FORMAT}"
        )
    if head.dataset not in (0, DATASET_FORMAT):
        what = f"its dataset has format {head.dataset}"
        raise UnreadableRun(
            f"{path}: {what}, of another version of Overton ({head.overton}); this one reads {DATASET_FORMAT}"
        )
    return head


def _check_links(run: Path) -> None:
    """Refuse a folder that contains links: its maker must not choose what else is read or written.

    Raises:
        RunError: it contains one.
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
    """The keys with values that are impossible in a run, and why."""
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
    """Write the manifest, entirely or not at all.

    Raises:
        RunError: it cannot be written.
    """
    write_atomic(run / FILE, [msgspec.json.format(msgspec.json.encode(manifest), indent=2)])


def create_folder(
    path: Path, manifest: Manifest, items: Iterable[msgspec.Struct], texts: Mapping[str, str] | None = None
) -> None:
    """Make a new run folder; `texts` are those that replace the study's own.

    Raises:
        RunExists: something already exists there.
        RunError: it cannot be made.
    """
    with new_folder(path) as fresh:
        write_items(fresh, items)
        write_texts(fresh, texts or {})
        write_manifest(fresh, manifest)


def check_formats(run: Path) -> None:
    """Refuse a run or a dataset of another format; a manifest that is not ours names no format and passes.

    Raises:
        RunError: it has another format, or there is no readable manifest.
    """
    if _check_formats(run / FILE, _read_file(run / FILE)).format is not None:
        _check_links(run)


def read_manifest(run: Path) -> Manifest:
    """The manifest of a run.

    Raises:
        RunError: there is no manifest, or this version cannot read it; names the key. Something in
            the folder is a link.
    """
    _check_links(run)
    text = _read_file(path := run / FILE)
    _check_formats(path, text)
    manifest = _decode_content(path, text, _decode_manifest)
    for key, reason in _find_impossible_values(manifest):
        raise UnreadableRun(str(Problem(str(path), key, reason)))
    return manifest


def options_that_fit(run: Path, study: AnyStudy, manifest: Manifest) -> Any:
    """The study's options in a manifest, which is refused if no run of the study can have it.

    Raises:
        RunError: a role has no answerer, or several where one is allowed; its options are not the study's, or do
            not follow from its answerers.
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
        RunError: they are not valid options, or out of range; says which.
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
    """Write the texts that replace a study's own, if there are any.

    Raises:
        RunError: they cannot be written.
    """
    if texts:
        write_atomic(run / PROMPTS, [msgspec.json.format(msgspec.json.encode(texts, order="sorted"), indent=1)])


def study_with_texts(run: Path, study: AnyStudy, manifest: Manifest) -> AnyStudy:
    """The study with the texts that a run asks with in place of its own.

    A text that this version has no place for is left out, with a warning: the run can be read, but not resumed.

    Raises:
        RunError: the file is missing or damaged, or has other texts than the manifest names.
    """
    if not manifest.replaced:
        return study
    path = run / PROMPTS
    texts: dict[str, str] = _decode_content(path, _read_file(path), _decode_texts)
    if strange := sorted(texts.keys() ^ {*manifest.replaced}):
        raise UnreadableRun(str(Problem(str(path), strange[0], f"is not both in it and in 'replaced' of {FILE}")))
    unfit = {problem.key: problem.reason for problem in problems_with(study, own_texts(study.prompts), texts)}
    for name, reason in unfit.items():
        said = f"{path}: {visible_line(name)}: Overton shows its own text, and cannot resume the run. It {reason}"
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

    Columns beyond a record's own (the model's name, say) are left out; fields added after the run was made have
    their defaults.

    Raises:
        RunError: it does not contain such records.
    """
    given = [name for name in kind.__struct_fields__ if name in records.columns]
    try:
        return [converted(row, kind, strict=False) for row in records.select(given).iter_rows(named=True)]
    except Unreadable as error:
        reason = f"does not contain the records of its study: {error.reason}"
        raise UnreadableRun(f"{run / RECORDS} {reason}") from error


def lane_names(study: AnyStudy, manifest: Manifest) -> list[str]:
    """Each lane's name: its model's name, or the study's if models meet; followed by the judge's if that is not the
    first of several."""
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
