"""Testing a judge on texts whose label is known. A judge is tested for a study, or with the settings of a run. If a
run's own judge is tested, the run stores the result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from inspect import unwrap
from pathlib import Path
from typing import Any

import msgspec

from overton.analysis.analyze import measure_run
from overton.analysis.results import TRIED, controls_kept, results_of
from overton.errors import InputError, Problem
from overton.files.atomic import write_atomic
from overton.judge.rejudging import own_judge
from overton.planning.plan import plan
from overton.runs.answerers import public_spec
from overton.runs.dry_run import Plan
from overton.runs.items import read_items
from overton.runs.labels import labels_locked
from overton.runs.progress import Watch
from overton.runs.run import Run, fresh_folder, open_run
from overton.runs.setup import Arguments, Prices
from overton.runs.start import run
from overton.runs.trust import Confirm, Trust
from overton.studies.judge_checks.consistency import questions_of
from overton.studies.options import option_place
from overton.studies.registry import CONTROLS, study_named
from overton.studies.results import JudgeOnControls


def controls(
    of: str | Path,
    *,
    judge: str | Sequence[str] | None = None,
    seed: int = 0,
    out: str | Path | None = None,
    model_args: Arguments | None = None,
    prices: Prices | None = None,
    max_cost: float | None = None,
    max_calls: int | None = None,
    anyway: bool = False,
    trust: bool = False,
    confirm: Confirm | None = None,
    watch: Watch | None = None,
) -> Run:
    """Ask a judge about texts whose label is known, in a separate run.

    If `of` is a study's name, `judge` is the judge to test, or several judges. If `of` is a run, the judge is asked as
    in that run, and the run's own judge is tested by default. If the run's own judge is tested, the run stores the
    result. The run's report then shows this result, and warns if the judge failed the test.

    Example: `overton.analyze("controls-STUDY", overton.judge.controls("STUDY", judge="openai/gpt-5").path)`.

    Raises:
        InputError: `of` is neither a study nor a run, the study has no control texts, or no judge is given for a study.
            See also `overton.run`.
        RunError: see `overton.judge.again`.
    """
    asked = _prepare_run(of, judge, seed, model_args, prices, Trust(trust, confirm))
    folder = Path(out) if out is not None else fresh_folder(asked.study)
    done = run(**asked.given, out=folder, max_cost=max_cost, max_calls=max_calls, anyway=anyway, watch=watch)
    if asked.run is not None and done.finished:
        _store_results(asked.run, done)
    return done


def plan_controls(
    of: str | Path,
    *,
    judge: str | Sequence[str] | None = None,
    seed: int = 0,
    model_args: Arguments | None = None,
    prices: Prices | None = None,
    trust: bool = False,
    confirm: Confirm | None = None,
) -> Plan:
    """Plan `controls` with the same arguments: count and price the calls, without sending any.

    Raises:
        InputError: see `controls`.
        RunError: see `controls`.
    """
    return plan(**_prepare_run(of, judge, seed, model_args, prices, Trust(trust, confirm)).given)


@dataclass(frozen=True)
class _ControlRun:
    """The study that tests the judge, the arguments of its run, and the run whose judge is tested (None without a
    run)."""

    study: str
    given: dict[str, Any]
    run: Run | None


def _prepare_run(  # noqa: PLR0917
    of: str | Path,
    judge: str | Sequence[str] | None,
    seed: int,
    model_args: Arguments | None,
    prices: Prices | None,
    trust: Trust,
) -> _ControlRun:
    source = open_run(of) if Path(of).is_dir() else None
    name = f"{CONTROLS}{source.manifest.study if source else study_named(str(of)).name}"
    study_named(name)
    if judge:
        models: dict[str, Any] = {"models": judge, "model_args": model_args, "prices": prices}
    elif source is not None:
        models = own_judge([source], trust, model_args)
    else:
        raise InputError([Problem(option_place("judge"), "", "name the judge to test")])
    given = {"study": name, "seed": seed, **models, **_controls_for(name, source)}
    if source is not None and source.study.replaced:
        given["prompts"] = source.study.replaced
    return _ControlRun(name, given, source)


def _controls_for(name: str, source: Run | None) -> dict[str, Any]:
    """The control texts as arguments; empty if they are the study's own control texts, asked as usual.

    Raises:
        InputError: the study's runs have their own questions but `source` is None, or the run's question has no control
            texts.
    """
    if source is None:
        if study_named(name).items.starter is None:
            raise InputError([Problem("study", name, "each run of this study has its own question; name a run")])
        return {}
    questions, results = questions_of(source.study), results_of([source])
    own = questions.in_runs(results)
    # The functions of a study with replaced texts are wrapped.
    kept, theirs = (asked.controls and unwrap(asked.controls) for asked in (questions, own))
    usual: Sequence[Any] = read_items(name) if kept is theirs else own.own_controls()
    if not usual:
        raise InputError([Problem(str(source.path), "controls", "the run's question has no control texts")])
    shared = own.manner(results)
    items = [msgspec.structs.replace(item, material={**item.material, **shared}) for item in usual]
    return {} if items == usual else {"items": items}


def _store_results(source: Run, done: Run) -> None:
    """Store the results of the run's own judges. They replace earlier results for the same labels."""
    own = {public_spec(entry.spec) for entries in source.manifest.models.values() for entry in entries}
    specs = {entry.name: public_spec(entry.spec) for entries in done.manifest.models.values() for entry in entries}
    found = [
        JudgeOnControls(
            specs[result.judge], result.what, round(result.right.value * result.controls), result.controls, result.fails
        )
        for result in measure_run(done.manifest.study, done.path).analysis.tried
        if specs[result.judge] in own
    ]
    if not found:
        return
    again = {(result.judge, result.what) for result in found}
    with labels_locked(source.path):
        kept = [result for result in controls_kept(source.path) if (result.judge, result.what) not in again]
        write_atomic(source.path / TRIED, [msgspec.json.format(msgspec.json.encode([*kept, *found]), indent=1)])
