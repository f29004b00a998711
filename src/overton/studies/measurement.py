"""From a run's records to numbers and how they are shown: what a study declares, and what it is given."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Generic, TypeVar

import msgspec

from overton.errors import InputError, Problem
from overton.studies.options import Option
from overton.studies.sections import Callout, Exhibits, Section

if TYPE_CHECKING:
    import polars as pl

    from overton.statistics import Estimate
    from overton.studies.contributions import Sides
    from overton.studies.correction import CorrectionCase, Place
    from overton.studies.findings import Profiling, Said
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
    """How measures are computed; a study with further choices derives from it."""

    level: Annotated[float, Option("Coverage of the intervals", least=0.5, most=0.999)] = 0.95
    resamples: Annotated[int, Option("Random draws, in the few places that need them", least=100, most=100_000)] = 2000
    seed: Annotated[int, Option("Seed of the random draws")] = 0
    as_published: Annotated[
        bool | None,
        Option("The paper's reading and estimator, and its tables first; by default as the run was made"),
    ] = None

    @property
    def describes_these(self) -> bool:
        """Whether shares of labels that human labels correct describe exactly the units of a run, and not units like
        these. A study may leave that to the user."""
        return False

    @property
    def bootstraps(self) -> bool:
        """Whether limits are percentiles of bootstrapped clusters, as in a paper, instead of the rule's."""
        return False


@dataclass(frozen=True)
class Headline(Generic[Analysis, Record]):
    """The part of a study that is shown where there is room for few figures, as in the logs of another host.

    `figures(analysis)` gives the first of its measures by name; `item` is the column that names the item. `value` is
    one number for the records of one item in one condition, NaN if they have none, which `meaning` explains;
    `columns` are those of the record that people read first.

    `answers(records)` counts answers that figures do not show, from the design's table: a kind ('answers_other',
    'answers_unread', 'judge_unread'), how many of that kind, and of how many. `judge(figure, options)` names the role
    on whose labels a figure or such a count rests in a run with these options, '' if it rests on none; the names of
    that role's prompts start with `judge_prompts`.
    """

    figures: Callable[[Analysis], Iterator[tuple[str, Estimate]]]
    item: str
    value: Callable[[Sequence[Record]], float]
    meaning: str
    columns: tuple[str, ...]
    answers: Callable[[pl.DataFrame], Iterator[tuple[str, int, int]]] = lambda records: iter(())
    judge: Callable[[str, Mapping[str, Any]], str] = lambda figure, options: ""
    judge_prompts: str = ""


def _refuse_table(table: RawTable, how: Any) -> Any:
    raise InputError([Problem(table.name, "", "this study measures runs only: name a run's folder")])


@dataclass(frozen=True)
class Comparing:
    """How models are compared by a study: its measures as what each item contributes (`overton.studies.measures`).

    unit      what items are called in the plural, as intervals name them
    records   `records(results, how)` gives every model's contributions
    table     `table(table, how)` gives those of a table that was made elsewhere
    place     `place(measure, model)` is the place of a headline in the JSON, key by key; () if it has none
    judge     `judge(measure)` names the role on whose labels a measure rests, '' if it rests on none
    harmless  options that change only how sure a number is, or which numbers there are, and not what one means
    weighing  `weighing(results, how)` says what the shares of a design are made of, and its nulls are read in the same
              way; None if nobody asked for token probabilities
    trial     the column of records that names the trial, which ends in its repetition, '.../r3', so that the effect
              of chance on a number can be separated from that of items; '' if trials are not repeated
    few       `few(results, how)` gives the contributions to measures that are `matched`, of runs with different numbers
              of trials; None if there are no such measures
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
    """Measures of many labels together that rest on a judge, and how labels by people correct them.

    whats  the labels of the study's sheet that they rest on
    case   `case(results, what, people, how)` gives the units and what people say of them
    (`overton.studies.correction`);
           None if the measures, as computed, rest on other labels
    place  `place(analysis, place)` is where an analysis has a number, from the place that the case names; None if it
           has none there
    alone  what a report says of sections whose numbers rest on the judge's labels and are not corrected, by their keys
    """

    whats: tuple[str, ...]
    case: Callable[[Results, str, People, Any], CorrectionCase | None]
    place: Callable[[Analysis, Place], Place | None] = lambda analysis, place: place
    alone: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class UnreadRecords:
    """How many replies on one model could not be read, out of how many; `what` names them ('verdicts').

    `role` is the judge's if the replies are a judge's labels of the model, and '' if they are the model's own.
    """

    model: str
    what: str
    count: int
    of: int
    role: str = ""


@dataclass(frozen=True)
class Measuring(Generic[Analysis, Record]):
    """How a study's outcome becomes an analysis, and how an analysis is shown. The first three are needed.

    how         the choices of computing it, each field with its `Option`
    records     `records(results, how)` gives the analysis of runs
    analysis    the type of an analysis, from which its JSON Schema is derived
    sections    `sections(analysis)` gives what is shown of an analysis alone
    findings    `findings(analysis)` says where models stand, and gives the tests to make, if there are any: see `Said`
    unread      `unread(analysis)` counts replies that could not be read: many make a model's findings unfit to quote
    tables      in one line: which tables made elsewhere can be measured
    read        the kinds of such tables, as documentation shows their columns
    table       `table(table, how)` gives the analysis of one of them, opened
    exhibits    `exhibits(results, analysis, how)` gives what a report shows, by default the sections alone
    headline    the few figures that represent it
    comparing   how models are compared by it; without it `overton compare` refuses
    reproductions  publications whose numbers it computes again from their tables
    folders        where a repository that publishes such tables keeps them, as in `Reproduction`
    profile     what it contributes to a model's profile (`overton.studies.findings`)
    correcting  how people's labels correct its measures of many of a judge's labels, if it has such measures
    reported    choices that a report makes by default
    names       columns with a model's name; those in `joined` have several names, joined by ' + '
    apart       columns whose values are unique in a run only, so that runs under each other need the run's name
    schema      the version of the analysis' JSON
    questions   those that the study's judge is asked, on whose labels people and other judges can check it; None if
                there are none
    blocks      whole balanced parts of the study's trials, and how precise their records are: see `Blocks`. Without it
                a run cannot stop when it is precise
    """

    analysis: Callable[[], type[Analysis]]
    records: Callable[[Results, Any], Analysis]
    sections: Callable[[Analysis], Sequence[Section]]
    tables: str = ""
    table: Callable[[RawTable, Any], Analysis] = _refuse_table
    exhibits: Callable[[Results, Analysis, Any], Exhibits] | None = None
    findings: Callable[[Analysis], Sequence[Said]] | None = None
    unread: Callable[[Analysis], Iterable[UnreadRecords]] | None = None
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
        """The exhibits of a report, or the sections if no exhibits are declared."""
        if self.exhibits is None:
            return Exhibits(summary="", sections=self.sections(analysis), trials=None)
        return self.exhibits(results, analysis, how)


class _NoMeasures(msgspec.Struct, frozen=True):
    """There are no measures."""


def _sections_without_measures(analysis: _NoMeasures) -> Sequence[Section]:
    said = "This study declares no measures: the answers are in records.parquet, and nothing is computed from them."
    return [Section("measures", "Measures", [Callout(said, "warning", summary=True)])]


UNMEASURED: Measuring[_NoMeasures, Any] = Measuring(
    analysis=lambda: _NoMeasures, records=lambda results, how: _NoMeasures(), sections=_sections_without_measures
)
"""Takes the place of the measures of a study that asks questions and declares none."""
