"""How many labels by people bring a measure's interval to a width, estimated from those that a run has."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from overton.analysis.results import results_of
from overton.errors import InputError, Problem
from overton.runs.run import open_run
from overton.studies.options import option_place

if TYPE_CHECKING:
    from pathlib import Path

    from overton.judging.label_tasks import SavedLabels
    from overton.statistics.misclassification import LabelCount
    from overton.studies.judged_rows import JudgedRows, Sheet
    from overton.studies.results import Results


WIDTH = 0.1
"""The default width of an interval."""

PILOT = 30
"""The number of labels from which the number needed is estimated."""


class LabelsFor(msgspec.Struct, frozen=True):
    """How many labels a measure needs: one plan for single rows and one for whole groups, if it has both.

    `row` and `group` are their names in a sentence. `labelled` is how many rows people have labelled so far: with fewer
    than `PILOT` there is no plan. A plan that cannot be computed says why.
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
        """The plan to draw by, None if no plan gives the width.

        Whole groups come first, because they correct a measure whatever the judge's errors.
        """
        return min((plan for plan in self.plans if not plan.why), key=lambda plan: plan.unit == "rows", default=None)

    @property
    def least(self) -> LabelCount | None:
        """The plan with the fewest labels that gives the width; None if none does."""
        return min((plan for plan in self.plans if not plan.why), key=lambda plan: plan.labels, default=None)


def labels_for(run: str | Path, measure: str, width: float = WIDTH, *, what: str | None = None) -> LabelsFor:
    """How many labels, of single rows or of whole groups, bring a measure's corrected interval of 95% to a `width`.

    `measure` is a label (meaning its share) or one of the study's measures of many labels (`Sheet.plans`). The estimate
    is based on the labels so far, of the task with most of them; label a pilot of 30 first.

    Raises:
        InputError: the study has no sheet or no such measure, or the width is not above 0.
        RunError: `run` is not a run folder, or has no records.
    """
    if not width > 0:
        raise InputError([Problem("--for", f"{measure}={width:g}", "must be a width above 0, as in 0.1")])
    from overton.studies.people_labels import people_table

    opened = open_run(run)
    sheet = opened.study.sheet
    if sheet is None:
        raise InputError([Problem("study", opened.study.name, "has no sheet: its judge gives no labels to check")])
    results = results_of([opened])
    chosen, by_plan = _choose_label(sheet, results, measure, what)
    judged = sheet.rows(results, chosen)
    if not by_plan and measure not in judged.labels:
        known = [*judged.labels, *(sheet.plans.measures if sheet.plans and sheet.plans.what == chosen else ())]
        raise InputError([Problem("--for", measure, f"must be {', '.join(known)}")])
    labels = _largest_task(results, chosen)
    count = len(labels.shares()) if labels else 0
    found = LabelsFor(measure, chosen, width, count, judged.row, judged.group, ())
    if labels is None or count < PILOT:
        return found
    if by_plan and sheet.plans:
        plans = tuple(sheet.plans.of(results, people_table(labels), measure, width))
    else:
        plans = (_plan_for_share(judged, labels, measure, width, str(opened.path)),)
    return msgspec.structs.replace(found, plans=plans)


def _choose_label(sheet: Sheet, results: Results, measure: str, what: str | None) -> tuple[str, bool]:
    """Which label is used, and whether the measure is one of many labels."""
    if what is not None and what not in sheet.whats:
        raise InputError([Problem(option_place("what"), what, f"must be {' or '.join(sheet.whats)}")])
    plans = sheet.plans
    if plans and what in (None, plans.what) and measure.endswith(plans.measures):
        return plans.what, True
    return what or (sheet.usual(results) if sheet.usual else sheet.whats[0]), False


def _largest_task(results: Results, what: str) -> SavedLabels | None:
    (facts,) = results.runs
    found = [label for label in facts.labels if label.task.what == what]
    return max(found, key=lambda labels: len(labels.shares()), default=None)


def _plan_for_share(judged: JudgedRows, labels: SavedLabels, label: str, width: float, place: str) -> LabelCount:
    import numpy as np

    from overton.statistics.misclassification import rows_for_share
    from overton.studies.judged_rows import units_of

    units = units_of(judged, labels.task.design)
    shared = labels.shares()
    if any(labels.task.rows[place].id not in units.places for place in shared):
        raise InputError([Problem(place, "labels", "belong to another run: name that run")])
    every = np.array([judged_label == label for judged_label in units.label], float)
    at = [units.places[labels.task.rows[place].id] for place in shared]
    people = np.array([shares.get(label, 0.0) for shares in shared.values()])
    cluster = np.unique(np.array(units.alike or units.group), return_inverse=True)[1]
    return rows_for_share(people, every[at], every, cluster, width)
