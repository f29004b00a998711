"""A study's declaration of how its numbers are displayed and compared.

From a `StudyReport` and the study's measures, Overton derives analyses, findings, profiles, report sections,
comparisons and corrections by human labels. The result is a `Measuring`.
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
from overton.studies.measurement import Comparing, Correcting, Headline, Measuring, Position, UnreadRecords
from overton.studies.measures import key_in
from overton.studies.probabilities import probability_notes, weighing_notes
from overton.studies.results import Results
from overton.studies.sections import Exhibits, Section, Table, TrialTable, record_table
from overton.studies.self_agreement import self_agreement_lines
from overton.studies.study_measures import HowT, StudyMeasures
from overton.studies.tables import RawTable, TableField, TableKind, columns_of_record
from overton.studies.warnings import about_judges, held_to_form, judged_by

if TYPE_CHECKING:
    import polars as pl

    from overton.statistics import Estimate
    from overton.studies.chapters import Chapters
    from overton.studies.contributions import Sides
    from overton.studies.layouts import OverviewColumn, SectionOf
    from overton.studies.precision import Blocks
    from overton.studies.reproduction import Reproduction

Record = TypeVar("Record", bound=msgspec.Struct)


_MOST_HEADLINES = 4
"""The largest number of headlines in the table on a run's first screen, unless the study declares the table's
columns."""

_REPLY = "reply"
"""The column of records with the model's reply."""


def _kind_of(record: type[msgspec.Struct]) -> TableKind:
    """The kind of table with the columns of a record. Columns without a default are required."""
    model = TableField("model", "name", "model that gave the answers", together=True, added=True, usual="unnamed")
    needed = {own.name for own in msgspec.structs.fields(record) if own.required}
    columns = [
        TableField.of(record, name, needed=name in needed, added=name not in needed)
        for name in record.__struct_fields__
    ]
    return TableKind("records", (model, *columns), completed=True)


_NO_CLAIMS = Claims((), counts="")


