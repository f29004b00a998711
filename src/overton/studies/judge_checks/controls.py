"""A test of whether the judge labels obvious cases correctly: it labels control texts, whose label is known.

A control counts as correct if every row has a correct label. A missing label counts as wrong, whether the judge
refused, the call failed, or the reply could not be parsed. Intervals treat controls as a sample of equally obvious
texts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from overton.errors import InputError, Problem
from overton.statistics import Estimate, not_computed
from overton.studies.items import Items
from overton.studies.judge_checks.consistency import (
    READINGS,
    JudgedLabel,
    JudgedUnit,
    UnitTrial,
    of_judge,
    questions_of,
)
from overton.studies.judge_checks.control_texts import ControlText, check_control
from overton.studies.measurement import How, Measuring
from overton.studies.parsing import json_lines
from overton.studies.results import Results
from overton.studies.sections import Callout, Cell, Column, Exhibit, Exhibits, Prose, Section, Table
from overton.studies.study import AnyStudy

if TYPE_CHECKING:
    import polars as pl


def trials(controls: Sequence[ControlText], options: Any, seed: int) -> Iterator[UnitTrial]:
    """One trial for each control, with the same prompts as a unit of a run."""
    for control in controls:
        unit = JudgedUnit(
            id=control.id,
            run="controls",
            unit=control.id,
            group=control.id,
            condition="",
            what=control.what,
            judge="",
            rows={row: JudgedLabel(None) for row in control.labels},
            conditions={},
            material=control.material,
        )
        yield UnitTrial(f"{control.id}/control", control.id, seed, unit=unit)


ENOUGH = 0.9
"""The proportion of controls that a judge must label correctly; otherwise it fails. A good judge should make no error;
to allow one in ten is Overton's choice."""

_AS_CONFIGURED, _IN_ANOTHER_ORDER = READINGS


class Missed(msgspec.Struct, frozen=True):
    """A row of a control that the judge labelled wrongly with the study's own prompts. `right` has the correct labels,
    and `said` is the judge's label, None if the label is missing."""

    control: str
    row: str
    right: tuple[str, ...]
    said: str | None


class Tried(msgspec.Struct, frozen=True):
    """One judge's results on the controls of one kind of label.

    `controls` counts the controls. `right` is the proportion labelled correctly with the study's own prompts.
    `in_another_order` is the proportion labelled correctly with labels or materials in another order. The judge `fails`
    if `right` is below 0.9.
    """

    judge: str
    what: str
    controls: int
    right: Estimate
    in_another_order: Estimate
    fails: bool
    missed: tuple[Missed, ...]


class Analysis(msgspec.Struct, frozen=True):
    """The results of every judge on every kind of label."""

    tried: tuple[Tried, ...]
    level: float


def measure(results: Results, how: How) -> Analysis:
    """Count the controls that every judge labelled correctly."""
    controls: dict[str, ControlText] = {item.id: item for item in results.items}
    return Analysis(tuple(count_right(results.records, controls, how.level)), how.level)


def count_right(records: pl.DataFrame, controls: Mapping[str, ControlText], level: float) -> Iterator[Tried]:
    """The results of each judge for each kind of label. The column `model` names the judge.

    Each record has one `label`, with the control (`id`), the `row` of the control, and the order of the judge's prompt
    (`reading`).
    """
    whats = list(dict.fromkeys(control.what for control in controls.values()))
    for (judge,), own in sorted(records.partition_by("model", as_dict=True).items()):
        said = {(str(row["id"]), str(row["row"]), str(row["reading"])): row["label"] for row in own.to_dicts()}
        asked = {name for name, _, _ in said}
        for what in whats:
            tried = [control for control in controls.values() if control.what == what and control.id in asked]
            if tried:
                right = sum(not list(_find_missed_rows(control, said, _AS_CONFIGURED)) for control in tried)
                yield Tried(
                    str(judge),
                    what,
                    len(tried),
                    share_right(right, len(tried), level),
                    _right_in_another_order(tried, said, level),
                    fails=right < ENOUGH * len(tried),
                    missed=tuple(
                        missed for control in tried for missed in _find_missed_rows(control, said, _AS_CONFIGURED)
                    ),
                )


