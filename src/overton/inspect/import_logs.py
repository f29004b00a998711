"""The import of Inspect logs as a run.

Logs may come from anyone, so only the parts needed for a run are read, and all of them are checked. Inspect's own
reader is not used, because it loads the whole log.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from overton.calls import Failure, Reply, Usage
from overton.engine import Journal, digest
from overton.engine.identity import CallKey, Identity
from overton.engine.journal_file import JournalEntry
from overton.errors import InputError, OvertonError, Problem, RunError, RunMismatch, Unreadable, quoted, reason_of
from overton.files.atomic import new_folder
from overton.inspect.compat import HEADER, START, member_of
from overton.inspect.log_format import CALLS, FORMAT, KEY, CallData, SampleData, TaskData
from overton.runs.event_loop import run_to_end
from overton.runs.experiment import Experiment
from overton.runs.folder import FILE, Manifest, write_items, write_texts
from overton.runs.replay import recall_records
from overton.runs.run import Run, repeat_in_file
from overton.studies.null_conditions import prompts_changed
from overton.studies.paper import published_values
from overton.studies.study import AnyStudy
from overton.studies.text_replacement import with_texts
from overton.untrusted import Limit, Zip, converted, decode_json, read_bytes

_MAX_LOG_BYTES = 200_000_000
"""The most bytes of a JSON log. Archives have no limit as a whole, only their members."""

_MEMBER_LIMIT = Limit(100_000_000)
"""The most bytes of an archive's member, decompressed. One of Overton's samples takes a few hundred kilobytes."""

_STRING_OR_NAN = re.compile(rb'"(?:[^"\\]++|\\.)*+"|\\.|(?P<nan>-?(?:NaN|Infinity))', re.DOTALL)
"""Strings are matched as a whole, so that the words 'NaN' and 'Infinity' in strings stay. Escapes outside strings are
matched, so that no byte is read twice."""

T = TypeVar("T")


class _Dataset(msgspec.Struct):
    sample_ids: list[str | int] | None = None


class _EvalConfig(msgspec.Struct):
    epochs: int | None = None


class _EvalSpec(msgspec.Struct):
    task: str
    created: str
    dataset: _Dataset
    config: _EvalConfig
    metadata: dict[str, Any] | None = None


class _LogHead(msgspec.Struct):
    """The parts of a log's head that Overton reads. All other parts are only for display."""

    eval: _EvalSpec


class _Sample(msgspec.Struct):
    """The parts of a sample that Overton reads."""

    id: str | int
    epoch: int
    metadata: dict[str, Any] = {}
    store: dict[str, Any] = {}
    scores: dict[str, Any] | None = None
    error: Any = None
    invalidation: Any = None


class _LogSamples(msgspec.Struct):
    """The samples of a log that is a single JSON document."""

    samples: list[_Sample] | None = None


_decode_head = msgspec.json.Decoder(_LogHead).decode
_decode_sample = msgspec.json.Decoder(_Sample).decode
_decode_samples = msgspec.json.Decoder(_LogSamples).decode


@dataclass(frozen=True)
class LoggedSample:
    """A sample of a log: its item and condition, the calls that it made, and whether it finished (`whole`)."""

    id: str
    data: SampleData
    calls: Sequence[CallData]
    whole: bool


@dataclass(frozen=True)
class Log:
    """A log's header: its task, and the ids of the planned samples, in plan order."""

    path: Path
    task: TaskData
    created: str
    planned: tuple[str, ...]
    epochs: int

    def samples(self) -> Iterator[LoggedSample]:
        """The samples of the first epoch, in plan order. Invalidated samples are left out.

        Raises:
            InputError: a sample is damaged, or not from an Overton task.
        """
        with _report_as_input_errors(self.path):
            for sample in _read_samples(self.path, self.planned):
                if sample.invalidation is None:
                    yield self._read_sample(sample)

    def _read_sample(self, sample: _Sample) -> LoggedSample:
        where = f"sample {sample.id}"
        data = self._convert(sample.metadata.get(KEY), SampleData, where)
        calls = self._convert(sample.store.get(CALLS, []), list[CallData], where)
        return LoggedSample(str(sample.id), data, calls, whole=sample.error is None and bool(sample.scores))

    def _convert(self, value: Any, kind: type[T], where: str) -> T:
        try:
            return converted(value, kind)
        except Unreadable as error:
            reason = f"is damaged or not a sample of Overton's: {error.reason}"
            raise InputError([Problem(str(self.path), where, reason)]) from None


