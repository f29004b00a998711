"""How stance stability's records are analysed and shown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import nan
from typing import TYPE_CHECKING

import msgspec

from overton.studies.arm_weights import LEFT_OUT, is_weighted
from overton.studies.findings import Profiling
from overton.studies.measurement import Comparing, Correcting, Headline, Measuring, UnreadRecords
from overton.studies.results import Results
from overton.studies.sections import Exhibits, Section
from overton.studies.self_agreement import Repeated, self_agreement_lines
from overton.studies.stance_stability.how import StanceHow
from overton.studies.stance_stability.items import Topic
from overton.studies.stance_stability.record import Record
from overton.studies.stance_stability.reproduced import SYCON
from overton.studies.stance_stability.tables import TURNS
from overton.studies.warnings import about_judges, judged_by, warn_refusals

if TYPE_CHECKING:
    import polars as pl

    from overton.statistics import Estimate
    from overton.studies.findings import Said, Trait
    from overton.studies.measures import Sides
    from overton.studies.people_labels import People
    from overton.studies.stance_stability.measures import Analysis
    from overton.studies.stance_stability.measures.corrected import ChangeSums
    from overton.studies.tables import RawTable


_MOST_LISTED = 2_000
"""With more conversations than this, a report has only the groups' measures: the run's records have the rest."""


def _analysis() -> type[Analysis]:
    from overton.studies.stance_stability.measures import Analysis

    return Analysis


def _measure_results(results: Results, how: StanceHow) -> Analysis:
    from overton.studies.stance_stability import measures
    from overton.studies.stance_stability.measures.judge_chances import label_chances

    analysis = measures.analyze(_about_topics(_named(results.records), results.items), **msgspec.structs.asdict(how))
    chances = None if is_weighted(results.records) else label_chances(_named(results.records), how)
    analysis = msgspec.structs.replace(analysis, chances=chances)
    return _REPEATED.beside(analysis, results.records, how)


def _measure_table(table: RawTable, how: StanceHow) -> Analysis:
    from overton.studies.stance_stability import measures
    from overton.studies.stance_stability.alignments import are_alignments, read_alignments
    from overton.studies.stance_stability.tables import read_table

    def measured(raw: RawTable) -> Analysis:
        turns, warning = read_alignments(raw) if are_alignments(raw) else (read_table(raw), "")
        analysis = measures.analyze(turns, **msgspec.structs.asdict(how))
        return msgspec.structs.replace(analysis, notes=(warning, *analysis.notes)) if warning else analysis

    return _REPEATED.of_table(table, how, measured)


_REPEATED = Repeated("judged_again", ("topic", "conversation"), labels=("stance", "premise_stance"))


def _sections(analysis: Analysis) -> Sequence[Section]:
    from overton.studies.stance_stability import figures

    return figures.sections(analysis)


def _unread(analysis: Analysis) -> Iterator[UnreadRecords]:
    for model, tally in analysis.tallies.items():
        yield UnreadRecords(model, "stances", tally.unlabelled, tally.turns, "judge")


def _findings(analysis: Analysis) -> Sequence[Said]:
    from overton.studies.stance_stability import findings

    return findings.findings(analysis)


def _exhibits(results: Results, analysis: Analysis, how: StanceHow) -> Exhibits:
    from overton.studies.stance_stability import figures

    return Exhibits(
        summary=(
            "Whether models keep their view over a conversation of searching and questioning, how confidently they"
            " change it, and from how few sources."
        ),
        sections=figures.sections(analysis, _judges(results, analysis), _titled(results.items)),
        trials=figures.conversation_table(_named(results.records), analysis, results.items) if results.items else None,
        without=_unlisted(analysis),
        warnings=[*_of_judges(results, analysis), *_left_out(results), *warn_refusals(results.records, "answers")],
    )


def _left_out(results: Results) -> Iterator[str]:
    """That probabilities of labels were requested and are not shown."""
    asked = any(run.options.get("shares", "sampled") != "sampled" for run in results.runs)
    if asked and is_weighted(results.records):
        yield f"How sure the judge is of its labels is {LEFT_OUT}."


def _titled(items: Sequence[object]) -> dict[str, str]:
    """Topics in words."""
    return {item.id: item.topic for item in items if isinstance(item, Topic)}


def _of_transcripts(results: Results, analysis: Analysis, how: StanceHow) -> Exhibits:
    from overton.studies.stance_stability import figures

    headings = {item.proposition: item.topic for item in results.items if item.proposition}
    return Exhibits(
        summary=(
            "Whether the speakers in existing conversations keep their view, how confidently they change it, and from"
            " how few sources."
        ),
        sections=figures.sections(analysis, _judges(results, analysis)),
        trials=figures.conversation_table(_by_proposition(_named(results.records)), analysis, _headings(headings)),
        without=_unlisted(analysis),
        warnings=_of_judges(results, analysis),
    )


def _of_judges(results: Results, analysis: Analysis) -> list[str]:
    from overton.studies.probabilities import probability_notes

    return [*about_judges(results, "any model's stances"), *probability_notes(analysis.chances)]


def _judges(results: Results, analysis: Analysis) -> str:
    """Who judged, and how well they agree with people and with themselves, one line each."""
    judged = judged_by(results, "Judge")
    return "\n".join([*judged, *self_agreement_lines(analysis.self_agreement)])


def _unlisted(analysis: Analysis) -> tuple[str, ...]:
    """What a report's data leave out."""
    return ("conversations",) if analysis.conversations.height > _MOST_LISTED else ()


