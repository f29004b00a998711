"""Logs of Inspect's as a run.

Logs may come from anyone. Only what a run consists of is taken from them, and none of it is trusted: Inspect's own
reader, which loads everything, is not used.
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
from overton.runs.run import Run
from overton.studies.null_conditions import prompts_changed
from overton.studies.paper import published_values
from overton.studies.study import AnyStudy
from overton.studies.text_replacement import with_texts
from overton.untrusted import Limit, Zip, converted, decode_json, read_bytes

_MAX_LOG_BYTES = 200_000_000
"""The most bytes of a JSON log; in an archive only members have a limit."""

_MEMBER_LIMIT = Limit(100_000_000)
"""The most bytes of an archive's member, decompressed. A sample of ours takes a few hundred kilobytes."""

_STRING_OR_NAN = re.compile(rb'"(?:[^"\\]++|\\.)*+"|\\.|(?P<nan>-?(?:NaN|Infinity))', re.DOTALL)
"""Strings are matched so that the words in them stay; an escape outside of one, so that no byte is matched twice."""

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
    """The part of a log's head that is read; the rest is only for display."""

    eval: _EvalSpec


class _Sample(msgspec.Struct):
    """The part of a sample that is read."""

    id: str | int
    epoch: int
    metadata: dict[str, Any] = {}
    store: dict[str, Any] = {}
    scores: dict[str, Any] | None = None
    error: Any = None
    invalidation: Any = None


class _LogSamples(msgspec.Struct):
    """The samples of a log that is one JSON document."""

    samples: list[_Sample] | None = None


_decode_head = msgspec.json.Decoder(_LogHead).decode
_decode_sample = msgspec.json.Decoder(_Sample).decode
_decode_samples = msgspec.json.Decoder(_LogSamples).decode


@dataclass(frozen=True)
class LoggedSample:
    """A sample: what it asks, the calls it made, and whether it finished."""

    id: str
    data: SampleData
    calls: Sequence[CallData]
    whole: bool


@dataclass(frozen=True)
class Log:
    """A log's head: what it is about, and the ids of the planned samples, in plan order."""

    path: Path
    task: TaskData
    created: str
    planned: tuple[str, ...]
    epochs: int

    def samples(self) -> Iterator[LoggedSample]:
        """The first epoch's samples in the log, in plan order, except invalidated ones.

        Raises:
            InputError: a sample is damaged, or not one of ours.
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
        InputError: it is not a log, not of an Overton task, or of a newer Overton.
    """
    with _report_as_input_errors(path):
        spec = _read_head(path).eval
    data = (spec.metadata or {}).get(KEY)
    if not isinstance(data, dict):
        reason = f"is a log of the task {quoted(spec.task)}, not of one of Overton's: it does not record what was asked"
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
    """A time in ISO 8601, in UTC; one without a zone is taken to be UTC."""
    time = datetime.fromisoformat(text)
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).astimezone(UTC).isoformat()


def _read_head(path: Path) -> _LogHead:
    if not path.is_file():
        raise InputError([Problem(str(path), "", "there is no such file")])
    if path.suffix == ".json":
        return _decode_content(read_bytes(path.resolve(), _MAX_LOG_BYTES), _decode_head)
    with Zip(path, _MEMBER_LIMIT) as archive:
        for name in (HEADER, START):  # an unfinished log has only the head written at its start
            if (content := archive.read(name)) is not None:
                return _decode_member(name, content, _decode_head)
    raise Unreadable(f"contains no {HEADER}")


def _read_samples(path: Path, planned: Sequence[str]) -> Iterator[_Sample]:
    """Samples of the first epoch. A JSON log is read whole; an .eval log one sample at a time."""
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
                raise Unreadable("contains a sample other than its name says", place=member)
            yield sample


def _decode_member(name: str, content: bytes, decode: Callable[[Any], T]) -> T:
    try:
        return _decode_content(content, decode)
    except Unreadable as error:
        raise Unreadable(error.reason, place=name) from None


def _decode_content(content: bytes, decode: Callable[[Any], T]) -> T:
    """JSON as Inspect writes it: 'NaN' and 'Infinity' may occur in parts not read here."""
    try:
        return decode_json(content, decode)
    except Unreadable:
        if b"NaN" not in content and b"Infinity" not in content:
            raise
        return decode_json(_replace_nan(content), decode)


def _replace_nan(content: bytes) -> bytes:
    """The JSON with null for 'NaN' and 'Infinity'. Python's reader, which knows them, needs thirty times the memory."""
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
"""More than any number of calls, or of tokens in a call."""
_CALLS_PER_APPEND = 2_000
"""Calls passed to the journal at a time. Logs are read in between, outside any event loop: Inspect has its own."""


