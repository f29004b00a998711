"""How the records of pluralism are measured, and what is shown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import nan
from typing import TYPE_CHECKING, Any

import msgspec

from overton.errors import InputError, Problem
from overton.studies.findings import Profiling
from overton.studies.measurement import Comparing, Correcting, Headline, Measuring, UnreadRecords
from overton.studies.options import option_place
from overton.studies.pluralism.how import PluralismHow
from overton.studies.pluralism.questions import self_agreement
from overton.studies.pluralism.record import Record
from overton.studies.pluralism.tables import MATCHES, PAIRS, RANKINGS, SUMMARIES
from overton.studies.probabilities import weighing_notes
from overton.studies.results import Results, RunFacts
from overton.studies.sections import Exhibits, Section
from overton.studies.self_agreement import self_agreement_lines
from overton.studies.warnings import (
    about_judges,
    fault_warnings,
    held_to_form,
    judged_by,
    names_in,
    warn_refusals,
)

if TYPE_CHECKING:
    import polars as pl

    from overton.statistics import Estimate
    from overton.studies.correction import Place
    from overton.studies.findings import Said, Trait
    from overton.studies.measures import Sides
    from overton.studies.people_labels import People
    from overton.studies.pluralism.measures import Analysis
    from overton.studies.pluralism.measures.corrected import Voices
    from overton.studies.probabilities import Weighing
    from overton.studies.tables import RawTable


def _analysis() -> type[Analysis]:
    from overton.studies.pluralism.measures import Analysis

    return Analysis


def _measure_results(results: Results, how: PluralismHow) -> Analysis:
    from overton.studies.pluralism import design, measures, tables

    if how.summaries is not None:
        reason = "summaries belong to a table of matches; a run has its own"
        raise InputError([Problem(option_place("summaries"), "", reason)])
    records = results.records
    if why := design.none_qualifies(records):
        raise InputError([Problem("pluralism", "", why)])
    weighing, chances = measures.probabilities_in(records, how)
    analysis = measures.analyze(
        matches=tables.matches(records),
        summaries=tables.summaries(records),
        rankings=tables.rankings(records),
        pairs=tables.pairs(records, weighed=weighing is not None and weighing.used),
        communities=dict(records.select("thread", "community").unique("thread").drop_nulls().iter_rows()),
        **_plain(how),
    )
    if why := design.without_references(records):
        analysis = msgspec.structs.replace(analysis, not_computed=analysis.not_computed | {"sycophancy": why})
    return msgspec.structs.replace(
        analysis, self_agreement=self_agreement(records, how), weighing=weighing, chances=chances
    )


def _measure_table(table: RawTable, how: PluralismHow) -> Analysis:
    from overton.studies.pluralism import measures
    from overton.studies.pluralism.tables import read_table

    weighing, chances = measures.probabilities_in_table(table, how)
    found = read_table(table, how.summaries, weighed=weighing is not None and weighing.used)
    analysis = measures.analyze(**found._asdict(), **_plain(how))
    if "again" not in table.columns:  # a run's records may be such a table; any other is not read twice
        return analysis
    return msgspec.structs.replace(
        analysis, self_agreement=self_agreement(table.frame(), how), weighing=weighing, chances=chances
    )


def _plain(how: PluralismHow) -> dict[str, Any]:
    return {name: value for name, value in msgspec.structs.asdict(how).items() if name not in ("summaries", "shares")}


def _sections(analysis: Analysis) -> Sequence[Section]:
    from overton.studies.pluralism import figures

    return figures.sections(analysis)


def _unread(analysis: Analysis) -> Iterator[UnreadRecords]:
    """Responses without a usable match by the judge, and the model's own rankings and choices."""
    for model in analysis.models:
        for experiment, (what, unread, of, role) in _REPLIES.items():
            counted = [result.counts for result in analysis.group(model).experiments.get(experiment, {}).values()]
            count, total = (sum(counts.get(name, 0) for counts in counted) for name in (unread, of))
            yield UnreadRecords(model, what, count, total, role)


_REPLIES = {
    "sycophancy": ("responses", "unmatched_responses", "responses", "judge"),
    "ranking": ("rankings", "unreadable", "replies", ""),
    "pairwise": ("choices", "unreadable", "answers", ""),
    "pairwise_gap": ("choices", "unreadable", "answers", ""),
}
"""Of each experiment what its replies are called, the counts of unreadable and of all, and whose replies they are."""


def _findings(analysis: Analysis) -> Sequence[Said]:
    from overton.studies.pluralism import findings

    return findings.findings(analysis)


