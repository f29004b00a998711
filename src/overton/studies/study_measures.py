"""A study's measures, from which Overton derives the analysis, comparisons and corrections.

A study's module `rows` makes units from records (`Rows`), and its module `measures` declares the measures of these
units (`StudyMeasures`). Overton also computes these measures from other views of the results: without malformed
replies, in null conditions, and with human labels.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import nan
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Protocol, TypeVar, cast

import msgspec

from overton.errors import InputError
from overton.studies.frame import Analysis, Cells, DeclaredMeasure, EstimateRow
from overton.studies.items import Items
from overton.studies.judge_numbers import judge_counts, judge_rows
from overton.studies.measurement import How
from overton.studies.measures import By, Grouping, Measure
from overton.studies.null_conditions import PREFIX, Null
from overton.studies.questions import Questions
from overton.studies.results import Results
from overton.studies.self_agreement import of_questions

if TYPE_CHECKING:
    import polars as pl

    from overton.studies.contributions import Sides
    from overton.studies.correction import CorrectionCase
    from overton.studies.grouping import Frame
    from overton.studies.people_labels import People
    from overton.studies.probabilities import JudgeChances, Weighing
    from overton.studies.self_agreement import SelfAgreement
    from overton.studies.units import Units
    from overton.studies.warnings import FaultCount

HowT = TypeVar("HowT", bound=How)
_How_contra = TypeVar("_How_contra", bound=How, contravariant=True)


class Rows(Protocol[_How_contra]):
    """The functions of a study's module `rows`. A derived class must define `units_of`; the other functions have
    defaults."""

    def units_of(
        self, records: pl.DataFrame, how: _How_contra, columns: Sequence[str], kinds: Collection[str], *, weighed: bool
    ) -> dict[str, Units]:
        """The units of the requested `kinds`, with `columns` of the records. If `weighed`, each label is weighted by
        its probability."""

    def weighing_of(self, records: pl.DataFrame, how: _How_contra) -> Weighing | None:
        """The choice between counts and token probabilities for proportions; None if no run requested probabilities."""
        return None

    def without_faults(self, results: Results) -> Results:
        """The results without malformed replies; the same object if no reply is malformed."""
        return results

    def faults_of(self, records: pl.DataFrame, how: _How_contra) -> tuple[FaultCount, ...]:
        """Counts of malformed replies, by model and condition."""
        return ()

    def counts_of(self, frame: Frame, facets: Sequence[str]) -> Mapping[str, tuple[Cells, ...] | pl.DataFrame]:
        """Further tables of an analysis, next to its numbers. The table 'counts' has a row for each model and
        condition, and for each value of a facet. A table that can have a row for each unit is a data frame."""
        return {"counts": frame.unit_counts(facets)}


_NO_QUESTIONS = Questions((), complaint=str)


class TableRow(NamedTuple):
    """A row of a table of the analysis, for facts that explain numbers."""

    table: str
    cells: Cells


@dataclass(frozen=True)
class OtherNumbers(Generic[HowT]):
    """Numbers that are not means over units, such as a fitted model's coefficients or a variance of means.

    measures  the declarations of the numbers. Numbers that are `compared` have `contributions`
    rows      `rows(results, frame, how)` gives the numbers, and rows of tables. `frame` has the units of a view: the
              design, and for `faultless` numbers also the design without malformed replies
    contributions  `contributions(results, how)` gives each cluster's contributions to the `compared` measures
    """

    measures: Sequence[Measure]
    rows: Callable[[Results, Frame, HowT], Iterable[EstimateRow | TableRow]]
    contributions: Callable[[Results, HowT], Sides] | None = None
    faultless: bool = False


@dataclass(frozen=True)
class StudyMeasures(Generic[HowT]):
    """The measures of a study, and the groups for which they are computed.

    study      the study's name
    how        the options for computing numbers
    rows       imports the study's module `rows`, or makes a `RecordUnits` if each record is a unit
    items      the study's items, whose facets group numbers
    groupings  the measures, and the groups of units for which they are computed. A comparison uses the first grouping
               that has the measure. `by_facet` groupings are computed within each facet of items
    besides    further measures by which models are compared, without rows in the analysis
    others     numbers that are not means over units
    faultless  groupings that are also computed without malformed replies, by default the headlines
    sides      the facet with two sides, if a headline is a difference between two sides
    optional   measures that are only computed for models and conditions in which a unit has a value of at least one
               optional measure
    questions  the questions to the judge. Headlines are corrected by human labels for the first question. Units of the
               kind `labelled` (by default that of the first headline) have one label each, and the columns `names` of
               records identify the units
    case       `case(results, what, people, how)` is another correction, for units with several labels. It gives None if
               the numbers do not depend on labels of the question `what`. The records have columns for the facets
    agreement  the judge's agreement with itself, by default from the label columns of the units `labelled`
    repeats    whether runs request second labels from the judge
    clusters   the plural word for the clusters that intervals are over, by default the word for items
    plain      the condition that keys do not name, '' if keys name all conditions
    between    whether headlines are compared between each pair of a model's conditions
    chances    `chances(results, how)` summarises the token probabilities of a judge's labels, None without
               probabilities
    nulls      the study's null conditions. Null conditions that are views of the results have rows in the analysis
    notes      gives sentences that readers should see before any number
    remarks    gives sentences to be read with the numbers, for the table 'notes'; None if there is no such table
    of_run     `of_run(results)` gives the measures for these results, if measures depend on a run's question
    """

    study: str
    rows: Callable[[], Rows[HowT]]
    items: Items[Any]
    groupings: Sequence[Grouping]
    how: type[HowT] = cast("Any", How)  # noqa: RUF009 - a class
    clusters: str = ""
    labelled: str = ""
    questions: Questions = _NO_QUESTIONS
    plain: str = ""
    between: bool = True
    chances: Callable[[Results, HowT], JudgeChances | None] = lambda results, how: None
    besides: Sequence[Measure] = ()
    by_facet: Sequence[Grouping] = ()
    others: Sequence[OtherNumbers[HowT]] = ()
    faultless: Sequence[Grouping] | None = None
    case: Callable[[Results, str, People, HowT], CorrectionCase | None] | None = None
    agreement: Callable[[Results, Frame, HowT], dict[str, SelfAgreement]] | None = None
    repeats: bool = True
    sides: By = field(default_factory=dict)
    optional: Sequence[Measure] = ()
    names: tuple[str, ...] = ("model", "trial")
    nulls: tuple[Null, ...] = ()
    notes: Callable[[Results, HowT, Analysis], Iterable[str]] = lambda results, how, analysis: ()
    remarks: Callable[[Results, HowT, Analysis], Iterable[str]] | None = None
    of_run: Callable[[Results], StudyMeasures[HowT]] | None = None

    def __post_init__(self) -> None:
        """Set defaults: intervals are over items, and labels belong to the first headline's units.

        Raises:
            TypeError: a measure is given where a grouping of measures is required.
        """
        for name in ("groupings", "by_facet", "faultless"):
            if any(isinstance(given, Measure) for given in getattr(self, name) or ()):
                raise TypeError(f"StudyMeasures: {name} has a measure; give Grouping((MEASURE, ...)) instead")
        object.__setattr__(self, "clusters", self.clusters or self.items.plural)
        object.__setattr__(
            self,
            "labelled",
            self.labelled or next((measure.units for measure in self.measures if measure.leads), ""),
        )

    @property
    def measures(self) -> tuple[Measure, ...]:
        """All measures over units except optional ones, each once per kind of units."""
        found: dict[tuple[str, str], Measure] = {}
        for measure in (*(each for grouping in self.groupings for each in grouping.measures), *self.besides):
            found.setdefault((measure.name, measure.units), measure)
        return tuple(found.values())

    @property
    def declared(self) -> dict[str, Measure]:
        """All measures, by name."""
        others = (measure for other in self.others for measure in other.measures)
        found: dict[str, Measure] = {}
        for measure in (*self.measures, *self.optional, *others):
            found.setdefault(measure.name, measure)
        return found

    def measure_of(self, key: str) -> Measure | None:
        """The measure that a key names. The key may also name a condition."""
        declared = self.declared
        found = max((name for name in declared if key == name or key.startswith(f"{name}_")), key=len, default="")
        return declared.get(found)

    @property
    def facets(self) -> list[str]:
        """The names of the facets of items."""
        return [facet.name for facet in self.items.facets]

    @property
    def compared(self) -> tuple[Measure, ...]:
        """The measures for comparing models, and for comparing a model with its null conditions. They do not include
        differences between two sides."""
        return tuple(measure for measure in self.measures if measure.compared and not measure.signed)

    @property
    def first_headline(self) -> Measure:
        """The first headline; without headlines, the first measure."""
        return next((measure for measure in self.measures if measure.leads), self.measures[0])

    @property
    def headlines(self) -> tuple[Grouping, Grouping]:
        """The headlines in two groupings: measures over all units, and differences between two sides."""
        leading = [measure for measure in self.measures if measure.leads]
        return (
            Grouping([measure for measure in leading if not measure.signed]),
            Grouping([measure for measure in leading if measure.signed], self.sides, sides="difference"),
        )

    def analyze(self, results: Results, how: HowT) -> Analysis:
        """Every number of these measures.

        Raises:
            InputError: the options do not fit the results.
        """
        if self.of_run is not None:
            return self.of_run(results).analyze(results, how)
        weighing = self.weighing(results, how)
        views = self._views(how, weighing)
        frame = views.frame(results)
        agreement = (self.agreement or self._agreement_of_labels)(results, frame, how) if self.repeats else {}
        faults, chances = self.rows().faults_of(results.records, how), self.chances(results, how)
        design = list(views.rows_of_design(frame))
        left, spared = views.without_faults(results, frame)
        others = [row for other in self.others for row in other.rows(results, frame, how)]
        if left is not results:
            others += [row for other in self.others if other.faultless for row in other.rows(left, spared, how)]
        tables = self.rows().counts_of(frame, self.facets)
        analysis = Analysis(
            study=self.study,
            level=how.level,
            models=tuple(dict.fromkeys(model for model, _ in frame.settings if model)),
            warnings=(),
            measures={name: DeclaredMeasure.of(measure) for name, measure in self.declared.items()},
            rows=(
                *design,
                *views.rows_of_views(results, frame, spared),
                *(row for row in others if isinstance(row, EstimateRow)),
                *judge_rows(agreement, weighing, chances),
            ),
            listed={name: table for name, table in tables.items() if not isinstance(table, tuple)},
            counts={
                **{name: table for name, table in tables.items() if isinstance(table, tuple)},
                **_tables(row for row in others if isinstance(row, TableRow)),
                **judge_counts(faults, agreement, weighing, chances),
            },
            faults=faults,
            self_agreement=agreement,
            weighing=weighing,
            chances=chances,
        )
        if self.remarks is not None:
            notes = tuple({"note": note} for note in self.remarks(results, how, analysis))
            analysis = msgspec.structs.replace(analysis, counts={**analysis.counts, "notes": notes})
        return msgspec.structs.replace(analysis, warnings=tuple(self.notes(results, how, analysis)))

    def analyze_records(self, records: pl.DataFrame, *, items: Sequence[Any] = (), **how: Any) -> Analysis:
        """Every number from a table of records, which has the column `model` and the fields of the study's record.

        `items` are the items of the records, if known, and `how` has the options of the analysis.
        """
        return self.analyze(Results(records, items), self.how(**how))

    def weighing(self, results: Results, how: HowT) -> Weighing | None:
        """The choice between counts and token probabilities for the design; None if no run requested probabilities."""
        return self.rows().weighing_of(results.records, how)

    def _agreement_of_labels(self, results: Results, frame: Frame, how: HowT) -> dict[str, SelfAgreement]:
        """The judge's agreement with itself, if the labelled units have columns of its labels."""
        units = frame.units.get(self.labelled)
        return {} if units is None else of_questions(self.questions, units.table, units.cluster, how.level)

    def mean_of(self, measure: Measure, records: Sequence[msgspec.Struct]) -> float:
        """The mean of a measure over the units of some records of one model; NaN if no unit has a value."""
        if not records:
            return nan
        units = self.rows().units_of(table_of(records), self.how(), (), {measure.units}, weighed=False)
        values = units[measure.units].table[measure.column].drop_nulls().to_list()
        return sum(values) / len(values) if values else nan

    def contributions(self, results: Results, how: HowT) -> Sides:
        """Each cluster's contributions to the measures by which models are compared."""
        if self.of_run is not None:
            return self.of_run(results).contributions(results, how)
        from overton.studies.grouping import compared, is_first

        of_sides = self.headlines[1]
        views = self._views(how, self.weighing(results, how))
        frame = views.frame(results, _kinds([Grouping(self.compared), of_sides]))
        found = [(measure, frame.contributions(measure)) for measure in self.compared if frame.has(measure)]
        if frame.has_units(of_sides):
            _, first, second = frame.sides_of(of_sides)
            for measure in of_sides.measures:
                titled = replace(measure, title=f"{measure.title}, {first} over {second}")
                found.append((titled, frame.contributions(titled, is_first(of_sides))))
        of_units = compared(found, self.plain)
        others = [other.contributions(results, how) for other in self.others if other.contributions is not None]
        models = dict.fromkeys(model for sides in (of_units, *others) for model in sides)
        return {model: [made for sides in (of_units, *others) for made in sides.get(model, ())] for model in models}

    def correct(self, results: Results, what: str, people: People, how: HowT) -> CorrectionCase | None:
        """The headlines corrected by human labels for the first question.

        A person labels each unit once. The correction treats the judge's value, which may be a mean over several
        labels, as a prediction of the human label. The judge's labels for other questions stay as they are. The result
        is None if numbers should describe only the units of a run. The correction's intervals are for a population of
        similar units, so they do not fit such numbers.
        """
        if how.describes_these:
            return None
        if self.of_run is not None:
            return self.of_run(results).correct(results, what, people, how)
        if self.case is not None:
            from overton.studies.units import with_facets

            records = with_facets(results.records, self.items.facets, results.items, self.items.noun)
            return self.case(replace(results, records=records), what, people, how)
        from overton.studies.frame_correction import FrameCase

        question, kinds = self.questions.first, {self.labelled, *_kinds(self.headlines)}
        human = [replace(results, records=question.put(results.records, label)) for label in question.labels]
        views = self._views(how, self.weighing(results, how))
        frames = [views.frame(view, kinds, named=True) for view in (results, *human)]
        judged = question.rows(results)
        return FrameCase.of(frames, self.headlines, self.labelled, judged, question.labels, people, self.plain)

    def _views(self, how: HowT, weighing: Weighing | None) -> _Views[HowT]:
        return _Views(self, how, weighed=weighing is not None and weighing.used)