def _right_in_another_order(
    tried: Sequence[ControlText], said: Mapping[tuple[str, str, str], str | None], level: float
) -> Estimate:
    if not any(reading == _IN_ANOTHER_ORDER for _, _, reading in said):
        return not_computed("not asked in another order", level=level)
    right = sum(not list(_find_missed_rows(control, said, _IN_ANOTHER_ORDER)) for control in tried)
    return share_right(right, len(tried), level)


def _find_missed_rows(
    control: ControlText, said: Mapping[tuple[str, str, str], str | None], reading: str
) -> Iterator[Missed]:
    for row, right in control.labels.items():
        label = said.get((control.id, row, reading))
        if label not in right:
            yield Missed(control.id, row, right, label)


def share_right(right: int, controls: int, level: float) -> Estimate:
    """The proportion of controls that are right, with Wilson's interval."""
    from overton.statistics.proportions import proportion  # plans import this module, and must not load NumPy

    return Estimate(*proportion(right, controls, level), controls, "Wilson", level)


_CONTROLS_NOTE = (
    "Every text here has an obvious label. A judge that misses obvious labels does not understand the question. A"
    " judge that gives them may still err on hard texts. Only human labels show such errors."
)


def control_exhibits(found: Sequence[Tried]) -> list[Exhibit]:
    """Exhibits: the judges that fail, the proportion of controls that each judge labelled correctly, and the wrong
    labels."""
    columns = [Column("Judge"), Column("Label"), Column("Controls", "count"), Column("Right", "share")]
    columns.append(Column("Right in another order", "share"))
    rows: list[list[Cell]] = [
        [tried.judge, _label_words(tried), tried.controls, tried.right, tried.in_another_order] for tried in found
    ]
    table = Table("Controls that the judge got right", columns, rows, summary=True)
    return [*_failure_callouts(found), Prose(_CONTROLS_NOTE), table, _missed_table(found)]


def _sections(analysis: Analysis) -> Sequence[Section]:
    return [Section("controls", "Controls", control_exhibits(analysis.tried))]


def _failure_callouts(found: Sequence[Tried]) -> Iterator[Callout]:
    for tried in found:
        if tried.fails:
            many = round(tried.right.value * tried.controls)
            said = f"{tried.judge} fails the controls ({_label_words(tried)}), with {many} of {tried.controls} right."
            yield Callout(said, "warning", summary=True)


def _missed_table(found: Sequence[Tried]) -> Table | Prose:
    rows: list[list[Cell]] = [
        [tried.judge, _label_words(tried), part.control, part.row, " or ".join(part.right), part.said or "(no label)"]
        for tried in found
        for part in tried.missed
    ]
    if not rows:
        return Prose("No judge got a control wrong.")
    columns = [Column(name) for name in ("Judge", "Label", "Control", "Of what", "Right", "It said")]
    return Table("Controls that it got wrong", columns, rows)


def _label_words(tried: Tried) -> str:
    return tried.what.replace("_", " ")


def _exhibits(results: Results, analysis: Analysis, how: How) -> Exhibits:
    said = "Whether a judge gives the right label to texts whose label is obvious."
    return Exhibits(summary=said, sections=_sections(analysis), trials=None)


MEASURING: Measuring[Analysis, Any] = Measuring(
    analysis=lambda: Analysis, records=measure, sections=_sections, exhibits=_exhibits
)


def controls_of(study: AnyStudy) -> AnyStudy:
    """A study that tests this study's judge on controls.

    Raises:
        InputError: the study has no judge that can be tested, or no controls.
    """
    questions = questions_of(study)
    if questions.controls is None and questions.of_run is None:
        reason = "declares no texts with an obvious label (`Questions.controls`)"
        raise InputError([Problem("study", study.name, reason)])
    return of_judge(
        study,
        questions,
        name=f"controls-{study.name}",
        title=f"The judge of {study.title or study.name}, tested on controls",
        question="Does the judge give the right label to texts whose label is obvious?",
        items=Items(
            ControlText,
            "control",
            "JSONL file of controls",
            parse=json_lines(ControlText, partial(check_control, questions.keys)),
            starter=questions.controls,
            spelled=lambda control: [f"{control.what}: {control.id}"],
        ),
        trials=trials,
        measuring=MEASURING,
    )
