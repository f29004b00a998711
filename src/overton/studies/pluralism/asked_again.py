"""The judge asked again: for matches, for the stances of responses, and for those of viewpoints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from overton.calls import Ask, Draw, Trial
from overton.errors import InputError, Problem
from overton.studies.judged_rows import JudgedAgain, JudgedOnce, JudgedUnits
from overton.studies.options import option_place
from overton.studies.orders import reorder
from overton.studies.pluralism.items import ReferenceThread
from overton.studies.pluralism.judging import judged, response_task, summaries_task
from overton.studies.pluralism.matching import YES_NO, matched
from overton.studies.pluralism.protocol.sycophancy import matching_order
from overton.studies.pluralism.record import STANCES
from overton.studies.questions import controls_of
from overton.studies.results import Results
from overton.untrusted import converted

if TYPE_CHECKING:
    import polars as pl


MATCH_LABELS = ("match", "no match")
"""Whether a response entails a viewpoint."""


def _units(results: Results, what: str) -> JudgedUnits:
    """Each response with its matches ('match') or its stance; each reference opinion with the stances towards it."""
    lexical = any(run.options.get("matching") == "lexical" for run in results.runs)
    if what == "belief" or (what == "match" and lexical):
        reason = "is what a judge wrote" if what == "belief" else "was decided by shared words, and no judge was asked"
        raise InputError([Problem(option_place("what"), what, f"{reason}: choose match, stance or summary")])
    threads = {thread.id: thread for thread in results.items}
    if what == "summary":
        return _of_viewpoints(results.records, threads)
    return _of_responses(results, threads, what)


def _of_responses(results: Results, threads: Mapping[str, ReferenceThread], what: str) -> JudgedUnits:
    import polars as pl

    done = results.records.filter(pl.col("experiment") == "sycophancy", pl.col("status") == "done")
    rows = done.select("model", "trial", "thread", "reference", "arm", "responses").explode("responses")
    rows = rows.unnest("responses").filter(pl.col("text") != "").with_columns(
        id=pl.format("{}/{}/{}", "model", "trial", "number"), group=pl.format("{}/{}", "model", "thread")
    )  # fmt: skip
    (facts,) = results.runs
    how = {"matching": facts.options.get("matching", "together"), "shown": facts.options.get("shown", "given")}

    def once(row: Mapping[str, Any]) -> JudgedOnce:
        thread = threads[row["thread"]]
        material = {"thread": msgspec.to_builtins(thread), "response": row["text"], **how}
        if what == "stance":
            return JudgedOnce(
                row["id"], row["group"], {row["reference"]: row["stance"]}, material | {"reference": row["reference"]}
            )
        order = matching_order(
            Trial(row["trial"], thread.id, facts.seed), len(thread.viewpoints), row["number"], how["shown"]
        )
        return JudgedOnce(row["id"], row["group"], _matches(thread, row["matched"]), material | {"order": order})

    def drawn(places: Sequence[int]) -> list[JudgedOnce]:
        return [once(row) for row in rows[list(places)].iter_rows(named=True)]

    label = "stance" if what == "stance" else "matched"
    return JudgedUnits(rows["id"].to_list(), rows["arm"].to_list(), rows[label].is_not_null().to_list(), drawn)


def _matches(thread: ReferenceThread, named: Sequence[str] | None) -> dict[str, str | None]:
    yes, no = MATCH_LABELS
    return {view.id: None if named is None else yes if view.id in named else no for view in thread.viewpoints}


def _of_viewpoints(records: pl.DataFrame, threads: Mapping[str, ReferenceThread]) -> JudgedUnits:
    import polars as pl

    first = records.filter(pl.col("experiment") == "sycophancy").unique("thread", keep="first", maintain_order=True)
    rows = first.select("thread", "tried").explode("tried").drop_nulls("tried").unnest("tried")
    labels = [
        {view.id: stance for view, stance in zip(threads[thread].viewpoints, stances, strict=True) if view.id != about}
        for thread, about, stances in rows.select("thread", "viewpoint", "stances").iter_rows()
    ]
    names = rows.select(pl.format("{}/{}", "thread", "viewpoint"))[:, 0].to_list()

    def drawn(places: Sequence[int]) -> list[JudgedOnce]:
        chosen = zip(places, rows[list(places)].iter_rows(named=True), strict=True)
        return [
            JudgedOnce(
                names[place],
                row["thread"],
                labels[place],
                {"thread": msgspec.to_builtins(threads[row["thread"]]), "reference": row["viewpoint"]},
            )
            for place, row in chosen
        ]

    return JudgedUnits(names, [""] * len(names), [any(label.values()) for label in labels], drawn)


async def _ask(
    ask: Ask, what: str, material: Mapping[str, Any], draw: Draw | None, speaker: str | None
) -> dict[str, str | None]:
    thread = _thread(material)
    if what == "match":
        return await _ask_matches(ask, thread, material, draw, speaker)
    ids = [view.id for view in thread.viewpoints]
    place = ids.index(material["reference"]) + 1
    if what == "stance":
        order = STANCES if draw is None else reorder(draw, STANCES)
        task = response_task(thread, thread.viewpoints[place - 1].summary, material["response"], order)
        (answered,) = await judged(ask, [task], speaker=speaker)
        return {material["reference"]: answered.value}
    others = [number for number in range(1, len(ids) + 1) if number != place]
    labelling = summaries_task(thread, place, None if draw is None else reorder(draw, others))
    (found,) = await judged(ask, [labelling], speaker=speaker)
    return {ids[number - 1]: stance for number, stance in (found.value or {}).items()}


async def _ask_matches(
    ask: Ask, thread: ReferenceThread, material: Mapping[str, Any], draw: Draw | None, speaker: str | None
) -> dict[str, str | None]:
    order = material["order"] if draw is None else reorder(draw, material["order"])
    labels = YES_NO if draw is None else YES_NO[::-1]
    texts, matching = [material["response"]], material["matching"]
    (match,), _ = await matched(ask, thread, texts, matching, [order], labels=labels, speaker=speaker)
    places = None if match.places is None else [thread.viewpoints[place - 1].id for place in match.places]
    return _matches(thread, places)


def _thread(material: Mapping[str, Any]) -> ReferenceThread:
    return converted(material["thread"], ReferenceThread)


AGAIN = JudgedAgain("judge", _units, _ask, _thread, controls=partial(controls_of, "overton.studies.pluralism"))
