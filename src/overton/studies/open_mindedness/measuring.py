"""How the records of open-mindedness are measured, and what is shown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import nan
from typing import TYPE_CHECKING, Any

import msgspec

from overton.errors import InputError, Problem
from overton.studies.frame import Analysis, place_in_rows
from overton.studies.measurement import Comparing, Correcting, Headline, Measuring, UnreadRecords
from overton.studies.measures import key_in
from overton.studies.open_mindedness import analysis as computed
from overton.studies.open_mindedness.findings import CLAIMS
from overton.studies.open_mindedness.measures import CROSS_FITTED, FREE, MOVED
from overton.studies.open_mindedness.millstone import MILLSTONE
from overton.studies.open_mindedness.options import OpenMindednessHow
from overton.studies.open_mindedness.record import Record
from overton.studies.open_mindedness.tables import COUNTS, RECORDS
from overton.studies.probabilities import weighing_notes
from overton.studies.results import Results
from overton.studies.sections import Exhibits, Section
from overton.studies.warnings import about_judges, held_to_form, judged_by

if TYPE_CHECKING:
    import polars as pl

    from overton.statistics import Estimate
    from overton.studies.open_mindedness.free_answers import FreeCase
    from overton.studies.open_mindedness.tables import OutcomeTable
    from overton.studies.people_labels import People
    from overton.studies.tables import RawTable


def _measure_table(table: RawTable, how: OpenMindednessHow) -> Analysis:
    from overton.studies.open_mindedness.tables import read_table

    outcomes = read_table(table)
    _check_apart(table.name, outcomes.table)
    chosen = msgspec.structs.asdict(how)
    if outcomes.kind == "counts":
        for name in ("reading", "shares", "answers"):
            chosen.pop(name)
        analysis = computed.analyze_counts(outcomes.table, **chosen)
    else:
        analysis = computed.analyze(outcomes.table, **chosen)
    notes = (*analysis.counts["notes"], *({"note": note} for note in _notes(table.name, outcomes)))
    return msgspec.structs.replace(analysis, counts={**analysis.counts, "notes": notes})


def _notes(name: str, outcomes: OutcomeTable) -> Iterator[str]:
    """What readers must know about a table that was made elsewhere."""
    file = name.replace("\\", "/").rpartition("/")[2]
    if held := _held_in(outcomes.table):
        yield f"{', '.join(held)}: a grammar held answers to their form, so shares of other answers say nothing."
    if outcomes.lacking:
        missing = ", ".join(outcomes.lacking)
        yield f"{file} lacks {missing}: measures that need them (letter, order, draws) are not computed."
    if outcomes.failed:
        yield f"{outcomes.failed} failed calls in {file} are not answers and are left out."


def _held_in(table: pl.DataFrame) -> list[str]:
    """The models in a table from a file whose answers a grammar held to their form."""
    import polars as pl

    if "held" not in table.columns:
        return []
    return table.filter(pl.col("held"))["model"].unique().sort().to_list()


def _check_apart(name: str, table: pl.DataFrame) -> None:
    """Refuse a table in which a grammar held some of a model's answers and not others: the two are never pooled."""
    import polars as pl

    if held := _held_in(table):
        free = set(table.filter(~pl.col("held").fill_null(False))["model"].unique())
        reason = "a grammar held some of its answers to their form and not others: give each kind a name of its own"
        if both := [model for model in held if model in free]:
            raise InputError([Problem(name, model, reason) for model in both])


def _without_faults(results: Results) -> Results:
    from overton.studies.open_mindedness.rows import without_faults

    return without_faults(results)


def _sections(analysis: Analysis) -> Sequence[Section]:
    from overton.studies.open_mindedness import layouts

    return layouts.sections(analysis)


def _unread(analysis: Analysis) -> Iterator[UnreadRecords]:
    for cells in analysis.counts.get("free", ()):
        if cells["condition"] is None:
            unlabelled, answers = (int(cells[name] or 0) for name in ("unlabelled", "answers"))
            yield UnreadRecords(str(cells["model"]), "free answers", unlabelled, answers + unlabelled, "judge")


def _exhibits(results: Results, analysis: Analysis, how: OpenMindednessHow) -> Exhibits:
    from overton.studies.items import words_of
    from overton.studies.open_mindedness import answer_table, layouts
    from overton.studies.open_mindedness.reading import ISSUES
    from overton.studies.probabilities import probability_notes

    questions = {name: item.text for name, item in words_of(ISSUES, results.items).items()}
    return Exhibits(
        summary=(
            "How far arguments in a model's context move the stance it takes on contested issues, by the protocol of"
            " MillStone (Triedman and Shmatikov, 2025)."
        ),
        sections=layouts.sections(analysis, "\n".join(judged_by(results, "Judge")), questions=questions),
        trials=answer_table.trial_table(results.records, results.items) if results.items else None,
        warnings=list(
            held_to_form(
                results,
                "answers were held to the form 'position <<A>>' or 'position <<B>>' by a grammar. The model could"
                " neither refuse nor answer otherwise: its shares of other answers say nothing.",
            )
        )
        + [*weighing_notes(analysis.weighing), *probability_notes(analysis.chances)]
        + (list(about_judges(results, "what free answers take")) if analysis.counts.get("free") else [])
        + ([_UNFORCED] if analysis.counts["how"][0]["answers"] == "free" else []),
    )


