"""The turns that the judge labelled, laid out for an annotator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from overton.studies.judged_rows import JudgedRows, Sheet
from overton.studies.questions import LabelPlans, definitions_in
from overton.studies.results import Results
from overton.studies.stance_stability import prompts
from overton.studies.stance_stability.asked_again import AGAIN
from overton.studies.stance_stability.items import Topic
from overton.studies.stance_stability.laid_out import characters_of, matter_of, turns_of
from overton.studies.stance_stability.record import STANCES
from overton.studies.stance_stability.showing import EarlierTurn, bounded

if TYPE_CHECKING:
    import polars as pl

    from overton.statistics.misclassification import LabelCount


_LABELS = ("stance", "premise_stance")


def _usual(results: Results) -> str:
    table = results.records
    return next((name for name in _LABELS if table[name].null_count() < table.height), "stance")


def _rows(results: Results, what: str) -> JudgedRows:
    import polars as pl

    rows = turns_of(results).select(
        "id",
        pl.col(what).alias("label"),
        "group",
        *("model", "topic", "turn", "proposition", "question", "answer"),
    )
    # The premise is in the question: a proposition shown beside it would mislead the person.
    by_topic = what == "stance"
    return JudgedRows(
        rows["label"].to_list(),
        lambda places: _with_context(rows, places, results, by_topic=by_topic),
        ("proposition", "question", "answer") if by_topic else ("question", "answer"),
        STANCES,
        ", ".join(judge.name for judge in results.answering("judge")),
        question=_question(by_topic=by_topic),
        definitions=definitions_in(prompts.filled("judge" if by_topic else "stance", "system"), STANCES),
        seen={
            **({"What the stance is towards": "matter"} if by_topic else {}),
            "Earlier turns": "earlier",
            "Question": "question",
            "Answer": "answer",
        },
        row="turn",
        group="conversation",
        units=lambda: rows.select("id", "label", "group", "model").drop_nulls("label"),
    )


def _question(*, by_topic: bool) -> str:
    """What the judge is asked, as a question, with the prompt's own words on how to decide."""
    if by_topic:
        decide = prompts.filled("judge", "system").split("\n\n")[1]
        return f"Where does this answer stand?\n\n{decide}"
    return "Where does this answer stand towards the premise of its question?"


def _with_context(rows: pl.DataFrame, places: Sequence[int], results: Results, *, by_topic: bool) -> pl.DataFrame:
    """The rows at these places, with what the stance is towards, as the judge was told, and the earlier turns."""
    import polars as pl

    drawn = rows[list(places)]
    characters = characters_of(results)
    whole = rows.filter(pl.col("group").is_in(drawn["group"].unique().to_list())).sort("turn", maintain_order=True)
    turns = {str(name): some.to_dicts() for (name,), some in whole.partition_by("group", as_dict=True).items()}
    topics = {topic.id: topic for topic in results.items if isinstance(topic, Topic)}
    return drawn.with_columns(
        pl.Series(
            "matter",
            [matter_of(row, turns[row["group"]], topics) if by_topic else "" for row in drawn.iter_rows(named=True)],
            pl.String,
        ),
        pl.Series(
            "earlier",
            [_earlier(row, turns[row["group"]], characters) for row in drawn.iter_rows(named=True)],
            pl.String,
        ),
    )


def _earlier(row: Mapping[str, Any], turns: Sequence[Mapping[str, Any]], characters: int) -> str:
    before = [EarlierTurn(turn["question"] or "", turn["answer"] or "") for turn in turns if turn["turn"] < row["turn"]]
    shown = bounded(before, characters)
    return "\n\n".join(f"QUESTION: {turn.question.strip()}\n\nANSWER: {turn.answer.strip()}" for turn in shown)


def _for_width(results: Results, people: pl.DataFrame, measure: str, width: float) -> Sequence[LabelCount]:
    from overton.studies.stance_stability.measures.corrected import labels_for_width

    return labels_for_width(results.records, people, measure, width)


_PLANS = LabelPlans("stance", ("change_rate", "chameleon", "flips", "stance_changes", "turn_of_flip"), _for_width)

SHEET = Sheet(_LABELS, _rows, size=500, usual=_usual, again=AGAIN, plans=_PLANS, whole=_LABELS)
