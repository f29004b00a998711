"""Runs made, resumed and extended with requests and limits as objects, and with studies that are not installed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from overton.engine import Limits, RetryPolicy
from overton.runs.answerers import ModelRequest, public_spec
from overton.runs.experiment import Experiment
from overton.runs.folder import Manifest
from overton.runs.preparation import prepare
from overton.runs.progress import Watch
from overton.runs.run import Run
from overton.runs.start import extend, resume, start
from overton.runs.trust import Trust
from overton.studies.options import fields_of
from overton.studies.study import AnyStudy


def start_run(
    experiment: Experiment,
    wanted: Mapping[str, Sequence[ModelRequest]],
    out: Path,
    *,
    patience: RetryPolicy | None = None,
    watch: Watch | None = None,
    **planned: Any,
) -> Manifest:
    return start(prepare(experiment, wanted, **planned), out, patience=patience, watch=watch).manifest


def resume_run(
    study: AnyStudy,
    path: Path,
    *,
    limits: Limits | None = None,
    elsewhere: Sequence[ModelRequest] = (),
    trust: Trust | None = None,
    **more: Any,
) -> Manifest:
    named = [named_request(request) for request in elsewhere]
    return resume(
        Run(path, study=study),
        models=[name for name, _ in named],
        model_args=dict(named),
        **as_keywords(limits, trust),
        **more,
    ).manifest


def extend_run(
    study: AnyStudy,
    path: Path,
    *,
    options: Any = None,
    more: Mapping[str, Sequence[ModelRequest]] | None = None,
    limits: Limits | None = None,
    trust: Trust | None = None,
    **rest: Any,
) -> Manifest:
    run = Run(path, study=study)
    named = {role: [named_request(request) for request in requests] for role, requests in (more or {}).items()}
    words = {role.name: role.word for role in study.roles[1:]}
    added = {words[role]: [name for name, _ in requests] for role, requests in named.items() if role in words}
    return extend(
        run,
        models=[name for name, _ in named.get(study.first, ())],
        model_args=dict(pair for requests in named.values() for pair in requests),
        **changes(run, options),
        **added,
        **as_keywords(limits, trust),
        **rest,
    ).manifest


def changes(run: Run, options: Any) -> dict[str, Any]:
    """The options that differ from those of the run."""
    fields = [] if options is None else [field.name for field in fields_of(type(options))]
    return {name: getattr(options, name) for name in fields if getattr(options, name) != getattr(run.options, name)}


def named_request(request: ModelRequest) -> tuple[str, dict[str, list[str]]]:
    """A request as a user writes it, and its arguments."""
    given: dict[str, list[str]] = {}
    for key, value in request.arguments:
        given.setdefault(key, []).append(value)
    named = request.name != public_spec(request.spec)
    return (f"{request.name}={request.spec}" if named else request.spec), given


def as_keywords(limits: Limits | None, trust: Trust | None) -> dict[str, Any]:
    limits, trust = limits or Limits(), trust or Trust()
    return {
        "max_cost": limits.cost,
        "max_calls": limits.calls,
        "trust": trust.given,
        "confirm": trust.confirm,
    }
