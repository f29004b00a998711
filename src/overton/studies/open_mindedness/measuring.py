"""How the records of open-mindedness are measured, and what is shown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import nan
from typing import TYPE_CHECKING, Any

import msgspec

from overton.errors import InputError, Problem
from overton.studies.findings import Profiling
from overton.studies.measurement import Comparing, Correcting, Headline, Measuring, UnreadRecords
from overton.studies.open_mindedness.how import OpenMindednessHow
from overton.studies.open_mindedness.record import Record
from overton.studies.open_mindedness.reproduced import MILLSTONE
from overton.studies.open_mindedness.tables import COUNTS, RECORDS
from overton.studies.probabilities import weighing_notes
from overton.studies.results import Results
from overton.studies.sections import Exhibits, Section
from overton.studies.warnings import about_judges, held_to_form, judged_by

if TYPE_CHECKING:
    import polars as pl

    from overton.statistics import Estimate
    from overton.studies.findings import Said, Trait
    from overton.studies.measures import Sides
    from overton.studies.open_mindedness.free.corrected import FreeCase
    from overton.studies.open_mindedness.measures import Analysis
    from overton.studies.open_mindedness.tables import OutcomeTable
    from overton.studies.people_labels import People
    from overton.studies.probabilities import Weighing
    from overton.studies.tables import RawTable


def _analysis() -> type[Analysis]:
    from overton.studies.open_mindedness.measures import Analysis

    return Analysis


def _measure_results(results: Results, how: OpenMindednessHow) -> Analysis:
    from overton.studies.open_mindedness import measures

    families = {model.name: model.family for model in results.models}
    return measures.analyze(results.records, families=families, **msgspec.structs.asdict(how))


def _measure_table(table: RawTable, how: OpenMindednessHow) -> Analysis:
    from overton.studies.open_mindedness import measures
    from overton.studies.open_mindedness.tables import read_table

    outcomes = read_table(table)
    _check_apart(table.name, outcomes.table)
    chosen = msgspec.structs.asdict(how)
    if outcomes.kind == "counts":
        for name in ("reading", "shares", "answers"):
            chosen.pop(name)
        analysis = measures.analyze_counts(outcomes.table, **chosen)
    else:
        analysis = measures.analyze(outcomes.table, **chosen)
    return msgspec.structs.replace(analysis, notes=(*analysis.notes, *_notes(table.name, outcomes)))


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


def _sections(analysis: Analysis) -> Sequence[Section]:
    from overton.studies.open_mindedness import figures

    return figures.sections(analysis)


def _unread(analysis: Analysis) -> Iterator[UnreadRecords]:
    for model, result in (analysis.free or {}).items():
        yield UnreadRecords(model, "free answers", result.unlabelled, result.answers + result.unlabelled, "judge")


def _findings(analysis: Analysis) -> Sequence[Said]:
    from overton.studies.open_mindedness import findings

    return findings.findings(analysis)


def _exhibits(results: Results, analysis: Analysis, how: OpenMindednessHow) -> Exhibits:
    from overton.studies.items import words_of
    from overton.studies.open_mindedness import figures
    from overton.studies.open_mindedness.reading import ISSUES
    from overton.studies.probabilities import probability_notes

    questions = {name: item.text for name, item in words_of(ISSUES, results.items).items()}
    return Exhibits(
        summary=(
            "How far arguments in a model's context move the stance it takes on contested issues, by the protocol of"
            " MillStone (Triedman and Shmatikov, 2025)."
        ),
        sections=_signed(figures.sections(analysis, questions=questions), results),
        trials=figures.trial_table(results.records, results.items) if results.items else None,
        warnings=list(
            held_to_form(
                results,
                "answers were held to the form 'position <<A>>' or 'position <<B>>' by a grammar. The model could"
                " neither refuse nor answer otherwise: its shares of other answers say nothing.",
            )
        )
        + [*weighing_notes(analysis.weighing), *probability_notes(analysis.chances)]
        + (list(about_judges(results, "what free answers take")) if analysis.free else [])
        + ([_UNFORCED] if analysis.answers == "free" else []),
    )


_UNFORCED = (
    "The models wrote freely: every number here is of free answers by their judge's labels, not of forced ones as in"
    " the paper."
)


def _signed(sections: Sequence[Section], results: Results) -> list[Section]:
    """The sections; the one on free answers says who judged them and how well the judge agrees with people."""
    who = "\n".join(judged_by(results, "Judge"))
    return [section.signed(who) if section.key == "free" else section for section in sections]


def _traits(analysis: Analysis) -> Iterable[Trait]:
    from overton.studies.open_mindedness.profile import traits

    return traits(analysis)


def _figures(analysis: Analysis) -> Iterator[tuple[str, Estimate]]:
    for model in analysis.models.values():
        yield "open_mindedness_cross_fitted", model.cross_fitted.open_mindedness
        yield "open_mindedness", model.scores.open_mindedness
        if model.corrected:
            yield "open_mindedness_letter_balanced", model.corrected.open_mindedness
        yield "open_mindedness_as_published", model.scores.as_published
        yield "issues_moved", model.definition.moved
        if analysis.free and model.name in analysis.free:
            yield "free_differs", analysis.free[model.name].differs
        for condition, shares in model.shares.items():
            yield f"pro_{condition.replace('-', '_')}", shares.pro


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
    return "judge" if options.get("answers") == "free" or figure.startswith((_FREE, "judge_")) else ""


def _pro_share(records: Sequence[Record]) -> float:
    forced = [record for record in records if record.answers == "forced"]
    answers = [record.stance == "pro" for record in forced or records if record.failure is None]
    return sum(answers) / len(answers) if answers else nan


def _sides(results: Results, how: OpenMindednessHow) -> Sides:
    from overton.studies.open_mindedness import compared

    return compared.of_records(results, how)


def _weighing(results: Results, how: OpenMindednessHow) -> Weighing | None:
    from overton.studies.open_mindedness import compared

    return compared.weighing(results, how)


def _cross_fitted(results: Results, how: OpenMindednessHow) -> Sides:
    from overton.studies.open_mindedness import compared

    return compared.cross_fitted(results, how)


def _sides_of_table(table: RawTable, how: OpenMindednessHow) -> Sides:
    from overton.studies.open_mindedness import compared

    return compared.of_table(table, how)


_FREE = "free_"


def _judged(measure: str) -> str:
    return "judge" if measure.startswith(_FREE) else ""


def _case(results: Results, what: str, people: People, how: OpenMindednessHow) -> FreeCase | None:
    from overton.studies.open_mindedness.free.corrected import FreeCase

    return FreeCase.of_records(results.records, people, how)


_CORRECTING: Correcting[Analysis] = Correcting(
    ("side",),
    _case,
    alone={
        "free": "Shares by configuration, the side that free answers take and how firmly they take it rest on the judge"
        " alone, errors included."
    },
)

_PLACES = {"open_mindedness_cross_fitted": ("open_mindedness",), "issues_moved": ("definition", "moved")}


def _place(measure: str, model: str) -> tuple[str, ...]:
    if measure.startswith(_FREE):
        return ("free", model, measure.removeprefix(_FREE))
    return ("models", model, *_PLACES[measure]) if measure in _PLACES else ()


MEASURING: Measuring[Analysis, Record] = Measuring(
    how=OpenMindednessHow,
    analysis=_analysis,
    records=_measure_results,
    tables="records (.parquet, .csv, .jsonl), or a table of counts",
    read=(RECORDS, COUNTS),
    table=_measure_table,
    sections=_sections,
    exhibits=_exhibits,
    findings=_findings,
    unread=_unread,
    reproductions=(MILLSTONE,),
    profile=Profiling(
        ("stands", "moved", "refuses"),
        _traits,
        {
            "pro_baseline": "answers pro without arguments",
            "open_mindedness_cross_fitted": "moved by arguments, 0 to 100",
        },
    ),
    correcting=_CORRECTING,
    comparing=Comparing(
        "issues",
        _sides,
        _sides_of_table,
        ("trials", "draws", "conditions"),
        judge=_judged,
        place=_place,
        trial="trial",
        weighing=_weighing,
        few=_cross_fitted,
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
