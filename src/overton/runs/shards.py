"""A run split into shards, and shards merged into a run.

Every shard is a run folder with all items, models and options of the run. Shards differ only in their trials. Each
trial is conducted exactly as in the whole run.
"""

from __future__ import annotations

import secrets
import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, suppress
from dataclasses import replace
from functools import partial
from hashlib import blake2b
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from overton.calls import Ask, Conduct, Question, Reply
from overton.engine import Journal, Limits, RetryPolicy, Spending, digest, entries
from overton.engine.ask import ScriptedAsk
from overton.engine.journal_file import JournalEntry
from overton.engine.journal_reader import NOTE
from overton.errors import InputError, Problem, RunError, Stopped, command
from overton.files.atomic import cannot_be_written, new_folder
from overton.retrieval.limits import ARCHIVE
from overton.runs.event_loop import run_to_end
from overton.runs.folder import ITEMS, Manifest, Shard, Spent, write_manifest, write_texts
from overton.runs.machine import check_machine
from overton.runs.preparation import Prepared, prepare
from overton.runs.progress import Watch
from overton.runs.progress_bar import in_notebook
from overton.runs.run import Run, check_unchanged, create_run, open_journal, open_run, repeat_in_file, spent_so_far
from overton.runs.session import missing_trials, run_session
from overton.runs.setup import set_up
from overton.runs.start import run
from overton.runs.trust import note_used
from overton.studies.options import option_place
from overton.studies.registry import study_named

_SHARED_FOLDER = "shared"


def plan_digest(manifest: Manifest) -> str:
    """A digest of everything that identifies a run. It is the same for the run and for all of its shards."""
    models = {  # without settings, because a run finds out whether a judge accepts a temperature
        role: [(entry.name, entry.identity, entry.holds_form) for entry in side]
        for role, side in manifest.models.items()
    }
    return digest([manifest.study, manifest.seed, manifest.options, models, manifest.items, manifest.prompts])


def _divide_items(counted: Counter[str], into: int) -> list[list[str]]:
    """The items of each shard. They are distributed by their numbers of trials, so that shards take about equally
    long."""
    if len(counted) < into:
        reason = f"too many for {len(counted)} items, because an item cannot be divided between shards"
        raise InputError([Problem(option_place("into"), str(into), reason)])
    parts: list[list[str]] = [[] for _ in range(into)]
    sizes = [0] * into
    for item, trials in sorted(counted.items(), key=lambda pair: -pair[1]):
        least = sizes.index(min(sizes))
        parts[least].append(item)
        sizes[least] += trials
    order = {item: place for place, item in enumerate(counted)}
    return [sorted(part, key=order.__getitem__) for part in parts]


def _check_divisible(limits: Limits, into: int, spent: int) -> None:
    if limits.calls is not None and limits.calls - spent < into:
        said = f" after {spent} shared by all trials" if spent else ""
        raise InputError(
            [Problem(option_place("max_calls"), str(limits.calls), f"leaves less than one call per shard{said}")]
        )


def _shard_limits(shard: Shard) -> Limits:
    """A shard's limits. They are the spending before the split, plus the shard's part of the remaining amount."""
    cost, calls = shard.limits.cost, shard.limits.calls
    if cost is not None:
        cost = shard.cost + max(0.0, cost - shard.cost) / shard.of
    if calls is not None:
        each, rest = divmod(calls - shard.requests, shard.of)
        calls = shard.requests + each + (shard.number <= rest)
    return Limits(cost, calls)


def _make_shard(base: Path, path: Path, whole: Manifest, shard: Shard) -> None:
    """Make a shard's folder with the run's files so far and the shard's own manifest."""
    try:
        shutil.copytree(base, path, ignore=shutil.ignore_patterns("*.lock", "records.parquet", "records.parts"))
    except OSError as error:
        raise cannot_be_written(path, error) from error
    write_manifest(
        path,
        msgspec.structs.replace(
            whole,
            shard=shard,
            limits=_shard_limits(shard),
            status="stopped",
            stopped="a shard that has not been started",
            digests=None,
        ),
    )


