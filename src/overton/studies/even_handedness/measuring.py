"""How the records of even-handedness are analysed and shown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import nan
from typing import TYPE_CHECKING, Annotated, Any

from overton.errors import InputError, Problem
from overton.studies.even_handedness.questions import LABELS, REPEATS
from overton.studies.even_handedness.record import Record
from overton.studies.even_handedness.tables import GRADES, read_table
from overton.studies.findings import Profiling
from overton.studies.measurement import Comparing, Headline, How, Measuring, UnreadRecords
from overton.studies.options import Option
from overton.studies.probabilities import AsAsked, weighing_notes
from overton.studies.results import Results
from overton.studies.sections import Exhibits, Section
from overton.studies.warnings import about_judges, held_to_form, warn_few_items

if TYPE_CHECKING:
    import polars as pl

    from overton.statistics import Estimate
    from overton.studies.even_handedness.measures import Analysis
    from overton.studies.findings import Said, Trait
    from overton.studies.measures import Sides
    from overton.studies.tables import RawTable


class EvenHow(How, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How the measures of even-handedness are computed."""

    sides: Annotated[
        Any,
        Option(
            "Table of groups and their sides (.csv), two sides in all, such as left and right; the pairs themselves"
            " only name groups",
            file=True,
        ),
    ] = None
    shares: AsAsked = "as-asked"


def sides_in(table: RawTable) -> dict[str, str]:
    """Sides by group, in the order of a table's rows; the side in the first row is the first side.

    Raises:
        InputError: a column is missing, a cell is empty, a group is listed twice, or there are not two sides.
    """
    if missing := [name for name in ("group", "side") if name not in table.columns]:
        reason = f"has no column {' and '.join(missing)}; a table of sides has group, side"
        raise InputError([Problem(table.name, "", reason)])
    found: dict[str, str] = {}
    problems: list[Problem] = []
    for number, row in enumerate(table.frame().select("group", "side").iter_rows()):
        group, side = (str(cell or "").strip() for cell in row)
        if not group or not side:
            problems.append(Problem(table.name, table.place(number), "has an empty cell"))
        elif group in found:
            problems.append(Problem(table.name, table.place(number), f"{group} already has the side {found[group]}"))
        else:
            found[group] = side
    if not problems and len(set(found.values())) != 2:
        problems.append(Problem(table.name, "side", f"there are {len(set(found.values()))} sides; two are needed"))
    if problems:
        raise InputError(problems)
    return found


def _analysis() -> type[Analysis]:
    from overton.studies.even_handedness.measures import Analysis

    return Analysis


def _measure_results(results: Results, how: EvenHow) -> Analysis:
    return _measure_records(results.records, how)


def _measure_table(table: RawTable, how: EvenHow) -> Analysis:
    return _measure_records(read_table(table), how)


def _measure_records(records: pl.DataFrame, how: EvenHow) -> Analysis:
    from overton.studies.even_handedness import measures

    return measures.analyze(
        records, level=how.level, resamples=how.resamples, seed=how.seed, sides=sides_of(how), shares=how.shares
    )


def sides_of(how: EvenHow) -> dict[str, str]:
    """The sides of groups that the user chose, empty if none were chosen."""
    return {} if how.sides is None else sides_in(how.sides)


def _compared(results: Results, how: EvenHow) -> Sides:
    from overton.studies.even_handedness import compared

    return compared.of_records(results.records, sides_of(how), how.shares)


def _compared_tables(table: RawTable, how: EvenHow) -> Sides:
    from overton.studies.even_handedness import compared

    return compared.of_records(read_table(table), sides_of(how), how.shares)


def _unread(analysis: Analysis) -> Iterator[UnreadRecords]:
    for model, settings in analysis.models.items():
        tallies = [setting.tally for setting in settings.values()]
        yield UnreadRecords(model, "labels", sum(t.unread for t in tallies), sum(t.labels for t in tallies), "judge")


def _findings(analysis: Analysis) -> Sequence[Said]:
    from overton.studies.even_handedness.findings import findings

    return findings(analysis)


def _sections(analysis: Analysis) -> Sequence[Section]:
    from overton.studies.even_handedness import figures

    return figures.sections(analysis)


def _exhibits(results: Results, analysis: Analysis, how: EvenHow) -> Exhibits:
    from overton.studies.even_handedness import figures

    return Exhibits(
        summary=(
            "Whether a model helps both sides of a contested question alike, by paired prompts (Shen et al. 2025):"
            " which side gets less help, with what certainty, and how far the judge can be trusted."
        ),
        sections=figures.sections(analysis, figures.judges(results, analysis)),
        trials=figures.answer_table(
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


def _traits(analysis: Analysis) -> Iterable[Trait]:
    from overton.studies.even_handedness.profile import traits

    return traits(analysis)


def _figures(analysis: Analysis) -> Iterator[tuple[str, Estimate]]:
    for settings in analysis.models.values():
        for setting, result in settings.items():
            with_system = "" if setting == "none" else f"_{setting.replace('-', '_')}"
            yield f"even{with_system}", result.even.helped
            yield f"even_below_null{with_system}", result.even.below_null
            yield f"even_as_published{with_system}", result.even.as_published


def _counted(records: pl.DataFrame) -> Iterator[tuple[str, int, int]]:
    """Grades for which the judge gave no readable reply."""
    unread = int(records["unread"].sum())
    yield "judge_unread", unread, unread + sum(records[name].count() for name in (*LABELS, *REPEATS))


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


MEASURING: Measuring[Analysis, Record] = Measuring(
    how=EvenHow,
    analysis=_analysis,
    records=_measure_results,
    tables="a table of graded pairs, such as a run's records (.parquet, .csv, .jsonl)",
    read=(GRADES,),
    table=_measure_table,
    findings=_findings,
    unread=_unread,
    sections=_sections,
    exhibits=_exhibits,
    profile=Profiling(("stands", "refuses"), _traits, {"even": "pairs in which both sides are helped alike"}),
    comparing=Comparing(
        "topics",
        _compared,
        _compared_tables,
        ("trials", "systems", "nulls", "retest"),
        lambda _: "judge",
        _place,
        "trial",
    ),
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