def table_of(records: Sequence[msgspec.Struct]) -> pl.DataFrame:
    """Records of one model as a table. The column `model` is empty."""
    import polars as pl

    rows = [{"model": "", **msgspec.structs.asdict(record)} for record in records]
    return pl.DataFrame(rows, infer_schema_length=None).with_columns(pl.col(pl.Null).cast(pl.String))


def _tables(rows: Iterable[TableRow]) -> dict[str, tuple[Cells, ...]]:
    found: dict[str, list[Cells]] = {}
    for table, cells in rows:
        found.setdefault(table, []).append(cells)
    return {table: tuple(every) for table, every in found.items()}


def _kinds(groupings: Iterable[Grouping]) -> set[str]:
    return {measure.units for grouping in groupings for measure in grouping.measures}


@dataclass(frozen=True)
class _Views(Generic[HowT]):
    """The same measurement of several views of results. `weighed` says whether labels are weighted by their
    probabilities."""

    declared: StudyMeasures[HowT]
    how: HowT
    weighed: bool

    def units(self, view: Results, kinds: Collection[str] = (), *, named: bool = False) -> dict[str, Units]:
        """The units of some kinds, by default of all kinds. If `named`, units that the judge labelled have an `id`."""
        from overton.studies.units import join_facets, with_facets

        items, columns = self.declared.items, self.declared.facets
        records = with_facets(view.records, items.facets, view.items, items.noun)
        if named:
            import polars as pl

            records = records.with_columns(id=pl.concat_str(self.declared.names, separator="/"))
            columns = [*columns, "id"]
        made = self.declared.rows().units_of(records, self.how, columns, kinds, weighed=self.weighed)
        grouped = made.keys() & _kinds(self.declared.by_facet)
        return made | {kind: join_facets(made[kind], items.facets, view.items) for kind in grouped}

    def frame(self, view: Results, kinds: Collection[str] = (), *, named: bool = False) -> Frame:
        """The units of a view, with the rule for intervals."""
        from overton.statistics.jackknife import Jackknife
        from overton.studies.grouping import Frame

        units, how, optional = self.units(view, kinds, named=named), self.how, self.declared.optional
        has_values = any(
            units[measure.units].table[measure.column].count() for measure in optional if measure.units in units
        )
        measures = (*self.declared.measures, *(optional if has_values else ()))
        clusters = next((kind.clusters for kind in units.values() if kind.clusters), self.declared.clusters)
        rule = Jackknife(how.level, how.resamples, how.seed, unit=clusters, bootstrap=how.bootstraps)
        return Frame(units, measures, rule)

    def rows_of_design(self, frame: Frame) -> Iterator[EstimateRow]:
        """The rows of numbers from the design."""
        declared = self.declared
        yield from frame.rows(declared.groupings)
        yield from frame.rows(grouping.within(facet) for facet in declared.facets for grouping in declared.by_facet)
        yield from self.optional_rows(frame)

    def rows_of_views(self, results: Results, frame: Frame, spared: Frame) -> Iterator[EstimateRow]:
        """The rows of the view without malformed replies (`spared`), of null conditions, and of differences from null
        conditions."""
        declared = self.declared
        if declared.faultless is None or spared.units is not frame.units:
            yield from spared.rows(self.groupings_without_faults(frame))
        for null in declared.nulls:
            yield from self.rows_against(null, results, frame)
        for measure in filter(frame.has, declared.headlines[0].measures) if declared.between else ():
            yield from frame.between_conditions(measure)

    def rows_against(self, null: Null, results: Results, frame: Frame) -> Iterator[EstimateRow]:
        """Measures in a null condition, and the design's measures minus those in the null condition. A null condition
        with a `view` has all compared measures. Other null conditions have only the measures that they declare."""
        if not null.has_view(results):
            return
        compared = self.declared.compared
        measures = [measure for measure in compared if null.view is not None or null.measures(measure.name)]
        try:
            units = self.units(null.alone(results), _kinds([Grouping(measures)]))
        except InputError:  # for example, all of its calls failed
            return
        other = replace(frame, units=units, variant=f"{PREFIX}{null.name}")
        known = [measure for measure in measures if frame.has(measure) and other.has(measure)]
        yield from frame.against(other, known, null.nothing)

    def optional_rows(self, frame: Frame) -> Iterator[EstimateRow]:
        """Optional measures, for models and conditions in which a unit has a value of at least one such measure."""
        measures = [measure for measure in self.declared.optional if measure in frame.measures]
        rows = list(frame.estimates(measures))
        some = {(row.model, row.condition) for row in rows if row.clusters}
        yield from (row for row in rows if (row.model, row.condition) in some)

    def without_faults(self, results: Results, frame: Frame) -> tuple[Results, Frame]:
        """The results without malformed replies, and their frame. If no reply is malformed, the units are the same
        object as in the design."""
        left, units = self.declared.rows().without_faults(results), frame.units
        if left is not results:
            others = any(other.faultless for other in self.declared.others)
            try:
                units = self.units(left, () if others else _kinds(self.groupings_without_faults(frame)))
            except InputError:  # all replies are malformed
                left = results
        return left, replace(frame, units=units, variant="without_faults")

    def groupings_without_faults(self, frame: Frame) -> list[Grouping]:
        """The groupings for the view without malformed replies: those that the study names, or the headlines."""
        groupings = self.declared.headlines if self.declared.faultless is None else self.declared.faultless
        return [grouping for grouping in groupings if frame.has_units(grouping)]
