"""Does the judge see what nobody can miss? Its judge asked about texts whose label is beyond doubt.

A control is right if every one of its rows has a right label; one without a label, because the judge refused, failed or
could not be read, is wrong. Controls are treated as a sample of texts as plain as these.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from overton.errors import InputError, Problem
from overton.statistics import Estimate, not_computed
from overton.statistics.proportions import proportion
from overton.studies.items import Items
from overton.studies.judge_checks.consistency import (
    READINGS,
    JudgedLabel,
    JudgedUnit,
    UnitTrial,
    of_judge,
    questions_of,
)
from overton.studies.measurement import How, Measuring
from overton.studies.parsing import Notes, json_lines
from overton.studies.results import Results
from overton.studies.sections import Callout, Cell, Column, Exhibit, Exhibits, Prose, Section, Table
from overton.studies.study import AnyStudy

if TYPE_CHECKING:
    import polars as pl


class ControlText(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A text that a judge is asked about, and the labels that are right.

    `what` is the kind of label, as in the study's sheet. `labels` has for each row of the judgement ('' if there is
    only one) every label that is right: more than one if neighbouring ones are. `material` is what the question's
    `prompts` take.
    """

    id: str
    what: str
    labels: dict[str, tuple[str, ...]]
    material: dict[str, Any]


def check_control(whats: Sequence[str], control: ControlText, notes: Notes) -> None:
    """Note an unknown kind of label, and rows without a right one."""
    if control.what not in whats:
        notes.error("what", f"must be one of {', '.join(whats)}")
    if not control.labels or not all(control.labels.values()):
        notes.error("labels", "must name at least one right label for each row")


def trials(controls: Sequence[ControlText], options: Any, seed: int) -> Iterator[UnitTrial]:
    """One trial for each control, asked like a unit of a run."""
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
"""A judge that gets a smaller share of controls right fails them. Nobody should miss any; allowing for one in ten is
our choice."""

_AS_CONFIGURED, _IN_ANOTHER_ORDER = READINGS


class Missed(msgspec.Struct, frozen=True):
    """A row of a control that the judge got wrong, as configured: what is right, and what it said, None if nothing
    could be read."""

    control: str
    row: str
    right: tuple[str, ...]
    said: str | None


class Tried(msgspec.Struct, frozen=True):
    """One judge on the controls of one kind of label.

    `right` is the share of the `controls` that it got right, asked as the study asks, and `in_another_order` the same
    with labels or materials in another order. `fails` if the former is below 0.9.
    """

    judge: str
    what: str
    controls: int
    right: Estimate
    in_another_order: Estimate
    fails: bool
    missed: tuple[Missed, ...]


class Analysis(msgspec.Struct, frozen=True):
    """Every judge on every kind of label."""

    tried: tuple[Tried, ...]
    level: float


def measure(results: Results, how: How) -> Analysis:
    """Count what every judge got right."""
    controls: dict[str, ControlText] = {item.id: item for item in results.items}
    return Analysis(tuple(count_right(results.records, controls, how.level)), how.level)


def count_right(records: pl.DataFrame, controls: Mapping[str, ControlText], level: float) -> Iterator[Tried]:
    """How many controls each judge, the `model` of its records, got right, by kind of label.

    A record has the `label` of one `row` of the control `id`, as the judge gave it in one of the `READINGS`.
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
    """A share of right ones, with Wilson's interval."""
    return Estimate(*proportion(right, controls, level), controls, "Wilson", level)


_CONTROLS_NOTE = (
    "Every text here has a label that no reader would doubt. A judge that does not give it that label does not see"
    " what it is asked for. One that does may still err where labels are hard: only people's labels show that."
)


def control_exhibits(found: Sequence[Tried]) -> list[Exhibit]:
    """Which judges fail, how many controls each got right, and which it got wrong."""
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
            said = f"{tried.judge} fails the controls ({_label_words(tried)}): of {tried.controls} it got {many} right."
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
    said = "Whether a judge gives texts whose label is beyond doubt that label."
    return Exhibits(summary=said, sections=_sections(analysis), trials=None)


MEASURING: Measuring[Analysis, Any] = Measuring(
    analysis=lambda: Analysis, records=measure, sections=_sections, exhibits=_exhibits
)


def controls_of(study: AnyStudy) -> AnyStudy:
    """The study that tries this study's judge.

    Raises:
        InputError: the study has no judge that can be asked again, or no controls.
    """
    questions = questions_of(study)
    if questions.controls is None and questions.of_run is None:
        reason = "declares no texts whose label is beyond doubt (`Questions.controls`)"
        raise InputError([Problem("study", study.name, reason)])
    return of_judge(
        study,
        questions,
        name=f"controls-{study.name}",
        title=f"The judge of {study.title or study.name}, tried on controls",
        question="Does the judge give texts whose label is beyond doubt that label?",
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
