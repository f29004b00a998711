"""How a study's numbers are shown and compared: what a study declares besides its measures.

From both follow analyses of runs and tables, findings, profiles, sections of reports, comparisons and corrections by
human labels: the platform takes them as `Measuring`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import msgspec

from overton.studies.claims import Claims
from overton.studies.frame import Analysis, place_in_rows
from overton.studies.measurement import Comparing, Correcting, Headline, Measuring, UnreadRecords
from overton.studies.measures import key_in
from overton.studies.probabilities import probability_notes, weighing_notes
from overton.studies.results import Results
from overton.studies.sections import Exhibits, Section, TrialTable
from overton.studies.self_agreement import self_agreement_lines
from overton.studies.study_measures import HowT, StudyMeasures
from overton.studies.tables import RawTable, TableKind
from overton.studies.warnings import about_judges, held_to_form, judged_by

if TYPE_CHECKING:
    import polars as pl

    from overton.statistics import Estimate
    from overton.studies.measures import Sides
    from overton.studies.reproduction import Reproduction

Record = TypeVar("Record", bound=msgspec.Struct)


def _judged_by(results: Results) -> Iterator[str]:
    yield from judged_by(results, "Judge")


@dataclass(frozen=True)
class StudyReport(Generic[HowT, Record]):
    """How the numbers of a study's measures are shown.

    measures  the measures
    claims    the sentences that they may support
    summary   what the report is about, in a sentence
    sections  `sections(analysis, judged, items)` gives the report's sections; `judged` says who judged, and `items`
              are what was asked about, if that is known
    answers   `answers(results, analysis)` gives the answers to browse, of results with items
    warnings  `warnings(results, analysis)` gives sentences to be read first, besides those on the judge and on forms
    subject   the thing that a judge's labels say something about ('any model's stances')
    form      a sentence on what it means if a grammar held answers to a form, '' if none could
    judges    who judged, a line each
    weighed   what token probabilities are used for, if there are any
    corrects  the kinds of labels on which corrected numbers rest, by default those of the first question
    alone     a sentence for each section whose numbers human labels do not correct, by its key
    kinds     the kinds of tables made elsewhere that can be measured: `read` reads one as records, and `tables`
              describes them
    figures   the few numbers shown where there is little room, by name
    value     one number for the records of one item in one condition, which `meaning` explains; `columns` are those of
              records that people read first
    counts    answers that figures do not show, as `Headline.answers`; by default labels that the judge did not give
    judge     `judge(figure, options)` gives the role on whose labels a figure or a count of answers rests in a run with
              these options; by default the role of its measure
    unread    replies that could not be read; by default the judge's labels, from the table 'counts'
    trial     the column of records that names the trial, '' if trials are not repeated
    said      measures besides the headlines whose differences from null conditions are put into sentences
    harmless  options that change only how sure a number is, or which numbers there are
    prompts   how the names of the judge's prompts start
    few, reported, joined, apart, reproductions, without  as in `Comparing`, `Measuring` and `Exhibits`
    """

    measures: StudyMeasures[HowT]
    claims: Claims
    summary: str
    sections: Callable[[Analysis, str, Sequence[Any]], Sequence[Section]]
    answers: Callable[[Results, Analysis], TrialTable]
    subject: str
    kinds: tuple[TableKind, ...]
    read: Callable[[RawTable, HowT], pl.DataFrame]
    tables: str
    figures: Callable[[Analysis], Iterator[tuple[str, Estimate]]]
    value: Callable[[Sequence[Record]], float]
    meaning: str
    columns: tuple[str, ...]
    harmless: tuple[str, ...]
    form: str = ""
    prompts: str = ""
    judges: Callable[[Results], Iterable[str]] = _judged_by
    weighed: str = "Shares"
    corrects: tuple[str, ...] = ()
    alone: Mapping[str, str] = field(default_factory=dict)
    warnings: Callable[[Results, Analysis], Iterable[str]] = lambda results, analysis: ()
    counts: Callable[[pl.DataFrame], Iterator[tuple[str, int, int]]] | None = None
    judge: Callable[[str, Mapping[str, Any]], str] | None = None
    unread: Callable[[Analysis], Iterable[UnreadRecords]] | None = None
    trial: str = "trial"
    said: tuple[str, ...] = ()
    few: Callable[[Results, Any], Sides] | None = None
    reported: Mapping[str, Any] = field(default_factory=dict)
    joined: tuple[str, ...] = ()
    apart: tuple[str, ...] = ()
    reproductions: tuple[Reproduction, ...] = ()
    without: Callable[[Analysis], tuple[str, ...]] = lambda analysis: ()

    @property
    def measuring(self) -> Measuring[Analysis, Record]:
        """The form in which the platform takes it."""
        measures = self.measures
        return Measuring(
            how=measures.how,
            analysis=lambda: Analysis,
            records=measures.analyze,
            tables=self.tables,
            read=self.kinds,
            table=lambda table, how: measures.analyze(Results(self.read(table, how)), how),
            findings=self.claims.findings,
            unread=self.unread or _count_unread,
            sections=lambda analysis: self.sections(analysis, "", ()),
            exhibits=self.exhibits,
            profile=self.claims.profiling,
            comparing=Comparing(
                measures.clusters,
                measures.contributions,
                lambda table, how: measures.contributions(Results(self.read(table, how)), how),
                self.harmless,
                self._judge,
                self._place,
                self.trial,
                measures.weighing,
                self.few,
            ),
            correcting=Correcting(
                self.corrects or (measures.questions.first.key,), measures.correct, place_in_rows, self.alone
            ),
            schema=2,
            without_faults=lambda results: measures.rows().without_faults(results),
            reported=self.reported,
            joined=self.joined,
            apart=self.apart,
            reproductions=self.reproductions,
            headline=Headline(
                figures=self.figures,
                item=measures.items.noun,
                value=self.value,
                meaning=self.meaning,
                columns=self.columns,
                answers=self.counts or self._count_answers,
                judge=self.judge or (lambda figure, options: self._judge(figure)),
                judge_prompts=self.prompts,
            ),
        )

    def exhibits(self, results: Results, analysis: Analysis, how: Any) -> Exhibits:
        """The study's part of a report."""
        has_agreement = self.measures.agreement is not None
        judges = [
            *self.judges(results),
            *(self_agreement_lines(analysis.self_agreement) if has_agreement else ()),
        ]
        return Exhibits(
            summary=self.summary,
            sections=self.sections(analysis, "\n".join(judges), results.items),
            trials=self.answers(results, analysis) if results.items else None,
            without=self.without(analysis),
            warnings=[
                *self.warnings(results, analysis),
                *about_judges(results, self.subject, self._role),
                *(held_to_form(results, self.form) if self.form else ()),
                *weighing_notes(analysis.weighing, self.weighed),
                *probability_notes(analysis.chances),
            ],
        )

    @property
    def _role(self) -> str:
        """The role of the study's judge."""
        return next((measure.judge for measure in self.measures.declared.values() if measure.judge), "judge")

    def _judge(self, key: str) -> str:
        """The role on whose labels a measure or a count rests; replies that could not be read are the model's own."""
        measure = self.measures.measure_of(key)
        if measure is not None:
            return measure.judge
        return "" if key == "answers_unread" else self._role

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
        found = self.measures.measure_of(measure)
        if found is None or found.signed or found.variant:
            return ()
        return ("rows",) if found.leads or found.name in self.said else ()


def figures_by_setting(
    figures: Mapping[str, tuple[str, str | None]], plain: str
) -> Callable[[Analysis], Iterator[tuple[str, Estimate]]]:
    """Figures of each model and condition: by their names a measure, and what a difference is from."""

    def made(analysis: Analysis) -> Iterator[tuple[str, Estimate]]:
        for model, condition in analysis.settings:
            for name, (measure, against) in figures.items():
                number = analysis.estimate(measure, model=model, condition=condition, against=against)
                yield key_in(name, condition, plain), number

    return made


def _count_unread(analysis: Analysis) -> Iterator[UnreadRecords]:
    """The judge's labels that could not be read, from the table 'counts'."""
    role = next((measure.judge for measure in analysis.measures.values() if measure.judge), "")
    for model in analysis.models:
        tallies = [row for row in analysis.counts["counts"] if (row["model"], row["facet"]) == (model, None)]
        unread, labels = (sum(int(tally[name] or 0) for tally in tallies) for name in ("unread", "labels"))
        yield UnreadRecords(model, "labels", unread, labels, role)
