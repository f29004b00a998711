"""Labelling a run's units again, by the run's judge or another judge: choice of units and judge, and the new run."""

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
from overton.runs.answerers import public_spec
from overton.runs.dry_run import Plan
from overton.runs.progress import Watch
from overton.runs.run import Run, fresh_folder, open_run
from overton.runs.setup import Arguments, Prices, model_requests
from overton.runs.start import run
from overton.runs.trust import Confirm, Trust, check_trusted
from overton.studies.judge_checks.consistency import JudgedLabel, JudgedUnit, questions_of
from overton.studies.judged_rows import QuestionRows, rows_of
from overton.studies.options import option_place
from overton.studies.registry import PREFIX, study_named

SIZE = 100
"""The default number of units per run."""
_MOST_UNLABELLED = 0.25
"""The maximum number of units without a label that are added to those with a label, as a fraction of `size`."""


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
    anyway: bool = False,
    trust: bool = False,
    confirm: Confirm | None = None,
    watch: Watch | None = None,
) -> Run:
    """Ask a judge again about the units that a run's judge labelled, in a separate run. `judge` names one or several
    judges, by default the run's own.

    Each unit is labelled twice: with the prompt of the run, word for word, and with labels or materials in another
    order. The units are those with human labels, at most `size` per run. If there are no human labels, the units are a
    simple random sample of `size` units. Units to which the run's judge gave no label are added, at most a quarter of
    `size`. `what` names the label, if a study has several.

    Give two runs and one judge to measure whether the runs' own judges differ: see
    `overton.studies.judge_checks.consistency`. A run's own judge is asked with the settings in the run's folder. You
    have to confirm the addresses, keys and files that these settings name, as in `overton.resume`.

    Example: `overton.analyze("again-STUDY", overton.judge.again("runs/first").path)`.

    Raises:
        InputError: the runs are of several studies, the judge gave no labels, several judges judged the runs and
            `judge` is missing, or the study does not declare how to repeat its judge's questions. See also
            `overton.run`.
        RunError: a path is not a run folder, or the run has no records.
    """
    asked = _prepare_run(runs, judge, what, size, seed, model_args, prices, Trust(trust, confirm))
    folder = Path(out) if out is not None else fresh_folder(asked.study)
    return run(**asked.given, out=folder, max_cost=max_cost, max_calls=max_calls, anyway=anyway, watch=watch)


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
    """Plan `again` with the same arguments: count and price the calls, without sending any.

    Raises:
        InputError: see `again`.
        RunError: see `again`.
    """
    return plan(**_prepare_run(runs, judge, what, size, seed, model_args, prices, Trust(trust, confirm)).given)


@dataclass(frozen=True)
class _RejudgingRun:
    """The study that asks again, and the arguments of its run."""

    study: str
    given: dict[str, Any]


