"""Analyses: the measures of runs and tables, with findings and sections."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import compress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from overton.analysis.labels import CorrectedNumbers, correct_numbers
from overton.analysis.results import measuring_of, results_of
from overton.errors import InputError, Problem, list_names
from overton.reporting.cells import encoded
from overton.reporting.notebook import fragment
from overton.runs.record_rows import design_of_table
from overton.runs.run import Run, open_run, with_texts_of
from overton.runs.tracebacks import traceback_kept
from overton.studies.contrasts import Against, compare_with_nulls
from overton.studies.document import document
from overton.studies.frame import Analysis, show_with
from overton.studies.installed_study import InstalledStudy, blaming
from overton.studies.items import spelled, words_of
from overton.studies.measurement import How
from overton.studies.multiple_judges import Judges, by_judges
from overton.studies.options import fields_of, options_of
from overton.studies.paper import (
    OPTION,
    PaperValues,
    as_stored,
    check_published,
    departures,
    is_wanted,
    published_section,
    without_lifted,
)
from overton.studies.registry import study_named, usable_studies
from overton.studies.results import Results
from overton.studies.sections import Exhibits, Section, summary
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
    """An analysis, its study, and the options used to compute it. `results` is None if the source is a table.

    If the analysis uses the paper's formulas, `departures` has a line for each way in which the runs' design differs
    from the paper's.
    """

    study: AnyStudy
    analysis: Any
    how: How
    results: Results | None
    labels: CorrectedNumbers | None = None
    departures: tuple[str, ...] = ()

    def document(self, without: Sequence[str] = ()) -> dict[str, Any]:
        """The analysis as JSON values: findings first, and `labels` if there are human labels."""
        with blaming(self.study, "its analysis as JSON"):
            made = self._document(without)
            if isinstance(self.study, InstalledStudy):
                encoded(made)  # blames the study for values that JSON cannot hold
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
        """Headlines compared with null conditions. A null condition was part of the runs, or is computed from their
        records."""
        if self.results is None:
            return []
        with blaming(self.study, "comparing its headlines with null conditions"):
            return self._compare_with_nulls(self.results)

    def _compare_with_nulls(self, results: Results) -> list[Found]:
        measuring = measuring_of(self.study)
        said = measuring.findings(self.analysis) if measuring.findings else ()
        return compare_with_nulls(self.study.nulls, measuring.comparing, results, self.how, said)

    @cached_property
    def judges(self) -> Judges | None:
        """The agreement of several judges, and the headlines by each judge; None if there is only one judge."""
        if self.results is None:
            return None
        measuring = measuring_of(self.study)
        with blaming(self.study, "measures by judge"):
            return by_judges(self.results, self.study.questions, measuring.comparing, self.study.several, self.how)

    def sections_as_published(self, own: Sequence[Section]) -> list[Section]:
        """A list with one section: the paper's tables, taken from the study's `own` sections. The list is empty if the
        paper's formulas are not used."""
        published = self.study.published
        if published is None or not self.how.as_published:
            return []
        return [published_section(published, own, self.departures)]

    def sections_by_judges(self) -> list[Section]:
        """The sections on several judges."""
        return [] if self.judges is None else [judges_section(self.judges)]

    def sections_against(self) -> list[Section]:
        """The sections on headlines compared with their null conditions."""
        comparing = measuring_of(self.study).comparing
        return sections_against(self.against, comparing.unit, self.how.level) if comparing else []

    def summary(self) -> list[Section]:
        """The report's sections, with only the tables and callouts that are marked as summary."""
        sections = self.labels.sections() if self.labels else []
        own = self._own_sections
        with blaming(self.study, "sections()"):
            own = without_lifted(own, self.sections_as_published(own))
            shown = summary([*sections, *own, *self.sections_by_judges(), *self.sections_against()])
            return self._spelled(shown)

    def summary_as_published(self) -> list[Section]:
        """The tables marked as summary in the paper's section. They are shown first."""
        return self._spelled(summary(self.sections_as_published(self._own_sections))) if self.how.as_published else []

    @cached_property
    def exhibits(self) -> Exhibits:
        """The study's part of a report of runs."""
        assert self.results is not None
        return measuring_of(self.study).shown(self.results, self.analysis, self.how)

    @cached_property
    def _own_sections(self) -> Sequence[Section]:
        """The study's sections of the analysis."""
        return measuring_of(self.study).sections(self.analysis)

    def _spelled(self, sections: list[Section]) -> list[Section]:
        """The sections, with items in words if the items are known."""
        return spelled(sections, words_of(self.study.items, self.results.items)) if self.results else sections


