"""From Inspect logs to a run folder: the logs' calls become a journal, from which the records are rebuilt."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from overton.calls import Failure, Reply, Usage
from overton.engine import Journal, digest
from overton.engine.identity import CallKey, Identity
from overton.engine.journal import JournalEntry
from overton.errors import InputError, OvertonError, Problem, RunError, RunMismatch, Unreadable
from overton.files.atomic import new_folder
from overton.hosts.inspect.layout import CallData
from overton.hosts.inspect.reading import Log, LoggedSample
from overton.runs.event_loop import run_to_end
from overton.runs.folder import FILE, Manifest, RunFolder
from overton.runs.replay import recall_records
from overton.studies.nulls import prompts_changed
from overton.studies.study import AnyStudy
from overton.untrusted import converted

__all__ = ["check_same_run", "make_run"]

_TOO_MANY = 1 << 40
"""More than any number of calls, or of tokens in a call."""
_BATCH = 2_000
"""Calls passed to the journal at a time. Logs are read in between, outside any event loop: Inspect has its own."""


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
    problems += [problem for log in logs for problem in _unusable(log, study)]
    problems = problems or list(_measured_twice(logs, study.first))
    if problems:
        raise InputError(problems)
    _check_prompts(first, study)


def make_run(logs: Sequence[Log], study: AnyStudy, out: Path) -> Manifest:
    """Make a run folder of logs that are lanes of one run.

    What a log lacks (samples that were not run, failed or were invalidated), the run lacks too: it is then 'stopped',
    names the incomplete items, and can be resumed. If the import fails, nothing is left behind.

    Raises:
        RunExists: `out` already exists.
        InputError: a log is damaged, or logs use one name for different items.
        RunMismatch: a log's calls are not those of the study.
    """
    with new_folder(out) as fresh:
        return _made(logs, study, RunFolder(fresh))


def _made(logs: Sequence[Log], study: AnyStudy, folder: RunFolder) -> Manifest:
    manifest = _manifest(logs, study)
    _check_fits(folder, study, manifest, logs[0])
    gathered = Gathered(study)
    with closing(Journal(folder.journal)) as journal:
        entries = (entry for log in logs for sample in log.samples() for entry in gathered.add(log, sample))
        while some := list(islice(entries, _BATCH)):
            run_to_end(_append(journal, some))
    items = list(gathered.items.values())
    folder.write_items(items)
    manifest.items = digest(items)
    manifest.left_out = "; ".join(filter(None, [manifest.left_out, *_left_out(logs, gathered)]))
    return _recalled(folder, study, manifest, gathered, ", ".join(str(log.path) for log in logs))


def _check_fits(folder: RunFolder, study: AnyStudy, manifest: Manifest, log: Log) -> None:
    try:
        folder.check_fits(study, manifest)
    except RunError as error:
        reason = str(error).removeprefix(f"{folder.path / FILE}: ")
        raise InputError([Problem(str(log.path), "", f"is damaged: {reason}")]) from None


async def _append(journal: Journal, entries: Sequence[JournalEntry]) -> None:
    for entry in entries:
        await journal.append(entry)


def _recalled(folder: RunFolder, study: AnyStudy, manifest: Manifest, gathered: Gathered, named: str) -> Manifest:
    try:
        return recall_records(folder, study, manifest, lacking=gathered.lacking)
    except RunMismatch as error:
        reason = str(error).removeprefix(f"{folder.path}: ")
        raise RunMismatch([Problem(named, "", f"does not contain the calls of {study.name}. {reason}")]) from error
    except OvertonError:
        raise
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        raise InputError([Problem(named, "", f"its items or options cannot be used: {error!r}")]) from error


def _manifest(logs: Sequence[Log], study: AnyStudy) -> Manifest:
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
    )


def _left_out(logs: Sequence[Log], gathered: Gathered) -> Iterator[str]:
    """What cannot become part of a run: items without a sample, epochs after the first."""
    if not gathered.covers(logs[0].planned):
        yield "items without a sample in the logs"
    if any(log.epochs > 1 for log in logs):
        yield "epochs after the first, which repeat the same calls (trials=N repeats a trial)"


def _differences(one: Log, other: Log, study: AnyStudy) -> Iterator[str]:
    """What two logs differ in that lanes of one run have in common."""
    for what in ("study", "seed", "options", "prompts", "left_out"):
        if getattr(one.task, what) != getattr(other.task, what):
            yield what
    yield from (role for role in study.role_names[1:] if one.task.models.get(role) != other.task.models.get(role))
    if set(one.planned) != set(other.planned):
        sample = min(set(one.planned) ^ set(other.planned))
        yield f"the set of samples ({sample} is in only one of them)"


def _unusable(log: Log, study: AnyStudy) -> Iterator[Problem]:
    """Roles without an answerer that the study needs."""
    for role in study.role_names:
        if role not in study.optional and not log.task.models.get(role):
            yield Problem(str(log.path), role, f"is damaged: it names no model for the role {role}")


def _measured_twice(logs: Sequence[Log], first: str) -> Iterator[Problem]:
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
class Gathered:
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
    _own: set[bytes] = field(default_factory=set)
    _shared: dict[bytes, tuple[str, Path]] = field(default_factory=dict)

    def add(self, log: Log, sample: LoggedSample) -> list[JournalEntry]:
        """The rows that a sample adds to the journal.

        Raises:
            InputError: its item is not the one that an earlier sample has under this name; a call is damaged; another
                log has a different answer to a call that a run makes once.
        """
        self._add_item(log, sample)
        self.samples.add(sample.id)
        self.unfinished += not sample.whole
        entries = [_entry(log, sample, call) for call in sample.calls]
        if not all(self._agrees(log, sample, entry) for entry in entries):
            self.contradicting += 1
            return []
        return [entry for entry in entries if self._is_new(log, entry)]

    @property
    def lacking(self) -> str:
        """Why a run of these samples may be incomplete."""
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
        if entry.place.trial or entry.identity.slot not in self._shared:
            return True
        said, where = self._shared[entry.identity.slot]
        if said != _said(entry.outcome) and where != log.path:
            reason = (
                f"{entry.place.speaker} got the same prompt as in {where}, once for all trials, and its answer differs:"
                " the two cannot be one run. Import each on its own; 'overton report RUN RUN' compares them"
            )
            raise InputError([Problem(str(log.path), f"sample {sample.id}", reason)])
        return said == _said(entry.outcome)

    def _is_new(self, log: Log, entry: JournalEntry) -> bool:
        slot = entry.identity.slot
        if slot in self._own or slot in self._shared:
            return False
        if entry.place.trial:
            self._own.add(slot)
        else:
            self._shared[slot] = (_said(entry.outcome), log.path)
        return True


def _said(outcome: Reply | Failure) -> str:
    """The part of an outcome that enters other calls."""
    return outcome.text if isinstance(outcome, Reply) else f"{outcome.kind}: {outcome.message}"


def _entry(log: Log, sample: LoggedSample, call: CallData) -> JournalEntry:
    outcome = call.reply or call.failure
    try:
        identity = Identity(bytes.fromhex(call.slot), bytes.fromhex(call.content))
    except ValueError:
        outcome = None
    if outcome is None or not _sensible(call):
        where = f"sample {sample.id}"
        reason = f"ask {call.number} of {call.speaker} in {call.trial or 'all trials'} is damaged"
        raise InputError([Problem(str(log.path), where, reason)])
    return JournalEntry(identity, CallKey(call.trial, call.speaker, call.number, call.answerer), outcome)


def _sensible(call: CallData) -> bool:
    """Whether its numbers can be stored in a journal and a table."""
    usage = call.reply.usage if call.reply else Usage()
    return all(0 <= (number or 0) < _TOO_MANY for number in (call.number, usage.input_tokens, usage.output_tokens))
