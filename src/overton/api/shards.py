"""Splitting a run into shards for machines that share no network, and merging shards into one run again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from overton.api.progress import in_notebook
from overton.api.requests import Arguments, Others, Prices, SourceArguments
from overton.api.runs import Run, open_run
from overton.api.setting_up import set_up
from overton.errors import InputError, Problem
from overton.hosts import local
from overton.hosts.local import Limits, RetryPolicy, Watch
from overton.studies.registry import study_named

__all__ = ["merge", "split"]


def split(
    study: str,
    *,
    into: int,
    out: str | Path,
    models: Sequence[str] = (),
    others: Others | None = None,
    items: str | Path | Sequence[Any] | None = None,
    only: Sequence[str] | None = None,
    seed: int = 0,
    model_args: Arguments | None = None,
    source_args: SourceArguments | None = None,
    prices: Prices | None = None,
    price_list: str | Path | None = None,
    batch: bool = False,
    max_cost: float | None = None,
    max_calls: int | None = None,
    left_out: str = "",
    precision: Mapping[str, float] | None = None,
    at_most_calls: int | None = None,
    patience: RetryPolicy | None = None,
    watch: Watch | None = None,
    **options: Any,
) -> list[Run]:
    """Split a run by item into shards in the new folder `out`: run folders that `resume` runs, anywhere.

    All other arguments are those of `run`. What all trials share is asked now, and is in every shard; what the limits
    then leave is divided evenly. `merge` combines the shards into one run.

    Raises:
        InputError: anything wrong with what was given, or there are fewer items than shards; nothing was asked.
        OvertonError: a reason why it could not continue; nothing was made.
    """
    found = study_named(study)
    if found.kind != "asks":
        raise InputError([Problem("split", found.name, "makes or labels items and is not split")])
    if into < 1:
        raise InputError([Problem("--into", str(into), "must be at least 1")])
    if precision or at_most_calls is not None:
        raise InputError([Problem("--precision", "", "concerns all items together, but a shard has only its own")])
    ready = set_up(
        found,
        options,
        models=models,
        others=others,
        items=items,
        only=only,
        model_args=model_args,
        source_args=source_args,
        prices=prices,
        price_list=price_list,
    )
    paths = local.split(
        found,
        ready.items,
        ready.wanted,
        into,
        Path(out),
        options=ready.options,
        seed=seed,
        limits=Limits(max_cost, max_calls),
        left_out=left_out or ready.left_out,
        batch=batch,
        patience=patience,
        watch=watch or in_notebook("split"),
    )
    return [open_run(path) for path in paths]


def merge(shards: Sequence[str | Path], out: str | Path, *, unfinished: bool = False) -> Run:
    """Merge all shards of one split into one run in the new folder `out`. The shards are not changed; nothing is asked.

    The run's journal replays completely, and its records are those of the run without splitting. With `unfinished`,
    shards may be missing or unfinished: `resume` then asks the rest.

    Raises:
        InputError: they are not all of one split, or overlap, are missing or unfinished: each with the reason.
        RunError: a folder is not a run, its journal is damaged, or another process is working on it.
    """
    paths = [Path(shard) for shard in shards]
    if not paths:
        raise InputError([Problem("merge", "", "name the folders of all shards")])
    study = open_run(paths[0]).study
    return Run(Path(out), local.merge(study, paths, Path(out), unfinished=unfinished))