Sources: TypeAlias = str | Path | Sequence[str | Path]
"""A run's folder or a table, or the folders of several runs."""


def analyze(study: str, source: Sources, **how: Any) -> AnyAnalysis:
    """Compute every measure of `source`: a run's folder, the folders of several runs (measured together), or a table
    that the study reads.

    The study's `measuring.tables`, and `overton analyze STUDY --help`, say which tables the study reads. The result is
    the study's `measures.Analysis`. The keyword arguments `how` are the fields of the study's `measuring.how`: `level`,
    `resamples`, `seed` and others.

    Example: `overton.analyze("STUDY", "runs/first").to_json()`.

    Raises:
        InputError: the study or the file cannot be used (the message lists every problem), the run is of another study,
            or one of several sources is not a run.
    """
    analysis: AnyAnalysis = measure_run(study, source, **how).analysis
    return analysis


def measure_run(study: str, source: Sources, **how: Any) -> Measured:
    """Analyse `source` as `analyze` does, and return the analysis with the results that it is based on.

    Raises:
        InputError: see `analyze`.
    """
    named = study_named(study)
    paths = [Path(source)] if isinstance(source, str | Path) else [Path(path) for path in source]
    tables = [path for path in paths if not (path.is_dir() and (path / "manifest.json").is_file())]
    if len(paths) == 1 and tables:
        choices = chosen_how(named, how)  # first, so that a wrong choice is refused before any table is opened
        return measure_table(named, *table_at(paths[0], measuring_of(named)), choices)
    if tables or not paths:
        reason = "is not a run folder. Several runs can be measured together; a table is measured alone"
        raise InputError([Problem(str(path), "", reason) for path in tables] or [Problem("analyze", "", "name a run")])
    runs = [_open_run_of(named, path) for path in paths]
    return measured_runs(named, runs, chosen_how(named, how, runs))


def measure_table(study: AnyStudy, table: RawTable, left_out: str, how: How) -> Measured:
    """Analyse a table, or all tables of a folder together. `left_out` is a sentence that names the tables left out,
    or ''."""
    analysis = measuring_of(study).table(design_of_table(study, table), how)
    if left_out and isinstance(analysis, Analysis):
        analysis = msgspec.structs.replace(analysis, warnings=(left_out, *analysis.warnings))
    return Measured(study, analysis, how, None)


def study_of_table(table: RawTable, path: Path, study: str | None) -> AnyStudy:
    """Return the study called `study`. If it is None, return the only study that compares models and can read `table`.

    Raises:
        InputError: no study or several can read the table.
    """
    if study is not None:
        return study_named(study)
    fitting = [
        usable_study
        for usable_study in usable_studies()
        if usable_study.measuring
        and usable_study.measuring.comparing
        and any(kind.fits(table) for kind in usable_study.measuring.read)
    ]
    if len(fitting) != 1:
        names = " and ".join(found.name for found in fitting) or "no study"
        raise InputError([Problem(str(path), "", f"is a table that {names} can read: name its study (--study)")])
    return fitting[0]


def _open_run_of(study: AnyStudy, path: Path) -> Run:
    """A run that the study measures.

    Raises:
        InputError: it is of another study.
    """
    run = open_run(path)
    own = study_named(run.manifest.study)
    if study.name not in (own.name, own.labels):
        raise InputError([Problem(str(path), "", f"is a run of {own.name}, not of {study.name}")])
    return run