def open_log(path: Path) -> Log:
    """Read a log's head.

    Raises:
        InputError: the file is not a log of an Overton task, or was made by a newer version of Overton.
    """
    with _report_as_input_errors(path):
        spec = _read_head(path).eval
    data = (spec.metadata or {}).get(KEY)
    if not isinstance(data, dict):
        reason = (
            f"is a log of the task {quoted(spec.task)}, which is not one of Overton's, so it does not record the"
            " questions"
        )
        raise InputError([Problem(str(path), "", reason)])
    if data.get("format") != FORMAT:
        made, by = quoted(data.get("format")), quoted(data.get("overton"))
        raise InputError([Problem(str(path), "", f"has format {made} of Overton {by}; this version reads {FORMAT}")])
    try:
        task, created = converted(data, TaskData), _to_utc(spec.created)
    except (Unreadable, ValueError, OverflowError) as error:
        raise InputError([Problem(str(path), KEY, f"its metadata is damaged: {error}")]) from None
    planned = tuple(map(str, spec.dataset.sample_ids or ()))
    return Log(path, task, created, planned, spec.config.epochs or 1)


def _to_utc(text: str) -> str:
    """A time in ISO 8601, converted to UTC. A time without a zone is taken to be UTC."""
    time = datetime.fromisoformat(text)
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).astimezone(UTC).isoformat()


def _read_head(path: Path) -> _LogHead:
    if not path.is_file():
        raise InputError([Problem(str(path), "", "there is no such file")])
    if path.suffix == ".json":
        return _decode_content(read_bytes(path.resolve(), _MAX_LOG_BYTES), _decode_head)
    with Zip(path, _MEMBER_LIMIT) as archive:
        for name in (HEADER, START):  # an unfinished log has only START, which is written first
            if (content := archive.read(name)) is not None:
                return _decode_member(name, content, _decode_head)
    raise Unreadable(f"contains no {HEADER}")


def _read_samples(path: Path, planned: Sequence[str]) -> Iterator[_Sample]:
    """The samples of the first epoch. A JSON log is read as a whole, an .eval log one sample at a time."""
    if path.suffix == ".json":
        found = _decode_content(read_bytes(path.resolve(), _MAX_LOG_BYTES), _decode_samples).samples or ()
        by_id = {str(sample.id): sample for sample in found if sample.epoch == 1}
        yield from (by_id[name] for name in planned if name in by_id)
        return
    with Zip(path, _MEMBER_LIMIT) as archive:
        for name in planned:
            member = member_of(name, 1)
            if (content := archive.read(member)) is None:
                continue
            sample = _decode_member(member, content, _decode_sample)
            if (str(sample.id), sample.epoch) != (name, 1):
                raise Unreadable("contains another sample than its name says", place=member)
            yield sample


def _decode_member(name: str, content: bytes, decode: Callable[[Any], T]) -> T:
    try:
        return _decode_content(content, decode)
    except Unreadable as error:
        raise Unreadable(error.reason, place=name) from None


def _decode_content(content: bytes, decode: Callable[[Any], T]) -> T:
    """Decode JSON as Inspect writes it. 'NaN' and 'Infinity' may occur in parts that Overton does not read."""
    try:
        return decode_json(content, decode)
    except Unreadable:
        if b"NaN" not in content and b"Infinity" not in content:
            raise
        return decode_json(_replace_nan(content), decode)


def _replace_nan(content: bytes) -> bytes:
    """The JSON with null in place of 'NaN' and 'Infinity'. Python's own reader accepts these words, but needs thirty
    times the memory."""
    made, done = bytearray(), 0
    for found in _STRING_OR_NAN.finditer(content):
        if found["nan"]:
            made += content[done : found.start()] + b"null"
            done = found.end()
    return bytes(made + content[done:])


