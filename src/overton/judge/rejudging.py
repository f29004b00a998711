"""Asking a run's judge again, or another one: which units, of which judge, and the run that does it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec

from overton.analysis.results import results_of
from overton.calls import Draw
from overton.errors import InputError, Problem
from overton.judging.label_tasks import SavedLabels
from overton.planning.plan import plan
from overton.runs.answerers import published
from overton.runs.dry_run import Plan
from overton.runs.progress import Watch
from overton.runs.run import Run, fresh_folder, open_run, run
from overton.runs.setup import Arguments, Prices, model_requests
from overton.runs.trust import Confirm, Trust, check_trusted
from overton.studies.judge_checks.rejudging import JudgedLabel, JudgedUnit, judged_again
from overton.studies.options import option_place
from overton.studies.questions import JudgedOnce, JudgedUnits
from overton.studies.registry import PREFIX, study_named
from overton.studies.results import Results

SIZE = 100
"""Units of each run by default."""
_MOST_UNLABELLED = 0.25
"""How many units without a label are asked about in addition to those with one, as a share of `size`."""


def again(
    runs: str | Path | Sequence[str | Path],
    *,
    judge: str | Sequence[str] | None = None,
    what: str | None = None,
    size: int = SIZE,
    seed: int = 0,
    out: str | Path | None = None,
    model_args: Arguments | None = None,
    prices: Prices | None = None,
    max_cost: float | None = None,
    max_calls: int | None = None,
    trust: bool = False,
    confirm: Confirm | None = None,
    watch: Watch | None = None,
) -> Run:
    """Ask a run's judge again about what it labelled, or another `judge` (or several), in a separate run.

    Each unit is asked about twice: word for word as in the run, and with labels or materials in another order. The
    units are those that people labelled, if any, at most `size` per run; otherwise a plain draw of `size`. Up to a
    quarter as many to which the run's judge gave no label are added. `what` is the label, if a study has several.

    Give two runs and one judge to learn whether their own judges differ: see `overton.studies.judge_checks.rejudging`.
    A run's own judge is asked as its folder says; what that would reach is confirmed as in `overton.resume`.

    Example: `overton.analyze("again-STUDY", overton.judge.again("runs/first").path)`.

    Raises:
        InputError: the runs are of several studies, or judged by several judges and none is given, the study does not
            declare how its judge is asked again, or nothing is labelled; see `overton.run`.
        RunError: one is not a run folder, or has no records.
    """
    asked = _asked(runs, judge, what, size, seed, model_args, prices, Trust(trust, confirm))
    folder = Path(out) if out is not None else fresh_folder(asked.study)
    return run(**asked.given, out=folder, max_cost=max_cost, max_calls=max_calls, watch=watch)


def plan_again(
    runs: str | Path | Sequence[str | Path],
    *,
    judge: str | Sequence[str] | None = None,
    what: str | None = None,
    size: int = SIZE,
    seed: int = 0,
    model_args: Arguments | None = None,
    prices: Prices | None = None,
    trust: bool = False,
    confirm: Confirm | None = None,
) -> Plan:
    """What `again` with the same arguments would ask and cost, without asking anything.

    Raises:
        InputError: see `again`.
        RunError: see `again`.
    """
    return plan(**_asked(runs, judge, what, size, seed, model_args, prices, Trust(trust, confirm)).given)


@dataclass(frozen=True)
class _RejudgingRun:
    """The study that asks again, and the arguments of its run."""

    study: str
    given: dict[str, Any]


def _asked(  # noqa: PLR0917
    runs: str | Path | Sequence[str | Path],
    judge: str | Sequence[str] | None,
    what: str | None,
    size: int,
    seed: int,
    model_args: Arguments | None,
    prices: Prices | None,
    trust: Trust,
) -> _RejudgingRun:
    if size < 1:
        raise InputError([Problem(option_place("size"), str(size), "must be 1 or more")])
    opened = [open_run(one) for one in ([runs] if isinstance(runs, str | Path) else runs)]
    if len(studies := {one.manifest.study for one in opened}) != 1:
        given = ", ".join(sorted(studies)) or "none"
        raise InputError([Problem("runs", given, "name runs of one study")])
    name = f"{PREFIX}{opened[0].manifest.study}"
    units = [unit for one, label in zip(opened, _names(opened), strict=True) for unit in _units(one, label, what, size)]
    models = (
        {"models": judge, "model_args": model_args, "prices": prices} if judge else own_judge(opened, trust, model_args)
    )
    return _RejudgingRun(name, {"study": name, "items": units, "seed": seed, **models})


def own_judge(runs: Sequence[Run], trust: Trust, more: Arguments | None) -> dict[str, Any]:
    """The judge that judged all the runs, according to their folders.

    Raises:
        InputError: there is none, there are several, or what a folder would reach is not confirmed.
    """
    role = judged_again(runs[0].study).role
    judges = {(one.spec, one.arguments, one.name): one for run in runs for one in run.manifest.models.get(role, ())}
    if len(judges) != 1:
        names = ", ".join(sorted(name for _, _, name in judges)) or "none"
        raise InputError([Problem(option_place("judge"), names, "judged these runs: name one judge (--judge)")])
    (entry,) = judges.values()
    written = entry.spec if entry.name == published(entry.spec) else f"{entry.name}={entry.spec}"
    arguments: dict[str, dict[str, list[str]]] = {}
    for key, value in entry.arguments:
        arguments.setdefault(entry.name, {}).setdefault(key, []).append(value)
    study = study_named(f"{PREFIX}{runs[0].manifest.study}")
    for one in runs:
        check_trusted(study, one.path, model_requests({role: [written]}, arguments), trust)
    prices = {entry.name: (entry.price.input, entry.price.output)} if entry.price else None
    return {"models": [written], "model_args": {**arguments, **(more or {})}, "prices": prices}


def _names(runs: Sequence[Run]) -> list[str]:
    """A name for each run: its folder's, with its position if several have the same."""
    names = [one.path.resolve().name for one in runs]
    known = Counter(names)
    return [f"{name} {place}" if known[name] > 1 else name for place, name in enumerate(names, 1)]