def table_at(path: Path, measuring: Measuring[Any, Any]) -> tuple[RawTable, str]:
    """Open the table at `path`, and return it with a sentence that names the tables left out.

    If `path` is a folder, Overton joins all its tables of one kind. The study lists the kinds of tables that it reads,
    and Overton takes the first kind in this list that occurs in the folder. If no kind occurs in the folder itself,
    Overton searches its subfolders.

    Raises:
        InputError: the table cannot be read, or a folder has no table that the study measures.
    """
    from overton.files.tables import open_table, table_files
    from overton.studies.tables import JoinedTable

    if not (found := table_files(path, measuring.folders)):
        return open_table(path), ""
    for files in found:
        tables = [open_table(file) for file in files]
        for fits in ([kind.fits(table) for table in tables] for kind in measuring.read):
            if any(fits):
                others = [file.name for file, fit in zip(files, fits, strict=True) if not fit]
                said = f"{path.name} has other tables, which are left out: {list_names(others, 10)}." if others else ""
                return JoinedTable.of(str(path), [*compress(tables, fits)]), said
    raise InputError([Problem(str(path), "", f"has no table that can be measured; name {measuring.tables}")])


def measured_runs(study: AnyStudy, runs: Sequence[Run], how: How) -> Measured:
    """Measure runs of one study jointly, using the prompts and other texts that the runs used."""
    study = with_texts_of(study, runs)
    with traceback_kept(runs[0].path), blaming(study, "measures"):
        results = results_of(runs)
        labels = correct_numbers(runs, results, how)
        analysis = labels.corrected(measuring_of(study).records(results, how))
        changed = list(filter(None, (run.changed_records for run in runs)))
        if changed and isinstance(analysis, Analysis):
            analysis = msgspec.structs.replace(analysis, warnings=(*changed, *analysis.warnings))
        differs = dict.fromkeys(line for run in runs for line in _departures(study, run)) if how.as_published else ()
        return Measured(study, analysis, how, results, labels, tuple(differs))


def _departures(study: AnyStudy, run: Run) -> Iterator[str]:
    """The differences between a run's design and the paper's. If the run was made as published, the paper's design is
    the one recorded at the run's start."""
    manifest = run.manifest
    stood_for = manifest.as_published or (study.published.values if study.published else PaperValues())
    roles = {role: [entry.spec for entry in entries] for role, entries in manifest.models.items()}
    yield from departures(stood_for, as_stored(msgspec.to_builtins(run.options)), roles)
    if manifest.replaced:
        yield f"texts replaced: {', '.join(manifest.replaced)}"


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


def chosen_how(study: AnyStudy, given: Mapping[str, Any], runs: Sequence[Run] = ()) -> How:
    """Read the options for computing a study's measures. If an option names a file, the file is opened as a table.

    The paper's formulas are used if `given` asks for them, or if all `runs` were made with `as_published`. Options
    missing in `given` then default to the paper's choices.

    Raises:
        InputError: a choice is unknown, a file cannot be read, or the study has no published formulas.
    """
    kind = measuring_of(study).how
    given = {**_published_how(study, given, runs), **given}
    files = {field.name for field in fields_of(kind) if field.option.file}
    opened = {name: _open_if_file(value) if name in files else value for name, value in given.items()}
    return options_of(kind, opened)


def _published_how(study: AnyStudy, given: Mapping[str, Any], runs: Sequence[Run]) -> dict[str, Any]:
    """The choices of the study's paper, as the first run recorded them; empty if the numbers are not as published."""
    recorded = [run.manifest.as_published or None for run in runs]
    if not is_wanted(given):
        follows = given.get(OPTION) is None and recorded and all(recorded)
        return {OPTION: True, **recorded[0].how} if follows and recorded[0] else {}
    check_published(study.published)
    first = next(filter(None, recorded), None)
    return dict(first.how if first else study.published.how if study.published else {})


def _open_if_file(given: Any) -> Any:
    from overton.files.tables import open_table

    return open_table(Path(given)) if isinstance(given, str | Path) else given
