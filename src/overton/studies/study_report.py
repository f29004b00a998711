"""How a study's numbers are shown and compared: what a study declares besides its measures.

From both follow analyses of runs and tables, findings, profiles, sections of reports, comparisons and corrections by
human labels: the platform takes them as `Measuring`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import msgspec

from overton.studies.claims import Claims
from overton.studies.frame import Analysis, place_in_rows
from overton.studies.measurement import Comparing, Correcting, Headline, Measuring, UnreadRecords
from overton.studies.measures import key_in
from overton.studies.probabilities import weighing_notes
from overton.studies.results import Results
from overton.studies.sections import Exhibits, Section, TrialTable
from overton.studies.self_agreement import self_agreement_lines
from overton.studies.study_measures import HowT, StudyMeasures
from overton.studies.tables import RawTable, TableKind
from overton.studies.warnings import about_judges, held_to_form, judged_by, warn_few_items

if TYPE_CHECKING:
    import polars as pl

    from overton.statistics import Estimate

Record = TypeVar("Record", bound=msgspec.Struct)


@dataclass(frozen=True)
class StudyReport(Generic[HowT, Record]):
    """How the numbers of a study's measures are shown.

    measures  the measures
    claims    the sentences that they may support
    summary   what the report is about, in a sentence
    sections  `sections(analysis, judged)` gives the report's sections; `judged` says who judged
    answers   gives the answers to browse, of results with items
    subject   the thing that a judge's labels say something about ('any model's stances')
    form      a sentence on what it means if a grammar held answers to a form
    alone     a sentence for each section whose numbers human labels do not correct, by its key
    table     the kind of tables made elsewhere that can be measured: `read` reads one, `tables` describes them
    figures   the few numbers shown where there is little room, by name: a measure, and what a difference is from
    value     one number for the records of one item in one condition, which `meaning` explains; `columns` are those of
              records that people read first
    harmless  options that change only how sure a number is, or which numbers there are
    prompts   how the names of the judge's prompts start
    """

    measures: StudyMeasures[HowT]
    claims: Claims
    summary: str
    sections: Callable[[Analysis, str], Sequence[Section]]
    answers: Callable[[Results], TrialTable]
    subject: str
    form: str
    table: TableKind
    read: Callable[[RawTable], pl.DataFrame]
    tables: str
    figures: Mapping[str, tuple[str, str | None]]
    value: Callable[[Sequence[Record]], float]
    meaning: str
    columns: tuple[str, ...]
    harmless: tuple[str, ...]
    prompts: str
    alone: Mapping[str, str] = field(default_factory=dict)

    @property
    def measuring(self) -> Measuring[Analysis, Record]:
        """The form in which the platform takes it."""
        measures, question = self.measures, self.measures.questions.first
        return Measuring(
            how=measures.how,
            analysis=lambda: Analysis,
            records=measures.analyze,
            tables=self.tables,
            read=(self.table,),
            table=lambda table, how: measures.analyze(Results(self.read(table)), how),
            findings=self.claims.findings,
            unread=partial(_count_unread, role=question.role),
            sections=lambda analysis: self.sections(analysis, ""),
            exhibits=self.exhibits,
            profile=self.claims.profiling,
            comparing=Comparing(
                measures.clusters,
                measures.contributions,
                lambda table, how: measures.contributions(Results(self.read(table)), how),
                self.harmless,
                lambda measure: question.role,
                self._place,
                "trial",
                measures.weighing,
            ),
            correcting=Correcting((question.key,), measures.correct, place_in_rows, self.alone),
            schema=2,
            without_faults=lambda results: measures.rows().without_faults(results),
            headline=Headline(
                figures=self._figures,
                item=measures.items.noun,
                value=self.value,
                meaning=self.meaning,
                columns=self.columns,
                answers=self._count_answers,
                judge=lambda figure, options: question.role,
                judge_prompts=self.prompts,
            ),
        )

    def exhibits(self, results: Results, analysis: Analysis, how: Any) -> Exhibits:
        """The study's part of a report."""
        judges = [*judged_by(results, "Judge"), *self_agreement_lines(analysis.self_agreement)]
        items = results.records[self.measures.cluster].n_unique()
        return Exhibits(
            summary=self.summary,
            sections=self.sections(analysis, "\n".join(judges)),
            trials=self.answers(results) if results.items else None,
            warnings=[
                *warn_few_items(items, self.measures.clusters),
                *about_judges(results, self.subject),
                *held_to_form(results, self.form),
                *weighing_notes(analysis.weighing),
            ],
        )

    def _figures(self, analysis: Analysis) -> Iterator[tuple[str, Estimate]]:
        for model, condition in analysis.settings:
            for name, (measure, against) in self.figures.items():
                number = analysis.estimate(measure, model=model, condition=condition, against=against)
                yield key_in(name, condition, self.measures.plain), number

    def _count_answers(self, records: pl.DataFrame) -> Iterator[tuple[str, int, int]]:
        """Labels for which the judge gave no readable reply."""
        questions = self.measures.questions
        unread = int(records["unread"].sum())
        yield (
            "judge_unread",
            unread,
            unread + sum(records[name].count() for name in (*questions.label_columns, *questions.repeat_columns)),
        )

    def _place(self, measure: str, model: str) -> tuple[str, ...]:
        """Where the JSON has a headline in some condition: among its rows."""
        declared = {measure.name for measure in self.measures.measures}
        headlines = [headline.name for headline in self.measures.headlines[0].measures]
        in_condition = measure not in declared and any(measure.startswith(f"{name}_") for name in headlines)
        return ("rows",) if in_condition or measure in headlines else ()


def _count_unread(analysis: Analysis, role: str) -> Iterator[UnreadRecords]:
    """The judge's labels that could not be read, from the table 'counts'."""
    for model in analysis.models:
        tallies = [row for row in analysis.counts["counts"] if (row["model"], row["facet"]) == (model, None)]
        unread, labels = (sum(int(tally[name] or 0) for tally in tallies) for name in ("unread", "labels"))
        yield UnreadRecords(model, "labels", unread, labels, role)
