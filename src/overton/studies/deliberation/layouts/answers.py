"""Deliberations to browse: rounds side by side, with changes of verdict marked, and values below each message."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np

from overton.studies.deliberation.items import Dilemma
from overton.studies.sections import ROUND_BREAK, TURN_BREAK, BrowseFilter, TrialTable, without_breaks

if TYPE_CHECKING:
    import polars as pl


_LONGEST = 40_000
_SHOWN = (
    *("deliberation", "dilemma", "format", "goal", "agents", "round", "position", "agent", "model", "verdict"),
    *("explanation", "values", "crowd", "failure"),
)
_INVALID = "no readable verdict"

Row = dict[str, Any]


def deliberation_table(records: pl.DataFrame, dilemmas: Sequence[Dilemma] = ()) -> TrialTable:
    """The deliberations of `records` (columns of `Record`), in the order in which they first appear.

    The dilemma's text, from `dilemmas`, replaces a trial's prompt; without `dilemmas` there is no prompt. The text of a
    deliberation is a line on the outcome, then the rounds, with `ROUND_BREAK` before each round and `TURN_BREAK`
    between agents.
    """
    import polars as pl

    order = records.group_by("deliberation", maintain_order=True).agg(messages=pl.len())
    placed = order.select("deliberation", place=pl.int_range(pl.len()))
    rows = records.select(_SHOWN).join(placed, on="deliberation").sort("place", "round", "position", "agent")
    stops = np.cumsum(order["messages"].to_numpy())
    starts, ends = stops - order["messages"].to_numpy(), _ends(rows)
    outcomes = ends["outcome"].to_list()
    posts = {
        dilemma.id: f"{dilemma.title}\n\n{dilemma.text}" if dilemma.title else dilemma.text for dilemma in dilemmas
    }

    def answers(start: int, stop: int) -> list[str]:
        last = min(stop, order.height)
        part = rows[int(starts[start]) : int(stops[last - 1])] if start < last else rows[:0]
        talks = groupby(part.iter_rows(named=True), key=lambda row: row["place"])
        return [_render_deliberation(outcomes[place], list(said)) for place, said in talks]

    first, places = rows[starts.tolist()], {name: number for number, name in enumerate(posts)}
    return TrialTable(
        size=order.height,
        texts=list(posts.values()),
        prompts=lambda number: [number],
        prompt=[places.get(name, -1) for name in first["dilemma"]],
        facets=_facets(first, ends),
        answers=answers,
        longest=_LONGEST,
        names=first["deliberation"].to_list(),
        beside="Format",
        reader="the reply's format",
    )


def _facets(first: pl.DataFrame, ends: pl.DataFrame) -> list[BrowseFilter]:
    """Properties by which readers can filter deliberations: their design, and how they ended."""
    known = {"Dilemma": "dilemma", "Agents": "agents", "Format": "format", "Goal": "goal"}
    read = {"Outcome": "outcome", "Rounds": "rounds", "Changed by": "changed"}
    made = [_facet(title, first[name]) for title, name in known.items()]
    made += [_facet(title, ends[name], read=True) for title, name in read.items()]
    return [facet for facet in made if any(code >= 0 for code in facet.codes)]


def _facet(title: str, column: pl.Series, *, read: bool = False) -> BrowseFilter:
    import polars as pl

    values = column.cast(pl.String)
    labels = values.drop_nulls().unique(maintain_order=True).to_list()
    codes = values.replace_strict(labels, list(range(len(labels))), default=-1, return_dtype=pl.Int32)
    return BrowseFilter(title, labels, codes.fill_null(-1).to_numpy(), read=read)


def _ends(rows: pl.DataFrame) -> pl.DataFrame:
    """For each deliberation its `rounds`, its `outcome`, and the models that `changed` their verdict."""
    import polars as pl

    agents = rows.group_by("place", "agent").agg(pl.first("model"), moved=pl.col("verdict").drop_nulls().n_unique() > 1)
    changed = agents.group_by("place").agg(
        changed=pl.col("model").filter("moved").unique().sort().str.join(", "), agents=pl.len()
    )
    # Replace '' outside of the aggregation, because inside it Polars 1.30 would make a list of the result.
    changed = changed.with_columns(pl.col("changed").replace("", "nobody"))
    final = rows.filter(pl.col("round") == pl.col("round").max().over("place"))
    ends = final.group_by("place").agg(
        pl.first("round").alias("rounds"),
        agreed=(pl.col("verdict").n_unique() == 1) & pl.col("verdict").is_not_null().all(),
        verdict=pl.first("verdict"),
        spoke=pl.len(),
        failed=pl.col("failure").is_not_null().any(),
    )
    outcome = (
        pl.when("failed")
        .then(pl.lit("failed"))
        .when(pl.col("agreed") & (pl.col("spoke") == pl.col("agents")))
        .then(pl.lit("consensus on ") + pl.col("verdict"))
        .otherwise(pl.lit("no consensus"))
    )
    return ends.join(changed, on="place").with_columns(outcome=outcome).sort("place")


def _render_deliberation(outcome: str, rows: Sequence[Row]) -> str:
    """One deliberation: its outcome, then every round's turns, with changes of verdict as 'NTA → ESH'."""
    before: dict[str, str] = {}
    rounds: dict[int, list[str]] = {}
    for row in rows:
        rounds.setdefault(row["round"], []).append(_turn(row, before.get(row["agent"])))
        before[row["agent"]] = row["verdict"] or before.get(row["agent"], "")
    crowd = f" The crowd's verdict is {row['crowd']}." if row["crowd"] else ""
    count = f"{len(rounds)} round{'' if len(rounds) == 1 else 's'}"
    head = f"{outcome[0].upper()}{outcome[1:]} after {count}.{crowd}"
    return ROUND_BREAK.join([head, *(TURN_BREAK.join(turns) for turns in rounds.values())])


def _turn(row: Row, before: str | None) -> str:
    verdict = row["verdict"] or _INVALID
    if row["failure"]:
        verdict = f"the call failed: {row['failure']}"
    changed = before and row["verdict"] and before != row["verdict"]
    said = f"{row['agent']} ({row['model']}): {f'{before} → {verdict}' if changed else verdict}"
    values = None if row["values"] is None else f"Values: {'; '.join(row['values']) or 'none'}"
    return "\n\n".join(without_breaks(part) for part in (said, row["explanation"], values) if part)
