"""Human labels of units that a judge labelled: their agreement, their storage in the run, and the correction of the
run's numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import msgspec

from overton.analysis.results import measuring_of, results_of
from overton.errors import InputError, Problem
from overton.runs.labels import labels_place
from overton.runs.run import Run
from overton.studies.arm_weights import UNEQUAL, is_weighted
from overton.studies.correction import placed
from overton.studies.document import plain
from overton.studies.label_parts import ALONE, CHECKED, labelled_section, too_few
from overton.studies.label_shares import LabelledShares
from overton.studies.sections import Callout, Section

if TYPE_CHECKING:
    from overton.judging.label_tasks import SavedLabels
    from overton.studies.correction import CorrectionCase
    from overton.studies.measurement import Correcting, How
    from overton.studies.results import Results


@dataclass(frozen=True)
class CorrectedNumbers:
    """The numbers of some runs as corrected by human labels.

    `alone` is a warning that the numbers depend on a judge alone. It is empty if no judge is involved, or if there are
    human labels. Some measures, such as a change rate, combine many labels. `cases` has the measures of this kind that
    human labels correct. `cases` is empty for several runs.
    """

    found: Sequence[LabelledShares]
    alone: str
    cases: Sequence[tuple[Correcting[Any], CorrectionCase]] = ()

    def document(self) -> dict[str, Any]:
        """The human labels under the key `labels`, by kind of label; empty if there are no human labels.

        If several samples have labels of one kind, the key is KIND for the sample with most labels, and KIND/TASK for
        each other sample.
        """
        labels: dict[str, Any] = {}
        for shares in sorted(self.found, key=lambda shares: (-shares.labelled, shares.task)):
            labels[shares.what if shares.what not in labels else f"{shares.what}/{shares.task}"] = plain(shares)
        return {"labels": labels} if labels else {}

    def corrected(self, analysis: Any) -> Any:
        """An analysis with the corrected numbers in place of the judge's numbers; see `PreferredEstimate`."""
        numbers = {
            place: corrected
            for declared, case in self.cases
            for number, corrected in case.placed().items()
            if (place := declared.place(analysis, number)) is not None
        }
        return placed(analysis, numbers)

    @property
    def headlines(self) -> set[tuple[str, str]]:
        """Pairs of a model and a headline whose corrected number is preferred."""
        return {
            (number.model, number.compared)
            for _, case in self.cases
            for number, found in zip(case.listed, case.found, strict=True)
            if number.compared and found.leads == "corrected"
        }

    def sections(self) -> list[Section]:
        """The section on labels. If there are no labels, the section says so."""
        return [labelled_section(self.found, self.alone)] if self.found or self.alone else []

    def noted(self, sections: Sequence[Section]) -> list[Section]:
        """A study's sections. If some numbers are corrected, notes name the uncorrected numbers."""
        leads = any(number.leads == "corrected" for _, case in self.cases for number in case.found)
        said = {key: note for declared, _ in self.cases for key, note in declared.alone.items()} if leads else {}
        return [
            replace(section, exhibits=[Callout(said[section.key]), *section.exhibits])
            if section.key in said
            else section
            for section in sections
        ]

    def warnings(self) -> list[str]:
        """Warnings to read before any number: the judge was not checked, or there are too few labels."""
        return [self.alone] if self.alone else [warning for shares in self.found if (warning := too_few(shares))]


def correct_numbers(runs: Sequence[Run], results: Results, how: How) -> CorrectedNumbers:
    """Correct the runs' numbers by human labels, for each task of each run.

    `results` has the results of all runs together. Each run is corrected separately, because labels refer to the unit
    names of a single run.

    Raises:
        InputError: labels are damaged, or belong to another run.
    """
    given = [(run, labels) for run, facts in zip(runs, results.runs, strict=True) for labels in facts.labels]
    alone = {run.path: results if len(runs) == 1 else results_of([run]) for run, _ in given}
    made = [
        label_shares(run, alone[run.path], labels, labels_place(run.path, labels.task.name), how)
        for run, labels in given
    ]
    shares = [shares for shares, _ in made]
    cases = [case for _, case in sorted(made, key=lambda entry: entry[0].labelled) if case] if len(runs) == 1 else []
    checked = any(facts.agreements for facts in results.runs)
    alone_ = "" if shares or not any(map(_is_judged, runs)) else CHECKED if checked else ALONE
    return CorrectedNumbers(shares, alone_, cases)


def cases_of(run: Run, results: Results, how: How) -> list[tuple[str, CorrectionCase]]:
    """A run's measures that combine many labels, such as a change rate, as corrected by human labels. Each measure
    comes with the name of its labelling task. The measures of the task with most labels come last."""
    (facts,) = results.runs
    made = [
        (labels.task.name, *label_shares(run, results, labels, labels_place(run.path, labels.task.name), how))
        for labels in facts.labels
    ]
    return [(name, found[1]) for name, shares, found in sorted(made, key=lambda entry: entry[1].labelled) if found]


def _is_judged(run: Run) -> bool:
    """Whether a judge gave labels that people could check."""
    judges = [role.name for role in run.study.roles if role.judges]
    return run.study.questions is not None and any(run.manifest.models.get(name) for name in judges)


Corrects = tuple["Correcting[Any]", "CorrectionCase"]


def label_shares(
    run: Run, results: Results, labels: SavedLabels, place: str, how: How
) -> tuple[LabelledShares, Corrects | None]:
    """Compute the proportion of each label in one task of a run, and the measures that combine many labels. The second
    result is None if there are no such measures to correct."""
    from overton.studies.judged_rows import rows_of
    from overton.studies.label_shares import shares_by_people

    task, questions = labels.task, run.study.questions
    if questions is None or task.study != run.manifest.study or task.what not in questions.in_runs(results).keys:
        wrong = f"is of {task.study} ({task.what}), but {run.path} is a run of {run.manifest.study}"
        raise InputError([Problem(place, "task", f"{wrong}: name the run that was labelled")])
    (facts,) = results.runs
    judged = rows_of(questions, results, task.what)
    why = UNEQUAL if is_weighted(results.records) else ""
    units = judged.units(task.design)
    shares = shares_by_people(labels, units, facts.name, place, level=how.level, why=why, these=how.describes_these)
    found = None if shares.why else _correction_case(run, results, labels, judged.question.labels, how)
    if found is None:
        return shares, None
    return msgspec.structs.replace(shares, measures=found[1].summary()), found


def _correction_case(
    run: Run, results: Results, labels: SavedLabels, names: Sequence[str], how: How
) -> Corrects | None:
    """The correction of the study's measures that depend on many of these labels; None if the study does not declare
    it."""
    declared = measuring_of(run.study).correcting
    if declared is None or labels.task.what not in declared.whats:
        return None
    from overton.studies.people_labels import people_table, read_people

    case = declared.case(results, labels.task.what, read_people(people_table(labels), names), how)
    return None if case is None else (declared, case)
