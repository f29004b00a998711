"""Shards merged into one run: checked to be of one split, their journals concatenated, then replayed."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

import msgspec

from overton.engine import Journal, Spending, entries
from overton.engine.journal import NOTE, JournalEntry
from overton.errors import InputError, Problem, RunError, command
from overton.files.atomic import cannot_be_written, new_folder
from overton.hosts.local.folder import Manifest, RunFolder, Spent, open_journal, spent_so_far, write_manifest
from overton.hosts.local.loop import run_to_end
from overton.hosts.local.manifest import Shard
from overton.hosts.local.running import check_same
from overton.hosts.local.session import needs_asking, run_session
from overton.hosts.local.splitting import plan_digest
from overton.retrieval.limits import ARCHIVE
from overton.studies.study import AnyStudy

__all__ = ["merge"]


class _Part(NamedTuple):
    folder: RunFolder
    manifest: Manifest
    shard: Shard


def merge(study: AnyStudy, shards: Sequence[Path], out: Path, *, unfinished: bool = False) -> Manifest:
    """Merge the shards of one split into one run, in the new folder `out`. They stay unchanged.

    Its journal contains those of the shards and is replayed in full; its records are those of a run that was never
    split. With `unfinished`, shards may be missing or incomplete: the run is then stopped, and resuming it asks the
    rest.

    Raises:
        InputError: they are not all of one split, or some overlap, are missing or unfinished; names them all.
        RunError: one is not a run folder, its journal is damaged, or another process is using it.
        RunMismatch: their journals do not replay.
    """
    parts = [_part(path) for path in shards]
    problems = [*_strangers(parts), *_overlaps(parts)] or _lacks(parts, unfinished=unfinished)
    if problems:
        raise InputError(problems)
    parts.sort(key=lambda part: part.shard.number)
    with new_folder(out) as fresh, ExitStack() as locked:
        spent = _spent(parts, [_settled(part, locked) for part in parts])
        shutil.copyfile(parts[0].folder.path / "items.jsonl", fresh / "items.jsonl")
        whole = _whole(parts)
        written = run_to_end(_journaled(fresh / "journal.db", parts, spent))
        _archive(fresh, parts)
        whole.spent = written
        write_manifest(fresh, whole)
        folder = RunFolder(fresh)
        check_same(study, folder, whole)
        lacking = needs_asking(folder, study, whole, retry_failed=False)
        if lacking and not unfinished:
            raise RunError(f"the journals of these shards lack {lacking} of the run's trials, though all have finished")
        if not lacking:
            whole = run_session(folder, study, whole, None)
    return whole


def _part(path: Path) -> _Part:
    folder = RunFolder(path)
    manifest = folder.manifest()
    if manifest.shard is None:
        raise InputError([Problem(str(path), "", "is a run but not a shard: overton split makes shards")])
    return _Part(folder, manifest, manifest.shard)


def _strangers(parts: Sequence[_Part]) -> Iterator[Problem]:
    """Shards of another plan than the first, or of another split."""
    first = parts[0]
    for part in parts:
        path = str(part.folder.path)
        if plan_digest(part.manifest) != part.shard.plan:
            yield Problem(
                path, "", "was changed after the run was split (extended, say): its shards no longer make one run"
            )
        elif part.shard.plan != first.shard.plan:
            yield Problem(path, "", f"has a different plan from {first.folder.path}: {_differing(first, part)}")
        elif part.shard.split != first.shard.split:
            reason = f"is from another split of the same plan as {first.folder.path}: shared calls were made twice"
            yield Problem(path, "", reason)


def _differing(one: _Part, other: _Part) -> str:
    keys = ("study", "seed", "options", "models", "items", "prompts")
    named = [key for key in keys if getattr(one.manifest, key) != getattr(other.manifest, key)]
    return f"{' and '.join(named)} differ" if named else "they differ"


def _overlaps(parts: Sequence[_Part]) -> Iterator[Problem]:
    holders: dict[str, _Part] = {}
    for part in parts:
        twice = [item for item in part.shard.items if holders.setdefault(item, part) is not part]
        if twice:
            other = holders[twice[0]].folder.path
            same = "is the same shard as" if part.shard == holders[twice[0]].shard else f"has {len(twice)} items of"
            yield Problem(str(part.folder.path), twice[0], f"{same} {other}: name each shard once")


def _lacks(parts: Sequence[_Part], *, unfinished: bool) -> list[Problem]:
    """What is missing, and what has not finished."""
    shard = parts[0].shard
    out = [
        Problem(
            str(part.folder.path), "", f"has {part.manifest.out} calls in batches that are not read yet; {_go_on(part)}"
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
            Problem("shards", named, f"missing of {shard.of}; without them: --unfinished, and resume asks the rest")
        )
    return out + [
        Problem(
            str(part.folder.path), "", f"has not finished ({_state(part.manifest)}); {_go_on(part)} or use --unfinished"
        )
        for part in parts
        if part.manifest.status != "finished"
    ]


def _state(manifest: Manifest) -> str:
    return manifest.stopped or "killed, or still running"


def _go_on(part: _Part) -> str:
    return f"resume it: {command('resume', part.folder.path)}"


def _whole(parts: Sequence[_Part]) -> Manifest:
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
    )


def _settled(part: _Part, locked: ExitStack) -> Spent:
    """What a shard spent. Its journal is locked from now on, and recovered if a session was killed."""
    journal = locked.enter_context(closing(open_journal(part.folder, part.manifest)))
    spent = spent_so_far(part.folder, part.manifest, journal)
    journal.finish()
    return spent


def _spent(parts: Sequence[_Part], each: Sequence[Spent]) -> Spending:
    """What all shards spent, with spending before the split counted once."""
    before = parts[0].shard.before
    return Spending(
        before.requests + sum(one.requests - before.requests for one in each),
        before.cost + sum(one.cost - before.cost for one in each),
    )


async def _journaled(path: Path, parts: Sequence[_Part], spent: Spending) -> Spent:
    """Write their journals into one; returns its entry in the manifest.

    Raises:
        InputError: two shards have different answers to one call that trials share.
        JournalError: one is damaged, or the new one cannot be written.
    """
    shared: dict[bytes, tuple[bytes, Path]] = {}
    with closing(Journal(path)) as journal:
        for number, part in enumerate(parts):
            for row, entry in enumerate(entries(part.folder.journal), 1):
                if entry.place.speaker.startswith(NOTE) or (number and row <= part.shard.outcomes):
                    continue
                if entry.place.trial or _is_new(shared, entry, part):
                    await journal.append(entry)
        journal.settle(spent)
        journal.finish()
        return Spent(*spent, journal.failed, *journal.mark)


def _is_new(shared: dict[bytes, tuple[bytes, Path]], entry: JournalEntry, part: _Part) -> bool:
    """Whether this answer to a shared call is new; two different ones cannot both be the run's."""
    said = blake2b(msgspec.json.encode(entry.outcome), digest_size=16).digest()
    known, where = shared.setdefault(entry.identity.slot, (said, part.folder.path))
    if where == part.folder.path:
        shared[entry.identity.slot] = said, where
        return True
    if known != said:
        reason = (
            f"got a different answer from {entry.place.answerer} than {where}, asked as {entry.place.speaker} by both;"
            " a call shared by trials of several items has one answer per run. Leave one out, with --unfinished"
        )
        raise InputError([Problem(str(part.folder.path), "", reason)])
    return False


def _archive(fresh: Path, parts: Sequence[_Part]) -> None:
    """Merge their archives, with what precedes the split once: a WARC's members can be concatenated."""
    archives = [(part, part.folder.path / ARCHIVE) for part in parts]
    archives = [(part, path) for part, path in archives if path.is_file()]
    if not archives:
        return
    target = fresh / ARCHIVE
    try:
        with target.open("wb") as whole:
            for number, (part, path) in enumerate(archives):
                with path.open("rb") as one:
                    one.seek(part.shard.archive if number else 0)
                    shutil.copyfileobj(one, whole)
    except OSError as error:
        raise cannot_be_written(target, error) from error