@contextmanager
def _report_as_input_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except Unreadable as error:
        where = "" if error.place == str(path.resolve()) else error.place
        raise InputError([Problem(str(path), where, f"cannot be read as an Inspect log: {error.reason}")]) from None
    except OSError as error:
        reason = f"cannot be read as an Inspect log: {reason_of(error)}"
        raise InputError([Problem(str(path), "", reason)]) from error


_IMPOSSIBLE_COUNT = 1 << 40
"""A number that no count of calls or of tokens reaches."""
_CALLS_PER_APPEND = 2_000
"""The number of calls passed to the journal at a time. Between two appends, logs are read outside any event loop,
because Inspect runs its own event loop."""


def study_of(log: Log, study: AnyStudy) -> AnyStudy:
    """The study, with its texts replaced as in a log's task.

    Raises:
        InputError: a text cannot be replaced by the log's text; the message names the log and the text.
    """
    try:
        return with_texts(study, log.task.replaced or {})
    except InputError as error:
        raise error.placed(lambda _: str(log.path)) from None


def check_same_run(logs: Sequence[Log], study: AnyStudy) -> None:
    """Refuse logs if they are not from one run, or if this version of Overton would make other calls.

    Raises:
        InputError: the logs differ (the message lists the differences), or two logs measured the same model.
        RunMismatch: prompts have changed since the logs were made.
    """
    first, *others = logs
    problems = [
        Problem(str(log.path), what, f"differs from that of {first.path}")
        for log in others
        for what in _differences(first, log, study)
    ]
    if others and study.together:
        problems.append(Problem(str(others[0].path), "", f"each log of {study.name} is a separate run: import one"))
    problems += [problem for log in logs for problem in _find_missing_roles(log, study)]
    problems = problems or list(_find_repeated_models(logs, study.first))
    if problems:
        raise InputError(problems)
    _check_prompts(first, study)


def make_run(logs: Sequence[Log], study: AnyStudy, out: Path) -> Run:
    """Make a run folder from logs that are pipelines of one run.

    Samples that the logs lack, because they were not run, failed or were invalidated, are also missing in the run. Such
    a run is 'stopped', names the incomplete items, and can be resumed. If the import fails, the folder is removed.

    Raises:
        RunExists: `out` already exists.
        InputError: a log is damaged, or logs use one name for different items.
        RunMismatch: a log's calls differ from those that the study makes.
    """
    with new_folder(out) as fresh:
        run = Run(fresh, _make_manifest(logs, study), study=study)
        _fill_folder(logs, run)
        repeat_in_file(run)
    return Run(out, run.manifest, experiment=run.experiment)


def _fill_folder(logs: Sequence[Log], run: Run) -> None:
    manifest, options = run.manifest, _options_that_fit(run, logs[0])
    gathered = MergedSamples(run.study)
    with closing(Journal(run.journal_file)) as journal:
        entries = (entry for log in logs for sample in log.samples() for entry in gathered.add(log, sample))
        while some := list(islice(entries, _CALLS_PER_APPEND)):
            run_to_end(_append(journal, some))
    items = list(gathered.items.values())
    write_items(run.path, items)
    write_texts(run.path, run.study.replaced)
    run.experiment = Experiment(run.study, items, options, manifest.seed)
    manifest.items = run.experiment.items_digest
    manifest.left_out = "; ".join(filter(None, [manifest.left_out, *_describe_left_out(logs, gathered)]))
    _replay_records(run, gathered.lacking, ", ".join(str(log.path) for log in logs))


def _options_that_fit(run: Run, log: Log) -> Any:
    try:
        return run.options
    except RunError as error:
        reason = str(error).removeprefix(f"{run.path / FILE}: ")
        raise InputError([Problem(str(log.path), "", f"is damaged: {reason}")]) from None


async def _append(journal: Journal, entries: Sequence[JournalEntry]) -> None:
    for entry in entries:
        await journal.append(entry)


def _replay_records(run: Run, lacking: str, named: str) -> None:
    try:
        recall_records(run, lacking=lacking)
    except RunMismatch as error:
        reason = str(error).removeprefix(f"{run.path}: ")
        raise RunMismatch([Problem(named, "", f"does not contain the calls of {run.study.name}. {reason}")]) from error
    except OvertonError:
        raise
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        raise InputError([Problem(named, "", f"its items or options cannot be used: {error!r}")]) from error


