"""A preview, before labelling begins, of the numbers of a run that a task's labels will correct.

To find these numbers, Overton uses the judge's labels in place of the task's future human labels, and corrects the
run's numbers as in `overton analyze`.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import isfinite, isnan
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from overton.analysis.labels import label_shares
from overton.analysis.results import measuring_of, results_of
from overton.errors import InputError, Problem, list_names
from overton.judging.joined_tasks import joined_with
from overton.judging.label_tasks import AnnotatorLabels, LabelTask, SavedLabels
from overton.runs.labels import read_label_file, read_labels
from overton.runs.run import open_run
from overton.statistics import NO_INTERVAL
from overton.studies.label_shares import use_of_variants
from overton.studies.numbers import reason

if TYPE_CHECKING:
    from overton.studies.label_shares import LabelledShares, Variants

SHARES = "shares of labels"
"""The name of the numbers for the proportion of each label."""


class LabelUse(msgspec.Struct, frozen=True):
    """The use of a task's labels once its `people` have labelled all its rows.

    `units` counts the run's units that the judge labelled, and `labels` the task's units among them. `earlier` counts
    other units that already have human labels. These labels are combined with the task's labels. `corrected` names the
    numbers that will be replaced by corrected numbers. At least `enough` labels are needed to replace a number.
    `beside` names the numbers that will be shown together with corrected numbers. `uncorrected` has all other numbers,
    each with the reason. If no corrected number has an interval, `without_interval` is the reason, otherwise ''. If the
    labels only measure agreement, `why` is the reason, otherwise ''.
    """

    labels: int
    people: int
    units: int
    enough: int
    corrected: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    uncorrected: dict[str, str] = {}
    why: str = ""
    earlier: int = 0
    without_interval: str = ""


def use_of_labels(run: str | Path, task: str | Path) -> LabelUse:
    """The use of a task's labels; `task` is the file that was written with its pages or its sheet.

    Raises:
        InputError: the file is not a task, or belongs to another run.
        RunError: `run` is not a run folder, or has no records.
    """
    drawn = read_label_file(Path(task))
    if not isinstance(drawn, LabelTask):
        raise InputError([Problem(str(task), "", "is not the task of a sheet or of pages")])
    opened = open_run(run)
    how = measuring_of(opened.study).how()
    labels = joined_with(_labelled_as_judged(drawn), read_labels(opened.path))
    shares, _ = label_shares(opened, results_of([opened]), labels, str(task), how)
    found = {} if shares.why else dict(_numbers(shares))
    uses = {name: use_of_variants(every) for name, every in found.items()}
    corrected = [number for every in found.values() for number in every if isfinite(number.corrected.value)]
    return LabelUse(
        labels=len(drawn.rows),
        people=len(drawn.people),
        units=shares.units,
        enough=shares.enough,
        corrected=tuple(name for name, use in uses.items() if use == "leads"),
        beside=tuple(name for name, use in uses.items() if use == "beside"),
        uncorrected={name: _why_uncorrected(found[name]) for name, use in uses.items() if use == "absent"},
        why=shares.why,
        earlier=max(0, shares.labelled - len(drawn.rows)),
        without_interval=_why_without_interval(corrected),
    )


def _labelled_as_judged(task: LabelTask) -> SavedLabels:
    """The task as if each person had labelled all rows of their page as the judge did."""
    people = (
        AnnotatorLabels(task.name, number, f"person {number}", {place: task.rows[place].judged for place in page})
        for number, page in enumerate(task.people, 1)
    )
    return SavedLabels(task, tuple(people))


def _numbers(shares: LabelledShares) -> Iterator[tuple[str, list[Variants]]]:
    """The numbers that the labels affect, by the measure's name. Each measure has numbers for all groups and
    conditions."""
    yield SHARES, [*shares.shares.values()]
    groups = shares.measures.groups.values() if shares.measures else ()
    found: dict[str, list[Variants]] = {}
    for name, variants in (entry for group in groups for entry in group.items()):
        found.setdefault(name.partition(", ")[0], []).append(variants)
    yield from found.items()


def _why_uncorrected(every: list[Variants]) -> str:
    """The reason why a number has no corrected value."""
    return next((reason(each.corrected) for each in every), "")


def _why_without_interval(corrected: list[Variants]) -> str:
    """The reason why no corrected number has an interval; '' if some have an interval, or if there are no corrected
    numbers."""
    if any(not isnan(each.corrected.low) for each in corrected):
        return ""
    return next((reason(each.corrected).removeprefix(NO_INTERVAL) for each in corrected), "")


_MOST_NAMES = 6


def describe_use(use: LabelUse) -> Iterator[str]:
    """Describe the use of the labels in a few sentences, with the options that change it."""
    who = "one person has" if use.people == 1 else f"{use.people} people have"
    rows = "this row" if use.labels == 1 else f"these {use.labels:,} rows"
    every = f"these and the {use.earlier:,} earlier labels" if use.earlier else "the labels"
    labels = f"Once {who} labelled {rows}, {every}"
    if use.why:
        yield f"{labels} will only show how well the judge agrees with people, because {use.why}."
        return
    beside = f"corrected numbers next to the judge's ({list_names(use.beside, _MOST_NAMES)})" if use.beside else ""
    if not use.corrected:
        shown = f", and {beside}" if beside else ""
        without = f", but without intervals: {use.without_interval}" if use.without_interval else ""
        yield f"{labels} will show how well the judge agrees with people{shown}{without}."
        yield _what_it_takes(use)
        return
    yield f"{labels} will correct these numbers of the run: {list_names(use.corrected, _MOST_NAMES)}."
    if beside:
        yield f"The labels will show {beside}."
    if use.uncorrected:
        names = list_names([*use.uncorrected], _MOST_NAMES)
        why = next(iter(use.uncorrected.values()))
        yield (
            f"The labels will not correct {names} ({why}). More labels may change this. Try --for MEASURE, --size or"
            " --whole."
        )


def _what_it_takes(use: LabelUse) -> str:
    needs = f"Corrected numbers replace the judge's numbers if there are at least {use.enough} labels"
    if use.units < use.enough:
        return f"{needs}, but the judge labelled only {use.units:,} rows in this run."
    if use.labels + use.earlier < use.enough:
        return f"{needs}. To sample as many, use --size {use.enough}."
    return f"{needs}, but here corrected numbers have no intervals. Sample more rows with --size."
