"""The parts of a profile."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from overton.analysis.analyze import Measured, chosen_how, measured_runs
from overton.analysis.results import measuring_of
from overton.comparison.sources import source_labels
from overton.runs.run import Run
from overton.runs.tracebacks import traceback_kept
from overton.studies.document import TABLE_SCHEMA, Shape, plain
from overton.studies.findings import Aspect, Trait
from overton.studies.frame import Cells, number_cells
from overton.studies.installed_study import blaming
from overton.studies.study import AnyStudy


@dataclass(frozen=True)
class ProfiledRun:
    """A run that is part of a profile, and the models selected from the run."""

    run: Run
    study: AnyStudy
    asked: tuple[str, ...]
    how: Mapping[str, Any]

    @property
    def kind(self) -> str:
        """The name of the study whose measures the run uses: the run's own study, or the study for which the
        run's study makes labels."""
        return self.study.labels or self.study.name

    @property
    def title(self) -> str:
        """The study's title."""
        return self.study.title or self.study.name

    @cached_property
    def outcome(self) -> Measured:
        """The run's measures, computed once."""
        return measured_runs(self.study, [self.run], chosen_how(self.study, self.how, [self.run]))

    @cached_property
    def traits(self) -> list[Trait]:
        """The study's traits of the selected models."""
        declared = measuring_of(self.study).profile
        with traceback_kept(self.run.path), blaming(self.study, "traits()"):
            found = [] if declared is None else declared.traits(self.outcome.analysis)
            return [trait for trait in found if trait.model in self.asked]


class ProfileRow(NamedTuple):
    """A trait, with the study and the run that it comes from.

    `latest` says whether the run is the model's latest run of this study. Earlier runs show how the model changed.
    """

    study: str
    title: str
    run: Run
    trait: Trait
    latest: bool

    @property
    def report(self) -> Path:
        """The path of the run's own report, if it was written."""
        return self.run.path / "report.html"

    @property
    def cells(self) -> Cells:
        """The trait's row in the table: a number of the study's analysis, and the trait's sentence about this
        number."""
        trait = self.trait
        where = {"study": self.study, "run": self.run.path.name, "model": trait.model, "aspect": trait.aspect}
        key = {name: getattr(trait, name) for name in ("measure", "facet", "condition", "against", "rest")}
        said = {name: getattr(trait, name) for name in ("title", "sentence", "units", "null")}
        return where | key | number_cells(trait.number) | said | {"section": trait.exhibit, "latest": self.latest}


class StudyNotRun(NamedTuple):
    """A study that was not run on a model, the aspects that the study would show, and the command to run it."""

    study: str
    title: str
    model: str
    aspects: tuple[Aspect, ...]
    command: str


class SubjectRow(NamedTuple):
    """A measure of one item on a subject: the measure's meaning in words, and each model's number as displayed."""

    study: str
    title: str
    item: str
    words: str
    measure: str
    meaning: str
    values: Mapping[str, str]


class Subject(NamedTuple):
    """A subject that items of several studies are about."""

    name: str
    rows: Sequence[SubjectRow]


class Point(NamedTuple):
    """A model in one run: its findings, the changes since the previous run, and how far the model moved."""

    path: Path
    run: str
    created: str
    traits: Sequence[Trait]
    changed: Sequence[str] = ()
    verdicts: Sequence[str] = ()


class History(NamedTuple):
    """A model in several runs of one study, oldest first."""

    study: str
    title: str
    model: str
    points: Sequence[Point]


class Profile(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """The findings about models: see `overton.profile`.

    `specs` has the distinct specs ('provider/name') that each model name stands for. `rows` are the traits in all runs.
    `warnings` are sentences to read before any number.
    """

    level: float
    specs: Mapping[str, Sequence[str]]
    runs: Sequence[Run]
    warnings: Sequence[str]
    rows: Sequence[ProfileRow]
    missing: Sequence[StudyNotRun]
    subjects: Sequence[Subject]
    histories: Sequence[History]

    SHAPE = Shape(
        without=("runs", "missing", "subjects", "histories"),
        also={"models": "specs", "rows": "row_cells", "tables": "cells"},
    )

    @property
    def models(self) -> tuple[str, ...]:
        """The names of the models."""
        return tuple(self.specs)

    @property
    def found(self) -> list[ProfileRow]:
        """The rows of each model's latest run of a study."""
        return [row for row in self.rows if row.latest]

    def of(self, aspect: Aspect) -> list[ProfileRow]:
        """The rows of `found` that belong to an aspect."""
        return [row for row in self.found if row.trait.aspect == aspect]

    @cached_property
    def _labels(self) -> dict[Path, str]:
        """A unique name for each run, by its path."""
        paths = [run.path for run in self.runs]
        return dict(zip((path.resolve() for path in paths), source_labels(paths), strict=True))

    @property
    def row_cells(self) -> list[Cells]:
        """The rows as mappings of cells."""
        return [{**row.cells, "run": self._labels[row.run.path.resolve()]} for row in self.rows]

    @property
    def cells(self) -> dict[str, list[Cells]]:
        """Other results as mappings of cells, by the names of their tables.

        missing   studies that were not run, each with an aspect that it would show and the command to run it
        subjects  items of several studies on one subject, with each model's number as displayed
        history   the runs of each model that has several runs of one study, oldest first
        changes   differences from the previous run (`kind` is 'change'), and how far the model moved ('verdict')
        """
        points = [
            ({"study": history.study, "model": history.model, "run": self._labels[point.path.resolve()]}, point)
            for history in self.histories
            for point in history.points
        ]
        return {
            "missing": [
                {"study": study, "model": model, "aspect": aspect, "command": command}
                for study, _, model, aspects, command in self.missing
                for aspect in aspects
            ],
            "subjects": [
                {
                    **{"subject": subject.name, "study": row.study, "item": row.item},
                    **{"measure": row.measure, "meaning": row.meaning, "model": model, "value": value},
                }
                for subject in self.subjects
                for row in subject.rows
                for model, value in row.values.items()
            ],
            "history": [{**where, "created": point.created} for where, point in points],
            "changes": [
                {**where, "kind": kind, "said": said}
                for where, point in points
                for kind, some in (("change", point.changed), ("verdict", point.verdicts))
                for said in some
            ],
        }

    def to_json(self) -> dict[str, Any]:
        """The profile as values that JSON can hold: `models`, `warnings`, `rows` and `tables`."""
        return {"schema": TABLE_SCHEMA, **plain(self)}
