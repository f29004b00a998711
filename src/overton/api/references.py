"""Reference viewpoints, made of threads by a clustering."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from overton.api.requests import Arguments, Prices, model_requests
from overton.api.runs import Run
from overton.api.threads import threads_at
from overton.errors import InputError, MissingExtra, Problem
from overton.hosts import local
from overton.hosts.local import Limits, Plan, RunFolder, Watch

if TYPE_CHECKING:
    from overton.studies.pluralism.items import Thread
    from overton.studies.pluralism.referencing import Built, ReferenceOptions

__all__ = [
    "EMBEDDER",
    "MAKER",
    "build",
    "built_threads",
    "plan",
    "start",
    "threads_of",
    "write_dataset",
]

MAKER = "references"
"""The study whose runs hold reference viewpoints."""

EMBEDDER = "wordllama/l2_supercat"
"""Who turns opinions into vectors where nobody is named: weights from a package, no hub."""

_GROUPING_TOKENS = "4096"


def build(
    threads: str | Path | Sequence[Thread],
    *,
    model: str,
    out: str | Path,
    method: str = "algorithm-1",
    embedder: str | None = None,
    seed: int = 0,
    model_args: Arguments | None = None,
    prices: Prices | None = None,
    max_cost: float | None = None,
    max_calls: int | None = None,
    watch: Watch | None = None,
    **options: Any,
) -> Run:
    """Reference viewpoints of `threads`, made by `model` with one clustering, as a run in the folder `out`.

    The dataset is `references.jsonl` in that folder; `built_threads` says what became of every thread. `embedder` is
    asked by the clusterings that need one. `options` are the other fields of `ReferenceOptions`.

    Raises:
        InputError: an unknown clustering or option; see also `threads_at` and `run`.
    """
    run = start(
        threads,
        (method,),
        model=model,
        out=out,
        embedder=embedder,
        seed=seed,
        model_args=model_args,
        prices=prices,
        limits=Limits(max_cost, max_calls),
        watch=watch,
        options=options,
    )
    return write_dataset(run)


def start(
    threads: str | Path | Sequence[Thread],
    methods: Sequence[str],
    *,
    model: str,
    out: str | Path,
    embedder: str | None,
    seed: int,
    model_args: Arguments | None,
    prices: Prices | None,
    limits: Limits,
    watch: Watch | None,
    options: Mapping[str, Any],
) -> Run:
    """A run of one clustering or several, each of every thread's opinions. See `build`."""
    from overton.studies.pluralism.referencing import REFERENCING

    chosen = _options(methods, options)
    wanted = _wanted(model, embedder, chosen, model_args, prices)
    manifest = local.start(
        REFERENCING, _threads(threads), wanted, Path(out), options=chosen, seed=seed, limits=limits, watch=watch
    )
    return Run(Path(out), manifest)


def plan(
    threads: str | Path | Sequence[Thread],
    *,
    model: str,
    methods: Sequence[str] = ("algorithm-1",),
    embedder: str | None = None,
    seed: int = 0,
    model_args: Arguments | None = None,
    prices: Prices | None = None,
    **options: Any,
) -> Plan:
    """What `build`, or with two methods `compare_clusterings`, would ask. Nothing is asked.

    From one opinion a comment to five. Comments are counted once a method, although a run asks for them once.

    Raises:
        InputError: see `build`.
    """
    from overton.studies.pluralism.referencing import REFERENCING

    chosen = _options(methods, options)
    items = _threads(threads)
    wanted = _wanted(model, embedder, chosen, model_args, prices)
    opened = local.open_models(REFERENCING, items, wanted, seed, need_keys=False)
    return local.plan(REFERENCING, items, opened, chosen, seed)


def built_threads(run: Run) -> list[Built]:
    """What became of every thread under each clustering; `referencing.counted` adds it up."""
    from overton.studies.pluralism.referencing import Built

    rows = run.records().drop("model", "held").to_dicts()
    return [msgspec.convert(row, Built, strict=False) for row in rows]


def write_dataset(run: Run) -> Run:
    """Write the dataset of a run beside its records, anew if it is there; gives the run back.

    A run of two clusterings has none: which of them is the reference is for the user to say.
    """
    from overton.api.items import write_items
    from overton.studies.pluralism import STUDY
    from overton.studies.pluralism.referencing import references_of

    if len(run.manifest.options["methods"]) == 1:
        made = references_of(built_threads(run), threads_of(run))
        write_items(STUDY, made, run.path, replace=True)
    return run


def threads_of(run: Run) -> Sequence[Thread]:
    """The threads that a run of `MAKER` was asked about."""
    from overton.studies.pluralism.items import Thread

    return RunFolder(run.path).items(Thread)


def _options(methods: Sequence[str], given: Mapping[str, Any]) -> ReferenceOptions:
    from overton.studies.pluralism.referencing import ReferenceOptions

    # A temperature of None is the endpoint's own.
    chosen = {key: value for key, value in given.items() if value is not None or key == "temperature"}
    try:
        return msgspec.convert({"methods": list(methods), **chosen}, ReferenceOptions)
    except msgspec.ValidationError as error:
        raise InputError([Problem("options", "", str(error))]) from error


def _wanted(
    model: str,
    embedder: str | None,
    options: ReferenceOptions,
    arguments: Arguments | None,
    prices: Prices | None,
) -> dict[str, list[local.ModelRequest]]:
    from overton.studies.pluralism.clustering import EMBEDDING
    from overton.studies.pluralism.clustering.vectors import ROLE

    needed = bool(set(EMBEDDING) & set(options.methods))
    if {"dbscan", "hdbscan"} & set(options.methods) and find_spec("sklearn") is None:
        raise MissingExtra("clustering by density", "clustering")  # before anything is paid
    if embedder and not needed:
        raise InputError([Problem("--embedder", embedder, f"is asked by {', '.join(EMBEDDING)} only")])
    named = {"writer": [model], ROLE: [embedder or EMBEDDER] if needed else []}
    return model_requests(named, _roomy(model, arguments or {}), prices)


def _roomy(model: str, arguments: Arguments) -> Arguments:
    """Room for a reply that repeats all opinions, where the user does not say and the model does not reason."""
    from overton.models.naming import reasons_of
    from overton.models.spec import name_and_spec, parse_spec

    name, spec = name_and_spec(model)
    own, parsed = {**arguments.get(model, {}), **arguments.get(name, {})}, parse_spec(spec)
    if "max_tokens" in own or parsed.runs_here or reasons_of(parsed):
        return arguments
    return {**arguments, name: {**own, "max_tokens": _GROUPING_TOKENS}}


def _threads(threads: str | Path | Sequence[Thread]) -> Sequence[Thread]:
    return threads_at(threads) if isinstance(threads, str | Path) else threads