def _make_manifest(logs: Sequence[Log], study: AnyStudy) -> Manifest:
    """The run's manifest, without the fields that depend on its items and records."""
    task = logs[0].task
    first = study.first
    models = {role: list(task.models.get(role, [])) for role in study.role_names}
    models[first] = [entry for log in logs for entry in log.task.models[first]]
    return Manifest(
        study=task.study,
        seed=task.seed,
        options=task.options,
        models=models,
        items="",
        prompts=task.prompts,
        created=logs[0].created,
        overton=task.overton,
        sessions=1,
        left_out=task.left_out,
        as_published=published_values(study.published, task.options) or msgspec.UNSET,
        replaced=list(study.replaced) or msgspec.UNSET,
    )


def _describe_left_out(logs: Sequence[Log], gathered: MergedSamples) -> Iterator[str]:
    """Descriptions of parts of logs that cannot be imported: items without a sample, and epochs after the first."""
    if not gathered.covers(logs[0].planned):
        yield "items without a sample in the logs"
    if any(log.epochs > 1 for log in logs):
        yield "epochs after the first, which repeat the same calls (trials=N repeats a trial)"


def _differences(log: Log, other: Log, study: AnyStudy) -> Iterator[str]:
    """Differences between two logs in properties that all pipelines of a run have in common."""
    for what in ("study", "seed", "options", "prompts", "left_out", "replaced"):
        if getattr(log.task, what) != getattr(other.task, what):
            yield what
    yield from (role for role in study.role_names[1:] if log.task.models.get(role) != other.task.models.get(role))
    if set(log.planned) != set(other.planned):
        sample = min(set(log.planned) ^ set(other.planned))
        yield f"the set of samples ({sample} is in only one of them)"


def _find_missing_roles(log: Log, study: AnyStudy) -> Iterator[Problem]:
    """Problems with roles that the study needs but for which the log names no model."""
    for role in study.role_names:
        if role not in study.optional and not log.task.models.get(role):
            yield Problem(str(log.path), role, f"is damaged: it names no model for the role {role}")


def _find_repeated_models(logs: Sequence[Log], first: str) -> Iterator[Problem]:
    seen: dict[str, Path] = {}
    named: dict[str, Path] = {}
    for log in logs:
        for entry in log.task.models[first]:
            earlier = seen.setdefault(entry.identity, log.path)
            namesake = named.setdefault(entry.name, log.path)
            if earlier == log.path != namesake:
                reason = (
                    f"is another model's name in {namesake}: names in a run are unique, so import only one of the two"
                    " logs"
                )
                yield Problem(str(log.path), entry.name, reason)
            if earlier != log.path:
                yield Problem(
                    str(log.path), entry.name, f"is already measured in {earlier}: import only one of the two logs"
                )


def _check_prompts(log: Log, study: AnyStudy) -> None:
    now = {name: digest(text) for name, text in study.prompts().items()}
    changed = prompts_changed(log.task.prompts, now)
    if changed:
        problems = [Problem(str(log.path), f"prompt {name}", "differs from the one used") for name in changed]
        raise RunMismatch([*problems, Problem(str(log.path), "", f"import it with overton {log.task.overton}")])