def _prepare_run(  # noqa: PLR0917
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
    opened = [open_run(path) for path in ([runs] if isinstance(runs, str | Path) else runs)]
    if len(studies := {source.manifest.study for source in opened}) != 1:
        given = ", ".join(sorted(studies)) or "none"
        raise InputError([Problem("runs", given, "name runs of one study")])
    name = f"{PREFIX}{opened[0].manifest.study}"
    units = [
        unit
        for source, label in zip(opened, _name_runs(opened), strict=True)
        for unit in _choose_units(source, label, what, size)
    ]
    models = (
        {"models": judge, "model_args": model_args, "prices": prices} if judge else own_judge(opened, trust, model_args)
    )
    return _RejudgingRun(name, {"study": name, "items": units, "seed": seed, **models, **_texts_of(opened)})


def _texts_of(runs: Sequence[Run]) -> dict[str, Any]:
    """The argument for the texts that replace the study's own in the runs, so that the judge gets the same texts.

    Raises:
        InputError: the runs have different texts.
    """
    first, *others = (run.study.replaced for run in runs)
    if any(other != first for other in others):
        raise InputError(
            [Problem("runs", "", ("replace different prompts (--prompts); name runs with the same prompts"))]
        )
    return {"prompts": first} if first else {}


def own_judge(runs: Sequence[Run], trust: Trust, more: Arguments | None) -> dict[str, Any]:
    """The judge that judged all the runs, according to their folders.

    Raises:
        InputError: there is no judge, there are several judges, or an address, key or file that the folder names is not
            confirmed.
    """
    role = questions_of(runs[0].study).role
    judges = {
        (entry.spec, entry.arguments, entry.name): entry for run in runs for entry in run.manifest.models.get(role, ())
    }
    if len(judges) != 1:
        names = ", ".join(sorted(name for _, _, name in judges)) or "none"
        raise InputError([Problem(option_place("judge"), names, "judged these runs; name one judge (--judge)")])
    (entry,) = judges.values()
    written = entry.spec if entry.name == public_spec(entry.spec) else f"{entry.name}={entry.spec}"
    arguments: dict[str, dict[str, list[str]]] = {}
    for key, value in entry.arguments:
        arguments.setdefault(entry.name, {}).setdefault(key, []).append(value)
    study = study_named(f"{PREFIX}{runs[0].manifest.study}")
    for source in runs:
        check_trusted(study, source.path, model_requests({role: [written]}, arguments), trust)
    prices = {entry.name: (entry.price.input, entry.price.output)} if entry.price else None
    return {"models": [written], "model_args": {**arguments, **(more or {})}, "prices": prices}


def _name_runs(runs: Sequence[Run]) -> list[str]:
    """A name for each run: the folder's name, with the run's position if several folders have the same name."""
    names = [source.path.resolve().name for source in runs]
    known = Counter(names)
    return [f"{name} {place}" if known[name] > 1 else name for place, name in enumerate(names, 1)]


def _choose_units(run: Run, label: str, what: str | None, size: int) -> list[JudgedUnit]:
    """The units about which a run's judge is asked.

    Raises:
        InputError: the study does not declare how to repeat its questions, there is no such label, or nothing is
            labelled.
    """
    questions, results = questions_of(run.study), results_of([run])
    rows = rows_of(questions, results, what)
    question = rows.question
    if reason := question.unasked(results):
        raise InputError([Problem(option_place("what"), question.key, reason)])
    people = _people_by_unit(rows)
    places = _draw_places(rows, people, size, f"{run.manifest.seed}/again/{question.key}")
    if not any(rows.is_labelled[place] for place in places):
        raise InputError([Problem(str(run.path), question.key, "has no labels of a judge")])
    conditions, shared = _count_conditions(rows), questions.in_runs(results).manner(results)
    judge = ", ".join(answerer.name for answerer in results.answering(question.role))
    named = rows.asked[places].select("id", "group", "condition").rows()
    return [
        JudgedUnit(
            f"u{sha256(f'{label}/{name}'.encode()).hexdigest()[:16]}",
            label,
            name,
            f"{label}/{group}",
            condition,
            question.key,
            judge,
            _rows_to_compare(rows.labels(place), people.get(place)),
            conditions,
            {**material, **shared},
        )
        for place, (name, group, condition), material in zip(places, named, rows.materials(places), strict=True)
    ]


_PeopleByRow = Mapping[str, JudgedLabel]
"""Human labels of the rows of one unit, by the part of the row's id that follows the unit's id."""


def _people_by_unit(rows: QuestionRows) -> dict[int, _PeopleByRow]:
    """Human labels of each unit's rows, by the unit's index, from the task with most labels."""
    (facts,) = rows.results.runs
    tasks = [label for label in facts.labels if label.task.what == rows.question.key]
    if not tasks:
        return {}
    places = {name: place for place, name in enumerate(rows.asked["id"])}
    found: dict[int, _PeopleByRow] = {}
    for row, name, shares in _labelled_rows(max(tasks, key=lambda labels: len(labels.shares()))):
        for start in _possible_unit_ids(name):
            if start in places:
                known = found.get(places[start], {})
                found[places[start]] = {
                    **known,
                    name[len(start) + 1 :]: msgspec.structs.replace(row, people=dict(shares)),
                }
                break
    return found


def _labelled_rows(labels: SavedLabels) -> Iterator[tuple[JudgedLabel, str, Mapping[str, float]]]:
    for place, shares in labels.shares().items():
        asked = labels.task.rows[place]
        yield JudgedLabel(asked.judged, asked.chance), asked.id, shares


def _possible_unit_ids(name: str) -> Iterator[str]:
    """A row's id, then its beginnings up to each slash, longest first. One of these is the id of the row's unit."""
    while name:
        yield name
        name = name.rpartition("/")[0]


def _draw_places(rows: QuestionRows, people: Mapping[int, _PeopleByRow], size: int, name: str) -> list[int]:
    labelled = sorted(people) or [place for place, there in enumerate(rows.is_labelled) if there]
    missing = [place for place, there in enumerate(rows.is_labelled) if not there]
    more = Draw(f"{name}/unlabelled").sample(missing, int(size * _MOST_UNLABELLED))
    return sorted({*Draw(name).sample(labelled, size), *more})


def _rows_to_compare(judged: Mapping[str, str | None], people: _PeopleByRow | None) -> dict[str, JudgedLabel]:
    """The rows with human labels, because these were sampled; all rows if there are no human labels."""
    return dict(people) if people else {row: JudgedLabel(label) for row, label in judged.items()}


def _count_conditions(rows: QuestionRows) -> dict[str, tuple[int, int]]:
    conditions = rows.asked["condition"].to_list()
    every = Counter(conditions)
    missing = Counter(condition for condition, there in zip(conditions, rows.is_labelled, strict=True) if not there)
    return {condition: (count, missing[condition]) for condition, count in sorted(every.items())}
