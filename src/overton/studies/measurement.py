"""A study's interface for turning a run's records into numbers, and for displaying these numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Generic, TypeVar

import msgspec

from overton.errors import InputError, Problem
from overton.studies.options import Option
from overton.studies.sections import Callout, Exhibits, Section, Table

if TYPE_CHECKING:
    import polars as pl

    from overton.statistics import Estimate
    from overton.studies.chapters import Chapters
    from overton.studies.contributions import Sides
    from overton.studies.correction import CorrectionCase, Place
    from overton.studies.findings import Profiling, Said
    from overton.studies.measures import Measure
    from overton.studies.people_labels import People
    from overton.studies.precision import Blocks
    from overton.studies.probabilities import Weighing
    from overton.studies.questions import Questions
    from overton.studies.reproduction import Reproduction
    from overton.studies.results import Results
    from overton.studies.tables import RawTable, TableKind


Analysis = TypeVar("Analysis")
Record = TypeVar("Record")


class How(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Options for computing measures. A study with further options derives its own class from this one."""

    level: Annotated[float, Option("Coverage of the intervals", least=0.5, most=0.999)] = 0.95
    resamples: Annotated[
        int, Option("Number of random samples, for the few numbers that need them", least=100, most=100_000)
    ] = 2000
    seed: Annotated[int, Option("Seed of these random samples")] = 0
    as_published: Annotated[
        bool | None,
        Option("Use the paper's parsing and estimator, and show its tables first; by default the run's own setting"),
    ] = None

    @property
    def describes_these(self) -> bool:
        """Return whether proportions corrected by human labels describe only the units of a run. Otherwise they
        describe a population of similar units. A study may let the user choose."""
        return False

    @property
    def bootstraps(self) -> bool:
        """Return whether interval limits are percentiles of a cluster bootstrap, as in a paper. Otherwise Overton's
        usual rule applies."""
        return False


@dataclass(frozen=True)
class Position:
    """The column of records with the model's position. Overton finds changes of position in this column.

    If `values` are given, other values of the column are not positions. `by` is the column that names the speaker, if a
    trial has several speakers.
    """

    column: str
    values: tuple[str, ...] = ()
    by: str = ""


@dataclass(frozen=True)
class Headline(Generic[Analysis, Record]):
    """The few figures of a study that are shown where space is limited, as in the logs of Inspect AI.

    `figures(analysis)` gives a few measures by name. `item` is the column that names the item. `value` computes one
    number from the records of one item in one condition (NaN if the number does not exist). `meaning` explains this
    number. `columns` are the most important columns of records, which displays show first.

    `answers(records)` counts the answers that the figures leave out. From the table of the design's records, it yields
    each kind of omitted answer ('answers_other', 'answers_unread', 'judge_unread') with its number and the total.
    `judge(figure, options)` names the role of the judge whose labels the figure or count needs in a run with these
    options. It is '' if no judge is needed. The names of that role's prompts start with `judge_prompts`. `position`
    locates the model's position in records. For each of `measures`, a plan states whether the design can measure it.
    """

    figures: Callable[[Analysis], Iterator[tuple[str, Estimate]]]
    item: str
    value: Callable[[Sequence[Record]], float]
    meaning: str
    columns: tuple[str, ...]
    answers: Callable[[pl.DataFrame], Iterator[tuple[str, int, int]]] = lambda records: iter(())
    judge: Callable[[str, Mapping[str, Any]], str] = lambda figure, options: ""
    judge_prompts: str = ""
    position: Position | None = None
    measures: tuple[Measure, ...] = ()


def _refuse_table(table: RawTable, how: Any) -> Any:
    raise InputError([Problem(table.name, "", "this study measures runs only: name a run's folder")])


@dataclass(frozen=True)
class Comparing:
    """How a study computes each item's contribution to its measures. Comparisons of models are based on these
    contributions (`overton.studies.measures`).

    unit      the plural word for items in descriptions of intervals
    records   `records(results, how)` gives every model's contributions
    table     `table(table, how)` gives the contributions from a table made outside Overton
    place     `place(measure, model)` gives the keys that lead to a headline in the JSON; () if the JSON does not have
              it
    judge     `judge(measure)` names the role whose labels a measure depends on, '' if it depends on none
    harmless  options in which compared runs may differ. They change the precision of numbers or add numbers, and leave
              the meaning of each number unchanged
    weighing  `weighing(results, how)` decides whether proportions come from token probabilities. The decision is the
              same for a design and its null conditions. None if the runs requested no token probabilities
    trial     the column of records with the trial's name, which ends in its repetition ('.../r3'). Repetitions make it
              possible to separate random variation from variation between items. '' if trials are not repeated
    few       `few(results, how)` gives the contributions to `matched` measures if the compared runs have different
              numbers of trials. None if the study has no such measures
    """

    unit: str
    records: Callable[[Results, Any], Sides]
    table: Callable[[RawTable, Any], Sides]
    harmless: tuple[str, ...] = ("trials",)
    judge: Callable[[str], str] = lambda measure: ""
    place: Callable[[str, str], tuple[str, ...]] = lambda measure, model: ()
    trial: str = ""
    weighing: Callable[[Results, Any], Weighing | None] = lambda results, how: None
    few: Callable[[Results, Any], Sides] | None = None


