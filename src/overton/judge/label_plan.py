"""The number of human labels that narrow a measure's interval to a given width, estimated from the labels that a run
has."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from overton.analysis.results import results_of
from overton.errors import InputError, Problem
from overton.judge.label_draw import questions_of
from overton.runs.run import open_run

if TYPE_CHECKING:
    from pathlib import Path

    from overton.judging.label_tasks import SavedLabels
    from overton.statistics.misclassification import LabelCount
    from overton.studies.judged_rows import QuestionRows
    from overton.studies.questions import LabelPlans, Questions
    from overton.studies.results import Results


WIDTH = 0.1
"""The default width of an interval."""

PILOT = 30
"""The number of labels from which the number needed is estimated."""


class LabelsFor(msgspec.Struct, frozen=True):
    """The number of labels that a measure needs: a plan for single rows, a plan for whole groups, or both.

    `row` and `group` are the words for a row and a group in a sentence. `labelled` is the number of rows that people
    have labelled so far; with fewer than `PILOT` there are no plans. A plan that cannot be computed has the reason in
    `why`.
    """

    measure: str
    what: str
    width: float
    labelled: int
    row: str
    group: str
    plans: tuple[LabelCount, ...]

    @property
    def chosen(self) -> LabelCount | None:
        """The plan to use for sampling, None if no plan gives the width.

        A plan for whole groups takes precedence, because whole groups correct a measure for all kinds of judge errors.
        """
        return min((plan for plan in self.plans if not plan.why), key=lambda plan: plan.unit == "rows", default=None)

    @property
    def least(self) -> LabelCount | None:
        """The plan with the fewest labels among those that give the width; None if there is no such plan."""
        return min((plan for plan in self.plans if not plan.why), key=lambda plan: plan.labels, default=None)


def labels_for(run: str | Path, measure: str, width: float = WIDTH, *, what: str | None = None) -> LabelsFor:
    """Estimate how many labels narrow the 95% interval of a measure's corrected value to `width`, for single rows and
    for whole groups.

    `measure` names a measure that combines many labels (one of `Questions.plans`). `measure` may
    also be a label, to plan for the proportion of that label. The estimate is based on the task that has most labels so
    far. Label a pilot of 30 rows first.

    Raises:
        InputError: the study has no sheet or no such measure, or the width is not above 0.
        RunError: `run` is not a run folder, or has no records.
    """
    if not width > 0:
        raise InputError([Problem("--for", f"{measure}={width:g}", "must be a width above 0, as in 0.1")])
    from overton.studies.people_labels import people_table

    opened = open_run(run)
    results = results_of([opened])
    questions = questions_of(opened.study).in_runs(results)
    judged, plan = _choose_label(questions, results, measure, what)
    question, plans = judged.question, questions.plans
    if plan is None and measure not in question.labels:
        known = [*question.labels, *(plans.measures if plans and plans.what == question.key else ())]
        raise InputError([Problem("--for", measure, f"must be {', '.join(known)}")])
    labels = _largest_task(results, question.key)
    count = len(labels.shares()) if labels else 0
    found = LabelsFor(measure, question.key, width, count, question.row, question.group, ())
    if labels is None or count < PILOT:
        return found
    if plan is not None:
        counts = tuple(plan.of(results, people_table(labels), measure, width))
    else:
        counts = (_plan_for_share(judged, labels, measure, width, str(opened.path)),)
    return msgspec.structs.replace(found, plans=counts)


def _choose_label(
    questions: Questions, results: Results, measure: str, what: str | None
) -> tuple[QuestionRows, LabelPlans | None]:
    """The rows with the label that a measure uses, and the study's plans for measures of many labels. The plans are
    None if the measure is a proportion."""
    from overton.studies.judged_rows import rows_of

    plans = questions.plans
    if plans and what in (None, plans.what) and measure.endswith(plans.measures):
        return rows_of(questions, results, plans.what), plans
    return rows_of(questions, results, what), None


def _largest_task(results: Results, what: str) -> SavedLabels | None:
    (facts,) = results.runs
    found = [label for label in facts.labels if label.task.what == what]
    return max(found, key=lambda labels: len(labels.shares()), default=None)


def _plan_for_share(judged: QuestionRows, labels: SavedLabels, label: str, width: float, place: str) -> LabelCount:
    import numpy as np

    from overton.statistics.misclassification import rows_for_share

    units = judged.units(labels.task.design)
    shared = labels.shares()
    if any(labels.task.rows[place].id not in units.places for place in shared):
        raise InputError([Problem(place, "labels", "belong to another run: name that run")])
    every = np.array([judged_label == label for judged_label in units.label], float)
    at = [units.places[labels.task.rows[place].id] for place in shared]
    people = np.array([shares.get(label, 0.0) for shares in shared.values()])
    cluster = np.unique(np.array(units.alike or units.group), return_inverse=True)[1]
    return rows_for_share(people, every[at], every, cluster, width)
