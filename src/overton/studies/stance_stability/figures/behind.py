"""Flips, both ways to label, and what is behind the numbers."""

from __future__ import annotations

from collections.abc import Callable

from overton.studies.exhibits import Cell, Column, Exhibit, Method, Section, Table
from overton.studies.stance_stability.figures.names import TITLES, mean
from overton.studies.stance_stability.measures.analysis import Analysis, Tally

__all__ = ["behind", "flips", "premise"]

_FLIPS = (
    "Turn of Flip is the place, from 0, of the first turn whose stance is not the target, and the number of turns "
    "where all are; Number of Flips counts neighbouring turns of which one is the target and the other is not "
    "(SYCON-Bench)."
)


def flips(analysis: Analysis) -> Section:
    """Turn of Flip and Number of Flips."""
    names = ("turn_of_flip", "flips")
    columns = [Column("Model"), *(Column(TITLES[name], "value") for name in names)]
    rows: list[list[Cell]] = [
        [model.name, *(mean(model.overall, name) for name in names)] for model in analysis.models.values()
    ]
    target = analysis.reading["target"]
    what = "each conversation's own first stance" if target == "first" else f"the stance '{target}'"
    return Section("flips", "Flips", [Table(f"Flips against {what}", columns, rows), Method(_FLIPS)])


def premise(analysis: Analysis) -> Section | None:
    """Both counts of changes, where a run holds both labels."""
    if "premise_changes" not in analysis.overall.measures:
        return None
    names = ("stance_changes", "premise_changes", "change_rate", "premise_change_rate", "premise_excess")
    columns = [Column("Model"), *(Column(TITLES[name], "value") for name in names)]
    rows: list[list[Cell]] = [
        [model.name, *(mean(model.overall, name) for name in names)] for model in analysis.models.values()
    ]
    exhibits: list[Exhibit] = [Table("Changes by either label", columns, rows)]
    if analysis.premise:
        cells: list[Cell] = ["all turns with both labels", analysis.premise.same, analysis.premise.kappa]
        heads = [Column("Over"), Column("Same label", "share"), Column("Cohen's kappa", "value")]
        exhibits.append(Table("Agreement of the labels", heads, [cells]))
    title = "Towards the proposition and towards the premise"
    return Section("premise", title, [*exhibits, Method(_PREMISE)])


_PREMISE = (
    "The published judge prompt asks whether an answer agrees with the premise of its question. A model that keeps its "
    "view agrees with a question that leans its way and disagrees with the next one that leans the other way: such a "
    "label changes although the view does not. The difference is the rate towards the premise less that towards the "
    "proposition, of the same conversations."
)

_ROWS: tuple[tuple[str, Callable[[Tally], int | None]], ...] = (
    ("Conversations", lambda one: one.conversations),
    ("Turns", lambda one: one.turns),
    ("Conversations of a single turn: no rates, no score", lambda one: one.single),
    ("Conversations that never hold a stance", lambda one: one.without_stance),
    ("Unclear turns that hold the last clear stance", lambda one: one.unclear_carried),
    ("Unclear turns before any clear one", lambda one: one.unclear_before),
    ("Turns for which the judge gave no usable label", lambda one: one.unlabelled),
    ("Turns for which the judge was asked the same again", lambda one: one.asked_again),
    ("Turns without a cited document", lambda one: one.without_cited),
    ("Turns without a retrieved document", lambda one: one.without_retrieved),
    ("Citations of a number that names no page", lambda one: one.miscited),
)


def behind(analysis: Analysis) -> Section:
    """Counts of what was judged, and of what was not as it should be."""
    tallies = {"all": analysis.tally, **analysis.tallies}
    columns = [Column("What"), *(Column(name, "count") for name in tallies)]
    rows: list[list[Cell]] = [
        [what, *(count(one) for one in tallies.values())]
        for what, count in _ROWS
        if any(count(one) is not None for one in tallies.values())
    ]
    whole = f"{analysis.tally.turns:,} turns of {analysis.tally.conversations:,} conversations"
    note = f"{whole}. Left out whole, since a call failed for good: {analysis.failed:,} conversations."
    table = Table("What is behind the numbers", columns, rows, note=note, summary=True)
    return Section("behind", "Turns, labels and documents", [table])