def _units(run: Run, label: str, what: str | None, size: int) -> list[JudgedUnit]:
    """What a run's judge is asked about.

    Raises:
        InputError: the study does not declare how, no such label exists, or nothing is labelled.
    """
    judged, sheet = judged_again(run.study), run.study.sheet
    assert sheet is not None  # judged_again ensures it
    if what is not None and what not in sheet.whats:
        raise InputError([Problem(option_place("what"), what, f"must be {' or '.join(sheet.whats)}")])
    results = results_of([run])
    chosen = what or (sheet.usual(results) if sheet.usual else sheet.whats[0])
    units = judged.units(results, chosen)
    people = _people(results, chosen, units)
    places = _drawn(units, people, size, f"{run.manifest.seed}/again/{chosen}")
    if not any(units.labelled[place] for place in places):
        raise InputError([Problem(str(run.path), chosen, "has nothing that a judge labelled")])
    judge = ", ".join(one.name for one in results.answering(judged.role))
    conditions = _conditions(units)
    return [
        JudgedUnit(
            f"u{sha256(f'{label}/{one.id}'.encode()).hexdigest()[:16]}",
            label,
            one.id,
            f"{label}/{one.group}",
            units.conditions[place],
            chosen,
            judge,
            _rows(one, people.get(place)),
            conditions,
            dict(one.material),
        )
        for place, one in zip(places, units.drawn(places), strict=True)
    ]


_People = Mapping[str, JudgedLabel]
"""What people said of the rows of one unit, by the part of the row's id after the unit's."""


def _people(results: Results, what: str, units: JudgedUnits) -> dict[int, _People]:
    """By the unit's place, what people said of its rows, from the task with most labels."""
    (facts,) = results.runs
    tasks = [label for label in facts.labels if label.task.what == what]
    if not tasks:
        return {}
    places = {name: place for place, name in enumerate(units.ids)}
    found: dict[int, _People] = {}
    for row, name, shares in _labelled(max(tasks, key=lambda one: len(one.shares()))):
        for start in _starts(name):
            if start in places:
                known = found.get(places[start], {})
                found[places[start]] = {
                    **known,
                    name[len(start) + 1 :]: msgspec.structs.replace(row, people=dict(shares)),
                }
                break
    return found


def _labelled(labels: SavedLabels) -> Iterator[tuple[JudgedLabel, str, Mapping[str, float]]]:
    for place, shares in labels.shares().items():
        asked = labels.task.rows[place]
        yield JudgedLabel(asked.judged, asked.chance), asked.id, shares


def _starts(name: str) -> Iterator[str]:
    """A row's id, then what precedes each of its slashes, longest first: one of these is its unit's id."""
    while name:
        yield name
        name = name.rpartition("/")[0]


def _drawn(units: JudgedUnits, people: Mapping[int, _People], size: int, name: str) -> list[int]:
    labelled = sorted(people) or [place for place, there in enumerate(units.labelled) if there]
    missing = [place for place, there in enumerate(units.labelled) if not there]
    more = Draw(f"{name}/unlabelled").sample(missing, int(size * _MOST_UNLABELLED))
    return sorted({*Draw(name).sample(labelled, size), *more})


def _rows(unit: JudgedOnce, people: _People | None) -> dict[str, JudgedLabel]:
    """The rows that people labelled, since these were drawn; all rows if nobody labelled any."""
    return dict(people) if people else {row: JudgedLabel(judged) for row, judged in unit.labels.items()}


def _conditions(units: JudgedUnits) -> dict[str, tuple[int, int]]:
    every = Counter(units.conditions)
    missing = Counter(one for one, there in zip(units.conditions, units.labelled, strict=True) if not there)
    return {condition: (count, missing[condition]) for condition, count in sorted(every.items())}
