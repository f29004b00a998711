"""A run split into shards for machines that share no network, and shards merged into one run again."""

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
from overton.hosts.local import Limits, Patience, Watch
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
    patience: Patience | None = None,
    watch: Watch | None = None,
    **options: Any,
) -> list[Run]:
    """Make shards of a run, by item, in the new folder `out`: run folders that are worked on by `resume`, anywhere.

    All else is as `run` takes it. What all trials share is asked now, and is in every shard; what limits leave then
    is divided evenly. `merge` makes one run of the shards.

    Raises:
        InputError: anything wrong with what was given, or there are fewer items than shards; nothing was asked.
        OvertonError: what made going on impossible; nothing was made.
    """
    found = study_named(study)
    if found.kind != "asks":
        raise InputError([Problem("split", found.name, "makes or labels items and is not split")])
    if into < 1:
        raise InputError([Problem("--into", str(into), "a run has one shard at least")])
    if precision or at_most_calls is not None:
        raise InputError([Problem("--precision", "", "is about all items together, and a shard knows only its own")])
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
    """Make one run, in the new folder `out`, of all shards of one split. They stay as they are, and nothing is asked.

    Its journal replays, whole; its records are those of the run that was never split. With `unfinished` shards may be
    missing or not at their end: `resume` then asks what is lacking.

    Raises:
        InputError: they are not all of one split, or overlap, are missing or have not ended: each with what it is.
        RunError: a folder is no run, its journal is damaged, or another process works on it.
    """
    paths = [Path(shard) for shard in shards]
    if not paths:
        raise InputError([Problem("merge", "", "name the folders of all shards")])
    study = open_run(paths[0]).study
    return Run(Path(out), local.merge(study, paths, Path(out), unfinished=unfinished))
