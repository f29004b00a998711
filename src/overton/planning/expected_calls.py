"""Expected calls and cost of a run that stops at a target precision, from simulated runs with answers sampled from a
pilot."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from overton.calls import Draw
from overton.engine import entries
from overton.errors import InputError, Problem
from overton.runs import precision
from overton.runs.dry_run import Plan, PrecisionPlan
from overton.studies.multiple_judges import JUDGE
from overton.studies.options import option_place
from overton.studies.precision import Arm, Decision, PrecisionTarget, StoppingPlan, TrialOutcome, decide
from overton.studies.study import AnyStudy

if TYPE_CHECKING:
    from overton.runs.run import Run
    from overton.runs.setup import Arguments, SetUp


_RUNS_PER_MODEL = 3
"""The number of simulated runs per model of the pilot."""

Answered = dict[tuple[str, str], list[TrialOutcome]]


def expected_calls(
    ready: SetUp, wanted: PrecisionTarget, planned: Plan, pilot: str | Path | None, model_args: Arguments | None
) -> PrecisionPlan:
    """The expected calls, cost and rounds, summed over the plan's pipelines. If the plan has more items than the pilot,
    the pilot's items are reused in turn.

    Raises:
        InputError: the study does not support precision stopping, or the pilot lacks a condition of the plan.
        RunError: the pilot is not a run, or has no records.
    """
    study = ready.experiment.study
    precision.check_one_judge(study, ready.wanted)
    lanes = study.lanes(ready.wanted)
    design = precision.design_of(ready.experiment, wanted, lanes)
    with TemporaryDirectory(prefix="overton-") as folder:
        called, models = _pilot_answers(design, ready, pilot, model_args, Path(folder))
    runs = [
        _simulate_run(design, models[number % len(models)], ready.experiment.seed + number)
        for number in range(_RUNS_PER_MODEL * len(models))
    ]
    runs.sort(key=lambda run: run[1].calls)
    rounds, last = runs[len(runs) // 2]
    each = None if planned.cost is None or not planned.calls else planned.cost / planned.calls
    return PrecisionPlan(
        pilot=called,
        calls=last.calls * lanes,
        calls_least=runs[0][1].calls * lanes,
        calls_most=runs[-1][1].calls * lanes,
        cost=None if each is None else last.calls * lanes * each,
        rounds=rounds,
        halves=_widest_halves(last),
    )


def _pilot_answers(
    design: StoppingPlan, ready: SetUp, pilot: str | Path | None, model_args: Arguments | None, folder: Path
) -> tuple[str, list[Answered]]:
    """The pilot's name as used in sentences; and for each model of the pilot, the results of its trials by item and
    condition."""
    from overton.planning.pilot import pilot_of

    study = ready.experiment.study
    source, called = pilot_of(None if pilot is None else str(pilot), ready, model_args, folder)
    if source.run is None:
        raise InputError(
            [Problem(option_place("pilot"), str(pilot), "must be a run: a table does not identify its trials")]
        )
    run = source.run
    of = {trial.name: Arm(trial.item, design.blocks.of(trial)[0]) for trial in run.experiment.trials()}
    calls = _calls_per_trial(study, run, of)
    found: dict[str, dict[str, list[Any]]] = defaultdict(lambda: defaultdict(list))
    for name, row in zip(_lanes_of_rows(study, run), run.rows(), strict=True):
        trial = getattr(row, design.blocks.trial)
        if trial in of and name is not None and (not source.model or name in ("", source.model)):
            found[name][trial].append(row)
    return called, [_group_by_arm(of, trials, calls) for trials in found.values()]


def _lanes_of_rows(study: AnyStudy, run: Run) -> list[str | None]:
    """The pipeline of each row of the pilot's records: '' if all models share a pipeline, None if the row is not from
    the run's first judge."""
    table = run.records()
    own = "model" in table.columns and not study.together
    names = table["model"].to_list() if own else [""] * table.height
    if JUDGE not in table.columns:
        return names
    first = run.manifest.models[study.several][0].name
    return [name if judge == first else None for name, judge in zip(names, table[JUDGE].to_list(), strict=True)]


def _calls_per_trial(study: AnyStudy, run: Run, of: Mapping[str, Arm]) -> dict[str, int]:
    """The number of calls that each of the pilot's trials made per pipeline, without calls shared between trials."""
    made = Counter(entry.place.trial for entry in entries(run.journal_file))
    lanes = study.lanes(run.manifest.models)
    whole: Counter[str] = Counter()
    for name, count in made.items():
        whole[name if name in of else name.rpartition(" of ")[0]] += count
    return {name: max(round(whole[name] / lanes), 1) for name in of}


def _group_by_arm(of: Mapping[str, Arm], trials: Mapping[str, list[Any]], calls: Mapping[str, int]) -> Answered:
    made: Answered = defaultdict(list)
    for name, records in trials.items():
        made[of[name]].append(TrialOutcome(records, calls[name]))
    return made


def _simulate_run(design: StoppingPlan, answered: Answered, seed: int) -> tuple[int, Decision]:
    """Simulate a run in which each trial has the outcome of a trial of the pilot. Return the number of rounds and the
    last decision."""
    pilots = sorted({item for item, _ in answered})
    items = list(dict.fromkeys(arm.item for arm in design.arms))
    stands_for = {item: item if item in pilots else pilots[n % len(pilots)] for n, item in enumerate(items)}
    ended: dict[str, TrialOutcome] = {}
    rounds = 0
    while True:
        rounds += 1
        decision = decide(design, ended)
        if not decision.blocks:
            return rounds, decision
        for trial in design.chosen(decision, ended.keys()):
            name, _ = design.blocks.of(trial)
            some = answered.get((stands_for[trial.item], name))
            if not some:
                reason = f"has no answers in the condition {name!r}, which the plan includes"
                raise InputError([Problem(option_place("pilot"), stands_for[trial.item], reason)])
            drawn = Draw(f"{seed}/pilot/{trial.name}").sample(some, 1)[0]
            ended[trial.name] = TrialOutcome(
                [design.blocks.like(record, trial) for record in drawn.records], drawn.calls
            )


def _widest_halves(last: Decision) -> dict[str, float]:
    found: dict[str, float] = {}
    for limit in last.limits:
        found[limit.measure] = max(found.get(limit.measure, 0.0), limit.half)
    return found