@dataclass(frozen=True)
class Correcting(Generic[Analysis]):
    """Measures that depend on many of a judge's labels, and their correction by human labels.

    whats  the kinds of label that the measures depend on, as the study's labelling sheet names them
    case   `case(results, what, people, how)` gives the units and their human labels (`overton.studies.correction`).
           None if the measures in this analysis depend on other labels
    place  `place(analysis, place)` converts a number's location in the case to its location in the analysis, None if
           the analysis does not have the number
    alone  notes for report sections whose numbers depend on the judge's labels but are not corrected, by section key
    """

    whats: tuple[str, ...]
    case: Callable[[Results, str, People, Any], CorrectionCase | None]
    place: Callable[[Analysis, Place], Place | None] = lambda analysis, place: place
    alone: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class UnreadRecords:
    """For one model, the number of replies that could not be parsed (`count`) and of all replies (`of`). `what` names
    the replies ('verdicts').

    `role` is the judge's role if the replies are the judge's labels, and '' if they are the model's own.
    """

    model: str
    what: str
    count: int
    of: int
    role: str = ""


@dataclass(frozen=True)
class Measuring(Generic[Analysis, Record]):
    """How a study's records become an analysis, and how the analysis is displayed. `analysis`, `records` and `sections`
    are required.

    how         the options of the analysis, each field with its `Option`
    records     `records(results, how)` gives the analysis of runs
    analysis    the type of an analysis, from which its JSON Schema is derived
    sections    `sections(analysis)` gives the sections that need only the analysis
    findings    `findings(analysis)` gives each model's position, and any tests to make: see `Said`
    unread      `unread(analysis)` counts replies that could not be parsed. If a model has many, its findings should not
                be quoted
    tables      one line that describes the tables from other sources that can be measured
    read        the kinds of these tables. The documentation shows their columns
    table       `table(table, how)` gives the analysis of an opened table
    exhibits    `exhibits(results, analysis, how)` gives what a report shows, by default the sections alone
    overview    `overview(analysis)` gives the table on a run's first screen; by default the first table of `sections`
    chapters    the questions that a report answers, each with the keys of the sections that answer it
    headline    the few figures that represent the study
    comparing   how models are compared; without this field `overton compare` refuses the study
    reproductions  publications whose numbers the study recomputes from their tables
    folders        the folders of these publications' tables in their repository, as in `Reproduction`
    profile     the study's contribution to a model's profile (`overton.studies.findings`)
    correcting  how human labels correct measures that depend on many of a judge's labels; None if the study has no such
                measures
    reported    options of the analysis that a report sets by default
    names       columns with a model's name; columns in `joined` have several names, joined by ' + '
    apart       columns whose values are unique only within a run; a table of several runs adds the run's name to the
                values
    schema      the version of the analysis' JSON
    questions   the questions to the study's judge; people and other judges can check its labels. None if the study has
                no such questions
    blocks      complete balanced parts of the study's trials, and the precision of their records: see `Blocks`. Without
                blocks, a run cannot stop at a target precision
    """

    analysis: Callable[[], type[Analysis]]
    records: Callable[[Results, Any], Analysis]
    sections: Callable[[Analysis], Sequence[Section]]
    tables: str = ""
    table: Callable[[RawTable, Any], Analysis] = _refuse_table
    exhibits: Callable[[Results, Analysis, Any], Exhibits] | None = None
    findings: Callable[[Analysis], Sequence[Said]] | None = None
    unread: Callable[[Analysis], Iterable[UnreadRecords]] | None = None
    overview: Callable[[Analysis], Table | None] | None = None
    chapters: Chapters = field(default_factory=dict)
    headline: Headline[Analysis, Record] | None = None
    comparing: Comparing | None = None
    profile: Profiling[Analysis] | None = None
    correcting: Correcting[Analysis] | None = None
    how: type[How] = How
    reported: Mapping[str, Any] = field(default_factory=dict)
    names: tuple[str, ...] = ("model",)
    joined: tuple[str, ...] = ()
    apart: tuple[str, ...] = ()
    read: tuple[TableKind, ...] = ()
    reproductions: tuple[Reproduction, ...] = ()
    folders: tuple[str, ...] = ()
    schema: int = field(default=1)
    questions: Questions | None = None
    blocks: Blocks | None = None

    def shown(self, results: Results, analysis: Analysis, how: Any) -> Exhibits:
        """The exhibits of a report; by default the sections alone."""
        if self.exhibits is None:
            return Exhibits(summary="", sections=self.sections(analysis), trials=None)
        return self.exhibits(results, analysis, how)


class _NoMeasures(msgspec.Struct, frozen=True):
    """The analysis of a study without measures."""


def _sections_without_measures(analysis: _NoMeasures) -> Sequence[Section]:
    said = "This study declares no measures. Its answers are in records.parquet."
    return [Section("measures", "Measures", [Callout(said, "warning", summary=True)])]


UNMEASURED: Measuring[_NoMeasures, Any] = Measuring(
    analysis=lambda: _NoMeasures, records=lambda results, how: _NoMeasures(), sections=_sections_without_measures
)
"""The default for a study that asks questions and declares no measures."""