@dataclass(frozen=True)
class StudyReport(Generic[HowT, Record]):
    """How the numbers of a study's measures are displayed. All fields except the first two have defaults.

    measures  the measures
    summary   the subject of the report, in a sentence
    record    the class of the study's records
    claims    the sentences that the measures may support
    layouts   `layouts(analysis)` gives the layouts of the report's sections. By default there is one section,
              'measures', with all measures by model and by facet. If the first headline has numbers by item, the
              section also has a chart of these numbers
    sections  `sections(analysis, judged, items)` gives complete sections in place of layouts; `judged` describes the
              judges, and `items` are the run's items, if known
    chapters  the questions that the report answers, each with the keys of the sections that answer it
    answers   `answers(results, analysis)` gives the answers to browse, if the results have items. By default these are
              the records, if they have a column `reply`
    warnings  `warnings(results, analysis)` gives sentences that readers should see first, in addition to those on the
              judge and on reply formats
    subject   the quantity that depends on a judge's labels ('any model's stances'), by default the first headline
    form      a sentence on the effect of constrained decoding on the answers, '' if the study does not use it
    judges    gives one line for each judge
    weighed   the word that begins a sentence about the numbers that may be computed from token probabilities
    corrects  the kinds of labels that corrected numbers depend on, by default those of the first question
    facets    the facets of items by which `sections` already have tables. Overton adds a section for the other facets.
              If there are `layouts`, Overton finds the facets with tables itself
    alone     a sentence for each section whose numbers are not corrected by human labels, by the section's key
    kinds     the kinds of tables made outside Overton that can be measured, by default the records. `read` reads such a
              table as records; by default, Overton reads a table of the first kind. `tables` describes the tables
    overview  `overview(analysis)` gives the columns of the table on a run's first screen, by default at most four
              headlines, and one column on refusals and malformed replies
    figures   the few numbers shown where space is limited, by name; by default the headlines
    value     one number for the records of one item in one condition, by default the first headline. `meaning` explains
              the number. `columns` are the most important columns of records, which displays show first
    position  the column of records with the model's position, if a position can change
    counts    counts of answers that figures leave out, as in `Headline.answers`; by default labels that could not be
              parsed from a judge's reply
    judge     `judge(figure, options)` gives the role whose labels a figure or a count of answers depends on in a run
              with these options; by default the role of the figure's measure
    unread    counts of replies that could not be parsed; by default, counts of the judge's labels from the table
              'counts'
    trial     the column of records that names the trial, '' if trials are not repeated
    said      further measures, in addition to the headlines, whose differences from null conditions get a sentence
    harmless  options in which compared runs may differ: they change the precision of numbers or add numbers, but do not
              change the meaning of a number
    prompts   the start of the names of the judge's prompts
    replies   the plural word for the model's replies
    few, reported, joined, apart, reproductions, folders, blocks, without  as in `Comparing`, `Measuring` and `Exhibits`
    """

    measures: StudyMeasures[HowT]
    summary: str
    record: type[Record] | None = None
    claims: Claims = _NO_CLAIMS
    layouts: Callable[[Analysis], Sequence[SectionOf]] | None = None
    sections: Callable[[Analysis, str, Sequence[Any]], Sequence[Section]] | None = None
    chapters: Chapters = field(default_factory=dict)
    answers: Callable[[Results, Analysis], TrialTable | None] | None = None
    subject: str = ""
    kinds: tuple[TableKind, ...] = ()
    read: Callable[[RawTable, HowT], pl.DataFrame] | None = None
    tables: str = ""
    overview: Callable[[Analysis], Sequence[OverviewColumn]] | None = None
    figures: Callable[[Analysis], Iterator[tuple[str, Estimate]]] | None = None
    value: Callable[[Sequence[Record]], float] | None = None
    meaning: str = ""
    columns: tuple[str, ...] = ()
    position: Position | None = None
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
        """Set defaults. By default, tables of records can be measured. Findings count the clusters that intervals are
        over, and do not name the condition that keys do not name."""
        items, plain = self.claims.items or self.measures.clusters, self.claims.plain or self.measures.plain
        object.__setattr__(self, "claims", replace(self.claims, items=items, plain=plain))
        if not self.kinds and self.record is not None:
            object.__setattr__(self, "kinds", (_kind_of(self.record),))
        if not self.tables and self.kinds:
            tables = f"a table of {self.kinds[0].name}, such as a run's records (.parquet, .csv, .jsonl)"
            object.__setattr__(self, "tables", tables)

    @property
    def measuring(self) -> Measuring[Analysis, Record]:
        """The declaration as a `Measuring`."""
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
            overview=self._overview,
            chapters=self.chapters,
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
                position=self.position,
                measures=tuple(each for each in measures.declared.values() if each.leads and not each.variant),
            ),
        )

    def exhibits(self, results: Results, analysis: Analysis, how: Any) -> Exhibits:
        """The part of a report that the study gives."""
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
        """One line for each judge: its name, and its agreement with people and with itself."""
        if not self._has_judge:
            return []
        repeated = self_agreement_lines(analysis.self_agreement) if self.measures.repeats else ()
        return [*self.judges(results), *repeated]

    @property
    def _has_judge(self) -> bool:
        return bool(self.corrects or self.measures.questions.questions)

    @property
    def _columns(self) -> tuple[str, ...]:
        """The columns of the trial's name, its labels, the failure, and the reply."""
        known = self.record.__struct_fields__ if self.record is not None else ()
        labels = (column for question in self.measures.questions for column in question.columns)
        return tuple(name for name in (self.trial, *labels, "failure", _REPLY) if name in known)

    def _results(self, table: RawTable, how: HowT) -> Results:
        """The records in a table made outside Overton, as results."""
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

    def _overview(self, analysis: Analysis) -> Table | None:
        """The table on a run's first screen, with the declared columns, or with the headlines without their
        variants."""
        from overton.studies.layouts import MeasureColumn, make_overview

        declared = self.measures.declared
        variants = {name for name, measure in declared.items() if measure.variant}
        headlines = [name for name, measure in analysis.measures.items() if measure.headline and name not in variants]
        columns = (
            [MeasureColumn(name) for name in headlines[:_MOST_HEADLINES]]
            if self.overview is None
            else self.overview(analysis)
        )
        return make_overview(columns, analysis, self.measures.plain)

    def _records(self, results: Results, analysis: Analysis) -> TrialTable | None:
        """The records to browse, if they have replies. Readers can filter by labels and by columns with few values."""
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
        """The role whose labels a measure or a count depends on. '' for 'answers_unread', because it counts the model's
        own replies."""
        measure = self.measures.measure_of(key)
        if measure is not None:
            return measure.judge
        return "" if key == "answers_unread" else self._role

    def _count_answers(self, records: pl.DataFrame) -> Iterator[tuple[str, int, int]]:
        """The number of labels that could not be parsed from a judge's reply, and of all labels."""
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
        """The location of a headline in the JSON, which is among the rows. () if it is not there."""
        found = self.measures.measure_of(measure)
        if found is None or found.signed or found.variant:
            return ()
        return ("rows",) if found.leads or found.name in self.said else ()


def figures_by_setting(
    figures: Mapping[str, tuple[str, str | None]], plain: str
) -> Callable[[Analysis], Iterator[tuple[str, Estimate]]]:
    """Figures of each model and condition. `figures` maps each figure's name to a measure and a condition. If the
    condition is not None, the figure is the difference from that condition."""

    def made(analysis: Analysis) -> Iterator[tuple[str, Estimate]]:
        for model, condition in analysis.settings:
            for name, (measure, against) in figures.items():
                number = analysis.estimate(measure, model=model, condition=condition or None, against=against)
                yield key_in(name, condition, plain), number

    return made


def _count_unread(analysis: Analysis) -> Iterator[UnreadRecords]:
    """The number of a judge's labels that could not be parsed, from the table 'counts'."""
    role = next((measure.judge for measure in analysis.measures.values() if measure.judge), "")
    for model in analysis.models:
        tallies = [row for row in analysis.counts["counts"] if (row["model"], row["facet"]) == (model, None)]
        unread, labels = (sum(int(tally[name] or 0) for tally in tallies) for name in ("unread", "labels"))
        yield UnreadRecords(model, "labels", unread, labels, role)