def _named(records: pl.DataFrame) -> pl.DataFrame:
    """The records with a name for speakers in transcripts that name none."""
    import polars as pl

    return records.with_columns(pl.col("model").replace("", "not named"))


def _about_topics(records: pl.DataFrame, items: Sequence[object]) -> pl.DataFrame:
    """The records with what the topics' writer said about each topic; unchanged if they have no topics."""
    import polars as pl

    topics = {item.id: item for item in items if isinstance(item, Topic)}
    if not topics:
        return records
    said = pl.DataFrame(
        [(name, topic.initial_belief, topic.debate_strength) for name, topic in topics.items()],
        schema=("topic", "initial_belief", "debate_strength"),
        orient="row",
    )
    return records.join(said, on="topic", how="left", maintain_order="left")


def _by_proposition(records: pl.DataFrame) -> pl.DataFrame:
    """The records with the proposition, if there is one, as topic, to be shown beside the conversation."""
    import polars as pl

    proposed = pl.col("proposition")
    return records.with_columns(topic=pl.when(proposed != "").then(proposed).otherwise("topic"))


def _headings(by_proposition: Mapping[str, str]) -> list[Topic]:
    return [
        Topic(proposition, "", heading or "Transcript", proposition, "balanced", "moderate", ())
        for proposition, heading in by_proposition.items()
    ]


def _traits(analysis: Analysis) -> Iterable[Trait]:
    from overton.studies.stance_stability.profile import traits

    return traits(analysis)


def _figures(analysis: Analysis) -> Iterator[tuple[str, Estimate]]:
    for name in ("chameleon", "source_reuse", "confidence", "stance_changes"):
        if name in analysis.overall.measures:
            yield name, analysis.overall.measures[name].mean


def _counted(records: pl.DataFrame) -> Iterator[tuple[str, int, int]]:
    """Answers whose stance is unclear, and answers to which the judge gave no usable label."""
    came = records.filter(records["failure"].is_null())
    yield "answers_other", came.filter(came["stance"] == "unclear").height, came.height
    yield "judge_unread", came["stance"].null_count(), came.height


def _supportive_share(records: Sequence[Record]) -> float:
    labelled = [record.stance == "supportive" for record in records if record.stance is not None]
    return sum(labelled) / len(labelled) if labelled else nan


def _sides(results: Results, how: StanceHow) -> Sides:
    from overton.studies.stance_stability import compared

    return compared.of_records(results, how)


def _sides_of_table(table: RawTable, how: StanceHow) -> Sides:
    from overton.studies.stance_stability import compared

    return compared.of_table(table, how)


def _case(results: Results, what: str, people: People, how: StanceHow) -> ChangeSums | None:
    from overton.studies.stance_stability.measures.corrected import ChangeSums

    return ChangeSums.of_records(_about_topics(_named(results.records), results.items), what, people, how)


_ALONE = (
    "rests on the judge alone, with its errors: people's labels correct only groups' change rate, Chameleon score and"
    " flips."
)

_CORRECTING: Correcting[Analysis] = Correcting(
    ("stance", "premise_stance"),
    _case,
    alone={
        "scores": f"Everything here on bands, standard deviations, reversals, drift and the score's parts {_ALONE}",
        "temperatures": f"The variance between temperatures {_ALONE}",
        "relations": f"Every score that is related to re-use {_ALONE}",
        "turns": f"The share of conversations that change at each turn {_ALONE}",
        "traces": f"Each trace {_ALONE}",
    },
)


def _place(measure: str, model: str) -> tuple[str, ...]:
    return ("models", model, measure)


_HEADLINE: Headline[Analysis, Record] = Headline(
    figures=_figures,
    item="topic",
    value=_supportive_share,
    meaning="share of labelled turns that are supportive",
    columns=("conversation", "turn", "stance", "confidence", "question", "query", "failure", "answer"),
    answers=_counted,
    judge=lambda figure, options: "" if figure == "source_reuse" else "judge",
    judge_prompts="judge.",
)
_TABLES = "a table of conversation, turn, stance, or SYCON-Bench's labels as released (.parquet, .csv, .jsonl)"

MEASURING: Measuring[Analysis, Record] = Measuring(
    how=StanceHow,
    analysis=_analysis,
    records=_measure_results,
    tables=_TABLES,
    read=(TURNS,),
    table=_measure_table,
    sections=_sections,
    exhibits=_exhibits,
    findings=_findings,
    unread=_unread,
    reproductions=(SYCON,),
    profile=Profiling(("moved", "refuses"), _traits, {"change_rate": "turns at which its stance changes"}),
    correcting=_CORRECTING,
    comparing=Comparing(
        "topics", _sides, _sides_of_table, ("trials", "retest"), lambda _: "judge", _place, "conversation"
    ),
    headline=_HEADLINE,
    apart=("conversation",),
)
MEASURING_TRANSCRIPTS: Measuring[Analysis, Record] = replace(MEASURING, exhibits=_of_transcripts)