def _answer_shared(prepared: Prepared, path: Path, patience: RetryPolicy | None, watch: Watch | None) -> Run:
    """Make a run in a new folder, and make the calls that all trials share. Calls that depend on a trial's own calls
    are left out.

    Raises:
        RunError: the run was stopped, for example by a limit or an interrupt.
    """
    study = prepared.experiment.study
    only = replace(study, conduct=_conduct_only_shared(study.conduct), dataset=None)
    base = create_run(path, prepared.manifest, replace(prepared.experiment, study=only))
    run_session(base, prepared.models, patience=patience, watch=watch)
    if not base.finished:
        stopped = base.manifest.stopped
        raise RunError(f"the run was not split, because calls that its trials share were not answered: {stopped}")
    return base


class _OwnCall(Stopped):
    """Ends a trial at its first own call, because that call is made in the trial's shard."""


def _conduct_only_shared(conduct: Conduct) -> Conduct:
    async def conducted(trial: Any, ask: Ask) -> list[Any]:
        with suppress(_OwnCall):
            await conduct(trial, ScriptedAsk(partial(_ask_shared, ask)))
        return []

    return conducted


async def _ask_shared(ask: Ask, questions: Sequence[Question]) -> Sequence[Reply]:
    """Make the calls that trials share, and end the trial at its first other call."""
    shared = [question for question in questions if question.shared]
    replies = await ask.all(shared) if shared else []
    if len(shared) < len(questions):
        raise _OwnCall
    return replies


class _ShardRun(NamedTuple):
    run: Run
    shard: Shard

    @property
    def path(self) -> Path:
        return self.run.path

    @property
    def manifest(self) -> Manifest:
        return self.run.manifest


def _open_shard(path: Path) -> _ShardRun:
    found = Run(path)
    if found.manifest.shard is None:
        raise InputError([Problem(str(path), "", "is a run but not a shard: overton split makes shards")])
    return _ShardRun(found, found.manifest.shard)


def _find_foreign_shards(parts: Sequence[_ShardRun]) -> Iterator[Problem]:
    """Find shards that have another plan than the first shard, or come from another split."""
    first = parts[0]
    for part in parts:
        path = str(part.path)
        if plan_digest(part.manifest) != part.shard.plan:
            yield Problem(
                path,
                "",
                ("was changed after the run was split (for example, extended), so its shards no longer make one run"),
            )
        elif part.shard.plan != first.shard.plan:
            yield Problem(path, "", f"has a different plan from {first.path}: {_describe_difference(first, part)}")
        elif part.shard.split != first.shard.split:
            reason = f"is from another split of the same plan as {first.path}: shared calls were made twice"
            yield Problem(path, "", reason)


def _describe_difference(shard_run: _ShardRun, other: _ShardRun) -> str:
    keys = ("study", "seed", "options", "models", "items", "prompts")
    named = [key for key in keys if getattr(shard_run.manifest, key) != getattr(other.manifest, key)]
    return f"{' and '.join(named)} differ" if named else "they differ"


def _find_overlaps(parts: Sequence[_ShardRun]) -> Iterator[Problem]:
    holders: dict[str, _ShardRun] = {}
    for part in parts:
        twice = [item for item in part.shard.items if holders.setdefault(item, part) is not part]
        if twice:
            other = holders[twice[0]].path
            same = "is the same shard as" if part.shard == holders[twice[0]].shard else f"has {len(twice)} items of"
            yield Problem(str(part.path), twice[0], f"{same} {other}: name each shard once")


def _find_gaps(parts: Sequence[_ShardRun], *, unfinished: bool) -> list[Problem]:
    """Find shards that are missing, have not finished or have open batches."""
    shard = parts[0].shard
    out = [
        Problem(
            str(part.path),
            "",
            f"has {part.manifest.out} calls in batches that are not read yet; {_resume_advice(part)}",
        )
        for part in parts
        if part.manifest.out
    ]
    if unfinished:
        return out
    missing = sorted(set(range(1, shard.of + 1)) - {part.shard.number for part in parts})
    named = ", ".join(map(str, missing))
    if missing:
        out.append(
            Problem(
                "shards",
                named,
                f"missing of {shard.of}; use --unfinished to merge without them, and resume the merged run",
            )
        )
    return out + [
        Problem(
            str(part.path),
            "",
            f"has not finished ({_why_unfinished(part.manifest)}); {_resume_advice(part)} or use --unfinished",
        )
        for part in parts
        if part.manifest.status != "finished"
    ]


def _why_unfinished(manifest: Manifest) -> str:
    return manifest.stopped or "killed, or still running"


def _resume_advice(part: _ShardRun) -> str:
    return f"resume it: {command('resume', part.path)}"


