"""Sampling of a label task from a run: the rows for people to label, and the texts of these rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from overton.analysis.results import results_of
from overton.errors import InputError, Problem
from overton.judging.label_tasks import USUAL_QUESTION, LabelRequest, LabelTask, choose_units, task_of

if TYPE_CHECKING:
    import polars as pl

    from overton.judging.label_tasks import LabelDesign
    from overton.runs.run import Run
    from overton.studies.judged_rows import QuestionRows
    from overton.studies.questions import Questions
    from overton.studies.study import AnyStudy


def questions_of(study: AnyStudy) -> Questions:
    """The study's questions to a judge, whose labels people can check.

    Raises:
        InputError: the study declares no such questions.
    """
    if study.questions is None:
        raise InputError([Problem("study", study.name, "has no labels of a judge to check")])
    return study.questions


def judged_rows(run: Run, what: str | None) -> QuestionRows:
    """All rows that a run's judge labelled by one question, by default by the first question that has labels.

    Raises:
        InputError: the study has no sheet, or no such label.
    """
    from overton.studies.judged_rows import rows_of

    return rows_of(questions_of(run.study), results_of([run]), what)


def draw_task(
    run: Run,
    judged: QuestionRows,
    deal: Callable[[Sequence[str]], tuple[tuple[int, ...], ...]],
    *,
    size: int | None = None,
    seed: int = 0,
    design: LabelDesign = "plain",
) -> tuple[LabelTask, pl.DataFrame]:
    """Sample a task of about `size` of a run's judged rows, with the texts that the study shows for them.

    `deal(groups)` takes the group of each row and returns the rows of each page. `size` defaults to `usual_size`.

    Raises:
        InputError: `size` is less than one, or there are no rows to sample.
    """
    question, groups = judged.question, _groups_by_place(judged, design)
    taken = choose_units(
        judged.given,
        [groups.get(place, "") for place in range(len(judged.given))],
        size=usual_size(groups, design) if size is None else size,
        seed=seed,
        design=design,
    )
    rows, meanings = judged.drawn([place for place, _ in taken]), question.meanings()
    named = zip(rows["id"], rows["label"], taken, strict=True)
    asked = tuple(LabelRequest(name, label, groups[place], chance) for name, label, (place, chance) in named)
    task = LabelTask(
        name="",
        study=run.manifest.study,
        what=question.key,
        judge=judged.judge,
        question=question.asks or USUAL_QUESTION,
        labels={label: meanings.get(label, "") for label in question.labels},
        seed=seed,
        design=design,
        population={label: judged.given.count(label) for label in question.labels},
        groups=len(set(groups.values())),
        rows=asked,
        people=deal([request.group for request in asked]),
    )
    return task_of(task), rows


_DEFAULT_ROWS = 100


def usual_size(groups: Mapping[int, str], design: LabelDesign) -> int:
    """The number of rows to sample by default. If whole groups are sampled, at least ten groups are needed to correct
    measures."""
    from overton.statistics.misclassification import WHOLE

    if design != "whole" or not groups:
        return _DEFAULT_ROWS
    return max(_DEFAULT_ROWS, WHOLE * len(groups) // len(set(groups.values())))


def _groups_by_place(judged: QuestionRows, design: LabelDesign) -> Mapping[int, str]:
    """The group of each labelled row, by the row's index. A group has similar rows, or rows that are sampled
    together."""
    labelled = [place for place, label in enumerate(judged.given) if label is not None]
    return dict(zip(labelled, judged.units(design).group, strict=True))


def as_text(name: str) -> pl.Expr:
    """A column as text, with '' for null."""
    import polars as pl

    return pl.col(name).cast(pl.String).fill_null("")
