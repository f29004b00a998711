"""How a study's numbers are shown and compared: what a study declares besides its measures.

From both follow analyses of runs and tables, findings, profiles, sections of reports, comparisons and corrections by
human labels: the platform takes them as `Measuring`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import msgspec

from overton.studies.claims import Claims
from overton.studies.document import TABLE_SCHEMA
from overton.studies.frame import Analysis, place_in_rows
from overton.studies.items import title_of
from overton.studies.measurement import Comparing, Correcting, Headline, Measuring, UnreadRecords
from overton.studies.measures import key_in
from overton.studies.probabilities import probability_notes, weighing_notes
from overton.studies.results import Results
from overton.studies.sections import Exhibits, Section, TrialTable, record_table
from overton.studies.self_agreement import self_agreement_lines
from overton.studies.study_measures import HowT, StudyMeasures
from overton.studies.tables import RawTable, TableField, TableKind, columns_of_record
from overton.studies.warnings import about_judges, held_to_form, judged_by

if TYPE_CHECKING:
    import polars as pl

    from overton.statistics import Estimate
    from overton.studies.contributions import Sides
    from overton.studies.layouts import SectionOf
    from overton.studies.precision import Blocks
    from overton.studies.reproduction import Reproduction

Record = TypeVar("Record", bound=msgspec.Struct)


_REPLY = "reply"
"""The column of records with what the model said."""


def _kind_of(record: type[msgspec.Struct]) -> TableKind:
    """Tables with the columns of a record, of which those without a default are needed."""
    model = TableField("model", "name", "whose answers they are", together=True, added=True, usual="unnamed")
    needed = {own.name for own in msgspec.structs.fields(record) if own.required}
    columns = [
        TableField.of(record, name, needed=name in needed, added=name not in needed)
        for name in record.__struct_fields__
    ]
    return TableKind("records", (model, *columns), completed=True)


_NO_CLAIMS = Claims((), counts="")


@dataclass(frozen=True)
class StudyReport(Generic[HowT, Record]):
    """How the numbers of a study's measures are shown. All but the first two have defaults.

    measures  the measures
    summary   what the report is about, in a sentence
    record    the type of its records
    claims    the sentences that they may support
    layouts   `layouts(analysis)` gives the report's sections as layouts. By default there is one section, 'measures',
              with all measures by model and by facet. It charts the first headline by item if items have numbers of it
    sections  `sections(analysis, judged, items)` gives the sections themselves; `judged` says who judged, and `items`
              are what was asked about, if that is known
    answers   `answers(results, analysis)` gives the answers to browse, of results with items: by default records with
              their column `reply`, if there is one
    warnings  `warnings(results, analysis)` gives sentences to be read first, besides those on the judge and on forms
    subject   the thing that a judge's labels say something about ('any model's stances'), by default the first headline
    form      a sentence on what it means if a grammar held answers to a form, '' if none could
    judges    who judged, a line each
    weighed   what token probabilities are used for, if there are any
    corrects  the kinds of labels on which corrected numbers rest, by default those of the first question
    facets    the facets of items by which `sections` have tables, as layouts say themselves: a section has the others
    alone     a sentence for each section whose numbers human labels do not correct, by its key
    kinds     the kinds of tables made elsewhere that can be measured, by default the records: `read` reads one as
              records, by default one of the first kind, and `tables` describes them
    figures   the few numbers shown where there is little room, by name: by default headlines
    value     one number for the records of one item in one condition, which `meaning` explains: by default the first
              headline. `columns` are those of records that people read first
    counts    answers that figures do not show, as `Headline.answers`; by default labels that the judge did not give
    judge     `judge(figure, options)` gives the role on whose labels a figure or a count of answers rests in a run with
              these options; by default the role of its measure
    unread    replies that could not be read; by default the judge's labels, from the table 'counts'
    trial     the column of records that names the trial, '' if trials are not repeated
    said      measures besides the headlines whose differences from null conditions are put into sentences
    harmless  options that change only how sure a number is, or which numbers there are
    prompts   how the names of the judge's prompts start
    replies   what the model's replies are called, in the plural
    few, reported, joined, apart, reproductions, folders, blocks, without  as in `Comparing`, `Measuring` and `Exhibits`
    """

    measures: StudyMeasures[HowT]
    summary: str
    record: type[Record] | None = None
    claims: Claims = _NO_CLAIMS
    layouts: Callable[[Analysis], Sequence[SectionOf]] | None = None
    sections: Callable[[Analysis, str, Sequence[Any]], Sequence[Section]] | None = None
    answers: Callable[[Results, Analysis], TrialTable | None] | None = None
    subject: str = ""
    kinds: tuple[TableKind, ...] = ()
    read: Callable[[RawTable, HowT], pl.DataFrame] | None = None
    tables: str = ""
    figures: Callable[[Analysis], Iterator[tuple[str, Estimate]]] | None = None
    value: Callable[[Sequence[Record]], float] | None = None
    meaning: str = ""
    columns: tuple[str, ...] = ()
    harmless: tuple[str, ...] = ("trials", "retest")
    form: str = ""
    prompts: str = ""
    replies: str = "replies"
    judges: Callable[[Results], Iterable[str]] = lambda results: judged_by(results, "Judge")
    weighed: str = "Shares"
    corrects: tuple[str, ...] = ()
    facets: Collection[str] = ()
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
    folders: tuple[str, ...] = ()
    blocks: Blocks | None = None
    without: Callable[[Analysis], tuple[str, ...]] = lambda analysis: ()

    def __post_init__(self) -> None:
        """Tables of records can be measured. Findings count what intervals are over, and leave out the same condition
        as keys."""
        items, plain = self.claims.items or self.measures.clusters, self.claims.plain or self.measures.plain
        object.__setattr__(self, "claims", replace(self.claims, items=items, plain=plain))
        if not self.kinds and self.record is not None:
            object.__setattr__(self, "kinds", (_kind_of(self.record),))
        if not self.tables and self.kinds:
            tables = f"a table of {self.kinds[0].name}, such as a run's records (.parquet, .csv, .jsonl)"
            object.__setattr__(self, "tables", tables)

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
            table=lambda table, how: measures.analyze(self._results(table, how), how),
            findings=self.claims.findings,
            unread=self.unread or (_count_unread if self._has_judge else None),
            sections=lambda analysis: self._sections(analysis, "", ()),
            exhibits=self.exhibits,
            profile=self.claims.profiling if any(claim.profile for claim in self.claims.claims) else None,
            comparing=Comparing(
                measures.clusters,
                measures.contributions,
                lambda table, how: measures.contributions(self._results(table, how), how),
                self.harmless,
                self._judge,
                self._place,
                self.trial,
                measures.weighing,
                self.few,
            ),
            correcting=Correcting(
                self.corrects or (measures.questions.first.key,), measures.correct, place_in_rows, self.alone
            )
            if self._has_judge
            else None,
            schema=TABLE_SCHEMA,
            questions=measures.questions if measures.questions.questions else None,
            blocks=self.blocks,
            reported=self.reported,
            joined=self.joined,
            apart=self.apart,
            reproductions=self.reproductions,
            folders=self.folders,
            headline=Headline(
                figures=self.figures or self._figures,
                item=measures.items.noun,
                value=self.value or partial(measures.mean_of, measures.first_headline),
                meaning=self.meaning or measures.first_headline.title,
                columns=self.columns or self._columns,
                answers=self.counts or self._count_answers,
                judge=self.judge or (lambda figure, options: self._judge(figure)),
                judge_prompts=self.prompts,
            ),
        )

    def exhibits(self, results: Results, analysis: Analysis, how: Any) -> Exhibits:
        """The study's part of a report."""
        judges = self.judges_of(results, analysis)
        subject = self.subject or f"any model's {self.measures.first_headline.title.lower()}"
        return Exhibits(
            summary=self.summary,
            sections=self._sections(analysis, "\n".join(judges), results.items),
            trials=(self.answers or self._records)(results, analysis) if results.items else None,
            without=self.without(analysis),
            warnings=[
                *self.warnings(results, analysis),
                *about_judges(results, subject, self._role),
                *(held_to_form(results, self.form) if self.form else ()),
                *weighing_notes(analysis.weighing, self.weighed),
                *probability_notes(analysis.chances),
            ],
        )

    def judges_of(self, results: Results, analysis: Analysis) -> list[str]:
        """Who judged, and how far they agree with people and with themselves, a line each."""
        if not self._has_judge:
            return []
        repeated = self_agreement_lines(analysis.self_agreement) if self.measures.repeats else ()
        return [*self.judges(results), *repeated]

    @property
    def _has_judge(self) -> bool:
        return bool(self.corrects or self.measures.questions.questions)

    @property
    def _columns(self) -> tuple[str, ...]:
        """The trial, its labels, and the failure."""
        known = self.record.__struct_fields__ if self.record is not None else ()
        labels = (column for question in self.measures.questions for column in question.columns)
        return tuple(name for name in (self.trial, *labels, "failure", _REPLY) if name in known)

    def _results(self, table: RawTable, how: HowT) -> Results:
        """The records of a table that was made elsewhere."""
        from overton.studies import table_frames

        return Results(self.read(table, how) if self.read else table_frames.read(self.kinds[0], table))

    def _figures(self, analysis: Analysis) -> Iterator[tuple[str, Estimate]]:
        """The headlines of each model and condition."""
        names = {name: (name, None) for name, measure in analysis.measures.items() if measure.headline}
        return figures_by_setting(names, self.measures.plain)(analysis)

    def _sections(self, analysis: Analysis, judged: str, items: Sequence[Any]) -> Sequence[Section]:
        from overton.studies.layouts import make_report, make_sections
        from overton.studies.standard_parts import facets_of, layouts_of

        measures = self.measures
        if self.sections is not None:
            further = make_sections(facets_of(measures, analysis, (), self.facets), analysis, measures.plain)
            return [*self.sections(analysis, judged, items), *(section.signed(judged) for section in further)]
        layouts = [layouts_of(measures)] if self.layouts is None else self.layouts(analysis)
        layouts = [*layouts, *facets_of(measures, analysis, layouts, ())]
        return make_report(layouts, analysis, measures.plain, judged=judged, faults=(self.replies, "Condition", ""))

    def _records(self, results: Results, analysis: Analysis) -> TrialTable | None:
        """The records, if they have replies, by everything that has only a few values."""
        records, items, labels = results.records, self.measures.items, self.measures.questions.label_columns
        if _REPLY not in records.columns or self.record is None:
            return None
        texts = {
            item.id: next(iter(items.spelled(item) if items.spelled else ()), title_of(item)) for item in results.items
        }
        few = [column.column for column in columns_of_record(self.record) if column.values]
        names = [name for name in dict.fromkeys(("model", *few, *labels, "failure")) if name in records.columns]
        filters = {name: name.replace("_", " ").capitalize() for name in names}
        return record_table(records, items.noun, texts, records[_REPLY], filters, labels, self.measures.names)

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
        if not questions.questions:
            return
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
                number = analysis.estimate(measure, model=model, condition=condition or None, against=against)
                yield key_in(name, condition, plain), number

    return made


def _count_unread(analysis: Analysis) -> Iterator[UnreadRecords]:
    """The judge's labels that could not be read, from the table 'counts'."""
    role = next((measure.judge for measure in analysis.measures.values() if measure.judge), "")
    for model in analysis.models:
        tallies = [row for row in analysis.counts["counts"] if (row["model"], row["facet"]) == (model, None)]
        unread, labels = (sum(int(tally[name] or 0) for tally in tallies) for name in ("unread", "labels"))
        yield UnreadRecords(model, "labels", unread, labels, role)