def _merged_manifest(parts: Sequence[_ShardRun]) -> Manifest:
    """The manifest of the merged run, before its first own session."""
    first = parts[0]
    notes = {name: note for part in parts for name, note in part.manifest.notes.items()}
    return msgspec.structs.replace(
        first.manifest,
        shard=None,
        limits=first.shard.limits,
        status="stopped",
        stopped="merged from shards that had not all finished",
        reached="",
        notes=notes,
        missing={},
        unmade={},
        trials=0,
        sessions=sum(part.manifest.sessions for part in parts),
        digests=None,
    )


def _lock_and_recover(part: _ShardRun, locked: ExitStack) -> Spent:
    """Lock a shard's journal, and recover it if a session was killed. Returns the shard's spending."""
    journal = locked.enter_context(closing(open_journal(part.run)))
    spent = spent_so_far(part.run, journal)
    journal.finish()
    return spent


def _total_spending(parts: Sequence[_ShardRun], each: Sequence[Spent]) -> Spending:
    """The spending of all shards, with spending before the split counted once."""
    before = parts[0].shard.before
    return Spending(
        before.requests + sum(spent.requests - before.requests for spent in each),
        before.cost + sum(spent.cost - before.cost for spent in each),
    )


async def _merge_journals(path: Path, parts: Sequence[_ShardRun], spent: Spending) -> Spent:
    """Write the shards' journals into one. Return the new journal's entry in the manifest.

    Raises:
        InputError: two shards have different answers to one call that trials share.
        JournalError: a shard's journal is damaged, or the new journal cannot be written.
    """
    shared: dict[bytes, tuple[bytes, Path]] = {}
    with closing(Journal(path)) as journal:
        for number, part in enumerate(parts):
            for row, entry in enumerate(entries(part.run.journal_file), 1):
                if entry.place.speaker.startswith(NOTE) or (number and row <= part.shard.outcomes):
                    continue
                if entry.place.trial or _is_new(shared, entry, part):
                    await journal.append(entry)
        journal.settle(spent)
        journal.finish()
        return Spent(*spent, journal.failed, *journal.mark)


def _is_new(shared: dict[bytes, tuple[bytes, Path]], entry: JournalEntry, part: _ShardRun) -> bool:
    """Whether this answer to a shared call is new. Raise an error if it differs from a known answer, because a run has
    one answer per call."""
    said = blake2b(msgspec.json.encode(entry.outcome), digest_size=16).digest()
    known, where = shared.setdefault(entry.identity.slot, (said, part.path))
    if where == part.path:
        shared[entry.identity.slot] = said, where
        return True
    if known != said:
        reason = (
            f"has another answer of {entry.place.answerer} than {where} to a call that both made as"
            f" {entry.place.speaker}. A call that trials of several items share has one answer per run. Leave one of"
            " the two shards out, with --unfinished"
        )
        raise InputError([Problem(str(part.path), "", reason)])
    return False


def _merge_archives(fresh: Path, parts: Sequence[_ShardRun]) -> None:
    """Merge the shards' archives. Pages from before the split are included once. The archives are concatenated, because
    several WARC files in a row are again a WARC file."""
    archives = [(part, part.path / ARCHIVE) for part in parts]
    archives = [(part, path) for part, path in archives if path.is_file()]
    if not archives:
        return
    target = fresh / ARCHIVE
    try:
        with target.open("wb") as whole:
            for number, (part, path) in enumerate(archives):
                with path.open("rb") as source:
                    source.seek(part.shard.archive if number else 0)
                    shutil.copyfileobj(source, whole)
    except OSError as error:
        raise cannot_be_written(target, error) from error


