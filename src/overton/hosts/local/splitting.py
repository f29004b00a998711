"""A run split into shards: calls that all trials share are made first, then each shard has some items' trials.

Every shard is a run folder with everything in the run (items, models, options), so that its trials are exactly those
that the whole run would conduct; only the choice of trials is its own.
"""

from __future__ import annotations

import secrets
import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from overton.calls import Ask, Conduct, Message, Question, Reply
from overton.engine import Limits, RetryPolicy, digest
from overton.errors import InputError, Problem, RunError, Stopped
from overton.files.atomic import cannot_be_written, new_folder
from overton.hosts.local.counting import trials_by_item
from overton.hosts.local.folder import Manifest, RunFolder, write_manifest
from overton.hosts.local.machine import check_machine
from overton.hosts.local.manifest import Shard
from overton.hosts.local.opening import Opened, Wanted
from overton.hosts.local.progress import Watch
from overton.hosts.local.running import prepare
from overton.hosts.local.session import run_session
from overton.hosts.local.trusting import note_used
from overton.retrieval.limits import ARCHIVE
from overton.studies.study import AnyStudy

__all__ = ["plan_digest", "split"]

_BASE = "shared"


def split(
    study: AnyStudy,
    items: Sequence[Any],
    wanted: Wanted,
    into: int,
    out: Path,
    *,
    patience: RetryPolicy | None = None,
    watch: Watch | None = None,
    **run: Any,
) -> list[Path]:
    """Make a new folder `out` with `into` shards of a run; returns their folders. `run` has `prepare`'s arguments.

    Shared calls that depend on no other reply are made now, and journaled in every shard. What the limits leave after
    them is divided evenly.

    Raises:
        InputError: there are fewer items than shards, or the limits are too small to divide; no call was made.
        OvertonError: what made continuing impossible. Nothing is made then, and the calls are paid for again next time.
    """
    manifest, options, models, wanted, trials = prepare(study, items, wanted, **run)
    check_machine(out, manifest.models, models, trials * study.lanes(wanted))
    parts = _parts(trials_by_item(study, items, options, manifest.seed), into)
    _check_divisible(manifest.limits, into, 0)
    plan = plan_digest(manifest)
    with new_folder(out) as fresh:
        base = RunFolder.create(fresh / _BASE, manifest, items)
        _answer_shared(study, base, models, patience, watch)
        whole = base.manifest()
        _check_divisible(whole.limits, into, whole.spent.requests)
        archive = base.path / ARCHIVE
        shard = Shard(
            0,
            into,
            [],
            secrets.token_hex(8),
            plan,
            whole.limits,
            whole.spent.requests,
            whole.spent.cost,
            whole.spent.outcomes,
            archive.stat().st_size if archive.is_file() else 0,
        )
        names = [f"{number:0{len(str(into))}}" for number in range(1, into + 1)]
        for number, (name, part) in enumerate(zip(names, parts, strict=True), 1):
            _make(base.path, fresh / name, whole, msgspec.structs.replace(shard, number=number, items=part))
        shutil.rmtree(base.path)
    note_used(study, wanted)
    return [out / name for name in names]


def plan_digest(manifest: Manifest) -> str:
    """A digest of what identifies a run, however it is divided."""
    models = {  # not their settings: whether a judge accepts a temperature is found out during the run
        role: [(one.name, one.identity, one.holds_form) for one in side] for role, side in manifest.models.items()
    }
    return digest([manifest.study, manifest.seed, manifest.options, models, manifest.items, manifest.prompts])


def _parts(counted: Counter[str], into: int) -> list[list[str]]:
    """The items of each shard, distributed by their trials, so that shards take about equally long."""
    if len(counted) < into:
        reason = f"there are {len(counted)} items, too few for {into} shards: a shard has whole items"
        raise InputError([Problem("--into", str(into), reason)])
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
        raise InputError([Problem("--max-calls", str(limits.calls), f"leaves less than one call per shard{said}")])


def _divided(shard: Shard) -> Limits:
    """A shard's limits: what was spent before, plus its part of what the limits leave."""
    cost, calls = shard.limits.cost, shard.limits.calls
    if cost is not None:
        cost = shard.cost + max(0.0, cost - shard.cost) / shard.of
    if calls is not None:
        each, rest = divmod(calls - shard.requests, shard.of)
        calls = shard.requests + each + (shard.number <= rest)
    return Limits(cost, calls)


def _make(base: Path, path: Path, whole: Manifest, shard: Shard) -> None:
    """A shard's folder: the run's files so far, and its own manifest."""
    try:
        shutil.copytree(base, path, ignore=shutil.ignore_patterns("*.lock", "records.parquet", "records.parts"))
    except OSError as error:
        raise cannot_be_written(path, error) from error
    write_manifest(
        path,
        msgspec.structs.replace(
            whole, shard=shard, limits=_divided(shard), status="stopped", stopped="a shard that has not been started"
        ),
    )


def _answer_shared(
    study: AnyStudy,
    base: RunFolder,
    models: Mapping[str, Sequence[Opened]],
    patience: RetryPolicy | None,
    watch: Watch | None,
) -> None:
    """Make the calls that all trials share, as far as they depend on no other.

    Raises:
        RunError: a limit or an interrupt stopped it.
    """
    only = replace(study, conduct=_only_shared(study.conduct), dataset=None)
    done = run_session(base, only, base.manifest(), models, patience=patience, watch=watch)
    if done.status != "finished":
        raise RunError(f"the run was not split, since the calls its trials share were not answered: {done.stopped}")


class _Apart(Stopped):
    """A trial's own call: it is made in the trial's shard."""


def _only_shared(conduct: Conduct) -> Conduct:
    async def conducted(trial: Any, ask: Ask) -> list[Any]:
        with suppress(_Apart):
            await conduct(trial, _Sharing(ask))
        return []

    return conducted


class _Sharing:
    """Makes shared calls, and ends the trial at the first other."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask

    async def __call__(self, role: str, messages: Sequence[Message], *, shared: bool = False, **more: Any) -> Reply:
        """See `Ask`."""
        if not shared:
            raise _Apart
        return await self._ask(role, messages, shared=True, **more)

    async def all(self, questions: Sequence[Question]) -> list[Reply]:
        """See `Ask`."""
        shared = [one for one in questions if one.shared]
        replies = await self._ask.all(shared) if shared else []
        if len(shared) < len(questions):
            raise _Apart
        return replies