def study_of(log: Log, study: AnyStudy) -> AnyStudy:
    """The study with the texts that a log's task had in place of its own.

    Raises:
        InputError: they cannot take that place; names the log and the text.
    """
    try:
        return with_texts(study, log.task.replaced or {})
    except InputError as error:
        raise error.placed(lambda _: str(log.path)) from None


def check_same_run(logs: Sequence[Log], study: AnyStudy) -> None:
    """Refuse logs that are not lanes of one run, or whose calls this version would make differently.

    Raises:
        InputError: what differs between the logs, and where; a model that two of them measured.
        RunMismatch: prompts that differ from those that the logs were made with.
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
    """Make a run folder of logs that are lanes of one run.

    What a log lacks (samples that were not run, failed or were invalidated), the run lacks too: it is then 'stopped',
    names the incomplete items, and can be resumed. If the import fails, nothing is left behind.

    Raises:
        RunExists: `out` already exists.
        InputError: a log is damaged, or logs use one name for different items.
        RunMismatch: a log's calls are not those of the study.
    """
    with new_folder(out) as fresh:
        run = Run(fresh, _make_manifest(logs, study), study=study)
        _fill_folder(logs, run)
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
    """The run's manifest, except for what follows from its items and records."""
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
    """Parts of logs that cannot be in a run: items without a sample, epochs after the first."""
    if not gathered.covers(logs[0].planned):
        yield "items without a sample in the logs"
    if any(log.epochs > 1 for log in logs):
        yield "epochs after the first, which repeat the same calls (trials=N repeats a trial)"


def _differences(log: Log, other: Log, study: AnyStudy) -> Iterator[str]:
    """Everything that lanes of one run have in common and in which two logs differ."""
    for what in ("study", "seed", "options", "prompts", "left_out", "replaced"):
        if getattr(log.task, what) != getattr(other.task, what):
            yield what
    yield from (role for role in study.role_names[1:] if log.task.models.get(role) != other.task.models.get(role))
    if set(log.planned) != set(other.planned):
        sample = min(set(log.planned) ^ set(other.planned))
        yield f"the set of samples ({sample} is in only one of them)"


def _find_missing_roles(log: Log, study: AnyStudy) -> Iterator[Problem]:
    """Roles without an answerer that the study needs."""
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
                reason = f"is another model's name in {namesake}: names in a run are unique, so import one of them"
                yield Problem(str(log.path), entry.name, reason)
            if earlier != log.path:
                yield Problem(str(log.path), entry.name, f"is already measured in {earlier}: import one of them")


def _check_prompts(log: Log, study: AnyStudy) -> None:
    now = {name: digest(text) for name, text in study.prompts().items()}
    changed = prompts_changed(log.task.prompts, now)
    if changed:
        problems = [Problem(str(log.path), f"prompt {name}", "differs from the one used") for name in changed]
        raise RunMismatch([*problems, Problem(str(log.path), "", f"import it with overton {log.task.overton}")])


@dataclass
class MergedSamples:
    """The samples of several logs combined: each item once, each call once.

    Items are in the order in which samples mention them.

    `samples` has the ids of all that were read, `unfinished` counts those that did not finish, and `contradicting`
    those that got another answer to a call that a run makes once, as after an `eval-retry` without a cache: their
    calls are left out.
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
            InputError: its item is not the one that an earlier sample has under this name; a call is damaged; another
                log has a different answer to a call that a run makes once.
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
            reasons.append(f"{self.contradicting} got a different answer to a call that all share")
        return "; ".join(reasons or ["the logs do not contain all samples"])

    def covers(self, planned: Iterable[str]) -> bool:
        """Whether every planned sample belongs to a known item; a sample's id is ITEM/CONDITION."""
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
        """Whether a shared call's outcome is the known one, if there is one."""
        if entry.place.trial or entry.identity.slot not in self._shared_outcomes:
            return True
        said, where = self._shared_outcomes[entry.identity.slot]
        if said != _outcome_text(entry.outcome) and where != log.path:
            reason = (
                f"{entry.place.speaker} got the same prompt as in {where}, once for all trials, and its answer differs:"
                " the two cannot be one run. Import each on its own; 'overton report RUN RUN' compares them"
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
    """The part of an outcome that enters other calls."""
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
    """Whether its numbers can be stored in a journal and a table."""
    usage = call.reply.usage if call.reply else Usage()
    return all(
        0 <= (number or 0) < _IMPOSSIBLE_COUNT for number in (call.number, usage.input_tokens, usage.output_tokens)
    )