def split(
    study: str,
    *,
    into: int,
    out: str | Path,
    max_cost: float | None = None,
    max_calls: int | None = None,
    batch: bool = False,
    anyway: bool = False,
    left_out: str = "",
    patience: RetryPolicy | None = None,
    watch: Watch | None = None,
    **arguments: Any,
) -> list[Run]:
    """Split a run by item into shards in the new folder `out`. Each shard is a run folder that `resume` can run on any
    machine.

    All other arguments are those of `run`. Calls that all trials share are made before the split, and every shard has
    the replies. The remaining limits are divided evenly among the shards. `merge` combines the shards into one run.

    Raises:
        InputError: an argument is wrong, there are fewer items than shards, or the limits are too small to divide. No
            request was sent.
        OvertonError: the shared calls could not be completed. No shards are made, and the calls are paid for again
            next time.
    """
    found, out = study_named(study), Path(out)
    if found.kind != "asks":
        raise InputError([Problem("split", found.name, "creates or labels items and cannot be split")])
    if into < 1:
        raise InputError([Problem(option_place("into"), str(into), "must be at least 1")])
    if arguments.pop("precision", None) or arguments.pop("at_most_calls", None) is not None:
        raise InputError([Problem(option_place("precision"), "", "needs all items, but a shard has only some")])
    ready, limits = set_up(found, **arguments), Limits(max_cost, max_calls)
    prepared = prepare(
        ready.experiment,
        ready.wanted,
        limits=limits,
        left_out=left_out or ready.left_out,
        batch=batch,
        anyway=anyway,
    )
    counted = ready.experiment.trials_by_item
    check_machine(out, prepared.manifest.models, prepared.models, counted.total() * found.lanes(prepared.wanted))
    parts = _divide_items(counted, into)
    _check_divisible(limits, into, 0)
    plan = plan_digest(prepared.manifest)
    names = [f"{number:0{len(str(into))}}" for number in range(1, into + 1)]
    with new_folder(out) as fresh:
        base = _answer_shared(prepared, fresh / _SHARED_FOLDER, patience, watch or in_notebook("split"))
        whole = base.manifest
        _check_divisible(limits, into, whole.spent.requests)
        archive = base.path / ARCHIVE
        shard = Shard(
            0,
            into,
            [],
            secrets.token_hex(8),
            plan,
            limits,
            whole.spent.requests,
            whole.spent.cost,
            whole.spent.outcomes,
            archive.stat().st_size if archive.is_file() else 0,
        )
        for number, (name, part) in enumerate(zip(names, parts, strict=True), 1):
            _make_shard(base.path, fresh / name, whole, msgspec.structs.replace(shard, number=number, items=part))
        shutil.rmtree(base.path)
    note_used(found, prepared.wanted)
    return [open_run(out / name) for name in names]


def _with_arguments_of_run(own: Signature) -> Signature:
    """The signature with the parameters of `run` in place of `**arguments`."""
    given = {name: each for name, each in own.parameters.items() if each.kind is not Parameter.VAR_KEYWORD}
    others = [each for name, each in signature(run).parameters.items() if name not in given]
    return own.replace(parameters=[*given.values(), *others])


split.__signature__ = _with_arguments_of_run(signature(split))  # type: ignore[attr-defined]


def merge(shards: Sequence[str | Path], out: str | Path, *, unfinished: bool = False) -> Run:
    """Merge all shards of one split into one run in the new folder `out`. The shards are not changed, and no calls are
    made.

    The run's journal combines the shards' journals. The records are the same as those of a run that was not split. With
    `unfinished`, shards may be missing or unfinished, and `resume` makes the remaining calls.

    Raises:
        InputError: shards come from different splits, overlap, are missing or have not finished. The message lists each
            such shard with the reason.
        RunError: a folder is not a run, its journal is damaged, or another process is working on it.
        RunMismatch: the run cannot be replayed from the shards' journals.
    """
    paths, out = [Path(shard) for shard in shards], Path(out)
    if not paths:
        raise InputError([Problem("merge", "", "name the folders of all shards")])
    study = open_run(paths[0]).study
    parts = [_open_shard(path) for path in paths]
    problems = [*_find_foreign_shards(parts), *_find_overlaps(parts)] or _find_gaps(parts, unfinished=unfinished)
    if problems:
        raise InputError(problems)
    parts.sort(key=lambda part: part.shard.number)
    with new_folder(out) as fresh, ExitStack() as locked:
        spent = _total_spending(parts, [_lock_and_recover(part, locked) for part in parts])
        shutil.copyfile(parts[0].path / ITEMS, fresh / ITEMS)
        write_texts(fresh, study.replaced)
        whole = Run(fresh, _merged_manifest(parts), study=study)
        whole.manifest.spent = run_to_end(_merge_journals(whole.journal_file, parts, spent))
        _merge_archives(fresh, parts)
        write_manifest(whole.path, whole.manifest)
        check_unchanged(whole)
        repeat_in_file(whole)
        lacking = missing_trials(whole)
        if lacking and not unfinished:
            raise RunError(f"the journals of these shards lack {lacking} of the run's trials, though all have finished")
        if not lacking:
            run_session(whole, None)
    return Run(out, whole.manifest, experiment=whole.experiment)