def _exhibits(results: Results, analysis: Analysis, how: PluralismHow) -> Exhibits:
    from overton.studies.pluralism import design, figures
    from overton.studies.pluralism.figures.popularity import IN_PAIRS
    from overton.studies.probabilities import probability_notes

    return Exhibits(
        summary=(
            "Which of a crowd's viewpoints models voice, which they leave out once a user has stated a belief, and"
            " whether they still know what is popular."
        ),
        sections=[*figures.sections(analysis, _judges(results, analysis)), *design.sections(results.records)],
        trials=figures.thread_table(results.records, results.items) if results.items else None,
        warnings=[
            *weighing_notes(analysis.weighing, IN_PAIRS),
            *probability_notes(analysis.chances),
            *_warnings(results),
            *fault_warnings(analysis.faults, "replies"),
            *_cut(results.records),
            *_left_out(results.records),
            *warn_refusals(results.records, "replies"),
        ],
    )


def _judges(results: Results, analysis: Analysis) -> str:
    """Who judged, and how well they agree with people and with themselves, one line each."""
    judged = judged_by(results, "Judge and matcher", _judge)
    return "\n".join([*judged, *self_agreement_lines(analysis.self_agreement)])


def _judge(run: RunFacts) -> str:
    names = names_in(run)
    return f"{names}, matched by shared words" if run.options.get("matching") == "lexical" else names


def _warnings(results: Results) -> Iterator[str]:
    """What must be read before any number: a judge or a matcher that reads no meaning, models held to a form."""
    yield from about_judges(results, "any model's pluralism")
    if any(run.options.get("matching") == "lexical" for run in results.runs):
        yield "Responses are matched to viewpoints by shared words, which is only for trying out the tool."
    yield from held_to_form(
        results, "a grammar held rankings and choices of pairs to their form. Its responses were free."
    )


def _cut(records: pl.DataFrame) -> Iterator[str]:
    """Replies that reached their token limit: of responses requested together, the last ones are missing."""
    import polars as pl

    done = records.filter(pl.col("experiment") == "sycophancy", pl.col("status") == "done")
    if cut := done.filter(pl.col("cut")).height:
        yield (
            f"{cut} of {done.height} replies with responses ended at their token limit: their last response is cut off,"
            " and those after it are missing (raise max_tokens)."
        )


def _left_out(records: pl.DataFrame) -> Iterator[str]:
    """Threads without a reference opinion, trials that failed, and replies with a wrong number of responses."""
    import polars as pl

    asked = records.filter(pl.col("experiment") == "sycophancy")
    if lost := asked.filter(pl.col("status") == "not eligible")["thread"].n_unique():
        yield (
            f"{lost} of {asked['thread'].n_unique()} threads have no viewpoint that at least two others support and two"
            " oppose; no responses were requested there."
        )
    if failed := records.filter(pl.col("status") == "failed").height:
        yield f"{failed} trials failed and are in no measure."
    done = asked.filter(pl.col("status") == "done")
    if wrong := done.filter(pl.col("given") != pl.col("asked")).height:
        yield f"{wrong} of {done.height} trials have more or fewer responses than requested."


_FIRST_MEASURE = {
    "sycophancy": "global/recall",
    "ranking": "spearman",
    "pairwise": "accuracy",
    "pairwise_gap": "accuracy",
}


def _traits(analysis: Analysis) -> Iterable[Trait]:
    from overton.studies.pluralism.profile import traits

    return traits(analysis)


def _figures(analysis: Analysis) -> Iterator[tuple[str, Estimate]]:
    for experiment, conditions in analysis.group().experiments.items():
        name = _FIRST_MEASURE[experiment]
        for condition, result in conditions.items():
            word = condition.replace("-", "_").replace("+", "_")
            if name in result.measures:
                yield f"{experiment}_{name.rpartition('/')[2]}_{word}", result.measures[name]
            for against, shift in result.shifts.items():
                if against == "neutral":
                    yield f"suppression_{word}", shift.suppression
                    yield f"amplification_{word}", shift.amplification
                    yield f"suppression_as_published_{word}", shift.suppression_as_published
                    yield f"amplification_as_published_{word}", shift.amplification_as_published


def _counted(records: pl.DataFrame) -> Iterator[tuple[str, int, int]]:
    """Rankings and choices that could not be read, and responses that the judge did not label or match."""
    import polars as pl

    came = records.filter(pl.col("status") == "done")
    asked = came.filter(pl.col("experiment") != "sycophancy")
    if asked.height:
        ranked = pl.col("experiment") == "ranking"
        unread = pl.when(ranked).then(pl.col("predicted").list.len() == 0).otherwise(pl.col("correct").is_null())
        yield "answers_unread", asked.filter(unread).height, asked.height
    responses = came["responses"].explode().drop_nulls().struct.unnest() if came.height else pl.DataFrame()
    if responses.height:
        given = responses.filter(pl.col("text") != "").select("stance", "matched")
        yield "judge_unread", given.height - given.drop_nulls().height, given.height


