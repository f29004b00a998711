"""Joining of human labels from several tasks for the same kind of label. A row in several tasks counts once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence

from msgspec import structs

from overton.judging.label_tasks import AdjudicatedLabel, AnnotatorLabels, LabelRequest, LabelTask, SavedLabels

JOINED = "+"
"""The separator between task names in the name of a joined task."""


def join_tasks(saved: Sequence[SavedLabels]) -> list[SavedLabels]:
    """Join the labels of tasks for the same kind of label, if the tasks were sampled from the same judged rows.

    Tasks of single rows are never joined with tasks of whole groups. A person who labelled a row in two tasks counts as
    two annotators of that row.
    """
    alike: dict[Hashable, list[SavedLabels]] = {}
    for labels in saved:
        alike.setdefault(_sampled_rows(labels.task), []).append(labels)
    return [found for some in alike.values() for found in ([_join(some)] if _fit(some) else some)]


def joined_with(labels: SavedLabels, others: Sequence[SavedLabels]) -> SavedLabels:
    """Join a task's labels with those of other tasks for the same kind of label. `labels` replaces labels of the same
    task in `others`."""
    every = [other for other in others if other.task.name != labels.task.name]
    found = join_tasks([*every, labels])
    return next(joined for joined in found if labels.task.name in joined.task.name.split(JOINED))


def _sampled_rows(task: LabelTask) -> Hashable:
    """The properties that tasks must share to be joined: the label, the sampled rows, and the unit of sampling."""
    population = tuple(sorted((label, count) for label, count in task.population.items() if count))
    whole = task.groups if task.design == "whole" else None
    return task.study, task.what, task.judge, tuple(task.labels), population, whole


def _fit(some: Sequence[SavedLabels]) -> bool:
    """Whether there are several tasks, and rows with the same id are equal in all of them."""
    rows = {(row.id, row.judged, row.group) for labels in some for row in labels.task.rows}
    return len(some) > 1 and len({name for name, _, _ in rows}) == len(rows)


def _join(some: Sequence[SavedLabels]) -> SavedLabels:
    """Combine several tasks into one. Rows and pages get new numbers."""
    some = sorted(some, key=lambda labels: labels.task.name)
    rows = {row.id: row for labels in some for row in labels.task.rows}
    places = {name: place for place, name in enumerate(rows)}
    at = [[places[row.id] for row in labels.task.rows] for labels in some]
    said = tuple(_renumber_pages(some, at))
    settled = {
        numbers[adjudicated.place]: AdjudicatedLabel(numbers[adjudicated.place], adjudicated.label, adjudicated.by)
        for labels, numbers in zip(some, at, strict=True)
        for adjudicated in labels.settled
    }
    designs = {labels.task.design for labels in some}
    task = structs.replace(
        some[0].task,
        name=JOINED.join(labels.task.name for labels in some),
        design="stratified" if len(designs) > 1 else some[0].task.design,
        rows=tuple(rows.values()),
        people=tuple(
            tuple(numbers[place] for place in page)
            for labels, numbers in zip(some, at, strict=True)
            for page in labels.task.people
        ),
    )
    labelled = {place for annotator in said for place in annotator.labels}
    task = structs.replace(task, rows=tuple(_with_chances(task, labelled)))
    return SavedLabels(task, said, tuple(settled[place] for place in sorted(settled)))


def _renumber_pages(some: Sequence[SavedLabels], at: Sequence[Sequence[int]]) -> Iterator[AnnotatorLabels]:
    pages = 0
    for labels, numbers in zip(some, at, strict=True):
        for annotator in labels.said:
            yield structs.replace(
                annotator,
                page=pages + annotator.page,
                labels={numbers[row]: label for row, label in annotator.labels.items()},
                remarks={numbers[row]: remark for row, remark in annotator.remarks.items()},
                seconds={numbers[row]: seconds for row, seconds in annotator.seconds.items()},
                taken_back=tuple(numbers[row] for row in annotator.taken_back),
            )
        pages += len(labels.task.people)


def _with_chances(task: LabelTask, labelled: set[int]) -> Iterator[LabelRequest]:
    """The rows, each with its chance of being labelled in any of the joined tasks, given the number of labelled rows.

    In each task, rows of one judged label were sampled with equal chances. So the rows labelled in any task are a
    simple random sample of the rows with that judged label, and their chance is the proportion that was labelled. If no
    task is stratified, the chance is computed from all rows together. If whole groups were sampled, it is computed from
    groups.
    """
    if task.design == "whole":
        sampled = len({row.group for row in task.rows})
        yield from (structs.replace(row, chance=min(1.0, sampled / task.groups)) for row in task.rows)
        return
    stratified = task.design == "stratified"
    strata = [row.judged if stratified else "" for row in task.rows]
    counts = Counter(strata[place] for place in labelled)
    population = task.population if stratified else {"": sum(task.population.values())}
    for row, stratum in zip(task.rows, strata, strict=True):
        # The chance of an unlabelled row is not used, but must be above 0.
        known = max(1, counts[stratum])
        yield structs.replace(row, chance=known / max(known, population.get(stratum, 0)))