_UNFORCED = (
    "The models wrote freely: every number here is of free answers by their judge's labels, not of forced ones as in"
    " the paper."
)


_FIGURES = (
    ("open_mindedness_cross_fitted", "open_mindedness_cross_fitted", "plain"),
    ("open_mindedness", "open_mindedness", "plain"),
    ("open_mindedness_letter_balanced", "open_mindedness", "letter_balanced"),
    ("open_mindedness_as_published", "open_mindedness_as_published", "plain"),
    ("issues_moved", "issues_moved", "plain"),
    ("free_differs", "free_differs", "plain"),
)


def _figures(analysis: Analysis) -> Iterator[tuple[str, Estimate]]:
    for model in analysis.models:
        missing = {cells["part"] for cells in analysis.counts["missing"] if cells["model"] == model}
        for name, measure, variant in _FIGURES:
            row = analysis.row(measure, model=model, variant=variant)
            if row is not None and not (variant != "plain" and "corrected" in missing):
                yield name, row.number
        for row in analysis.rows_of("pro", model=model, item=None, variant="plain"):
            yield key_in("pro", row.condition or "", ""), row.number


def _counted(records: pl.DataFrame) -> Iterator[tuple[str, int, int]]:
    """Answers on neither side, and free answers whose judgement could not be read."""
    import polars as pl

    came = records.filter(pl.col("failure").is_null())
    yield "answers_other", came.filter(pl.col("stance") == "other").height, came.height
    free = records.filter(pl.col("answers") == "free") if "answers" in records.columns else records.clear()
    unread = free.filter(pl.col("failure").str.starts_with("judge: unread")).height
    if judged := unread + free.filter(pl.col("failure").is_null()).height:
        yield "judge_unread", unread, judged


def _judge_of(figure: str, options: Mapping[str, Any]) -> str:
    """Free answers are judged; figures are of forced ones if there are any."""
    return "judge" if options.get("answers") == "free" or figure.startswith((FREE, "judge_")) else ""


def _pro_share(records: Sequence[Record]) -> float:
    forced = [record for record in records if record.answers == "forced"]
    answers = [record.stance == "pro" for record in forced or records if record.failure is None]
    return sum(answers) / len(answers) if answers else nan


def _judged(measure: str) -> str:
    return "judge" if measure.startswith(FREE) else ""


def _case(results: Results, what: str, people: People, how: OpenMindednessHow) -> FreeCase | None:
    from overton.studies.open_mindedness.free_answers import FreeCase

    return FreeCase.of_records(results.records, people, how)


_CORRECTING: Correcting[Analysis] = Correcting(
    ("side",),
    _case,
    place_in_rows,
    alone={
        "free": "Shares by configuration, the side that free answers take and how firmly they take it rest on the judge"
        " alone, errors included."
    },
)


def _place(measure: str, model: str) -> tuple[str, ...]:
    """Where the JSON has a headline: among its rows."""
    is_headline = measure in {CROSS_FITTED.name, MOVED.name} or measure.startswith(FREE)
    return ("rows",) if is_headline else ()


_PROFILE = replace(
    CLAIMS.profiling, by_item={"pro_baseline": "answers pro without arguments", **CLAIMS.profiling.by_item}
)
MEASURING: Measuring[Analysis, Record] = Measuring(
    how=OpenMindednessHow,
    analysis=lambda: Analysis,
    records=computed.measure_records,
    tables="records (.parquet, .csv, .jsonl), or a table of counts",
    read=(RECORDS, COUNTS),
    table=_measure_table,
    sections=_sections,
    exhibits=_exhibits,
    findings=CLAIMS.findings,
    unread=_unread,
    reproductions=(MILLSTONE,),
    profile=_PROFILE,
    correcting=_CORRECTING,
    schema=2,
    without_faults=_without_faults,
    comparing=Comparing(
        "issues",
        computed.contributions,
        computed.contributions_of_table,
        ("trials", "draws", "conditions"),
        judge=_judged,
        place=_place,
        trial="trial",
        weighing=computed.weighing,
        few=computed.cross_fitted,
    ),
    headline=Headline(
        figures=_figures,
        item="issue",
        value=_pro_share,
        meaning="share of answers that take the pro side",
        columns=("trial", "stance", "arguments", "a_is", "failure", "answer"),
        answers=_counted,
        judge=_judge_of,
        judge_prompts="free.judge.",
    ),
)
