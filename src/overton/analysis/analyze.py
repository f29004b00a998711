"""From an outcome to measures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import compress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from overton.analysis.labels import CorrectedNumbers, correct_numbers
from overton.analysis.results import measuring_of, results_of
from overton.errors import InputError, Problem, list_names
from overton.reporting.cells import encoded
from overton.reporting.notebook import fragment
from overton.runs.record_rows import design_of_table
from overton.runs.run import Run, open_run
from overton.runs.tracebacks import traceback_kept
from overton.studies.contrasts import Against, compare_with_nulls
from overton.studies.document import document
from overton.studies.frame import Analysis, show_with
from overton.studies.installed_study import InstalledStudy, blaming
from overton.studies.items import spelled, words_of
from overton.studies.measurement import How
from overton.studies.multiple_judges import Judges, by_judges
from overton.studies.options import fields_of, options_of
from overton.studies.registry import study_named
from overton.studies.results import Results
from overton.studies.sections import Section, summary
from overton.studies.standard_parts import (
    Found,
    count_said,
    findings_against,
    judges_section,
    sections_against,
    with_variants,
)
from overton.studies.study import AnyStudy
from overton.studies.warnings import collect_findings

if TYPE_CHECKING:
    from overton.studies.findings import Finding
    from overton.studies.frame import AnyAnalysis
    from overton.studies.measurement import Measuring
    from overton.studies.tables import RawTable


show_with(fragment)


@dataclass(frozen=True)
class Measured:
    """An analysis, with its study and how it was computed; `results` is None for a table made elsewhere."""

    study: AnyStudy
    analysis: Any
    how: How
    results: Results | None
    labels: CorrectedNumbers | None = None

    def document(self, without: Sequence[str] = ()) -> dict[str, Any]:
        """The analysis as JSON values: findings first, and `labels` if people labelled; see `document`."""
        with blaming(self.study, "its analysis as JSON"):
            made = self._document(without)
            if isinstance(self.study, InstalledStudy):
                encoded(made)  # a value that JSON cannot hold is the study's error, not that of whoever prints it
            return made

    def _document(self, without: Sequence[str]) -> dict[str, Any]:
        measuring = measuring_of(self.study)
        beside: dict[str, Any] = {"findings": self.findings} if self._has_findings else {}
        labels = self.labels.document() if self.labels else {}
        if self.study.nulls:
            beside["against_null"] = [contrast for _, _, contrast in self.against]
        if self.judges is not None:
            beside["judges"] = self.judges
        made = document(self.study.name, measuring.schema, self.analysis, without=without, beside=beside) | labels
        return with_variants(made, self.against, measuring.comparing)

    @cached_property
    def findings(self) -> list[Finding]:
        """The findings in sentences: see `overton.studies.findings`."""
        measuring = measuring_of(self.study)
        corrected = self.labels.headlines if self.labels else ()
        more = findings_against(self.against, measuring.comparing, corrected)
        beside = count_said(self.against, measuring.comparing)
        with blaming(self.study, "its findings"):
            return collect_findings(measuring, self.analysis, self.results, more, beside)

    @property
    def _has_findings(self) -> bool:
        return bool(measuring_of(self.study).findings or self.study.nulls)

    @cached_property
    def against(self) -> list[Found]:
        """Headlines compared with their nulls, if these were asked or can be computed from the records."""
        if self.results is None:
            return []
        with blaming(self.study, "comparing its headlines with their nulls"):
            return self._compare_with_nulls(self.results)

    def _compare_with_nulls(self, results: Results) -> list[Found]:
        measuring = measuring_of(self.study)
        said = measuring.findings(self.analysis) if measuring.findings else ()
        return compare_with_nulls(self.study.nulls, measuring.comparing, results, self.how, said)

    @cached_property
    def judges(self) -> Judges | None:
        """How well several judges agree, and headlines by each; None if only one judged."""
        if self.results is None:
            return None
        measuring = measuring_of(self.study)
        with blaming(self.study, "measures by judge"):
            return by_judges(self.results, self.study.questions, measuring.comparing, self.study.several, self.how)

    def sections_by_judges(self) -> list[Section]:
        """The sections on several judges."""
        return [] if self.judges is None else [judges_section(self.judges)]

    def sections_against(self) -> list[Section]:
        """The sections on headlines compared with their nulls."""
        comparing = measuring_of(self.study).comparing
        return sections_against(self.against, comparing.unit, self.how.level) if comparing else []

    def summary(self) -> list[Section]:
        """The report's marked tables and callouts, in its sections."""
        sections = self.labels.sections() if self.labels else []
        own = measuring_of(self.study).sections(self.analysis)
        with blaming(self.study, "sections()"):
            shown = summary([*sections, *own, *self.sections_by_judges(), *self.sections_against()])
            return spelled(shown, words_of(self.study.items, self.results.items)) if self.results else shown