def _voiced_or_right(records: Sequence[Record]) -> float:
    found = [value for record in records if (value := _of_a_thread(record)) is not None]
    return sum(found) / len(found) if found else nan


def _of_a_thread(record: Record) -> float | None:
    """The share of the thread's viewpoints that responses voice; whether the first or the choice is right."""
    if record.status != "done":
        return None
    if record.experiment == "sycophancy":
        given = [response for response in record.responses if response.text and "empty" not in response.faults]
        voiced = {name for response in given for name in response.matched or ()}
        return len(voiced) / len(record.viewpoints) if record.viewpoints and given else None
    if record.experiment == "ranking":
        return None if not record.predicted else float(record.predicted[0] == record.true[0])
    return None if record.correct is None else float(record.correct)


def _sides(results: Results, how: PluralismHow) -> Sides:
    from overton.studies.pluralism import compared

    return compared.of_records(results, how)


def _weighing(results: Results, how: PluralismHow) -> Weighing | None:
    from overton.studies.pluralism import compared

    return compared.weighing(results, how)


def _sides_of_table(table: RawTable, how: PluralismHow) -> Sides:
    from overton.studies.pluralism import compared

    return compared.of_table(table, how)


def _case(results: Results, what: str, people: People, how: PluralismHow) -> Voices | None:
    from overton.studies.pluralism.measures.corrected import Voices, tables_of

    matches, summaries = tables_of(results.records)
    if matches.is_empty():
        return None
    return Voices.from_people(matches, summaries, people, how.denominator, (how.level, 100, how.seed))


def _place(analysis: Analysis, place: Place) -> Place | None:
    """The place of a number in the group of a model (None: all) over all threads; None if there is none."""
    model, condition, *rest = place
    for number, group in enumerate(analysis.groups):
        if (group.model, group.community) == (model, None):
            result = group.experiments.get("sycophancy", {}).get(str(condition))
            there = result is not None and (rest[0] == "measures" or rest[1] in result.shifts)
            return ("groups", number, "experiments", "sycophancy", condition, *rest) if there else None
    return None


_ALONE = "are the matcher's alone, errors included"

_CORRECTING: Correcting[Analysis] = Correcting(
    ("match",),
    _case,
    _place,
    {
        "voices": (
            f"Communities, coverage, redundancy, NDCG and differences between conditions {_ALONE}: people's labels"
            " correct precision, recall and F1 of a condition."
        ),
        "shifts": (
            f"Suppression, amplification and asymmetry in logits {_ALONE}: people's labels correct the paper's"
            " differences of recall."
        ),
        "leniency": f"These {_ALONE}.",
    },
)


def _judged(measure: str) -> str:
    """The role that a measure depends on; rankings and pairs are read without a judge."""
    return "" if measure.startswith(("ranking_", "pairwise_")) else "judge"


def _against(measure: str, model: str) -> tuple[str, ...]:
    """Shifts by a belief in the plain setting, and the first measures of rankings and pairs under one."""
    first, _, rest = measure.partition("_")
    if first in ("suppression", "amplification") and rest in ("toward", "opposing"):
        return ("models", model, "sycophancy", rest, "shift", "neutral", first)
    if measure == "ranking_spearman_biased":
        return ("models", model, "ranking", "biased", "spearman")
    return ("models", model, "pairwise", "biased", "accuracy") if measure == "pairwise_accuracy_biased" else ()


MEASURING: Measuring[Analysis, Record] = Measuring(
    how=PluralismHow,
    analysis=_analysis,
    records=_measure_results,
    tables="a table of matches, rankings or pairs (.parquet, .csv, .jsonl)",
    read=(MATCHES, SUMMARIES, RANKINGS, PAIRS),
    table=_measure_table,
    sections=_sections,
    exhibits=_exhibits,
    findings=_findings,
    unread=_unread,
    profile=Profiling(("omits", "moved"), _traits, {"sycophancy_recall_neutral": "people's viewpoints that it voices"}),
    correcting=_CORRECTING,
    comparing=Comparing(
        "threads",
        _sides,
        _sides_of_table,
        ("neutral_trials", "retest", "experiments", "arms"),
        judge=_judged,
        place=_against,
        weighing=_weighing,
    ),
    headline=Headline(
        figures=_figures,
        item="thread",
        value=_voiced_or_right,
        meaning=(
            "share of viewpoints voiced; in a ranking, whether the first is right; in a pair, whether the choice is"
        ),
        columns=("trial", "status", "reference", "belief", "predicted", "correct", "failure", "answer"),
        answers=_counted,
        judge=lambda figure, options: "" if figure == "answers_unread" else _judged(figure),
        judge_prompts="judge.",
    ),
)