@dataclass
class MergedSamples:
    """The samples of several logs combined.

    Each item and each call occurs once. Items are in the order of their first samples.

    `samples` has the ids of all samples read, and `unfinished` counts the samples that did not finish. A run makes a
    shared call only once, but samples can have different answers to this call after an `eval-retry` without a cache.
    `contradicting` counts the samples whose answer differs from that of an earlier sample. The calls of these samples
    are left out.
    """

    study: AnyStudy
    items: dict[str, Any] = field(default_factory=dict)
    samples: set[str] = field(default_factory=set)
    unfinished: int = 0
    contradicting: int = 0
    _own_slots: set[bytes] = field(default_factory=set)
    _shared_outcomes: dict[bytes, tuple[str, Path]] = field(default_factory=dict)

    def add(self, log: Log, sample: LoggedSample) -> list[JournalEntry]:
        """The rows that a sample adds to the journal.

        Raises:
            InputError: an earlier sample has a different item of the same name, a call is damaged, or two logs have
                different answers to a shared call.
        """
        self._add_item(log, sample)
        self.samples.add(sample.id)
        self.unfinished += not sample.whole
        entries = [_journal_entry(log, sample, call) for call in sample.calls]
        if not all(self._agrees(log, sample, entry) for entry in entries):
            self.contradicting += 1
            return []
        return [entry for entry in entries if self._is_new(log, entry)]

    @property
    def lacking(self) -> str:
        """The reasons why a run of these samples may be incomplete."""
        reasons = [f"{self.unfinished} of the samples did not finish"] if self.unfinished else []
        if self.contradicting:
            reasons.append(f"{self.contradicting} got a different answer to a call that all samples share")
        return "; ".join(reasons or ["the logs do not contain all samples"])

    def covers(self, planned: Iterable[str]) -> bool:
        """Whether every planned sample belongs to a known item. A sample's id is ITEM/CONDITION."""
        known = tuple(f"{item}/" for item in self.items)
        return all(name in self.samples or name.startswith(known) for name in planned)

    def _add_item(self, log: Log, sample: LoggedSample) -> None:
        try:
            item = converted(sample.data.item, self.study.items.kind)
        except Unreadable as error:
            reason = f"its item is damaged: {error.reason}"
            raise InputError([Problem(str(log.path), f"sample {sample.id}", reason)]) from None
        name = getattr(item, "id", "")
        if self.items.setdefault(name, item) != item:
            reason = f"its item {name} differs from that of an earlier sample"
            raise InputError([Problem(str(log.path), f"sample {sample.id}", reason)])

    def _agrees(self, log: Log, sample: LoggedSample, entry: JournalEntry) -> bool:
        """Whether a call's outcome agrees with the known outcome of the same shared call. True if the call is not
        shared or its outcome is not known yet."""
        if entry.place.trial or entry.identity.slot not in self._shared_outcomes:
            return True
        said, where = self._shared_outcomes[entry.identity.slot]
        if said != _outcome_text(entry.outcome) and where != log.path:
            reason = (
                f"{entry.place.speaker} got the same shared prompt as in {where} but answered differently, so the two"
                " logs cannot be one run. Import each log alone; 'overton report RUN RUN' compares the runs"
            )
            raise InputError([Problem(str(log.path), f"sample {sample.id}", reason)])
        return said == _outcome_text(entry.outcome)

    def _is_new(self, log: Log, entry: JournalEntry) -> bool:
        slot = entry.identity.slot
        if slot in self._own_slots or slot in self._shared_outcomes:
            return False
        if entry.place.trial:
            self._own_slots.add(slot)
        else:
            self._shared_outcomes[slot] = (_outcome_text(entry.outcome), log.path)
        return True


def _outcome_text(outcome: Reply | Failure) -> str:
    """The text of an outcome. Only this part of an outcome can be quoted in other calls."""
    return outcome.text if isinstance(outcome, Reply) else f"{outcome.kind}: {outcome.message}"


def _journal_entry(log: Log, sample: LoggedSample, call: CallData) -> JournalEntry:
    outcome = call.reply or call.failure
    try:
        identity = Identity(bytes.fromhex(call.slot), bytes.fromhex(call.content))
    except ValueError:
        outcome = None
    if outcome is None or not _is_storable(call):
        where = f"sample {sample.id}"
        reason = f"ask {call.number} of {call.speaker} in {call.trial or 'all trials'} is damaged"
        raise InputError([Problem(str(log.path), where, reason)])
    return JournalEntry(identity, CallKey(call.trial, call.speaker, call.number, call.answerer), outcome)


def _is_storable(call: CallData) -> bool:
    """Whether a call's numbers can be stored in a journal and a table."""
    usage = call.reply.usage if call.reply else Usage()
    return all(
        0 <= (number or 0) < _IMPOSSIBLE_COUNT for number in (call.number, usage.input_tokens, usage.output_tokens)
    )
