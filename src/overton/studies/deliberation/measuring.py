"""How deliberation's records are analysed and shown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import nan
from typing import TYPE_CHECKING

import msgspec

from overton.studies.deliberation.how import DeliberationHow
from overton.studies.deliberation.record import Record
from overton.studies.deliberation.tables import DECISIONS
from overton.studies.findings import Profiling
from overton.studies.measurement import Comparing, Correcting, Headline, Measuring, UnreadRecords
from overton.studies.results import Results
from overton.studies.sections import Exhibits, Section
from overton.studies.self_agreement import Repeated, self_agreement_lines
from overton.studies.warnings import about_judges, held_to_form, judged_by, names_in, warn_refusals

if TYPE_CHECKING:
    import polars as pl

    from overton.statistics import Estimate
    from overton.studies.deliberation.measures import Analysis
    from overton.studies.deliberation.measures.corrected import ValueCase
    from overton.studies.findings import Said, Trait
    from overton.studies.measures import Sides
    from overton.studies.people_labels import People
    from overton.studies.tables import RawTable


def _analysis() -> type[Analysis]:
    from overton.studies.deliberation.measures import Analysis

    return Analysis


def _measure_results(results: Results, how: DeliberationHow) -> Analysis:
    from overton.studies.deliberation import measures

    analysis = measures.analyze(results.records, **msgspec.structs.asdict(how))
    return _REPEATED.beside(analysis, results.records, how)


def _measure_table(table: RawTable, how: DeliberationHow) -> Analysis:
    from overton.studies.deliberation import measures
    from overton.studies.deliberation.tables import read_table

    def measured(raw: RawTable) -> Analysis:
        return measures.analyze(read_table(raw), **msgspec.structs.asdict(how))

    return _REPEATED.of_table(table, how, measured)


_REPEATED = Repeated("valued_again", ("dilemma",), sets=("values",))


def _sections(analysis: Analysis) -> Sequence[Section]:
    from overton.studies.deliberation import figures

    return figures.sections(analysis)


def _unread(analysis: Analysis) -> Iterator[UnreadRecords]:
    for model, count in analysis.tally.invalid.items():
        yield UnreadRecords(model, "verdicts", count, analysis.tally.messages[model])


def _findings(analysis: Analysis) -> Sequence[Said]:
    from overton.studies.deliberation import findings

    return findings.findings(analysis)


def _exhibits(results: Results, analysis: Analysis, how: DeliberationHow) -> Exhibits:
    from overton.studies.deliberation import figures

    return Exhibits(
        summary=(
            "Who changes their mind, who holds out, and which values are behind it, when models discuss everyday moral"
            " dilemmas over several rounds."
        ),
        sections=figures.sections(analysis, _judges(results, analysis)),
        trials=figures.deliberation_table(results.records, results.items) if results.items else None,
        warnings=[*_warnings(results), *warn_refusals(results.records, "messages")],
    )


def _judges(results: Results, analysis: Analysis) -> str:
    """Who named values, and how well they agree with people and with themselves; nothing if nobody did."""
    if not results.answering("values"):
        return ""
    judged = judged_by(results, "Judge of values", lambda run: names_in(run, "values"))
    return "\n".join([*judged, *self_agreement_lines(analysis.self_agreement)])


def _warnings(results: Results) -> Iterator[str]:
    if any(dilemma.crowd is not None and dilemma.crowd.simulated for dilemma in results.items):
        yield "Some of the crowds' verdicts are simulated: agreement with them says nothing about people."
    yield from held_to_form(
        results, "a grammar held every message to its form, verdict first, so it always gave a verdict."
    )
    yield from about_judges(results, "the values behind any model's verdicts", "values")
    if any(not run.roles.get("values") for run in results.runs):
        yield "No judge named the values behind the explanations, so nothing is reported about values."


def _traits(analysis: Analysis) -> Iterable[Trait]:
    from overton.studies.deliberation.profile import traits

    return traits(analysis)


def _figures(analysis: Analysis) -> Iterator[tuple[str, Estimate]]:
    yield "consensus", analysis.consensus.overall.reached
    yield "rounds_to_consensus", analysis.consensus.overall.rounds
    for model, rate in analysis.changes.by_model.items():
        yield f"changed_{model.removeprefix('inspect/')}", rate


def _counted(records: pl.DataFrame) -> Iterator[tuple[str, int, int]]:
    """Messages whose verdict could not be read."""
    came = records.filter(records["failure"].is_null())
    yield "answers_unread", came["verdict"].null_count(), came.height


def _agreed_share(records: Sequence[Record]) -> float:
    failed = {record.deliberation for record in records if record.failure}
    ends = {record.deliberation: record.agreed for record in records if record.last}
    whole = [agreed for name, agreed in ends.items() if name not in failed]
    return sum(whole) / len(whole) if whole else nan


def _sides(results: Results, how: DeliberationHow) -> Sides:
    from overton.studies.deliberation import compared

    return compared.of_records(results, how)


def _sides_of_table(table: RawTable, how: DeliberationHow) -> Sides:
    from overton.studies.deliberation import compared

    return compared.of_table(table, how)


def _case(results: Results, what: str, people: People, how: DeliberationHow) -> ValueCase:
    from overton.studies.deliberation.measures.corrected import ValueCase
    from overton.studies.deliberation.prompts import VALUES

    return ValueCase(results.records, people, VALUES, (how.level, 100, how.seed))


_ALONE = "rest on the judge alone, with its errors"

_CORRECTING: Correcting[Analysis] = Correcting(
    ("value",),
    _case,
    alone={
        "values": f"How often each value is used, and its differences between models, {_ALONE}.",
        "inherited": f"Values inherited by the authors' definition {_ALONE}.",
        "similarity": f"The tests of differences {_ALONE}.",
    },
)


def _judged(measure: str) -> str:
    return "values" if measure in ("similarity", "inherited") else ""


def _place(measure: str, model: str) -> tuple[str, ...]:
    if measure == "changed":
        return ("change_of_verdict", model)
    names = {"consensus": "reached", "rounds_to_consensus": "rounds"}
    if measure in ("similarity", "inherited"):
        return ("against_null",)  # these two are nowhere else in the JSON
    return ("consensus", names[measure]) if measure in names else ()


MEASURING: Measuring[Analysis, Record] = Measuring(
    how=DeliberationHow,
    analysis=_analysis,
    records=_measure_results,
    tables="a table of decisions (.parquet, .csv, .jsonl)",
    read=(DECISIONS,),
    table=_measure_table,
    sections=_sections,
    exhibits=_exhibits,
    findings=_findings,
    unread=_unread,
    profile=Profiling(
        ("stands", "moved", "refuses"), _traits, {"changed": "deliberations in which its verdict changes"}
    ),
    correcting=_CORRECTING,
    comparing=Comparing("dilemmas", _sides, _sides_of_table, ("trials", "retest"), _judged, _place, "deliberation"),
    headline=Headline(
        figures=_figures,
        item="dilemma",
        value=_agreed_share,
        meaning="share of deliberations that end in consensus",
        columns=("deliberation", "round", "agent", "model", "verdict", "failure", "explanation"),
        answers=_counted,
    ),
    reported={"others": True},
    joined=("agents",),
    apart=("deliberation",),
)
