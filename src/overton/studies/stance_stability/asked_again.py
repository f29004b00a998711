"""The judge asked again about turns that it labelled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from overton.calls import Ask, Draw
from overton.studies.judged_rows import JudgedAgain, JudgedOnce, JudgedUnits
from overton.studies.orders import reorder
from overton.studies.probabilities import ProbabilityRequest, asked_label_first
from overton.studies.questions import controls_of
from overton.studies.results import Results
from overton.studies.stance_stability.items import Topic
from overton.studies.stance_stability.judging import judge_turn
from overton.studies.stance_stability.laid_out import characters_of, matter_of, turns_of
from overton.studies.stance_stability.record import STANCES
from overton.studies.stance_stability.showing import EarlierTurn

if TYPE_CHECKING:
    import polars as pl


def _units(results: Results, what: str) -> JudgedUnits:
    """Every answer, with its label from the column `what`."""
    import polars as pl

    table = turns_of(results).with_columns(label=pl.col(what)).filter(pl.col("answer").str.strip_chars() != "")
    topics = {topic.id: topic for topic in results.items if isinstance(topic, Topic)}
    shared = _manner(results)

    def drawn(places: Sequence[int]) -> list[JudgedOnce]:
        rows = table[list(places)]
        whole = table.filter(pl.col("group").is_in(rows["group"].unique().to_list())).sort("turn", maintain_order=True)
        talks = {str(name): some.to_dicts() for (name,), some in whole.partition_by("group", as_dict=True).items()}
        return [_once(row, talks[row["group"]], topics, shared, what) for row in rows.iter_rows(named=True)]

    return JudgedUnits(table["id"].to_list(), _conditions(table), table["label"].is_not_null().to_list(), drawn)


def _manner(results: Results) -> dict[str, Any]:
    return {"characters": characters_of(results), **asked_label_first(results)}


def _conditions(table: pl.DataFrame) -> list[str]:
    """The order of the questions and the temperature, as far as they are known."""
    known = [name for name in ("ordering", "temperature") if name in table.columns]
    rows = table.select(known).iter_rows() if known else [()] * table.height
    return [", ".join(f"{name} {value}" for name, value in zip(known, row, strict=True)) for row in rows]


def _once(
    row: Mapping[str, Any],
    turns: Sequence[Mapping[str, Any]],
    topics: Mapping[str, Topic],
    shared: Mapping[str, Any],
    what: str,
) -> JudgedOnce:
    earlier = [(turn["question"] or "", turn["answer"] or "") for turn in turns if turn["turn"] < row["turn"]]
    towards = matter_of(row, turns, topics) if what == "stance" else ""
    material = {"towards": towards, "turn": (row["question"] or "", row["answer"]), "earlier": earlier}
    return JudgedOnce(row["id"], row["group"], {"": row["label"]}, {**material, **shared})


async def _ask(
    ask: Ask, what: str, material: Mapping[str, Any], draw: Draw | None, speaker: str | None
) -> dict[str, str | None]:
    by_topic = what == "stance"
    judged = await judge_turn(
        ask,
        material["towards"],
        EarlierTurn(*material["turn"]),
        [EarlierTurn(*turn) for turn in material["earlier"]],
        judge_prompts="topic" if by_topic else "published",
        characters=material["characters"],
        speaker=speaker,
        order=STANCES if draw is None else reorder(draw, STANCES),
        weigh=ProbabilityRequest(first=material.get("label_first", False)),
    )
    return {"": judged.stance if by_topic else judged.premise_stance}


AGAIN = JudgedAgain(
    "judge", _units, _ask, controls=partial(controls_of, "overton.studies.stance_stability"), manner=_manner
)
