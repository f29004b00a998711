"""How the records of even-handedness are analysed and shown, and tables of pairs that were graded elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from math import nan
from typing import TYPE_CHECKING

from overton.studies.even_handedness.findings import CLAIMS
from overton.studies.even_handedness.measures import (
    EvenHow,
    analyze_results,
    contributions,
    correct,
    weighing,
    without_faults,
)
from overton.studies.even_handedness.options import NONE, NULL
from overton.studies.even_handedness.questions import QUESTIONS
from overton.studies.even_handedness.record import Record
from overton.studies.frame import Analysis, place_in_rows
from overton.studies.measurement import Comparing, Correcting, Headline, Measuring, UnreadRecords
from overton.studies.measures import key_in
from overton.studies.probabilities import weighing_notes
from overton.studies.results import Results
from overton.studies.sections import Exhibits, Section
from overton.studies.tables import Once, RawTable, TableField, TableKind
from overton.studies.warnings import about_judges, held_to_form, warn_few_items

if TYPE_CHECKING:
    import polars as pl

    from overton.statistics import Estimate
    from overton.studies.measures import Sides


GRADES = TableKind.of(
    Record,
    "grades",
    (
        *("pair", "topic", "group_a", "group_b"),
        *QUESTIONS.label_columns,
        TableField("model", "name", "whose answers they are", together=True, added=True, usual="unnamed"),
        *("trial", "setting", "graded", "side", "task", "category", "partisan", "judged_again"),
        *QUESTIONS.repeat_columns,
        *("unread", "failure", "refused_a", "refused_b", "faults_a", "faults_b"),
    ),
    once=Once(
        ("model", "setting", "pair", "trial", "graded"),
        "the same as {first}: give repetitions names of their own in 'trial'",
    ),
    others=True,
    completed=True,
)
"""One row per pair, null or control, and time it was graded."""


def read_table(raw: RawTable) -> pl.DataFrame:
    """The rows of a table, as `measures.analyze` takes them.

    Raises:
        InputError: as `table_frames.read`.
    """
    import polars as pl

    from overton.studies import table_frames

    named = pl.format("{}/{}", "pair", "setting")
    return table_frames.read(GRADES, raw).with_columns(pl.coalesce("trial", named).alias("trial"))


def _measure_table(table: RawTable, how: EvenHow) -> Analysis:
    return analyze_results(Results(read_table(table)), how)


def _compared_tables(table: RawTable, how: EvenHow) -> Sides:
    return contributions(Results(read_table(table)), how)


def _unread(analysis: Analysis) -> Iterator[UnreadRecords]:
    for model in analysis.models:
        tallies = [row for row in analysis.counts["counts"] if (row["model"], row["facet"]) == (model, None)]
        unread, labels = (sum(int(tally[name] or 0) for tally in tallies) for name in ("unread", "labels"))
        yield UnreadRecords(model, "labels", unread, labels, "judge")


def _sections(analysis: Analysis) -> Sequence[Section]:
    from overton.studies.even_handedness import layouts

    return layouts.sections(analysis)


def _exhibits(results: Results, analysis: Analysis, how: EvenHow) -> Exhibits:
    from overton.studies.even_handedness import layouts

    return Exhibits(
        summary=(
            "Whether a model helps both sides of a contested question alike, by paired prompts (Shen et al. 2025):"
            " which side gets less help, with what certainty, and how far the judge can be trusted."
        ),
        sections=layouts.sections(analysis, layouts.judges(results, analysis)),
        trials=layouts.answer_table(
            results.records, results.items, {judge: judged.records for judge, judged in results.others.items()}
        )
        if results.items
        else None,
        warnings=[
            *warn_few_items(results.records["topic"].n_unique(), "topics"),
            *about_judges(results, "any model's even-handedness"),
            *held_to_form(results, "answers were not held to any form, since none is prescribed."),
            *weighing_notes(analysis.weighing),
        ],
    )


def _figures(analysis: Analysis) -> Iterator[tuple[str, Estimate]]:
    for model, condition in analysis.settings:
        estimate = partial(analysis.estimate, model=model, condition=condition)
        yield key_in("even", condition, NONE), estimate("even")
        yield key_in("even_below_null", condition, NONE), estimate("even", against=NULL)
        yield key_in("even_as_published", condition, NONE), estimate("even_as_published")


def _counted(records: pl.DataFrame) -> Iterator[tuple[str, int, int]]:
    """Grades for which the judge gave no readable reply."""
    unread, labels = int(records["unread"].sum()), (*QUESTIONS.label_columns, *QUESTIONS.repeat_columns)
    yield "judge_unread", unread, unread + sum(records[name].count() for name in labels)


def _share_even(records: Sequence[Record]) -> float:
    labels = [
        label
        for record in records
        if record.graded == "pair"
        for label in (record.even_first, record.even_second)
        if label is not None
    ]
    return sum(label == "even" for label in labels) / len(labels) if labels else nan


def _place(measure: str, model: str) -> tuple[str, ...]:
    if measure == "even":
        return ("models", model, "none", "helped")
    return ("models", model, measure.removeprefix("even_").replace("_", "-"), "helped") if "system" in measure else ()


_ALONE = "rests on the judge alone, with its errors: human labels of pairs correct only the headlines."

MEASURING: Measuring[Analysis, Record] = Measuring(
    how=EvenHow,
    analysis=lambda: Analysis,
    records=analyze_results,
    tables="a table of graded pairs, such as a run's records (.parquet, .csv, .jsonl)",
    read=(GRADES,),
    table=_measure_table,
    findings=CLAIMS.findings,
    unread=_unread,
    sections=_sections,
    exhibits=_exhibits,
    profile=CLAIMS.profiling,
    comparing=Comparing(
        "topics",
        contributions,
        _compared_tables,
        ("trials", "systems", "nulls", "retest"),
        lambda _: "judge",
        _place,
        "trial",
        weighing,
    ),
    correcting=Correcting(
        ("even_handedness",),
        correct,
        place_in_rows,
        {
            "even": f"The difference from the null condition, and all else here but the share of even pairs, {_ALONE}",
            "sides": f"Every gap of a group or topic {_ALONE}",
            "grades": f"Compliance and hedging {_ALONE}",
            "kinds": f"Every number by kind of task or topic {_ALONE}",
        },
    ),
    schema=2,
    without_faults=without_faults,
    headline=Headline(
        figures=_figures,
        item="pair",
        value=_share_even,
        meaning="share of the judge's two orders in which it calls the pair even",
        columns=("trial", "graded", "even_first", "even_second", "failure", "answer_a", "answer_b"),
        answers=_counted,
        judge=lambda figure, options: "judge",
        judge_prompts="grading.",
    ),
)
