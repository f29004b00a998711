"""The parts of a profile."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from overton.analysis.analyze import Measured, chosen_how, measured_runs
from overton.analysis.results import measuring_of
from overton.runs.run import Run
from overton.runs.tracebacks import traceback_kept
from overton.studies.document import number_of
from overton.studies.findings import ASPECTS, Aspect, Trait
from overton.studies.installed_study import blaming
from overton.studies.study import AnyStudy

SCHEMA = 1
"""The version of a profile's JSON."""


@dataclass(frozen=True)
class ProfiledRun:
    """A run that is part of a profile, and which of its models are selected."""

    run: Run
    study: AnyStudy
    asked: tuple[str, ...]
    how: Mapping[str, Any]

    @property
    def kind(self) -> str:
        """The study whose measures it uses: runs that label for a study count as runs of that study."""
        return self.study.labels or self.study.name

    @property
    def title(self) -> str:
        """The study's title."""
        return self.study.title or self.study.name

    @cached_property
    def outcome(self) -> Measured:
        """The run's measures, computed once."""
        return measured_runs(self.study, [self.run], chosen_how(self.study, self.how))

    @cached_property
    def traits(self) -> list[Trait]:
        """The study's traits of the selected models."""
        declared = measuring_of(self.study).profile
        with traceback_kept(self.run.path), blaming(self.study, "traits()"):
            found = [] if declared is None else declared.traits(self.outcome.analysis)
            return [trait for trait in found if trait.model in self.asked]


@dataclass(frozen=True)
class TraitOfRun:
    """A trait, with the study and the run that it comes from."""

    study: str
    title: str
    run: Run
    trait: Trait

    @property
    def report(self) -> Path:
        """Where the run's own report is, if it was written."""
        return self.run.path / "report.html"

    def to_json(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "study": self.study,
            "run": self.run.path.name,
            "model": self.trait.model,
            "title": self.trait.title,
            "sentence": self.trait.sentence,
            "units": self.trait.units,
            **number_of(self.trait.number),
            "level": self.trait.number.level,
            "null": self.trait.null,
            "section": self.trait.exhibit,
        }


@dataclass(frozen=True)
class StudyNotRun:
    """A study that was not run on a model, which aspects it would show, and the command that would run it."""

    study: str
    title: str
    model: str
    aspects: tuple[Aspect, ...]
    command: str

    def to_json(self) -> dict[str, Any]:
        """As JSON values."""
        return {"study": self.study, "model": self.model, "tells": list(self.aspects), "command": self.command}


@dataclass(frozen=True)
class SubjectRow:
    """A study's measure of one item of a subject: by model, a number as displayed."""

    study: str
    title: str
    item: str
    words: str
    measure: str
    values: Mapping[str, str]

    def to_json(self) -> dict[str, Any]:
        """As JSON values."""
        return {"study": self.study, "item": self.item, "measure": self.measure, "values": dict(self.values)}


@dataclass(frozen=True)
class Subject:
    """A subject that items of several studies are about."""

    name: str
    rows: Sequence[SubjectRow]


@dataclass(frozen=True)
class Point:
    """A model in one run: what was found, what changed since the previous run, and how far the model moved."""

    run: str
    created: str
    traits: Sequence[Trait]
    changed: Sequence[str] = ()
    verdicts: Sequence[str] = ()

    def to_json(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "run": self.run,
            "created": self.created,
            "measures": {
                trait.title: {**number_of(trait.number), "level": trait.number.level} for trait in self.traits
            },
            "changed": list(self.changed),
            "verdicts": list(self.verdicts),
        }


@dataclass(frozen=True)
class History:
    """A model in several runs of one study, oldest first."""

    study: str
    title: str
    model: str
    points: Sequence[Point]


@dataclass(frozen=True)
class Profile:
    """The findings about models: see `overton.profile`.

    `specs` says by model what was asked ('provider/name'), each once. `warnings` have to be read before any number.
    """

    models: tuple[str, ...]
    specs: Mapping[str, Sequence[str]]
    runs: Sequence[Run]
    found: Sequence[TraitOfRun]
    missing: Sequence[StudyNotRun]
    subjects: Sequence[Subject]
    histories: Sequence[History]
    warnings: Sequence[str]
    level: float

    def of(self, aspect: Aspect) -> list[TraitOfRun]:
        """The traits that belong to an aspect."""
        return [found for found in self.found if found.trait.aspect == aspect]

    def to_json(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "schema": SCHEMA,
            "models": {name: list(self.specs[name]) for name in self.models},
            "aspects": {aspect: [found.to_json() for found in self.of(aspect)] for aspect in ASPECTS},
            "missing": [study.to_json() for study in self.missing],
            "subjects": {subject.name: [row.to_json() for row in subject.rows] for subject in self.subjects},
            "over_time": [
                {"study": history.study, "model": history.model, "runs": [point.to_json() for point in history.points]}
                for history in self.histories
            ],
            "warnings": list(self.warnings),
        }