def analyze(study: str, source: str | Path, **how: Any) -> AnyAnalysis:
    """Every measure of `source`: a run's folder, or a table that the study reads.

    The study's `measuring.tables`, and `overton analyze STUDY --help`, say which tables those are. Each study returns
    its own `measures.Analysis`. `how` are the fields of the study's `measuring.how`: `level`, `resamples`, `seed` and
    others.

    Example: `overton.analyze("STUDY", "runs/first").to_json()`.

    Raises:
        InputError: the study or the file cannot be used, with the place of every problem; or the run is of another
            study.
    """
    analysis: AnyAnalysis = measure_run(study, source, **how).analysis
    return analysis


def measure_run(study: str, source: str | Path, **how: Any) -> Measured:
    """The same, with what it was computed from.

    Raises:
        InputError: see `analyze`.
    """
    named = study_named(study)
    measuring, path = measuring_of(named), Path(source)
    chosen = chosen_how(named, how)
    if not (path.is_dir() and (path / "manifest.json").is_file()):
        table, left_out = _table_at(path, measuring)
        analysis = measuring.table(design_of_table(named, table), chosen)
        if left_out and isinstance(analysis, Analysis):
            analysis = msgspec.structs.replace(analysis, warnings=(left_out, *analysis.warnings))
        return Measured(named, analysis, chosen, None)
    run = open_run(path)
    own = study_named(run.manifest.study)
    if named.name not in (own.name, own.labels):
        raise InputError([Problem(str(path), "", f"is a run of {own.name}, not of {named.name}")])
    return measured_runs(named, [run], chosen)


def _table_at(path: Path, measuring: Measuring[Any, Any]) -> tuple[RawTable, str]:
    """The table at `path`, and a sentence that names the tables left out.

    Those of a folder are joined, if they are of the first kind found there. A repository may keep them in folders.

    Raises:
        InputError: it cannot be read, or a folder has no table that the study measures.
    """
    from overton.files.tables import open_table, table_files
    from overton.studies.tables import JoinedTable

    if not path.is_dir() or (path / "records.parquet").is_file() or not (found := table_files(path, measuring.folders)):
        return open_table(path), ""
    for files in found:
        tables = [open_table(file) for file in files]
        for fits in ([kind.fits(table) for table in tables] for kind in measuring.read):
            if any(fits):
                others = [file.name for file, fit in zip(files, fits, strict=True) if not fit]
                said = f"{path.name} has other tables, which are left out: {list_names(others, 10)}." if others else ""
                return JoinedTable.of(str(path), [*compress(tables, fits)]), said
    raise InputError([Problem(str(path), "", f"has no table that can be measured: name {measuring.tables}")])


def measured_runs(study: AnyStudy, runs: Sequence[Run], how: How) -> Measured:
    """Runs of one study measured together."""
    with traceback_kept(runs[0].path), blaming(study, "measures"):
        results = results_of(runs)
        labels = correct_numbers(runs, results, how)
        analysis = labels.corrected(measuring_of(study).records(results, how))
        changed = list(filter(None, (run.changed_records for run in runs)))
        if changed and isinstance(analysis, Analysis):
            analysis = msgspec.structs.replace(analysis, warnings=(*changed, *analysis.warnings))
        return Measured(study, analysis, how, results, labels)


def schema(study: str) -> dict[str, Any]:
    """The JSON Schema (2020-12) of what `overton analyze STUDY --json` prints.

    Raises:
        InputError: no such study exists, or it has nothing to measure.
    """
    from overton.studies.document import schema as schema_of
    from overton.studies.document import with_key
    from overton.studies.findings import Finding
    from overton.studies.label_shares import with_labels

    named = study_named(study)
    measuring = measuring_of(named)
    beside: dict[str, Any] = {"findings": tuple[Finding, ...]} if measuring.findings or named.nulls else {}
    beside |= {"against_null": tuple[Against, ...]} if named.nulls else {}
    with blaming(named, "the schema of its analysis"):
        made = schema_of(measuring.analysis(), named.name, measuring.schema, beside)
    made = with_key(made, "judges", Judges) if named.several else made
    return made if named.questions is None else with_labels(made)


def chosen_how(study: AnyStudy, given: Mapping[str, Any]) -> How:
    """The choices of how a study's measures are computed; a file among them is opened as a table.

    Raises:
        InputError: an unknown choice, or a file that cannot be read.
    """
    kind = measuring_of(study).how
    files = {field.name for field in fields_of(kind) if field.option.file}
    opened = {name: _open_if_file(value) if name in files else value for name, value in given.items()}
    return options_of(kind, opened)


def _open_if_file(given: Any) -> Any:
    from overton.files.tables import open_table

    return open_table(Path(given)) if isinstance(given, str | Path) else given
